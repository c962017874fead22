package sim

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// measures are the words that a scenario may expect something of. Shares are
// in per cent, times in seconds.
var measures = map[string]func(*Figures) float64{
	"slots":        func(f *Figures) float64 { return percent(f.GoodputWork) },
	"wasted":       func(f *Figures) float64 { return percent(f.WastedWork) },
	"ontime":       func(f *Figures) float64 { return percent(float64(f.OnTime) / float64(max(f.Offered-f.Left, 1))) },
	"late":         func(f *Figures) float64 { return percent(f.ServedLate) },
	"expired":      func(f *Figures) float64 { return percent(f.ExpiredInQueue) },
	"refusals":     func(f *Figures) float64 { return float64(f.Refusals) },
	"refused":      func(f *Figures) float64 { return percent(f.Refused) },
	"failed":       func(f *Figures) float64 { return percent(float64(f.Failed) / float64(max(f.Offered, 1))) },
	"errors":       func(f *Figures) float64 { return percent(float64(f.Errors) / float64(max(f.Attempts, 1))) },
	"attempts":     func(f *Figures) float64 { return f.AttemptsPerOffered },
	"upstream":     func(f *Figures) float64 { return f.RunsPerOffered },
	"refusal-mean": func(f *Figures) float64 { return f.RefusalMean },
	"wait-mean":    func(f *Figures) float64 { return f.WaitMean },
	"wait-p95":     func(f *Figures) float64 { return f.WaitP95 },
	"wait-p99":     func(f *Figures) float64 { return f.WaitP99 },
	"wait-mae":     func(f *Figures) float64 { return f.WaitMAE },
	"degraded":     func(f *Figures) float64 { return percent(f.Degraded) },
	"stood-for":    func(f *Figures) float64 { return percent(f.StoodFor) },
	"latency-mean": func(f *Figures) float64 { return f.LatencyMean },
}

// wholeMeasures are those of a whole run, over everybody.
var wholeMeasures = map[string]func(*Result) float64{
	"goodput": func(r *Result) float64 { return percent(r.GoodputWork / max(r.PossibleWork, 1e-9)) },
	"jain":    func(r *Result) float64 { return r.JainSlotSeconds },
	"recovery": func(r *Result) float64 {
		if r.Recovery == nil {
			return r.Duration
		}
		return *r.Recovery
	},
	"throughput": func(r *Result) float64 { return float64(r.OnTime) / r.Duration },
	// of the clairvoyant's goodput, if the scenario is also played with it
	"of-oracle": func(r *Result) float64 {
		if r.OracleWork == nil {
			return 0
		}
		return percent(r.GoodputWork / *r.OracleWork)
	},
	"of-oracle-count": func(r *Result) float64 {
		if r.OracleCount == nil {
			return 0
		}
		return percent(r.GoodputCount / *r.OracleCount)
	},
}

func measureNames() []string {
	var names []string
	for n := range measures {
		names = append(names, n)
	}
	for n := range wholeMeasures {
		names = append(names, n)
	}
	for n := range deploymentMeasures {
		names = append(names, n)
	}
	for n := range ladderMeasures {
		names = append(names, n)
	}
	for n := range spendMeasures {
		names = append(names, n)
	}
	names = append(names, alarmWord+"fast")
	slices.Sort(names)
	return names
}

func (e *Expectation) measure(s *Scenario, results map[string]*Result) (float64, error) {
	policy := e.Policy
	if policy == "" {
		policy = s.Policies[0]
	}
	r := results[policy]
	if r == nil {
		return 0, fmt.Errorf("%q is not among the policies of the scenario: %s", policy, strings.Join(s.Policies, ", "))
	}
	if f := wholeMeasures[e.Measure]; f != nil {
		return f(r), nil
	}
	if f := deploymentMeasures[e.Measure]; f != nil {
		xs, err := r.named(e.Who)
		if err != nil {
			return 0, err
		}
		return f(r, xs, e.After)
	}
	if f := ladderMeasures[e.Measure]; f != nil {
		return f(r, e.Who, e.After)
	}
	if ofAccount(e.Measure) {
		return r.ofAccounts(e.Measure, e.Who)
	}
	if _, err := path.Match(e.Who, ""); err != nil {
		return 0, fmt.Errorf("%q: %w", e.Who, err)
	}
	if e.After > 0 {
		return e.onTimeAfter(r)
	}
	var who counts
	for _, c := range r.counts {
		if e.means(c.group, c.class) {
			who.add(c)
		}
	}
	if who.offered == 0 {
		return 0, e.nobody()
	}
	f := who.figures(r.capacity)
	return measures[e.Measure](&f), nil
}

// means says whether the expectation is about a group in a class.
func (e *Expectation) means(group string, class admit.Class) bool {
	named, _ := path.Match(e.Who, group)
	return e.Who == "" || named || e.Who == class.String()
}

func (e *Expectation) nobody() error { return fmt.Errorf("nobody called %q made a request", e.Who) }

// onTimeAfter is the share on time of the requests made after a time, in per
// cent, those whose callers left early apart.
func (e *Expectation) onTimeAfter(r *Result) (float64, error) {
	var offered, onTime int32
	for _, c := range r.courses {
		if !e.means(c.group, c.class) {
			continue
		}
		for _, x := range c.byTime[min(int(e.After/time.Second), len(c.byTime)):] {
			offered += x.offered - x.left
			onTime += x.onTime
		}
	}
	if offered == 0 {
		return 0, e.nobody()
	}
	return percent(float64(onTime) / float64(offered)), nil
}
