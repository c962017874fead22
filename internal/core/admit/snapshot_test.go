package admit

import (
	"slices"
	"strings"
	"time"
)

// Snapshot is the state of the controller in numbers.
type Snapshot struct {
	Pools       []PoolState       // in order of first appearance
	Deployments []DeploymentState // by model, in the order of the policy
	Tenants     []TenantState     // by name
	Accounts    []AccountState
	Money       MoneyState
}

// Snapshot reads the state, all of it at once.
func (c *Controller) Snapshot(now time.Time) Snapshot {
	var s Snapshot
	for _, p := range c.pools {
		if !p.gone() {
			s.Pools = append(s.Pools, p.state(now))
			s.Deployments = append(s.Deployments, p.deploymentStates(now)...)
		}
	}
	for _, t := range c.tenants {
		s.Tenants = append(s.Tenants, t.state(now))
	}
	s.Accounts, s.Money = c.accountStates(now), c.Money()
	slices.SortFunc(s.Tenants, func(a, b TenantState) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// accountStates are all limits of all accounts, but for users and sessions.
func (c *Controller) accountStates(now time.Time) (list []AccountState) {
	c.eachAccount(func(a *account) { list = a.states(now, list) })
	return list
}
