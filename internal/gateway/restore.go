package gateway

import (
	"context"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/store"
)

const (
	restoreWait  = 3 * time.Second  // that a start waits for the ledger
	restoreLater = time.Minute      // that it may take while the gateway serves
	restoreAgain = 10 * time.Second // between attempts after that
)

// restore tells the budgets what was spent before this process began. Budgets
// that begin at nothing after each restart would be none for whoever can make
// the gateway restart. It waits for the ledger a little, so that usually no
// request comes before; a database that is down must not keep the gateway from
// serving, and is waited for while it serves. It is asked again when a change of
// the configuration has brought budgets that are new.
func (g *Gateway) restore(p *admit.Policy, wait time.Duration) {
	scopes := budgeted(p)
	if g.ledger == nil || len(scopes) == 0 || g.gate.Remembers() {
		return
	}
	began := time.Now()
	attempt := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(g.life, limit)
		defer cancel()
		list, err := g.spentBefore(ctx, began, scopes)
		if err == nil {
			g.gate.Restore(list)
			g.log.Slog().Info("budgets know what was spent before", "sums", len(list))
		}
		return err
	}
	err := attempt(wait)
	if err == nil {
		return
	}
	g.log.Slog().Error("budgets that are new begin at nothing: the ledger does not tell what was spent before; they are corrected when it does", "error", err.Error())
	go func() {
		for {
			select {
			case <-g.life.Done():
				return
			case <-time.After(restoreAgain):
			}
			if attempt(restoreLater) == nil {
				return
			}
		}
	}()
}

// budgeted are the scopes that some budget of the policy counts.
func budgeted(p *admit.Policy) (list []admit.Scope) {
	var has [admit.NumScopes]bool
	has[admit.ScopeAll] = !p.Budget.None()
	for i := range p.Tenants {
		b := &p.Tenants[i].Budgets
		has[admit.ScopeTenant] = has[admit.ScopeTenant] || !b.All.None()
		has[admit.ScopeModel] = has[admit.ScopeModel] || len(b.Models) > 0
		has[admit.ScopeKey] = has[admit.ScopeKey] || !b.Key.None()
		has[admit.ScopeUser] = has[admit.ScopeUser] || !b.User.None()
		has[admit.ScopeSession] = has[admit.ScopeSession] || !b.Session.None()
	}
	for s, yes := range has {
		if yes {
			list = append(list, admit.Scope(s))
		}
	}
	return list
}

var ledgerScopes = [admit.NumScopes]store.Scope{
	admit.ScopeAll: store.SpentByAll, admit.ScopeTenant: store.SpentByTenant, admit.ScopeModel: store.SpentByTenantModel,
	admit.ScopeKey: store.SpentByTenantKey, admit.ScopeUser: store.SpentByTenantUser, admit.ScopeSession: store.SpentByTenantSession,
}

// ages are how finely spending is told by its age: as finely as budgets keep it.
var ages = []struct{ until, bucket time.Duration }{{time.Hour, time.Minute}, {25 * time.Hour, 10 * time.Minute}, {32 * 24 * time.Hour, time.Hour}}

// spentBefore reads from the ledger what was spent before began.
func (g *Gateway) spentBefore(ctx context.Context, began time.Time, scopes []admit.Scope) (list []admit.Deposit, err error) {
	if err := g.ledger.Flush(ctx); err != nil { // what the last process left in the spool
		return nil, err
	}
	for _, s := range scopes {
		to := began // what came later has been counted here
		for _, age := range ages {
			from := began.Add(-age.until).Truncate(age.bucket)
			sums, err := g.ledger.Spent(ctx, from, to, age.bucket, ledgerScopes[s])
			if err != nil {
				return nil, err
			}
			for _, x := range sums {
				end := earliest(x.Start.Add(age.bucket), to)
				list = append(list, admit.Deposit{Scope: s, Tenant: x.Tenant, Name: name(x.Name), At: end.Add(-end.Sub(x.Start) / 2), Amount: x.Cost})
			}
			to = from
		}
	}
	return list, nil
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
