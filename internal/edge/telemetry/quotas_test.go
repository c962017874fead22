package telemetry

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestQuotas(t *testing.T) {
	m, reg := setup(t)
	list := []QuotaState{
		{"bank", "chat", "requests", 0.5}, {"bank", "chat", "tokens", 1}, {"shop", "chat", "requests", 0},
		{"bank", "chat", "requests", 0.25}, // a name twice must not spoil the scrape
	}
	m.WatchStates(func() States { return States{Quotas: list} })
	expect(t, reg, `
		spillway_quota_used_ratio{limit="requests",model="chat",tenant="bank"} 0.5
		spillway_quota_used_ratio{limit="tokens",model="chat",tenant="bank"} 1
		spillway_quotas_left_out{} 0`)
	for s := range gather(t, reg) {
		if s == `spillway_quota_used_ratio{limit="requests",model="chat",tenant="shop"}` {
			t.Error("told, but nothing is used")
		}
	}
	for i := range 2 * mostQuotas {
		list = append(list, QuotaState{fmt.Sprintf("tenant-%d", i), "chat", "requests", 0.6 + float64(i)/1e4})
	}
	expect(t, reg, `
		spillway_quota_used_ratio{limit="tokens",model="chat",tenant="bank"} 1
		spillway_quotas_left_out{} 1003`)
}

// TestSettings: what rules compare with is what is in force.
func TestSettings(t *testing.T) {
	m, reg := setup(t)
	s := States{Pools: []PoolState{{Model: "chat", Most: 200, High: 20 * time.Second}, {Model: "embed", Most: 9}}}
	s.MaxWait[admit.Batch] = 300 * time.Second
	m.WatchStates(func() States { return s })
	m.WatchLedger(func() LedgerState { return LedgerState{Most: 1 << 30} })
	expect(t, reg, `
		spillway_class_max_wait_seconds{class="batch"} 300
		spillway_queue_limit_requests{model="chat"} 200
		spillway_queue_limit_requests{model="embed"} 9
		spillway_queue_high_seconds{model="chat"} 20
		spillway_ledger_spool_limit_bytes{} 1.073741824e+09`)
}
