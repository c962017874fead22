package admit

import (
	"slices"
	"time"
)

// decide finds the answer to a request: as its class and its budgets are served
// now, else cheaper down the ladder as far as its caller agrees, else by another
// model that may serve it instead, else from before. Each try is a plan of its
// own; t is told of them, if it is not nil.
func (c *Controller) decide(now time.Time, r *Request, p *plan, t *dryRun) {
	home := c.poolOf(r.Model)
	if home == nil {
		c.try(now, r, nil, 0, p, t)
		return
	}
	set := c.standing(now, r, home)
	if c.stay(now, r, home, set, p, t) {
		return
	}
	if set == 0 {
		c.try(now, r, home, 0, p, t)
	} else {
		set = c.least(now, r, home, set, p, t)
	}
	if p.verdict != Reject {
		return
	}
	if c.descend(now, r, set, p, t); p.verdict != Reject {
		return
	}
	for _, name := range c.instead(p) {
		asked, other := *r, plan{}
		asked.Model = name
		if c.try(now, &asked, home, 0, &other, t); other.verdict != Reject {
			*p = other
			return
		}
	}
	c.recall(r, p)
}

// stay tries the model that the request's session was moved to.
func (c *Controller) stay(now time.Time, r *Request, home *pool, set Rungs, p *plan, t *dryRun) bool {
	x := c.staying(now, r, home)
	if x == nil {
		return false
	}
	q, rungs := *r, Rungs(0)
	if x.rungs != 0 {
		rungs = set
		for i := range home.rungs {
			if x.rungs.Has(i) {
				rungs = home.with(rungs, i)
			}
		}
		q = c.degraded(r, home, rungs)
	}
	q.Model = x.at
	var other plan
	if c.try(now, &q, home, rungs, &other, t); other.verdict == Reject {
		return false
	}
	*p = other
	p.stayed = true
	return true
}

// try looks at a request in one form. home is the model that was asked for.
func (c *Controller) try(now time.Time, q *Request, home *pool, rungs Rungs, p *plan, t *dryRun) {
	p.home, p.rungs = home, rungs
	if home != nil && c.byModel[q.Model] != home && q.Model != home.policy.Name {
		if other := c.byModel[q.Model]; other != nil {
			p.model, p.visited = q.Model, []*pool{home}
		}
	}
	if t != nil {
		c.walk(now, q, p, t)
		return
	}
	c.look(now, q, p)
}

// instead is the models that may serve a request which is refused because its
// own is overloaded, in order.
func (c *Controller) instead(p *plan) (names []string) {
	if p.verdict != Reject || p.home == nil {
		return nil
	}
	causes := [...]Cause{CauseOverloaded, CauseError}
	list := causes[:1]
	switch p.stage {
	case StageCapacity: // its breakers are open
		list = causes[:]
	case StageShed, StageWait, StageBound:
	default:
		return nil
	}
	for _, cause := range list {
		for _, name := range p.home.policy.Fallback[cause] {
			if q := c.byModel[name]; q != nil && q != p.home && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
