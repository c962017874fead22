package admit

import (
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/breaker"
	"github.com/spillway-llm/spillway/internal/core/predict"
)

// Step is what one stage found for a request.
type Step struct {
	Model   string // the other model that was looked at; empty for the one that was asked for
	Rungs   Rungs  // of the ladder, that the request was looked at with
	Stage   Stage
	Decides bool
	Limit   string // what was measured; empty where the stage has nothing to measure
	Figure  int64
	Bound   int64
}

// Trace is a dry run: the stages that were asked, and the decision they lead to.
type Trace struct {
	Steps    []Step
	Decision Decision
}

// dryRun is a trace that is being made, and what takes back all that making it
// changed: what is worked out anew for the sake of looking would move the next
// time that it is.
type dryRun struct {
	Trace
	kept []*pool
	undo []func()
}

// Explain says what Offer would decide, and why, without changing anything.
// Where a cheaper form or another model may serve instead, its stages follow.
// What the first look makes anew the later ones find, as they do in an offer.
func (c *Controller) Explain(now time.Time, r Request) Trace {
	var t dryRun
	defer func() {
		for _, undo := range slices.Backward(t.undo) {
			undo()
		}
	}()
	t.keep(now, c.poolOf(r.Model), c.tenants[r.Tenant])
	for _, a := range c.pays(&r) {
		if a == nil {
			continue
		}
		t.undo = append(t.undo, a.asWas(now))
		if a.alarm != Calm || a.level > 0 { // as an offer would look again
			a.alarm, a.level, _ = a.judge(now)
		}
	}
	p := plan{}
	c.decide(now, &r, &p, &t)
	t.Decision = Decision{
		ID: r.ID, Verdict: p.verdict, Stage: p.stage, Wait: p.expect(), Need: p.need, RetryAfter: p.retry, NoRetry: p.noRetry, Observed: p.observed,
		Limit: p.limit, Figure: p.figure, Bound: p.bound, Model: p.model, Rungs: p.rungs,
	}
	return t.Trace
}

// keep remembers a pool, and what a tenant has there, before they are looked at.
func (t *dryRun) keep(now time.Time, p *pool, x *tenant) {
	if p == nil || slices.Contains(t.kept, p) {
		return
	}
	t.kept = append(t.kept, p)
	t.undo = append(t.undo, p.asWas())
	if x != nil {
		t.undo = append(t.undo, x.asWas(now, p))
	}
}

// walk looks stage by stage and writes down what each found.
func (c *Controller) walk(now time.Time, r *Request, p *plan, t *dryRun) {
	t.keep(now, c.poolOf(r.Model), c.tenants[r.Tenant])
	for _, s := range stages {
		p.measure("", 0, 0)
		decides := s.look(c, now, r, p)
		t.Steps = append(t.Steps, Step{p.model, p.rungs, s.stage, decides, p.limit, p.figure, p.bound})
		if decides {
			p.stage = s.stage
			return
		}
	}
}

// asWas gives what takes back whatever looking at a tenant in a pool changes:
// one that never came there has nothing there, not even an account.
func (t *tenant) asWas(now time.Time, p *pool) func() {
	n := len(t.members)
	if p.index >= n || t.members[p.index] == nil {
		return func() {
			if p.index < len(t.members) {
				t.members[p.index] = nil
			}
			t.members = t.members[:n]
		}
	}
	m := t.members[p.index]
	lanes, spent := m.lanes, func() {}
	if m.spent != nil {
		spent = m.spent.asWas(now)
	}
	return func() {
		m.lanes = lanes
		spent()
	}
}

// asWas gives what puts a pool's predictions, and what they were made of, back
// to where they are now.
func (p *pool) asWas() func() {
	outlook, service, supply, ranks := p.outlook, *p.service, p.supply, slices.Clone(p.ranks)
	var lanes [NumClasses][]*lane
	var counted [NumClasses][]predict.Demand
	for class, list := range p.lanes {
		lanes[class] = slices.Clone(list)
		counted[class] = make([]predict.Demand, len(list))
		for i, l := range list {
			counted[class][i] = l.counted
		}
	}
	type surveyed struct {
		slots   int
		slow    float64
		breaker breaker.Standing
	}
	found := make([]surveyed, len(p.deployments))
	for i, d := range p.deployments {
		found[i] = surveyed{d.slots, d.slow, d.breaker.Standing()}
	}
	return func() {
		p.outlook, *p.service, p.supply = outlook, service, supply
		copy(p.ranks, ranks)
		for class, list := range lanes {
			p.lanes[class] = append(p.lanes[class][:0], list...)
			for i, l := range list {
				l.counted, l.demand = counted[class][i], i
			}
		}
		for i, d := range p.deployments {
			x := &found[i]
			d.slots, d.slow = x.slots, x.slow
			d.breaker.Restore(x.breaker)
		}
	}
}
