package telemetry

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Label values that are closed sets of this package.
const (
	byCaller, byGateway           = 0, 1
	droppedLate, droppedCancelled = 0, 1

	inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens = 0, 1, 2, 3, 4

	numDirections = 5

	numVerdicts = admit.NumVerdicts
)

var (
	retryNames     = [2]string{"caller", "gateway"}
	dropNames      = [2]string{"late", "cancelled"}
	directionNames = [numDirections]string{"input", "output", "cached", "cache_write", "reasoning"}
)

// The functions below give the handle of one series: from its place in the
// catalogue, or at first use from the vector.

func (i *instruments) decision(t *tenantSeries, c admit.Class, d *admit.Decision) prometheus.Counter {
	ds := t.decisions[c].get(func() *decisionSeries { return &decisionSeries{} })
	return ds[d.Stage][d.Verdict].get(func() prometheus.Counter {
		return i.decisions.WithLabelValues(d.Stage.String(), d.Verdict.String(), c.String(), t.label)
	})
}

func (i *instruments) wouldRefuse(t *tenantSeries, c admit.Class) prometheus.Counter {
	return t.wouldRefuse[c].get(func() prometheus.Counter { return i.wouldRefuses.WithLabelValues(c.String(), t.label) })
}

func (i *instruments) retry(t *tenantSeries, by int, refused bool) prometheus.Counter {
	nr, result := 0, "allowed"
	if refused {
		nr, result = 1, "refused"
	}
	return t.retries[by][nr].get(func() prometheus.Counter {
		return i.retries.WithLabelValues(t.label, retryNames[by], result)
	})
}

// usage is what the pair of tenant and model is counted with.
func (s *series) usage() *usageSeries {
	return s.tenant.usage[s.model.nr].get(func() *usageSeries {
		if other := s.names.tenants.other; s.tenant != other && !s.names.pairs.take(s.tenant.label, s.model.label) {
			return (&series{s.names, other, s.model}).usage()
		}
		return &usageSeries{tenant: s.tenant.label}
	})
}

func (i *instruments) request(s *series, o Outcome) prometheus.Counter {
	u := s.usage()
	return u.requests[o].get(func() prometheus.Counter {
		return i.requests.WithLabelValues(u.tenant, s.model.label, o.String())
	})
}

// addTokens ignores what is not above zero: a counter cannot go back, and an
// upstream's figure is not to be trusted.
func (i *instruments) addTokens(s *series, direction int, n int64) {
	if n <= 0 {
		return
	}
	u := s.usage()
	u.tokens[direction].get(func() prometheus.Counter {
		return i.tokens.WithLabelValues(u.tenant, s.model.label, directionNames[direction])
	}).Add(float64(n))
}

// dollars of micro-dollars.
func dollars(n int64) float64 { return float64(n) / 1e6 }

func (i *instruments) cost(s *series) prometheus.Counter {
	u := s.usage()
	return u.cost.get(func() prometheus.Counter { return i.costs.WithLabelValues(u.tenant, s.model.label) })
}

func (i *instruments) unpriced(s *series) prometheus.Counter {
	u := s.usage()
	return u.unpriced.get(func() prometheus.Counter {
		return i.unpricedRequests.WithLabelValues(u.tenant, s.model.label)
	})
}

func (i *instruments) queueDepth(m *modelSeries, c admit.Class) prometheus.Observer {
	return m.depth[c].get(func() prometheus.Observer { return i.depths.WithLabelValues(m.label, c.String()) })
}

func (i *instruments) predictedWait(m *modelSeries, c admit.Class) prometheus.Observer {
	return m.predicted[c].get(func() prometheus.Observer { return i.predictedWaits.WithLabelValues(m.label, c.String()) })
}

func (i *instruments) realWait(m *modelSeries, c admit.Class) prometheus.Observer {
	return m.waited[c].get(func() prometheus.Observer { return i.realWaits.WithLabelValues(m.label, c.String()) })
}

func (i *instruments) waitError(m *modelSeries) prometheus.Observer {
	return m.waitError.get(func() prometheus.Observer { return i.waitErrors.WithLabelValues(m.label) })
}

func (i *instruments) waitRatio(m *modelSeries) prometheus.Observer {
	return m.waitRatio.get(func() prometheus.Observer { return i.waitRatios.WithLabelValues(m.label) })
}

func (i *instruments) duration(m *modelSeries, o Outcome) prometheus.Observer {
	return m.duration[o].get(func() prometheus.Observer { return i.durations.WithLabelValues(m.label, o.String()) })
}

func (i *instruments) ttft(m *modelSeries) prometheus.Observer {
	return m.ttft.get(func() prometheus.Observer { return i.ttfts.WithLabelValues(m.label) })
}

func (i *instruments) tpot(m *modelSeries) prometheus.Observer {
	return m.tpot.get(func() prometheus.Observer { return i.tpots.WithLabelValues(m.label) })
}

func (i *instruments) dropped(m *modelSeries, why int) prometheus.Counter {
	return m.dropped[why].get(func() prometheus.Counter { return i.drops.WithLabelValues(m.label, dropNames[why]) })
}

func (i *instruments) rung(s *series, name string) prometheus.Counter {
	r := s.names.rung(name)
	return s.model.rungs[r.nr].get(func() prometheus.Counter { return i.rungs.WithLabelValues(s.model.label, r.label) })
}

func (i *instruments) recalled(m *modelSeries, why int) prometheus.Counter {
	return m.recalled[why].get(func() prometheus.Counter { return i.recalls.WithLabelValues(m.label, recalledNames[why]) })
}

func (i *instruments) answer(m *modelSeries, c admit.Class, inTime bool) prometheus.Counter {
	nr := 0
	if inTime {
		nr = 1
	}
	return m.answers[c][nr].get(func() prometheus.Counter {
		return i.answers.WithLabelValues(m.label, c.String(), strconv.FormatBool(inTime))
	})
}

func (i *instruments) finish(m *modelSeries, place int, f Finish) prometheus.Counter {
	f = min(f, FinishOther)
	return m.degraded[place].finishes[f].get(func() prometheus.Counter {
		return i.finishes.WithLabelValues(m.label, degradedLabel(place), f.String())
	})
}

func (i *instruments) degradedDuration(m *modelSeries, place int) prometheus.Observer {
	return m.degraded[place].duration.get(func() prometheus.Observer {
		return i.degradedDurations.WithLabelValues(m.label, degradedLabel(place))
	})
}

func (i *instruments) degradedTTFT(m *modelSeries, place int) prometheus.Observer {
	return m.degraded[place].ttft.get(func() prometheus.Observer {
		return i.degradedTTFTs.WithLabelValues(m.label, degradedLabel(place))
	})
}

func (i *instruments) attempt(d *deploymentSeries, names *catalogue, a *Attempt) prometheus.Counter {
	k, s := names.kind(a.Kind), statusNr(a.Status)
	return d.attempts[k.nr*numStatuses+s].get(func() prometheus.Counter {
		return i.attempts.WithLabelValues(d.label, k.label, statusLabel(s))
	})
}

func (i *instruments) service(d *deploymentSeries, ok bool) prometheus.Observer {
	nr := 0
	if ok {
		nr = 1
	}
	return d.service[nr].get(func() prometheus.Observer {
		return i.services.WithLabelValues(d.label, strconv.FormatBool(ok))
	})
}

func (i *instruments) first(d *deploymentSeries) prometheus.Observer {
	return d.first.get(func() prometheus.Observer { return i.firsts.WithLabelValues(d.label) })
}

func (i *instruments) wasted(d *deploymentSeries) prometheus.Counter {
	return d.wasted.get(func() prometheus.Counter { return i.wastedSeconds.WithLabelValues(d.label) })
}

// The statuses worth telling apart have a label value each; the rest go by
// their hundreds, so that an upstream cannot make new series.
var (
	hundreds = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}
	statuses = [...]int{200, 400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529}
)

const numStatuses = len(hundreds) + len(statuses)

func statusNr(status int) int {
	if i := slices.Index(statuses[:], status); i >= 0 {
		return len(hundreds) + i
	}
	if status < 100 || status > 599 {
		return 0
	}
	return status / 100
}

func statusLabel(nr int) string {
	if nr < len(hundreds) {
		return hundreds[nr]
	}
	return strconv.Itoa(statuses[nr-len(hundreds)])
}
