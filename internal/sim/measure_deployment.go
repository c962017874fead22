package sim

import (
	"fmt"
	"math"
	"time"
)

// deploymentMeasures are the words about deployments: one, several by a
// pattern, or all. Those in cutByTime look at what came after a time.
var deploymentMeasures = map[string]func(r *Result, xs []*record, after time.Duration) (float64, error){
	"calls": func(_ *Result, xs []*record, after time.Duration) (float64, error) {
		return float64(callsOf(xs, after)), nil
	},
	"share": func(r *Result, xs []*record, after time.Duration) (float64, error) {
		return percent(float64(callsOf(xs, after)) / float64(max(callsOf(r.sites, after), 1))), nil
	},
	"limited":        limitedOf,
	"utilisation":    utilisation,
	"limit-recovery": limitRecovery,
	"probes":         func(_ *Result, xs []*record, _ time.Duration) (float64, error) { return probes(xs), nil },
	"flaps":          func(r *Result, xs []*record, _ time.Duration) (float64, error) { return flaps(r, xs), nil },
	"cost":           func(_ *Result, xs []*record, _ time.Duration) (float64, error) { return costOf(xs), nil },
	"bill": func(r *Result, _ []*record, _ time.Duration) (float64, error) {
		if r.leastCost == 0 {
			return 0, fmt.Errorf("nothing has a price, or nothing was answered in time by several upstreams")
		}
		return percent(costOf(r.sites) / r.leastCost), nil
	},
	"cost-per-answer": func(r *Result, xs []*record, _ time.Duration) (float64, error) {
		return costOf(xs) / float64(max(r.OnTime, 1)), nil
	},
}

var cutByTime = map[string]bool{"ontime": true, "level changes": true, "level most": true, "rung": true, "calls": true, "share": true, "limited": true, "utilisation": true}

func costOf(xs []*record) (dollars float64) {
	for _, x := range xs {
		dollars += float64(x.cost) / 1e6
	}
	return dollars
}

func limitedOf(_ *Result, xs []*record, after time.Duration) (float64, error) {
	var calls, limited int64
	for _, x := range xs {
		for _, s := range x.from(after) {
			calls += int64(s.calls)
			limited += int64(s.limited)
		}
	}
	return percent(float64(limited) / float64(max(calls, 1))), nil
}

// utilisation is the mean over the deployments that had a limit.
func utilisation(r *Result, xs []*record, after time.Duration) (float64, error) {
	sum, n := 0.0, 0.0
	for _, x := range xs {
		if used := r.used(x, after); !math.IsNaN(used) {
			sum, n = sum+used, n+1
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("no upstream had a limit of requests or tokens")
	}
	return percent(sum / n), nil
}

// limitRecovery is the longest time from the last change of a limit to the
// first ten seconds with 95 % of what it then allowed, in seconds.
func limitRecovery(r *Result, xs []*record, _ time.Duration) (float64, error) {
	worst := math.NaN()
	for _, x := range xs {
		last := x.allowed[len(x.allowed)-1]
		if len(x.allowed) < 2 || last.limit.none() {
			continue
		}
		changed := last.from.Sub(epoch)
		took := r.Duration - changed.Seconds()
		for at := changed; at.Seconds()+recoveryWindow <= r.Duration; at += time.Second {
			got, allowed := r.accepted(x, at, at+recoveryWindow*time.Second)
			if allowed[0] > 0 && got[0] >= recovered*allowed[0] || allowed[1] > 0 && got[1] >= recovered*allowed[1] {
				took = (at - changed).Seconds()
				break
			}
		}
		if !(took <= worst) {
			worst = took
		}
	}
	if math.IsNaN(worst) {
		return 0, fmt.Errorf("no limit changed")
	}
	return worst, nil
}

// probes are the most calls to a deployment in any ten seconds of an outage
// whose first ten seconds are over.
func probes(xs []*record) float64 {
	const window = 10
	most := 0
	for _, x := range xs {
		for _, o := range x.outages {
			end := len(x.course)
			if !o.to.IsZero() {
				end = min(end, secondOf(o.to))
			}
			for i := secondOf(o.from) + window; i < end; i++ {
				n := 0
				for _, s := range x.course[i:min(i+window, end)] {
					n += int(s.calls)
				}
				most = max(most, n)
			}
		}
	}
	return float64(most)
}

// flaps is how often a deployment went from being used to being hardly used:
// ten seconds with less than a quarter of its mean.
func flaps(r *Result, xs []*record) float64 {
	const window = 10
	n := 0
	for _, x := range xs {
		course := x.course[:min(len(x.course), int(r.Duration))]
		usual := float64(callsOf([]*record{x}, 0)) / r.Duration * window
		low := true // what was never used does not flap
		for i := 0; i+window <= len(course); i += window {
			calls := 0
			for _, s := range course[i : i+window] {
				calls += int(s.calls)
			}
			was := low
			if low = float64(calls) < usual/4; low && !was {
				n++
			}
		}
	}
	return float64(n)
}
