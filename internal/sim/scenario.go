package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Scenario is a story in a text file: a world, callers, what happens to them,
// and what is expected to come of it. See docs/scenarios.md for the language.
type Scenario struct {
	Title    string
	Seed     uint64
	Length   time.Duration
	Policy   admit.Policy
	Upstream Upstream
	// Upstreams by deployment, of those that have a line of their own.
	Upstreams map[string]Upstream
	Callers   []Caller
	Ladders   map[string][]Rung // what the rungs of a model's ladder really do
	Script    []Happening
	Expects   []Expectation
	Policies  []string // deciders to play it with; the first is the one that is plotted
	// Static are requests a minute by tenant that only policies without a better idea enforce: "limits" and "breaker".
	Static map[string]int64
}

// Expectation is a bar: a measure of somebody and what it must come to.
type Expectation struct {
	Line    string
	Line1   int    // line number
	Policy  string // "" is the first of the scenario
	Measure string
	Who     string // a group, a class, or "" for all
	After   time.Duration
	Op      string
	Value   float64
}

const scenarioModel = "m"

// Play runs the scenario with one policy.
func (s *Scenario) Play(policy string, check func(Decider, time.Time)) (*Result, error) {
	p := s.Policy
	p.Models = slices.Clone(p.Models)
	if policy == "limits" || policy == "breaker" {
		p.Tenants = slices.Clone(p.Tenants)
		for i := range p.Tenants {
			if n := s.Static[p.Tenants[i].Name]; n > 0 {
				p.Tenants[i].Limits = map[string]admit.Limits{"": {Requests: n}}
			}
		}
	}
	p.Defaults()
	callers := slices.Clone(s.Callers)
	for i := range callers {
		callers[i].Model = cmp.Or(callers[i].Model, p.Models[0].Name)
	}
	w := World{
		Policy: &p, Upstreams: s.upstreams(), Ladders: s.Ladders, Decider: policy, Seed: s.Seed, Length: s.Length, Script: s.Script, Check: check,
	}
	return Simulate(w, Poisson(callers, s.Length, s.Seed))
}

// Outcome is a scenario played with all its policies.
type Outcome struct {
	Results map[string]*Result
	Text    string   // what stands below the story: bars, tables, plot
	Missed  []string // bars that were not met
}

// Tell plays the scenario with all its policies and says how it ended.
func (s *Scenario) Tell(check func(Decider, time.Time)) (*Outcome, error) {
	o := &Outcome{Results: map[string]*Result{}}
	for _, name := range s.Policies {
		r, err := s.Play(name, check)
		if err != nil {
			return nil, err
		}
		o.Results[name] = r
		check = nil // the invariants are those of the first
	}
	if oracle := o.Results["oracle"]; oracle != nil {
		for _, r := range o.Results {
			r.Against(oracle)
		}
	}
	var b strings.Builder
	for _, e := range s.Expects {
		got, err := e.measure(s, o.Results)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", e.Line1, err)
		}
		if !e.met(got) {
			o.Missed = append(o.Missed, fmt.Sprintf("%s: got %.4g", e.Line, got))
		}
		fmt.Fprintf(&b, "%-48s %.4g\n", e.Line, got)
	}
	for _, name := range s.Policies {
		b.WriteByte('\n')
		if len(s.Policies) > 1 {
			fmt.Fprintf(&b, "policy %s\n", name)
		}
		b.WriteString(o.Results[name].Table())
	}
	b.WriteByte('\n')
	b.WriteString(o.Results[s.Policies[0]].Plot())
	o.Text = b.String()
	return o, nil
}

func (e *Expectation) met(got float64) bool {
	switch e.Op {
	case ">=":
		return got >= e.Value
	case "<=":
		return got <= e.Value
	case ">":
		return got > e.Value
	case "<":
		return got < e.Value
	default:
		return got == e.Value
	}
}

// slots is the slots that the gateway was told of.
func (s *Scenario) slots() int { return slotsOf(&s.Policy.Models[0]) }

// upstreams are those of the world.
func (s *Scenario) upstreams() map[string]Upstream {
	if len(s.Upstreams) > 0 {
		return s.Upstreams
	}
	return map[string]Upstream{s.Policy.Models[0].Name: s.Upstream}
}

// capacity is the requests a second that a model's upstreams can serve.
func (s *Scenario) capacity(model string) (rate float64) {
	usual := &Arrival{Input: 100, Output: 200}
	if len(s.Upstreams) == 0 {
		return float64(s.Upstream.Slots) * (1 / s.Upstream.mean(usual))
	}
	for i := range s.Policy.Models {
		m := &s.Policy.Models[i]
		if m.Name != cmp.Or(model, s.Policy.Models[0].Name) {
			continue
		}
		for _, d := range m.Deployments {
			u := s.Upstreams[d.Name]
			rate += float64(u.Slots) / u.mean(usual)
		}
	}
	return rate
}

// change is a happening that gives the decider a changed policy.
func change(f func(*admit.Policy)) func(*Run) {
	return func(r *Run) {
		c, ok := r.decider.(interface {
			Configure(time.Time, *admit.Policy) []admit.Decision
		})
		if !ok {
			return // baselines keep the policy they began with
		}
		p := *r.world.Policy
		p.Models = slices.Clone(p.Models)
		for i := range p.Models {
			p.Models[i].Deployments = slices.Clone(p.Models[i].Deployments)
		}
		p.Tenants = slices.Clone(p.Tenants)
		f(&p)
		p.Defaults()
		r.world.Policy = &p
		r.take(c.Configure(r.now, &p))
	}
}

// upstreams is a happening that changes every upstream.
func upstreams(f func(*server)) func(*Run) {
	return func(r *Run) {
		for _, s := range r.servers {
			s.advance(r.now)
			f(s)
		}
	}
}

// on is a happening that changes the upstream of a deployment, or with "" all.
func on(deployment string, f func(time.Time, *server)) func(*Run) {
	return func(r *Run) {
		upstreams(func(s *server) {
			if x := r.sites[deployment]; deployment == "" || x != nil && x.server == s {
				f(r.now, s)
			}
		})(r)
	}
}

func percent(share float64) float64 {
	if math.IsNaN(share) {
		return 0
	}
	return 100 * share
}
