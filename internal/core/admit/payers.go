package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// PayerState is one tenant with its accounts.
type PayerState struct {
	TenantState
	Accounts []AccountState // its own, by model and by key
}

// QuotaState is what is used of one tenant's own limits on one model in a minute.
type QuotaState struct {
	Tenant, Model    string
	Requests, Tokens Usage
}

// Usage is how much of a limit is used, what is reserved included.
type Usage struct{ Limit, Used int64 } // Limit 0: no such limit

// Payers is how many Payer can be asked for: the tenants of the policy in force.
func (c *Controller) Payers() int { return len(c.policy.Tenants) }

// Payer reads the tenant of a number below Payers, in the order of the policy.
func (c *Controller) Payer(now time.Time, number int) PayerState {
	t := c.tenants[c.policy.Tenants[number].Name]
	s := PayerState{TenantState: t.state(now)}
	t.eachAccount(func(a *account) { s.Accounts = a.states(now, s.Accounts) })
	return s
}

// Quotas adds the quotas of the tenant of a number below Payers to a list, of the
// models that it came for and has a limit on.
func (c *Controller) Quotas(now time.Time, number int, list []QuotaState) []QuotaState {
	t := c.tenants[c.policy.Tenants[number].Name]
	for _, m := range t.members {
		if m == nil || m.requests == nil && m.tokens == nil || m.pool.gone() {
			continue
		}
		if q := (QuotaState{t.policy.Name, m.pool.policy.Name, usage(now, m.requests), usage(now, m.tokens)}); q.Requests.Limit+q.Tokens.Limit > 0 {
			list = append(list, q)
		}
	}
	return list
}

// Treasury is the budget of all tenants together; empty if there is none.
func (c *Controller) Treasury(now time.Time) []AccountState {
	if c.spent == nil {
		return nil
	}
	return c.spent.states(now, nil)
}

func usage(now time.Time, w *meter.Window) Usage {
	if w == nil || w.Limit() == 0 {
		return Usage{}
	}
	return Usage{w.Limit(), w.Used(now)}
}
