package sim

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

// WhatIf asks what would have come of recorded requests under another
// configuration. Both configurations meet the same requests with the same luck.
type WhatIf struct {
	Now, Then *config.Config
	Seen      []Seen        // all that is known until End; it is put in order of time
	End       time.Duration // on the clock of Seen.At
	Asked     time.Duration // how long before it is asked about
	// Each is Now with one of the settings alone, by its path, to say which of
	// them show no effect.
	Each      map[string]*config.Config
	Seed      uint64
	Interrupt func() error // as in World
}

// Forecast is the answer, about what was made from From to To.
type Forecast struct {
	From, To  time.Duration
	Now, Then Fate // simulated
	Measured  Fate // what really came
	Classes   []ClassFates
	Tenants   []TenantFates // most changed first
	Warnings  []string
}

// ClassFates are those of one class.
type ClassFates struct {
	Class     admit.Class
	Now, Then Fate
}

// TenantFates are those of one tenant.
type TenantFates struct {
	Tenant    string
	Now, Then Fate
}

// Run simulates both, one after the other: a serving process keeps its other
// processors.
func (w *WhatIf) Run() (*Forecast, error) {
	now, then := PolicyOf(w.Now), PolicyOf(w.Then)
	slices.SortStableFunc(w.Seen, func(a, b Seen) int { return cmp.Compare(a.At, b.At) })
	x, err := measure(now, w.Seen, w.rest)
	if err != nil {
		return nil, err
	}
	f := &Forecast{}
	f.From, f.To = w.window()
	f.Measured = measured(w.Seen, f.From, f.To)
	w.warn(f, now, then, x)
	ups := x.upstreams(now)
	list, err := play(w.Seen, x.others, ups, f.From, f.To, w.Seed, w.rest)
	if err != nil {
		return nil, err
	}
	a, err := w.simulate(w.Now, now, x, list, f.To-f.From)
	if err != nil {
		return nil, err
	}
	b, err := w.simulate(w.Then, then, x, list, f.To-f.From)
	if err != nil {
		return nil, err
	}
	f.compare(a, b)
	return f, nil
}

const (
	leadSpan = time.Minute      // that is played first and does not count
	tailSpan = 30 * time.Second // at the end, that may not count because it is not over
)

// window is what counts of the recording. Before it, for a minute or a fifth of
// what there is, requests are played so that queues, rates and predictions are
// as they were. It ends with the first request that is not over, but at most
// half a minute before the end.
func (w *WhatIf) window() (from, to time.Duration) {
	if len(w.Seen) == 0 {
		return 0, w.End
	}
	first := w.Seen[0].At
	to = w.End
	for i := range w.Seen {
		if s := &w.Seen[i]; s.Came == CameNothing && s.At >= w.End-tailSpan {
			to = s.At
			break
		}
	}
	if to-first < (w.End-first)/2 { // too much of what there is
		to = w.End
	}
	lead := min(leadSpan, (to-first)/5)
	return max(to-w.Asked, first+lead), to
}

// rest is called between two of many small steps.
func (w *WhatIf) rest(step int) error {
	if w.Interrupt == nil || step%interruptEvery != 0 {
		return nil
	}
	return w.Interrupt()
}

func (w *WhatIf) simulate(c *config.Config, p *admit.Policy, x *planes, list []Arrival, span time.Duration) (*fates, error) {
	x.learnt(p)
	ups := x.upstreams(p)
	r, err := Simulate(World{Policy: p, Upstreams: ups, Ladders: laddersOf(c), Seed: w.Seed, Interrupt: w.Interrupt}, &played{list: list})
	if err != nil {
		return nil, err
	}
	return fatesOf(r.counts, span), nil
}

// laddersOf is what the rungs of a configuration do, as far as it says so.
func laddersOf(c *config.Config) map[string][]Rung {
	ladders := map[string][]Rung{}
	for name, m := range c.Models {
		for i := range m.Degrade {
			g := &m.Degrade[i]
			r := Rung{MaxInput: g.MaxInputTokens, MaxOutput: g.MaxOutputTokens, Saving: float64(g.Saving) / 100}
			if g.Kind == admit.RungRecent {
				r.Hit = neverHit
			}
			ladders[name] = append(ladders[name], r)
		}
	}
	return ladders
}

// neverHit is the share of requests that there is an answer from before for:
// the recording does not say what two requests have in common.
const neverHit = 1e-12

// mostTenants are told of.
const mostTenants = 20

func (f *Forecast) compare(a, b *fates) {
	f.Now, f.Then = a.all, b.all
	for c := range a.classes {
		if a.classes[c].Offered > 0 {
			f.Classes = append(f.Classes, ClassFates{admit.Class(c), a.classes[c], b.classes[c]})
		}
	}
	for name, fate := range a.tenants {
		f.Tenants = append(f.Tenants, TenantFates{name, fate, b.tenants[name]})
	}
	slices.SortFunc(f.Tenants, func(a, b TenantFates) int {
		return cmp.Or(cmp.Compare(b.moved(), a.moved()), cmp.Compare(b.Now.Offered, a.Now.Offered), strings.Compare(a.Tenant, b.Tenant))
	})
	f.Tenants = f.Tenants[:min(len(f.Tenants), mostTenants)]
}

// moved is how many requests have another fate, counted by what they came to.
func (t *TenantFates) moved() int64 {
	return apart(t.Now.OnTime, t.Then.OnTime) + apart(t.Now.Refused, t.Then.Refused) + apart(t.Now.Degraded, t.Then.Degraded)
}

// fewRequests are too few to tell a difference from chance.
const fewRequests = 300

// warn says what the forecast does not know.
func (w *WhatIf) warn(f *Forecast, now, then *admit.Policy, x *planes) {
	tell := func(format string, args ...any) { f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...)) }
	offered, retries, failed, open, recalled := 0, 0, 0, 0, 0
	for i := range w.Seen {
		s := &w.Seen[i]
		if s.At < f.From || s.At >= f.To {
			continue
		}
		offered++
		switch {
		case s.Attempt > 0:
			retries++
		case s.Came == CameFailure || s.Down:
			failed++
		case s.Came == CameNothing:
			open++
		case s.Came == CameAnswer && s.Sent == 0:
			recalled++
		}
	}
	if span := f.To - f.From; span < w.Asked*9/10 {
		tell("%v of traffic are looked at, not the %v asked for: before it, requests are played to fill queues, or none are remembered", span.Round(time.Second), w.Asked)
	}
	if offered < fewRequests {
		tell("only %d requests: differences of a few per cent are chance", offered)
	}
	if 100*open > offered {
		tell("%d requests have not ended yet: measured counts them as offered, not as served", open)
	}
	if retries > 0 {
		tell("%d retries of callers are not played as they came: simulated callers come back as often as each tenant's did, after the time they are told", retries)
	}
	if 100*failed > offered {
		tell("%d requests failed upstream, or nothing there could be used: simulated upstreams do not fail, and have no limits of their own", failed)
	}
	if recalled > 0 {
		tell("%d requests were given an answer from before: the simulation has none, and sends them upstream", recalled)
	}
	if budgeted(then) {
		tell("budgets begin empty: what was spent before the window is not known to the simulation")
	}
	if slices.ContainsFunc(then.Models, daily) {
		tell("daily limits of keys begin unused, at midnight")
	}
	w.warnModels(tell, now, then, x)
	w.warnSettings(tell, now)
}

// warnSettings names what shows no effect: what decides nothing, or nothing
// that is simulated, such as headers, times of connections and what is logged.
func (w *WhatIf) warnSettings(tell func(string, ...any), now *admit.Policy) {
	ladders := laddersOf(w.Now)
	for _, path := range slices.Sorted(maps.Keys(w.Each)) {
		if c := w.Each[path]; reflect.DeepEqual(PolicyOf(c), now) && reflect.DeepEqual(laddersOf(c), ladders) {
			tell("%s shows no effect: it is as it was, or nothing that is simulated", path)
		}
	}
}

func daily(m admit.Model) bool {
	return slices.ContainsFunc(m.Deployments, func(d admit.Deployment) bool {
		return slices.ContainsFunc(d.Keys, func(k admit.Quota) bool { return k.Daily > 0 })
	})
}

// warnModels is what is not known of upstreams.
func (w *WhatIf) warnModels(tell func(string, ...any), now, then *admit.Policy, x *planes) {
	used := map[string]bool{}
	for i := range w.Seen {
		used[w.Seen[i].Model] = true
	}
	before := map[string]*admit.Deployment{}
	priors := map[string]admit.Prior{}
	for i := range now.Models {
		m := &now.Models[i]
		priors[m.Name] = m.Prior
		for j := range m.Deployments {
			before[m.Deployments[j].Name] = &m.Deployments[j]
		}
	}
	for i := range then.Models {
		m := &then.Models[i]
		if !used[m.Name] {
			continue
		}
		for j := range m.Deployments {
			d := &m.Deployments[j]
			old := before[d.Name]
			if site := x.sites[d.Name]; old == nil || site == nil || site.calls < enoughCalls {
				tell("%s of %s: too few calls were measured there; its times are taken from the other deployments, or from prior", d.Name, m.Name)
			}
			switch {
			case old == nil || d.Concurrency == old.Concurrency:
			case d.Concurrency > min(x.sites[d.Name].most, old.Concurrency):
				tell("%s of %s had at most %d calls at once: with more, its upstream may be slower than the simulation knows", d.Name, m.Name, min(x.sites[d.Name].most, old.Concurrency))
			case x.sites[d.Name].spread < leastSpread:
				tell("%s of %s always had about as many calls at once: how its times change with their number is not known, and they are taken as they were", d.Name, m.Name)
			}
		}
		if p, ok := priors[m.Name]; ok && !reflect.DeepEqual(p, m.Prior) && x.pools[m.Name].calls >= enoughCalls {
			tell("models.%s.prior shows no effect: times were measured, and count", m.Name)
		}
		if slices.ContainsFunc(m.Ladder.Rungs, func(g admit.Rung) bool { return !g.Off }) {
			tell("what the ladder of %s saves is taken from its settings (max_input_tokens, max_output_tokens, saving), not measured", m.Name)
		}
	}
}
