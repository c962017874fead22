package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/predict"
)

// payers are the accounts that a request is paid from, by scope; nil where
// there is no budget, or nobody by that name has spent anything yet.
type payers [NumScopes]*account

// hold is what a call holds in the accounts of its payers.
type hold struct {
	payers payers
	amount charge
	spent  int64 // by its attempts until now
}

// payersOf finds the accounts of a request, that of its tenant for its model
// included, if it has one already.
func (c *Controller) payersOf(r *Request) (list payers) {
	t := c.tenants[r.Tenant]
	if !c.counts || t == nil {
		return list
	}
	list[ScopeAll], list[ScopeTenant] = c.spent, t.spent
	list[ScopeKey], list[ScopeUser], list[ScopeSession] = t.keys.find(r.Key), t.users.find(r.User), t.sessions.find(r.Session)
	if p := c.poolOf(r.Model); p != nil && p.index < len(t.members) && t.members[p.index] != nil {
		list[ScopeModel] = t.members[p.index].spent
	}
	return list
}

// pays finds who pays for the request at hand, once for all that asks.
func (c *Controller) pays(r *Request) *payers {
	c.payers = c.payersOf(r)
	return &c.payers
}

// calmed looks again at accounts that asked for less: what they count may have
// become old since anything was last spent.
func (c *Controller) calmed(now time.Time, list *payers) {
	for _, a := range list {
		if a != nil && (a.alarm != Calm || a.level > 0) {
			c.alarm(now, a)
		}
	}
}

// lookSpend refuses what a budget has no room for. Until the real cost of a
// request is known, what it probably costs at most is held of all its budgets
// at once.
func (c *Controller) lookSpend(now time.Time, r *Request, p *plan) bool {
	if !c.counts {
		return false
	}
	p.payers = c.payers
	p.payers[ScopeModel] = p.member.spent // of the model that is looked at
	p.cost = p.pool.charge(r.Input, r.MaxOutput, p.est, r.Tier, &p.payers)
	for _, a := range p.payers {
		if a == nil {
			continue
		}
		budget, pace := a.over(now, r.Class, p.cost)
		if budget != nil {
			p.exceed(now, a, budget)
			p.noRetry, p.certain = true, true
			return p.reject(a.room(now, budget, p.cost))
		}
		if pace != nil && p.hasty == nil {
			p.hasty, p.pace = a, pace
		}
	}
	return false
}

// lookPace slows what would spend a day's or a month's budget in no time.
func (c *Controller) lookPace(now time.Time, _ *Request, p *plan) bool {
	if p.hasty == nil {
		return false
	}
	p.exceed(now, p.hasty, p.pace)
	return p.rejectUntil(p.hasty.room(now, p.pace, p.cost))
}

func (p *plan) exceed(now time.Time, a *account, l *limit) {
	used := a.held
	if !l.pace {
		used = a.bound
	}
	p.measure(limitWords(a.scope, l), l.purse.Sum(now)+used, l.most)
}

var scopeWords = [NumScopes]string{"the budget", "the tenant's budget", "the tenant's budget for the model", "the key's budget", "the user's budget", "the session's budget"}

// limitTexts are made once: refusals must not cost allocations.
var limitTexts = func() (t [NumScopes][NumSpans][2]string) {
	for s := range t {
		for span := range t[s] {
			name := scopeWords[s] + " of a " + Span(span).String()
			if Span(span) == Hour {
				name = scopeWords[s] + " of an hour"
			}
			t[s][span] = [2]string{name, "the pace of " + name}
		}
	}
	return t
}()

func limitWords(s Scope, l *limit) string {
	i := 0
	if l.pace {
		i = 1
	}
	return limitTexts[s][l.span][i]
}

// pay holds what an admitted request probably costs.
func (c *Controller) pay(now time.Time, k *call, r *Request, p *plan) {
	if !c.counts {
		return
	}
	k.hold = hold{payers: p.payers, amount: p.cost}
	t := p.tenant
	list := &k.hold.payers
	list[ScopeKey], list[ScopeUser], list[ScopeSession] = t.keys.use(now, r.Key), t.users.use(now, r.User), t.sessions.use(now, r.Session)
	for _, a := range list {
		if a != nil {
			a.take(now, p.cost)
			c.alarm(now, a)
		}
	}
}

// settleMoney ends the hold of a call: what its attempts really cost is spent.
func (c *Controller) settleMoney(now time.Time, k *call) {
	h := &k.hold
	for _, a := range h.payers {
		if a != nil {
			a.settle(now, h.amount, h.spent)
			c.alarm(now, a)
		}
	}
	*h = hold{}
}

// holdElsewhere moves the hold of a call to another model, or to a cheaper form
// of its own, if its budgets have room for what it costs there. In its own model
// it holds no more than it did.
func (c *Controller) holdElsewhere(now time.Time, k *call, m *member, q *Request, est predict.Estimate) bool {
	if !c.counts {
		return true
	}
	h := &k.hold
	next := h.payers
	next[ScopeModel] = m.spent
	amount := m.pool.charge(q.Input, q.MaxOutput, est, k.tier, &next)
	if m == k.lane.member {
		amount.likely, amount.most = min(amount.likely, h.amount.likely), min(amount.most, h.amount.most)
	}
	for s, a := range next {
		if a == nil {
			continue
		}
		more := amount
		if a == h.payers[s] {
			more.likely, more.most = more.likely-h.amount.likely, more.most-h.amount.most
		}
		if budget, _ := a.over(now, k.lane.class, more); budget != nil && more.most > 0 {
			return false
		}
	}
	for s, a := range h.payers {
		if a != nil {
			spent := int64(0)
			if Scope(s) == ScopeModel {
				spent = h.spent // what was spent so far was spent there
			}
			a.settle(now, h.amount, spent)
		}
	}
	for s, a := range next {
		if a != nil {
			a.take(now, amount)
			if Scope(s) != ScopeModel {
				a.spend(now, now, h.spent)
			}
		}
	}
	*h = hold{payers: next, amount: amount}
	return true
}

// alarm notes when the state of an account changes.
func (c *Controller) alarm(now time.Time, a *account) {
	if a.slack > 0 {
		return // nothing was passed, and nothing had been
	}
	alarm, level, worst := a.judge(now)
	a.level = level
	if alarm == a.alarm {
		return
	}
	was := a.alarm
	a.alarm = alarm
	if a.scope == ScopeUser || a.scope == ScopeSession { // too many to be told of
		return
	}
	x := Spending{Scope: a.scope, Tenant: a.tenant, Name: a.name, From: was, To: alarm}
	if worst != nil {
		x.Span, x.Limit, x.Used, x.Held = worst.span, worst.most, worst.purse.Sum(now), a.held
		x.Lasts = a.lasts(now, worst)
		x.PerMinute = a.last.Sum(now)
	}
	c.changed(Change{At: now, Spending: &x})
}

// Spending is what an operator should hear of an account.
type Spending struct {
	Scope        Scope
	Tenant, Name string // of whom; Name is the model or the key
	From, To     Alarm
	Span         Span  // of the limit that it is about
	Limit        int64 // micro-dollars
	Used, Held   int64
	PerMinute    int64         // spent in the last minute
	Lasts        time.Duration // until the limit is reached at that rate; the largest duration if never
}
