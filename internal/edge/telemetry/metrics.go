// Package telemetry is what the running gateway tells: Prometheus metrics, one
// structured log line a request, spans of those that are worth a look, and a
// flight recorder of the last core events.
package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Metrics counts and measures what happens to requests. In the life of one
// request the gateway calls Arrived once, Decided for each decision, Attempted
// for each call that was sent upstream, and Finished once, all with the same
// Record. A request that fails before it is offered goes to Finished alone.
//
// Label values are bounded: tenants, models, deployments and kinds must be
// known from Configure, anything else is counted as "other"; the rest comes
// from typed constants. Handles are resolved once and kept, so that a request
// costs a few map look-ups and atomic additions, and no allocation.
//
// Metrics is safe for concurrent use.
type Metrics struct {
	instruments
	reg       prometheus.Registerer
	names     atomic.Pointer[catalogue]
	configure sync.Mutex // serialises Configure
}

// NewMetrics registers all metrics, and those of the Go runtime and of the
// process. It panics if reg already holds one of them: give it a registry of
// its own. Until Configure is called every name is "other".
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{instruments: newInstruments(reg), reg: reg}
	m.names.Store(newCatalogue(Names{}, newPairs()))
	return m
}

// Configure tells which names may become label values, from the configuration
// now in force. Series of names that are gone are deleted.
func (m *Metrics) Configure(n Names) {
	m.configure.Lock()
	defer m.configure.Unlock()
	next := newCatalogue(n, m.names.Load().pairs)
	next.pairs.forget(next)
	m.forget(m.names.Swap(next), next)
}

// Arrived counts the request as in flight, until Finished.
func (m *Metrics) Arrived(r *Record) {
	if !r.inFlight {
		r.inFlight = true
		m.inFlight.Inc()
	}
}

// Decided counts one decision on the request and writes it to the Record. Set
// Tenant, Model, Class, Attempt and Depth before the first call, and leave them.
func (m *Metrics) Decided(r *Record, d *admit.Decision) {
	s := m.resolve(r)
	first := r.decisions == 0
	r.decisions++
	r.Decision = *d
	m.decision(s.tenant, r.Class, d).Inc()
	if d.Observed && !r.WouldRefuse {
		r.WouldRefuse = true
		m.wouldRefuse(s.tenant, r.Class).Inc()
	}
	if first {
		if r.Depth >= 0 {
			m.queueDepth(s.model, r.Class).Observe(float64(r.Depth))
		}
		if r.Attempt > 0 {
			m.retry(s.tenant, byCaller, d.Verdict == admit.Reject).Inc()
		}
	}
	switch d.Verdict {
	case admit.Queue:
		r.queued = true
		r.PredictedWait = d.Wait
		m.predictedWait(s.model, r.Class).Observe(d.Wait.Seconds())
	case admit.Run:
		r.ran = true
		if d.Stage == admit.StageAgain {
			m.retry(s.tenant, byGateway, false).Inc()
			return
		}
		r.Waited = d.Wait
		r.observe(m.realWait(s.model, r.Class), d.Wait)
		if r.queued {
			m.waitError(s.model).Observe((d.Wait - r.PredictedWait).Seconds())
			if r.PredictedWait >= time.Millisecond { // below, the ratio is noise
				m.waitRatio(s.model).Observe(float64(d.Wait) / float64(r.PredictedWait))
			}
		}
	case admit.Recall:
		if r.queued {
			r.Waited = d.Wait
		}
	case admit.Reject:
		if first && d.Wait > 0 {
			r.PredictedWait = d.Wait
			m.predictedWait(s.model, r.Class).Observe(d.Wait.Seconds())
		}
		if d.Stage == admit.StageLate {
			m.dropped(s.model, droppedLate).Inc()
		}
	}
}

// Attempted counts one call that was sent upstream, when it has ended: every
// one, also those that a retry or a fallback follows.
func (m *Metrics) Attempted(r *Record, a *Attempt) {
	r.Attempts++
	r.Deployment, r.Kind, r.UpstreamStatus = a.Deployment, a.Kind, a.Status
	if r.SpanID != 0 {
		r.calls = append(r.calls, *a)
	}
	names := m.names.Load()
	d := names.deployment(a.Deployment)
	m.attempt(d, names, a).Inc()
	m.service(d, a.OK).Observe(a.Service.Seconds())
	if r.First > 0 {
		m.first(d).Observe(r.First.Seconds())
	}
	if a.Wasted > 0 {
		m.wasted(d).Add(a.Wasted.Seconds())
	}
}

// Finished counts the request's end.
func (m *Metrics) Finished(r *Record) {
	if r.inFlight {
		r.inFlight = false
		m.inFlight.Dec()
	}
	s := m.resolve(r)
	m.request(s, r.Outcome).Inc()
	if r.Outcome == Answered {
		m.answer(s.model, r.Class, !r.Late()).Inc()
	}
	m.took(s.model, r)
	m.served(s, r)
	if r.ran { // what was refused used no tokens, whatever was estimated
		m.addTokens(s, inputTokens, r.Input)
		m.addTokens(s, outputTokens, r.Output)
		m.addTokens(s, cachedTokens, r.Cached)
		m.addTokens(s, cacheWriteTokens, r.CacheWrite)
		m.addTokens(s, reasoningTokens, r.Reasoning)
	}
	if r.Cost > 0 {
		m.cost(s).Add(dollars(r.Cost))
	}
	if r.unpriced() {
		m.unpriced(s).Inc()
	}
	if r.Outcome == Left && r.queued && !r.ran {
		m.dropped(s.model, droppedCancelled).Inc()
	}
}

// took measures the times of a request. Those of a cheaper form of a model, or
// of no model at all, would hide how slow it is, and are kept apart.
func (m *Metrics) took(model *modelSeries, r *Record) {
	if place := r.degraded(); place != asAsked {
		if r.Outcome == Answered {
			r.observe(m.degradedDuration(model, place), r.Total)
		}
		if r.TTFT > 0 {
			r.observe(m.degradedTTFT(model, place), r.TTFT)
		}
		return
	}
	if r.Recalled {
		return
	}
	r.observe(m.duration(model, r.Outcome), r.Total)
	if r.TTFT > 0 {
		r.observe(m.ttft(model), r.TTFT)
	}
	if t := r.TPOT(); t > 0 {
		m.tpot(model).Observe(t.Seconds())
	}
}

// served counts what was given in place of what was asked for, and how answers
// end with it.
func (m *Metrics) served(s *series, r *Record) {
	place := r.degraded()
	if place != asAsked {
		for _, name := range r.Rungs {
			m.rung(s, name).Inc()
		}
	}
	if r.Recalled {
		m.recalled(s.model, r.recalled()).Inc()
	}
	if r.Finish != FinishNone {
		m.finish(s.model, place, r.Finish).Inc()
	}
}

// Reloaded counts one reading of the configuration, with its error if it was
// refused.
func (m *Metrics) Reloaded(now time.Time, err error) {
	if err != nil {
		m.reloads.WithLabelValues("refused").Inc()
		return
	}
	m.reloads.WithLabelValues("applied").Inc()
	m.lastReload.Set(float64(now.UnixMilli()) / 1000)
}

// Changed counts a change of settings that somebody asked for.
func (m *Metrics) Changed(result Changed) { m.changes.WithLabelValues(result.String()).Inc() }

// ChangesAside tells whether earlier changes do not count.
func (m *Metrics) ChangesAside(aside bool) {
	m.changesAside.Set(0)
	if aside {
		m.changesAside.Set(1)
	}
}

// Changed is what became of a change of settings.
type Changed string

const (
	ChangeApplied Changed = "applied"
	ChangeRefused Changed = "refused"
	ChangeTried   Changed = "tried" // it would be applied
)

func (c Changed) String() string { return string(c) }

// resolve finds the handles of a request once and leaves them in the Record, so
// that a reload in between cannot split what belongs together.
func (m *Metrics) resolve(r *Record) *series {
	if r.series.tenant == nil {
		names := m.names.Load()
		r.series = series{names: names, tenant: names.tenant(r.Tenant), model: names.model(r.Model)}
	}
	return &r.series
}
