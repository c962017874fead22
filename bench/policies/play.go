package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/sim"
)

// play is one workload with all policies.
type play struct {
	title    string
	world    sim.World
	arrivals []sim.Arrival
	kinds    []sim.Kind
	bars     []bar
	result   *sim.Comparison
}

// add makes the reference workload at a load, to be changed.
func (b *bench) add(title string, load float64) *play {
	p := &play{title: title}
	p.world = sim.World{Policy: sim.PolicyOf(b.config), Seed: seed}
	p.world.Upstreams, p.kinds = sim.FromConfig(b.config)
	offered, err := sim.Survey(p.world, &list{b.arrivals})
	if err != nil {
		panic(err) // a list has no errors
	}
	p.arrivals = stretched(b.arrivals, offered.Load()/load)
	b.plays = append(b.plays, p)
	return p
}

// script lets things happen from a part of the run to another. story is the
// line of a scenario with two times left out.
func (p *play) script(story string, from, to float64) (*sim.Scenario, error) {
	at := func(part float64) string {
		return stretched(p.arrivals[len(p.arrivals)-1:], part)[0].At.String()
	}
	s, err := sim.ParseScenario(p.title, strings.NewReader(
		"slots 1\ncaller somebody\nfor 1s\n"+fmt.Sprintf(story, at(from), at(to))))
	if err == nil {
		p.world.Script = s.Script
	}
	return s, err
}

func (p *play) oneTenant() {
	p.arrivals = changed(p.arrivals, func(a *sim.Arrival) { a.Tenant = "all" })
}

func (p *play) manners(change func(*sim.Manners)) {
	for i := range p.kinds {
		change(&p.kinds[i].Manners)
	}
}

func (p *play) upstream(change func(*sim.Upstream)) {
	for name, u := range p.world.Upstreams {
		change(&u)
		p.world.Upstreams[name] = u
	}
}

// compare plays it.
func (p *play) compare() (err error) {
	for _, a := range p.arrivals {
		tenants := &p.world.Policy.Tenants
		if !slices.ContainsFunc(*tenants, func(t admit.Tenant) bool { return t.Name == a.Tenant }) {
			*tenants = append(*tenants, admit.Tenant{Name: a.Tenant, Weight: 1})
		}
	}
	p.result, err = sim.Compare(p.world, func() (sim.Source, error) {
		return sim.Dress(&list{p.arrivals}, p.kinds, seed), nil
	}, policies())
	if err != nil {
		return fmt.Errorf("%s: %w", p.title, err)
	}
	return nil
}

// policies are all but those that are the same as another here: nobody has a
// static limit, and there is one class.
func policies() (names []string) {
	for _, line := range sim.Deciders() {
		name, _, _ := strings.Cut(line, " ")
		if name != "limits" && name != "oracle-rank" {
			names = append(names, name)
		}
	}
	return names
}

func (p *play) ours() *sim.Result { return p.result.Results["ours"] }
