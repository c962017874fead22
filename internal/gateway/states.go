package gateway

import (
	"cmp"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// What metrics read at each scrape, in telemetry's words.

// states is one look at the core for all of them.
func (g *Gateway) states() telemetry.States {
	s := g.gate.see(0)
	return telemetry.States{
		Pools: poolStates(s.views), Upstreams: g.upstreamStates(s.views), Ladders: ladderStates(s.views), Money: moneyState(s.accounts, g.gate.Money()),
		Quotas: g.quotaStates(), MaxWait: g.maxWait(),
	}
}

// quotaStates are the tenants' own limits that are in use.
func (g *Gateway) quotaStates() (list []telemetry.QuotaState) {
	for _, q := range g.gate.quotas() {
		add := func(limit string, u admit.Usage) {
			if u.Limit > 0 && u.Used > 0 {
				list = append(list, telemetry.QuotaState{Tenant: q.Tenant, Model: q.Model, Limit: limit, Used: float64(u.Used) / float64(u.Limit)})
			}
		}
		add("requests", q.Requests)
		add("tokens", q.Tokens)
	}
	return list
}

func (g *Gateway) maxWait() (waits [admit.NumClasses]time.Duration) {
	c := &g.state.Load().config.Classes
	for class := range waits {
		waits[class] = c.MaxWaitOf(admit.Class(class))
	}
	return waits
}

func poolStates(views []admit.View) []telemetry.PoolState {
	out := make([]telemetry.PoolState, 0, len(views))
	for i := range views {
		v := &views[i]
		s := telemetry.PoolState{Model: v.Model, Capacity: v.Slots, Most: cmp.Or(v.Queue.DepthHigh, v.Queue.Total), High: v.Queue.High}
		for class, q := range v.Classes {
			s.Classes[class] = telemetry.ClassState{Waiting: q.Waiting, Running: q.Running, Work: q.Work, Bytes: q.Bytes}
		}
		out = append(out, s)
	}
	return out
}

func moneyState(accounts []admit.AccountState, m admit.MoneyState) telemetry.MoneyState {
	s := telemetry.MoneyState{Held: m.Held, Alive: m.Alive, Forgotten: m.Forgotten}
	for _, a := range accounts {
		s.Budgets = append(s.Budgets, telemetry.BudgetState{
			Scope: a.Scope, Tenant: a.Tenant, Name: a.Name, Span: a.Span, Limit: a.Limit, Used: a.Used, Held: a.Held, PerMinute: a.PerMinute, Alarm: a.Alarm, Lasts: a.Lasts,
		})
	}
	return s
}

func ladderStates(views []admit.View) (list []telemetry.LadderState) {
	for i := range views {
		v := &views[i]
		if len(v.Rungs) == 0 {
			continue
		}
		s := telemetry.LadderState{Model: v.Model}
		for class, l := range v.Levels {
			s.Classes[class] = telemetry.LevelState(l)
		}
		for _, r := range v.Rungs {
			s.Rungs = append(s.Rungs, telemetry.RungState{Name: r.Name, Served: r.Served, Took: r.Took, Usual: r.Usual, Asleep: r.Asleep})
		}
		list = append(list, s)
	}
	return list
}

func (g *Gateway) ledgerState() telemetry.LedgerState {
	s := g.ledger.Stats()
	state := telemetry.LedgerState{Appended: s.Appended, Written: s.Written, Lost: s.Lost, Failures: s.Failures, Spool: s.SpoolBytes, Most: int64(g.state.Load().config.Ledger.Spool), Up: s.Up}
	if !s.Oldest.IsZero() {
		state.Oldest = max(time.Since(s.Oldest), 0)
	}
	return state
}
