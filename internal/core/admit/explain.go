package admit

import (
	"slices"
	"time"

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

// Explain says what Offer would decide, and why, without changing anything.
// Where a cheaper form or another model may serve instead, its stages follow.
func (c *Controller) Explain(now time.Time, r Request) Trace {
	var t Trace
	if home := c.poolOf(r.Model); home != nil {
		defer home.asWas()()
	}
	for _, a := range c.pays(&r) {
		if a != nil && (a.alarm != Calm || a.level > 0) { // as an offer would look again
			alarm, level, slack := a.alarm, a.level, a.slack
			defer func() { a.alarm, a.level, a.slack = alarm, level, slack }()
			a.alarm, a.level, _ = a.judge(now)
		}
	}
	p := plan{}
	c.decide(now, &r, &p, &t)
	t.Decision = Decision{
		ID: r.ID, Verdict: p.verdict, Stage: p.stage, Wait: p.expect(), Need: p.need, RetryAfter: p.retry, NoRetry: p.noRetry, Observed: p.observed,
		Limit: p.limit, Figure: p.figure, Bound: p.bound, Model: p.model, Rungs: p.rungs,
	}
	return t
}

// walk looks stage by stage and writes down what each found.
func (c *Controller) walk(now time.Time, r *Request, p *plan, t *Trace) {
	if q := c.poolOf(r.Model); q != nil {
		defer q.asWas()() // a refresh for the sake of looking would move the next one
	}
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

// asWas gives what puts a pool's predictions back to where they are now.
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
	slows := make([]float64, len(p.deployments))
	for i, d := range p.deployments {
		slows[i] = d.slow
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
			d.slow = slows[i]
		}
	}
}
