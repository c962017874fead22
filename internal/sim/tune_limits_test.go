package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// A pool of ten slots and calls of two seconds and a thousand tokens: 300
// requests a minute.
func TestLimits(t *testing.T) {
	none := admit.QueuePolicy{}
	tenant := func(concurrency int, requests, tokens int64) []admit.Tenant {
		return []admit.Tenant{{Name: "bank", Concurrency: concurrency, Limits: map[string]admit.Limits{"chat": {Requests: requests, Tokens: tokens}}}}
	}
	for _, tt := range []struct {
		name    string
		queue   admit.QueuePolicy
		tenants []admit.Tenant
		fact    string
		warn    string // in the only warning; none: nothing is wrong
	}{
		{"the pool", none, nil, "chat: concurrency 10 x 60 s / 2s a request = 300 requests a minute, 300k tokens a minute", ""},
		{"the queue", none, nil, "queue.total 10000 = 33m20s of wait, queue.per_tenant 1000 = 3m20s", ""},
		{"limits that fit", none, tenant(4, 100, 150_000), "bank at chat: rpm 100, tpm 150000 / 1000 a request = 150 requests, concurrency 4 x 60 s / 2s = 120 requests; rpm ends it first, at 100 a minute", ""},
		{"concurrency hides rpm", none, tenant(1, 100, 0), "concurrency ends it first, at 30 a minute", "bank at chat: rpm is out of reach: it would allow 100 requests a minute, and concurrency ends at 30"},
		{"rpm hides tpm", none, tenant(0, 100, 10_000_000), "rpm ends it first", "tpm is out of reach: it would allow 10000 requests a minute, and rpm ends at 100"},
		{"tpm hides rpm", none, tenant(0, 250, 20_000), "tpm ends it first, at 20 a minute", "rpm is out of reach"},
		{"the pool hides rpm", none, tenant(0, 500, 0), "rpm ends it first", "it would allow 500 requests a minute, and the whole pool can do 300"},
		{"a tenant without limits", none, []admit.Tenant{{Name: "bank"}}, "", ""},
		{"limits for all models", none, []admit.Tenant{{Name: "bank", Limits: map[string]admit.Limits{"": {Requests: 7}}}}, "bank at chat: rpm 7;", ""},
		{"total beyond high", admit.QueuePolicy{Low: time.Second, High: 2 * time.Second, Total: 100}, nil, "queue.total 100 = 20s", "queue.total 100 never fills before high: so many would wait 20s, and nobody waits beyond 2s"},
		{"per_tenant beyond high", admit.QueuePolicy{Low: time.Second, High: 2 * time.Second, PerTenant: 100}, nil, "", "queue.per_tenant 100 never fills before high"},
		{"total beyond every wait", admit.QueuePolicy{Total: 9000}, nil, "", "queue.total 9000 never fills before the longest max_wait: so many would wait 30m0s, and nobody waits beyond 5m0s"},
		{"a total that fits", admit.QueuePolicy{Low: time.Second, High: 2 * time.Second, Total: 15}, nil, "", ""},
		{"per_tenant beyond total", admit.QueuePolicy{Total: 15, PerTenant: 20}, nil, "", "queue.per_tenant 20 never fills: queue.total 15 ends it first"},
		{"both fit", admit.QueuePolicy{Low: time.Second, High: 2 * time.Second, Total: 15, PerTenant: 5}, nil, "", ""},
		{"high beyond every wait", admit.QueuePolicy{Low: time.Second, High: time.Hour}, nil, "", "queue.high 1h0m0s is never reached"},
		{"depth_high beyond total", admit.QueuePolicy{DepthLow: 1, DepthHigh: 30, Total: 15, PerTenant: 5}, nil, "", "queue.depth_high 30 is never reached: queue.total 15"},
		{"tenants cannot fill total", admit.QueuePolicy{Total: 500, PerTenant: 5}, []admit.Tenant{{Name: "a"}, {Name: "b"}}, "", "queue.total 500 never fills: 2 tenants of at most 5 (queue.per_tenant) are 10"},
		{"work beyond every wait", admit.QueuePolicy{Work: time.Hour}, nil, "", "queue.work 1h0m0s never fills"},
		{"concurrency counts waiting ones", admit.QueuePolicy{Total: 15, PerTenant: 15}, tenant(10, 0, 0), "", "queue.per_tenant 15 never fills: the tenant's concurrency 10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &admit.Policy{Models: []admit.Model{{Name: "chat", Queue: tt.queue, Deployments: []admit.Deployment{{Name: "d", Concurrency: 10}}}}, Tenants: tt.tenants}
			p.Defaults()
			a := Limits(p, []Profile{{Model: "chat", Slots: 10, Service: 2 * time.Second, Tokens: 1000}})
			if !strings.Contains(strings.Join(a.Facts, "\n"), tt.fact) {
				t.Errorf("no %q in\n%s", tt.fact, strings.Join(a.Facts, "\n"))
			}
			switch {
			case tt.warn == "" && len(a.Warnings) > 0:
				t.Errorf("warned: %q", a.Warnings)
			case tt.warn != "" && (len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], tt.warn)):
				t.Errorf("got %q, want one with %q", a.Warnings, tt.warn)
			}
		})
	}
	p := &admit.Policy{Models: []admit.Model{{Name: "chat", Deployments: []admit.Deployment{{Name: "d", Concurrency: 10}}}}}
	for range 2 * mostFacts {
		p.Tenants = append(p.Tenants, tenant(5, 0, 0)...)
	}
	p.Defaults()
	a := Limits(p, []Profile{{Model: "chat", Slots: 8, Service: 2 * time.Second}})
	if n := len(a.Facts); n != mostFacts+3 || !strings.Contains(a.Facts[n-1], "50 tenants more") {
		t.Errorf("%d facts, the last %q", n, a.Facts[n-1])
	}
	if len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "concurrency 10 is above the 8 slots of the upstream") {
		t.Errorf("warned: %q", a.Warnings)
	}
}
