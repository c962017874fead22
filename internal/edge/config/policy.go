package config

import (
	"maps"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Policy is PolicyAt for the present moment.
func (c *Config) Policy() *admit.Policy { return c.PolicyAt(time.Now()) }

// PolicyAt returns what the decision core needs to know at now, with its
// defaults applied. Only when days begin, of providers and of budgets, depends on
// now, and not before PolicyHolds. Each call makes a new one; models are in the
// order of their names, each followed by the pools that its ladder sets apart
// (ModelOf), tenants in the order of the file.
func (c *Config) PolicyAt(now time.Time) *admit.Policy {
	p := &admit.Policy{
		Observe: c.Admission == Observe,
		Retry:   c.Retry.policy(),
		Budget:  c.Budget.policy(now),
	}
	for k := range admit.Class(admit.NumClasses) {
		class := c.Classes.of(k)
		p.Classes[k] = admit.ClassPolicy{
			Deadline:   class.Deadline,
			MaxWait:    class.MaxWait,
			Floor:      orNone(int(class.Floor)),
			Confidence: int(class.Confidence),
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		p.Models = append(p.Models, c.Models[name].policy(name, c.Providers, now)...)
	}
	for i := range c.Tenants {
		p.Tenants = append(p.Tenants, c.Tenants[i].policy(now))
	}
	p.Defaults()
	return p
}

// orNone says an explicit nothing in the core's words, where zero is "the
// default" and a negative number is none.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func (m *Model) policy(name string, providers map[string]*Provider, now time.Time) []admit.Model {
	q, r := m.Queue, m.Prior
	model := admit.Model{
		Name:     name,
		Balance:  m.Balance,
		Score:    m.Score.policy(m.Balance),
		Breaker:  m.Breaker.policy(),
		Fallback: m.Fallback.policy(),
		Queue: admit.QueuePolicy{
			PerTenant: q.PerTenant,
			Total:     q.Total,
			Bytes:     int64(q.Bytes),
			Work:      q.Work,
			Low:       q.Low,
			High:      q.High,
			DepthLow:  q.DepthLow,
			DepthHigh: q.DepthHigh,
			Order:     orders[q.Order],
		},
		Ladder: m.ladder(name),
		Prior:  admit.Prior{First: r.FirstToken, PerInput: r.PerInputToken, PerOutput: r.PerOutputToken, Output: r.OutputTokens},
	}
	all := make([]admit.Deployment, len(m.Deployments))
	for i := range m.Deployments {
		d := &m.Deployments[i]
		all[i] = d.policy(providers[d.Provider], now)
		if m.pool(name, d) == name {
			model.Deployments = append(model.Deployments, all[i])
		}
	}
	return append([]admit.Model{model}, m.apart(name, model, all)...)
}

func (t *Tenant) policy(now time.Time) admit.Tenant {
	tenant := admit.Tenant{
		Name: t.Name, Weight: t.Weight, LowTier: t.Tier == TierLow, Concurrency: t.Concurrency,
		Budgets: admit.Budgets{
			All:     t.Budget.policy(now),
			Key:     t.Budgets.Key.policy(now),
			User:    t.Budgets.User.policy(now),
			Session: t.Budgets.Session.policy(now),
		},
	}
	limits, budgets := map[string]admit.Limits{}, map[string]admit.Budget{}
	add := func(model string, l admit.Limits, b *Budget) {
		if l != (admit.Limits{}) {
			limits[model] = l
		}
		if !b.none() {
			budgets[model] = b.policy(now)
		}
	}
	add("", admit.Limits{Requests: t.Limits.RPM, Tokens: t.Limits.TPM}, &t.Limits.Budget)
	for model, m := range t.Models {
		add(model, admit.Limits{Requests: m.RPM, Tokens: m.TPM}, &m.Budget)
	}
	if len(limits) > 0 {
		tenant.Limits = limits
	}
	if len(budgets) > 0 {
		tenant.Budgets.Models = budgets
	}
	return tenant
}
