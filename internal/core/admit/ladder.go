package admit

import "time"

// usable says that rung i may be taken for the request: it is on, it changes
// something, and the caller agrees.
func (p *pool) usable(now time.Time, r *Request, i int) bool {
	x := &p.policy.Ladder.Rungs[i]
	return !x.Off && x.Kind != RungRecent && r.Rungs[i].Changes && r.May&x.Kind.needs() != 0 && !now.Before(p.rungs[i].asleep)
}

// standing is the rungs that every request of this kind takes now: by the level
// of its class, and by what is spent.
func (c *Controller) standing(now time.Time, r *Request, home *pool) (set Rungs) {
	if len(home.rungs) == 0 || c.policy.Observe || r.Class >= NumClasses {
		return 0
	}
	return home.upTo(now, r, max(home.levels[r.Class].idle(now, &home.policy.Ladder), spendLevel(r.Class, &c.payers)))
}

// upTo is the rungs that a request takes at a level.
func (p *pool) upTo(now time.Time, r *Request, at uint8) (set Rungs) {
	if at == 0 || r.May&MayDegrade == 0 {
		return 0
	}
	for i := range p.rungs {
		if uint8(p.policy.Ladder.Rungs[i].Kind) < at && p.usable(now, r, i) {
			set = p.with(set, i)
		}
	}
	return set
}

// with is a set with one more rung. One pool serves a request: a rung that
// sends it to another takes the place of the one that did so before.
func (p *pool) with(set Rungs, i int) Rungs {
	if p.policy.Ladder.Rungs[i].Model != "" {
		for j := range p.rungs {
			if p.policy.Ladder.Rungs[j].Model != "" {
				set &^= 1 << j
			}
		}
	}
	return set | 1<<i
}

// spendLevel is the level that accounts ask for. Lower classes are a step ahead.
func spendLevel(class Class, list *payers) (at uint8) {
	for _, a := range list {
		if a != nil {
			at = max(at, a.level)
		}
	}
	if at > 0 && class >= Batch {
		at = min(at+1, NumLevels-1)
	}
	return at
}

// degraded is the request with the rungs of a set.
func (c *Controller) degraded(r *Request, home *pool, set Rungs) Request {
	q := *r
	for i := range home.rungs {
		if !set.Has(i) {
			continue
		}
		q.Input, q.MaxOutput = r.Rungs[i].Input, r.Rungs[i].MaxOutput
		if m := home.policy.Ladder.Rungs[i].Model; m != "" {
			q.Model = m
		}
	}
	return q
}

// least tries a request with the rungs of its level. Where another pool would
// serve it but has no slot free, that is to relieve its own model and not to
// wait longer: the lowest pool is taken that it waits least for. It gives the
// rungs that were taken.
func (c *Controller) least(now time.Time, r *Request, home *pool, set Rungs, p *plan, t *dryRun) Rungs {
	q := c.degraded(r, home, set)
	c.try(now, &q, home, set, p, t)
	for i := len(home.rungs) - 1; i >= 0 && p.verdict != Run; i-- {
		if !(home.moving & set).Has(i) {
			continue
		}
		set &^= 1 << i
		q, other := c.degraded(r, home, set), plan{}
		c.try(now, &q, home, set, &other, t)
		if other.verdict == Run || other.verdict == Queue && (p.verdict == Reject || other.expect() < p.expect()) {
			*p = other
		}
	}
	return p.rungs
}

// mended says whether a cheaper form of the request may be let in where the
// stage refused it as it was.
func mended(s Stage) bool {
	switch s {
	case StageShed, StageWait, StageBound, StageSpend, StagePace, StageTokens, StageCapacity:
		return true
	}
	return false
}

// descend looks for the first cheaper form of a refused request that is let in:
// it goes down the ladder, and leaves out what makes no difference.
func (c *Controller) descend(now time.Time, r *Request, set Rungs, p *plan, t *dryRun) {
	home := p.home
	if home == nil || len(home.rungs) == 0 || r.May&MayDegrade == 0 || !mended(p.stage) || c.policy.Observe {
		return
	}
	for i := range home.rungs {
		if set.Has(i) || !home.usable(now, r, i) {
			continue
		}
		next := home.with(set, i)
		q := c.degraded(r, home, next)
		other := plan{}
		if c.try(now, &q, home, next, &other, t); other.verdict != Reject {
			*p = other
			p.stage = StageLadder
			return
		}
		if home.policy.Ladder.Rungs[i].Model == "" { // what another model refuses is not its to serve
			set = next
		}
	}
}

// recall answers a refused request with an answer from before, if the caller
// takes one and the ladder ends with it.
func (c *Controller) recall(r *Request, p *plan) {
	if p.home == nil || !mended(p.stage) || c.policy.Observe {
		return
	}
	if set, ok := p.home.recent(r); ok {
		p.verdict, p.stage, p.rungs = Recall, StageLadder, set
	}
}

// recent is the rung for answers from before, if it may be taken.
func (p *pool) recent(r *Request) (set Rungs, ok bool) {
	if !r.Recent || r.May&MayRecent == 0 {
		return 0, false
	}
	for i := range p.rungs {
		if x := &p.policy.Ladder.Rungs[i]; x.Kind == RungRecent && !x.Off {
			return 1 << i, true
		}
	}
	return 0, false
}

// Calm says that a request would be served as it was asked: its model has room
// and nobody waits, no level and no budget asks for less, and its session was
// not moved. It is for shells to whom it costs something to work out what the
// ladder would make of a request, and changes nothing.
func (c *Controller) Calm(now time.Time, r *Request) bool {
	home := c.poolOf(r.Model)
	if home == nil || r.Class >= NumClasses {
		return true
	}
	list := c.payersOf(r)
	if home.levels[r.Class].at > 0 || home.waiting() > 0 || !home.room(now) || spendLevel(r.Class, &list) > 0 {
		return false
	}
	if _, moved := c.stays.byKey[stayKey{r.Tenant, r.Session, home.policy.Name}]; moved {
		return false
	}
	t := c.tenants[r.Tenant]
	if t == nil || home.index >= len(t.members) || t.members[home.index] == nil {
		return !c.counts // nothing is known of what it costs
	}
	m := t.members[home.index]
	est := home.service.Estimate(&m.known, r.Input, r.MaxOutput)
	if m.tokens != nil && !m.tokens.Fits(now, r.Input+est.Output) {
		return false
	}
	cost := home.charge(r.Input, r.MaxOutput, est, r.Tier, &list)
	for _, a := range list {
		if a != nil && a.slack <= cost.most {
			return false
		}
	}
	return true
}
