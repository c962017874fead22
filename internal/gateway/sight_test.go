package gateway

import "github.com/spillway-llm/spillway/internal/core/admit"

// snapshot is what the core holds, for tests.
type snapshot struct {
	Pools       []admit.PoolState
	Deployments []admit.DeploymentState
	Tenants     []admit.TenantState
	Accounts    []admit.AccountState
	Money       admit.MoneyState
}

// Snapshot reads all that operators may see.
func (g *Gate) Snapshot() (s snapshot) {
	seen := g.see(0)
	for _, v := range seen.views {
		s.Pools = append(s.Pools, v.PoolState)
		s.Deployments = append(s.Deployments, v.Deployments...)
	}
	for _, p := range seen.payers {
		s.Tenants = append(s.Tenants, p.TenantState)
	}
	s.Accounts, s.Money = seen.accounts, g.Money()
	return s
}
