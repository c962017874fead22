package gateway

import (
	"time"

	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// What metrics read at each scrape, in telemetry's words.

func (g *Gateway) poolStates() []telemetry.PoolState {
	snap := g.gate.Snapshot()
	out := make([]telemetry.PoolState, 0, len(snap.Pools))
	for _, p := range snap.Pools {
		s := telemetry.PoolState{Model: p.Model, Capacity: p.Slots}
		for i, q := range p.Classes {
			s.Classes[i] = telemetry.ClassState{Waiting: q.Waiting, Running: q.Running, Work: q.Work, Bytes: q.Bytes}
		}
		out = append(out, s)
	}
	return out
}

func (g *Gateway) moneyState() telemetry.MoneyState {
	snap := g.gate.Snapshot()
	s := telemetry.MoneyState{Held: snap.Money.Held, Alive: snap.Money.Alive, Forgotten: snap.Money.Forgotten}
	for _, a := range snap.Accounts {
		s.Budgets = append(s.Budgets, telemetry.BudgetState{
			Scope: a.Scope, Tenant: a.Tenant, Name: a.Name, Span: a.Span, Limit: a.Limit, Used: a.Used, Held: a.Held, PerMinute: a.PerMinute, Alarm: a.Alarm, Lasts: a.Lasts,
		})
	}
	return s
}

func (g *Gateway) ladderStates() (list []telemetry.LadderState) {
	for _, p := range g.gate.Snapshot().Pools {
		if len(p.Rungs) == 0 {
			continue
		}
		s := telemetry.LadderState{Model: p.Model}
		for class, l := range p.Levels {
			s.Classes[class] = telemetry.LevelState(l)
		}
		for _, r := range p.Rungs {
			s.Rungs = append(s.Rungs, telemetry.RungState{Name: r.Name, Served: r.Served, Took: r.Took, Usual: r.Usual, Asleep: r.Asleep})
		}
		list = append(list, s)
	}
	return list
}

func (g *Gateway) ledgerState() telemetry.LedgerState {
	s := g.ledger.Stats()
	state := telemetry.LedgerState{Appended: s.Appended, Written: s.Written, Lost: s.Lost, Failures: s.Failures, Spool: s.SpoolBytes, Up: s.Up}
	if !s.Oldest.IsZero() {
		state.Oldest = max(time.Since(s.Oldest), 0)
	}
	return state
}
