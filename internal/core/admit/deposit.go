package admit

import "time"

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
	told := func(a *account) {
		a.restored = true
		c.alarm(now, a)
	}
	c.eachAccount(told)
	for _, t := range c.tenants {
		if t.keys != nil {
			t.keys.restored = true
		}
	}
	c.eachTable(func(t *accounts) {
		t.each(told)
		t.restored = true
	})
	c.restored = true
}

// Remembers says that every budget knows what was spent before it was there.
func (c *Controller) Remembers() bool {
	all := true
	c.eachAccount(func(a *account) { all = all && a.restored })
	c.eachTable(func(t *accounts) { all = all && t.restored })
	for _, t := range c.tenants {
		all = all && (t.keys == nil || t.keys.restored)
	}
	return all
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

// eachAccount visits the accounts but for those of users and sessions, of which
// there may be very many, in an order that does not depend on chance.
func (c *Controller) eachAccount(visit func(*account)) {
	if c.spent != nil {
		visit(c.spent)
	}
	for i := range c.policy.Tenants {
		c.tenants[c.policy.Tenants[i].Name].eachAccount(visit)
	}
}

func (t *tenant) eachAccount(visit func(*account)) {
	if t.spent != nil {
		visit(t.spent)
	}
	for _, m := range t.members {
		if m != nil && m.spent != nil {
			visit(m.spent)
		}
	}
	t.keys.each(visit)
}

// eachTable visits the tables of users and sessions, in the same order.
func (c *Controller) eachTable(visit func(*accounts)) {
	for i := range c.policy.Tenants {
		t := c.tenants[c.policy.Tenants[i].Name]
		for _, x := range [2]*accounts{t.users, t.sessions} {
			if x != nil {
				visit(x)
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
