package top

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops"
)

var t0 = time.Date(2026, 3, 2, 14, 3, 22, 0, time.UTC)

// busy is a gateway with 200 tenants, one of which asks for too much, while one
// of its two providers fails.
func busy() *state {
	soon := t0.Add(12 * time.Second)
	hours := 7380.0
	p := &gateway.Picture{
		At: t0, Uptime: 11520, Active: 50,
		Models: []gateway.ModelPicture{
			{Model: "chat", Slots: 16, Running: 16, Mean: 1.25, Factor: 1.1, Brownout: 1.3, Bound: 400, PerLane: 100, Classes: []gateway.ClassPicture{
				{Class: "interactive", Waiting: 3, Running: 12, Wait: 0.4},
				{Class: "standard", Waiting: 21, Running: 4, Wait: 2.1, Low: 2, High: 4, Level: 1, Pressure: 0.6},
				{Class: "batch", Waiting: 10, Wait: 31, Low: 10, High: 20, Level: 2, Pressure: 1.5},
				{Class: "speculative"},
			}},
			{Model: "embed", Slots: 8, Running: 2, Mean: 0.04, Factor: 1, Brownout: 1, Classes: []gateway.ClassPicture{{Class: "interactive", Running: 2}, {Class: "standard"}, {Class: "batch"}, {Class: "speculative"}}},
		},
		Lanes: []gateway.LanePicture{{Tenant: "tenant-007", Model: "chat", Class: "standard", Waiting: 18, Oldest: 3.2, Wait: 4}},
		Upstream: []gateway.UpstreamReport{
			{Name: "gpu", Model: "chat", Concurrency: 16, Usable: 16, Running: 16, Breaker: gateway.BreakerReport{State: "closed", Share: 1}, Total: &gateway.TimesReport{P50: 1, P95: 2.4, P99: 4}},
			{Name: "elsewhere", Model: "chat", Concurrency: 32, Breaker: gateway.BreakerReport{State: "open", Reason: "errors", Until: &soon}, Limited: 0.12},
			{Name: "small", Model: "embed", Concurrency: 8, Usable: 4, Running: 2, Breaker: gateway.BreakerReport{State: "recovering", Reason: "slow_first_token", Share: 0.5, Step: 5}},
		},
		Budgets: []gateway.BudgetPicture{
			{Scope: "tenant", Tenant: "tenant-007", Span: "day", Limit: 50, Spent: 45.5, Held: 1.2, Minute: 0.03, Alarm: "fast", Lasts: &hours},
			{Scope: "all", Span: "month", Limit: 12000, Spent: 3100, Minute: 0.2, Alarm: "calm"},
		},
		Second: gateway.Second{At: t0.Unix() - 1, Offered: 40, Ran: 20, Queued: 6, Refused: map[string]int64{"wait": 9, "requests": 5}, Good: 18, Started: 4, Wait: 1.1, Foretold: 1},
	}
	for i := range 200 {
		p.Tenants = append(p.Tenants, gateway.TenantPicture{Tenant: fmt.Sprintf("tenant-%03d", i), Running: i % 3, Offered: float64(i%7) / 3})
	}
	p.Tenants[7] = gateway.TenantPicture{Tenant: "tenant-007", Waiting: 18, Running: 6, Offered: 22, Refused: 12.4, Degraded: 1.5}
	p.Tenants[42] = gateway.TenantPicture{Tenant: "tenant-042", Waiting: 5, Running: 2, Offered: 3, Refused: 0.3, Distrusted: true}
	s := newState("http://127.0.0.1:9090", t0, p)
	for i := range 300 {
		x := gateway.Second{At: t0.Unix() - 300 + int64(i), Offered: int64(10 + i/10)}
		if i > 200 {
			x.Refused = map[string]int64{"wait": int64(i-200) / 7}
		}
		s.seconds = append(s.seconds, x)
	}
	for i := range 12 {
		s.refusals = append(s.refusals, ops.Refused{
			RequestID: fmt.Sprintf("req_%02d", i), At: t0.Add(-time.Duration(i) * 700 * time.Millisecond), Tenant: "tenant-007", Model: "chat", Class: "standard",
			Was: ops.Verdict{Verdict: "reject", Stage: "requests", Words: "it is refused (requests): requests a minute: 600 of 600; it is told to come back in 1.2s"},
		})
	}
	s.refusals[1].Was = ops.Verdict{Stage: "wait", Words: "it is refused (wait): the predicted wait is 4.2s, and at most 2s are let in"}
	return s
}

// idle is a gateway that has just begun.
func idle() *state {
	return newState("http://127.0.0.1:9090", t0, &gateway.Picture{
		At: t0, Uptime: 3,
		Models:   []gateway.ModelPicture{{Model: "chat", Slots: 4, Mean: 1, Brownout: 1, Classes: []gateway.ClassPicture{{Class: "interactive"}}}},
		Upstream: []gateway.UpstreamReport{{Name: "sim", Model: "chat", Concurrency: 4, Usable: 4, Breaker: gateway.BreakerReport{State: "closed", Share: 1}}},
	})
}
