package admit

import (
	"math"
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

// payersOf finds the accounts of a request. The tenant's for the model is the
// member's, which a look finds.
func (c *Controller) payersOf(r *Request) (list payers) {
	list[ScopeAll] = c.spent
	t := c.tenants[r.Tenant]
	if t == nil {
		return list
	}
	list[ScopeTenant] = t.spent
	list[ScopeKey], list[ScopeUser], list[ScopeSession] = t.keys.find(r.Key), t.users.find(r.User), t.sessions.find(r.Session)
	return list
}

// lookSpend refuses what a budget has no room for. Until the real cost of a
// request is known, what it probably costs at most is held of all its budgets
// at once.
func (c *Controller) lookSpend(now time.Time, r *Request, p *plan) bool {
	if !c.counts {
		return false
	}
	p.payers = c.payersOf(r)
	p.payers[ScopeModel] = p.member.spent
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

const (
	spreadQuantile = 0.9
	spreadSamples  = 20  // before them the spread of answers' lengths is a guess
	spreadGuess    = 4.0 // the 90 % quantile of a wide one, over its mean
	spreadRefresh  = 16  // samples between two looks at the quantile
	unbound        = 4   // times that, an answer without a bound is taken to have at most
	boundShare     = 32  // of a budget is what a bound may count at most
)

// charge is what a request costs at the dearest of the pool's deployments:
// which it will be is not known yet. Bounds of answers that are far above what
// answers have must not keep others out of a small budget: they count up to a
// part of it.
func (p *pool) charge(input, maxOutput int64, est predict.Estimate, tier string, payers *payers) (x charge) {
	if !p.dearest.Known {
		return x
	}
	out := int64(float64(est.Output) * p.spread())
	most := out * unbound
	if maxOutput > 0 {
		out, most = min(out, maxOutput), maxOutput
	}
	x.likely = p.dearest.Cost(Tokens{Input: input, Output: out}, tier)
	if x.most = x.likely; most == out {
		return x
	}
	least := int64(math.MaxInt64)
	for _, a := range payers {
		if a != nil && a.least > 0 {
			least = min(least, a.least)
		}
	}
	x.most = max(x.likely, min(p.dearest.Cost(Tokens{Input: input, Output: most}, tier), least/boundShare))
	return x
}

func (p *pool) spread() float64 {
	if p.lengths.Count() < spreadSamples {
		return spreadGuess
	}
	if p.spreadOf == 0 {
		p.spreadOf = max(p.lengths.Quantile(spreadQuantile), 1)
	}
	return p.spreadOf
}

// length learns how long answers are beside what was expected.
func (p *pool) length(expected, output int64) {
	if expected <= 0 || output <= 0 {
		return
	}
	p.lengths.Add(float64(output) / float64(expected))
	if p.lengthsNew++; p.lengthsNew >= spreadRefresh {
		p.lengthsNew, p.spreadOf = 0, 0
	}
}

// dearestOf is a price that no deployment's exceeds, in any part.
func dearestOf(list []Deployment) (top Price) {
	for i := range list {
		p := &list[i].Price
		if !p.Known {
			continue
		}
		top.Known = true
		for _, x := range []struct{ a, b *int64 }{
			{&top.Input, &p.Input}, {&top.Input, &p.Cached}, {&top.Input, &p.CacheWrite}, {&top.Output, &p.Output}, {&top.Output, &p.Reasoning}, {&top.Request, &p.Request},
			{&top.Long.Input, &p.Long.Input}, {&top.Long.Input, &p.Long.CacheWrite}, {&top.Long.Output, &p.Long.Output}, {&top.Long.Output, &p.Long.Reasoning},
		} {
			*x.a = max(*x.a, *x.b)
		}
		if l := p.Long.Above; l > 0 && (top.Long.Above == 0 || l < top.Long.Above) {
			top.Long.Above = l
		}
		for tier, share := range p.Tiers {
			if top.Tiers == nil {
				top.Tiers = map[string]int64{}
			}
			top.Tiers[tier] = max(top.Tiers[tier], share)
		}
	}
	for i := range list { // who does not name a tier takes all of the price for it
		for tier := range top.Tiers {
			if _, ok := list[i].Price.Tiers[tier]; !ok {
				top.Tiers[tier] = max(top.Tiers[tier], 100)
			}
		}
	}
	if top.Long.Above > 0 {
		top.Long.Input, top.Long.Output = max(top.Long.Input, top.Input), max(top.Long.Output, top.Output)
	}
	return top
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

// holdElsewhere moves the hold of a call to another model, if its budgets have
// room for what it costs there.
func (c *Controller) holdElsewhere(now time.Time, k *call, m *member, est predict.Estimate) bool {
	if !c.counts {
		return true
	}
	h := &k.hold
	next := h.payers
	next[ScopeModel] = m.spent
	amount := m.pool.charge(k.input, k.maxOutput, est, k.tier, &next)
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

// Deposit is money that was spent before the controller began, or by others.
type Deposit struct {
	Scope        Scope
	Tenant, Name string // Name is the model, the key, the user or the session
	At           time.Time
	Amount       int64 // micro-dollars
	Late         bool  // spent elsewhere since the past was told: counted also by accounts that know it
}

// Restore books what was spent before, so that budgets survive a restart, and
// count what was spent before they were there. Accounts that were told already
// have counted themselves since, and are left alone; so each list must be whole.
// What no budget counts is ignored.
func (c *Controller) Restore(now time.Time, list []Deposit) {
	for i := range list {
		d := &list[i]
		if a := c.account(now, d.Scope, d.Tenant, d.Name); a != nil && (d.Late || !a.restored) {
			a.spend(now, d.At, d.Amount)
		}
	}
	c.eachAccount(func(a *account) {
		a.restored = true
		c.alarm(now, a)
	})
	for _, t := range c.tenants {
		for _, x := range []*accounts{t.keys, t.users, t.sessions} {
			if x != nil {
				x.restored = true
			}
		}
	}
	c.restored = true
}

// account is the one that a deposit belongs to; nil if nothing counts it.
func (c *Controller) account(now time.Time, s Scope, tenant, name string) *account {
	if s == ScopeAll {
		return c.spent
	}
	t := c.tenants[tenant]
	if t == nil {
		return nil
	}
	switch s {
	case ScopeTenant:
		return t.spent
	case ScopeModel:
		if p := c.byModel[name]; p != nil {
			return c.memberOf(now, p, t).spent
		}
	case ScopeKey:
		return t.keys.use(now, name)
	case ScopeUser:
		return t.users.use(now, name)
	case ScopeSession:
		return t.sessions.use(now, name)
	}
	return nil
}

// eachAccount visits all accounts, in an order that does not depend on chance.
func (c *Controller) eachAccount(visit func(*account)) {
	if c.spent != nil {
		visit(c.spent)
	}
	for i := range c.policy.Tenants {
		t := c.tenants[c.policy.Tenants[i].Name]
		if t.spent != nil {
			visit(t.spent)
		}
		for _, m := range t.members {
			if m != nil && m.spent != nil {
				visit(m.spent)
			}
		}
		for _, table := range []*accounts{t.keys, t.users, t.sessions} {
			if table == nil {
				continue
			}
			for a := table.newest; a != nil; a = a.older {
				visit(a)
			}
		}
	}
}

// configureSpend brings all accounts in line with the policy.
func (c *Controller) configureSpend(now time.Time, p *Policy) {
	c.spent = configured(now, c.spent, ScopeAll, "", "", &p.Budget)
	c.counts = c.spent != nil
	for i := range p.Tenants {
		b := &p.Tenants[i].Budgets
		t := c.tenants[p.Tenants[i].Name]
		t.spent = configured(now, t.spent, ScopeTenant, t.policy.Name, "", &b.All)
		t.keys = table(now, t.keys, ScopeKey, t.policy.Name, &b.Key)
		t.users = table(now, t.users, ScopeUser, t.policy.Name, &b.User)
		t.sessions = table(now, t.sessions, ScopeSession, t.policy.Name, &b.Session)
		c.counts = c.counts || t.spent != nil || t.keys != nil || t.users != nil || t.sessions != nil || len(b.Models) > 0
	}
}

// account brings a member's own in line with its tenant's budgets.
func (m *member) account(now time.Time, b *Budgets) {
	x, ok := b.Models[m.pool.policy.Name]
	if !ok {
		x = b.Models[""]
	}
	m.spent = configured(now, m.spent, ScopeModel, m.tenant.policy.Name, m.pool.policy.Name, &x)
}
