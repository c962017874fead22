package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Tuned is what Tune found for one pool.
type Tuned struct {
	Ramp
	Advice
	// Trials put the configured policy beside the advice in full, and without
	// watermarks, at loads beyond the knee. Advice is the first of the two that
	// lost nothing; nothing is advised if both did.
	Trials []Trial
}

// Trial is one load with the configured thresholds and with others.
type Trial struct {
	Load float64
	*Comparison
}

const (
	rampFrom, rampTo, rampStep = 0.3, 2.0, 0.1
	worth                      = 0.005 // of goodput: less is no difference
)

// trialLoads are where advice must prove itself: near the knee and far beyond.
var trialLoads = []float64{0.8, 1.3, 2}

// Tune ramps the load of each pool that the workload uses, without protection,
// finds where lateness begins, and tries the thresholds that follow from it.
// workload must give the same arrivals every time. measured is how long calls
// of deployments really took, where that is known: see Measured.
func Tune(w World, workload func() (Source, error), measured map[string]time.Duration) ([]Tuned, error) {
	var out []Tuned
	for i := range w.Policy.Models {
		t, err := tunePool(w, i, workload, measured)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", w.Policy.Models[i].Name, err)
		}
		if t != nil {
			out = append(out, *t)
		}
	}
	return out, nil
}

func tunePool(w World, index int, workload func() (Source, error), measured map[string]time.Duration) (*Tuned, error) {
	name := w.Policy.Models[index].Name
	only := func(stretch float64) func() (Source, error) {
		return func() (Source, error) {
			s, err := workload()
			if err != nil {
				return nil, err
			}
			return Stretch(&poolOnly{source: s, policy: w.Policy, name: name}, stretch), nil
		}
	}
	p, err := profile(w, name, only(1))
	if err != nil || p.Requests == 0 {
		return nil, err
	}
	for _, d := range w.Policy.Models[index].Deployments {
		if took := measured[d.Name]; took > 0 {
			if p.Calls == nil {
				p.Calls = map[string]time.Duration{}
			}
			p.Calls[d.Name] = took
		}
	}
	if p.Span <= 0 {
		return nil, fmt.Errorf("its %d requests come all at once: there is no load to ramp", p.Requests)
	}
	t := &Tuned{Ramp: Ramp{Profile: *p}}
	step := func(load float64) error {
		w := w
		w.Decider = "fifo"
		s, err := only(p.load() / load)()
		if err != nil {
			return err
		}
		r, err := Simulate(w, s)
		if err != nil {
			return err
		}
		t.Steps = append(t.Steps, Step{Load: load, Rate: float64(r.Offered) / r.Duration, Late: 1 - r.GoodputCount, Wait95: durationOf(r.WaitP95)})
		return nil
	}
	if err := t.climb(step); err != nil {
		return nil, err
	}
	return t, t.try(w, index, func(load float64) func() (Source, error) { return only(p.load() / load) })
}

// climb takes even steps, and then halves the one in which lateness begins.
func (t *Tuned) climb(step func(load float64) error) error {
	for i := 0; rampFrom+float64(i)*rampStep < rampTo+rampStep/2; i++ {
		if err := step(rampFrom + float64(i)*rampStep); err != nil {
			return err
		}
	}
	return t.narrow(func(good, bad Step) error { return step((good.Load + bad.Load) / 2) })
}

// try keeps the advice that loses nothing against what is configured.
func (t *Tuned) try(w World, index int, at func(load float64) func() (Source, error)) error {
	full := t.Ramp.Advise()
	tries := []struct {
		name   string
		advice Advice
		lost   bool
	}{{"as configured", Advice{}, false}, {"bounds alone", full.withoutMarks(), false}, {"all", full, false}}
	for _, load := range trialLoads {
		trial := Trial{load, &Comparison{Load: load, Results: map[string]*Result{}}}
		for i := range tries {
			w := w
			p := *w.Policy
			p.Models = append([]admit.Model(nil), p.Models...)
			p.Models[index] = tries[i].advice.apply(p.Models[index])
			w.Policy = &p
			s, err := at(load)()
			if err != nil {
				return err
			}
			r, err := Simulate(w, s)
			if err != nil {
				return err
			}
			name := tries[i].name
			trial.Order, trial.Results[name] = append(trial.Order, name), r
			before := trial.Results[tries[0].name]
			if r.GoodputWork < before.GoodputWork-worth || r.GoodputCount < before.GoodputCount-worth {
				tries[i].lost = true
			}
		}
		t.Trials = append(t.Trials, trial)
	}
	for i := len(tries) - 1; i >= 0; i-- {
		if !tries[i].lost {
			t.Advice = tries[i].advice
			break
		}
	}
	if u, ok := w.Upstreams[t.Model]; ok && u.Slots != slotsOf(&w.Policy.Models[index]) {
		t.Advice.Concurrency = u.Slots
		t.Advice.why.concurrency = fmt.Sprintf("the upstream has %d slots; what is sent beyond waits there, unseen, and what is not sent leaves them idle", u.Slots)
	}
	t.Advice = t.Advice.Within(&w.Policy.Models[index], &t.Profile)
	return nil
}

// poolOnly gives the arrivals of one pool.
type poolOnly struct {
	source Source
	policy *admit.Policy
	name   string
}

// Next implements Source.
func (s *poolOnly) Next() (Arrival, bool, error) {
	for {
		a, ok, err := s.source.Next()
		if err != nil || !ok || poolName(s.policy, a.Model) == s.name {
			return a, ok, err
		}
	}
}

// poolName is the pool that serves a model: its own, or the one for all
// others.
func poolName(p *admit.Policy, model string) string {
	for i := range p.Models {
		if p.Models[i].Name == model {
			return model
		}
	}
	return admit.AnyModel
}

// profile reads the requests of one pool to their end.
func profile(w World, name string, workload func() (Source, error)) (*Profile, error) {
	s, err := workload()
	if err != nil {
		return nil, err
	}
	r, err := newRun(w, s)
	if err != nil {
		return nil, err
	}
	u := r.room(name).first().Upstream
	p := &Profile{Model: name, Slots: r.room(name).slots(), Tenants: map[string]float64{}}
	rng := rand.New(rand.NewPCG(w.Seed, 0x5e1))
	var service, patience sketch
	tokens, sites := 0.0, r.room(name).sites
	calls := make([]float64, len(sites))
	for {
		a, ok, err := s.Next()
		if err != nil {
			return nil, err
		}
		if !ok || w.Length > 0 && a.At >= w.Length {
			break
		}
		p.Requests++
		p.Span = a.At
		p.Tenants[a.Tenant]++
		tokens += float64(a.Input + a.Output)
		work := u.draw(rng, &a)
		service.add(work.total)
		patience.add(bearable(w.Policy, &a, work).Seconds())
		for i, s := range sites {
			calls[i] += s.server.mean(&a)
		}
	}
	if r.named {
		p.Calls = map[string]time.Duration{}
		for i, s := range sites {
			p.Calls[s.name] = durationOf(calls[i] / float64(max(p.Requests, 1)))
		}
	}
	p.Service, p.Service95 = durationOf(service.mean()), durationOf(service.quantile(0.95))
	p.Patience = durationOf(patience.quantile(0.9))
	p.Tokens = tokens / float64(max(p.Requests, 1))
	for t, n := range p.Tenants {
		p.Tenants[t] = n / max(p.Span.Minutes(), 1e-9)
	}
	return p, nil
}

// bearable is how long a request can wait: what its deadline leaves, and no
// longer than its class lets the core plan for.
func bearable(p *admit.Policy, a *Arrival, w work) time.Duration {
	class := p.Classes[a.Class]
	deadline := a.Deadline
	if deadline == 0 {
		deadline = class.Deadline
	}
	need := w.total
	if a.Stream {
		need = w.first
	}
	return max(min(deadline-durationOf(need), class.MaxWait*4/5), 0)
}
