package telemetry

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// budgets are those of the bank, which is near the limit of its day.
func budgets() []BudgetState {
	bank := BudgetState{Scope: admit.ScopeTenant, Tenant: "bank", Span: admit.Day, Limit: 100_000_000, Used: 90_000_000, Held: 2_000_000,
		PerMinute: 500_000, Alarm: admit.Soft, Lasts: 16 * time.Minute}
	month := bank
	month.Span, month.Limit, month.Lasts = admit.Month, 2_000_000_000, 60*time.Hour
	return []BudgetState{
		{Scope: admit.ScopeAll, Span: admit.Month, Limit: 5_000_000_000, Lasts: math.MaxInt64},
		bank, month,
		{Scope: admit.ScopeModel, Tenant: "bank", Name: "chat", Span: admit.Day, Limit: 1_500_000, Used: 1_500_000, Alarm: admit.Exhausted},
		{Scope: admit.ScopeKey, Tenant: "bank", Name: "till", Span: admit.Day, Limit: 1_000_000, Lasts: math.MaxInt64}, // spent nothing
	}
}

func TestBudgetState(t *testing.T) {
	m, reg := setup(t)
	s := MoneyState{Budgets: append(budgets(), budgets()...), Held: 2_000_000, Alive: 2_000_000, Forgotten: 3} // a limit twice must not spoil the scrape
	m.WatchStates(func() States { return States{Money: s} })
	m.BudgetAlarm(admit.ScopeTenant, admit.Soft)
	expect(t, reg, `
		spillway_budget_limit_dollars{name="",scope="all",span="month",tenant=""} 5000
		spillway_budget_used_dollars{name="",scope="all",span="month",tenant=""} 0
		spillway_budget_exhaustion_seconds{name="",scope="all",tenant=""} +Inf
		spillway_budget_limit_dollars{name="",scope="tenant",span="day",tenant="bank"} 100
		spillway_budget_used_dollars{name="",scope="tenant",span="day",tenant="bank"} 90
		spillway_budget_held_dollars{name="",scope="tenant",span="day",tenant="bank"} 2
		spillway_budget_limit_dollars{name="",scope="tenant",span="month",tenant="bank"} 2000
		spillway_budget_alarm{name="",scope="tenant",tenant="bank"} 2
		spillway_budget_minute_dollars{name="",scope="tenant",tenant="bank"} 0.5
		spillway_budget_exhaustion_seconds{name="",scope="tenant",tenant="bank"} 960
		spillway_budget_used_dollars{name="chat",scope="model",span="day",tenant="bank"} 1.5
		spillway_budget_alarm{name="chat",scope="model",tenant="bank"} 3
		spillway_budget_exhaustion_seconds{name="chat",scope="model",tenant="bank"} 0
		spillway_budget_leaked_dollars{} 0
		spillway_budget_limits_left_out{} 0
		spillway_budget_accounts_forgotten_total{} 3
		spillway_budget_alarms_total{alarm="soft",scope="tenant"} 1
	`)
	for series := range gather(t, reg) {
		if strings.Contains(series, "till") {
			t.Errorf("%s, but nothing was spent with that key", series)
		}
	}
	s.Alive = 500_000 // asked anew at each scrape
	expect(t, reg, `spillway_budget_leaked_dollars{} 1.5`)
	lint(t, reg)
}

// 200 tenants with 20 models each, of which only some are used, stay few
// series. Of too many the ones nearest to their limits are told, whoever's.
func TestBudgetSeriesAreBounded(t *testing.T) {
	m, reg := setup(t)
	var s MoneyState
	m.WatchStates(func() States { return States{Money: s} })
	for tenant := range 200 {
		name := fmt.Sprintf("t%d", tenant)
		s.Budgets = append(s.Budgets, BudgetState{Scope: admit.ScopeTenant, Tenant: name, Span: admit.Day, Limit: 1000})
		for model := range 20 {
			b := BudgetState{Scope: admit.ScopeModel, Tenant: name, Name: fmt.Sprintf("m%d", model), Span: admit.Day, Limit: 1000}
			if model < 2 {
				b.Used = 10
			}
			s.Budgets = append(s.Budgets, b)
		}
	}
	series := func() (n int) {
		for s := range gather(t, reg) {
			if strings.HasPrefix(s, "spillway_budget_") {
				n++
			}
		}
		return n
	}
	if n := series(); n != 6*(200+200*2)+3 {
		t.Errorf("%d series", n)
	}
	for key := range 2 * mostBudgets {
		s.Budgets = append(s.Budgets, BudgetState{Scope: admit.ScopeKey, Tenant: "t0", Name: fmt.Sprintf("k%d", key), Span: admit.Day, Limit: 1000, Used: 1})
	}
	s.Budgets = append(s.Budgets, BudgetState{Scope: admit.ScopeKey, Tenant: "t0", Name: "near", Span: admit.Day, Limit: 1000, Held: 999})
	if n := series(); n != 6*mostBudgets+3 {
		t.Errorf("%d series", n)
	}
	expect(t, reg, fmt.Sprintf(`
		spillway_budget_held_dollars{name="near",scope="key",span="day",tenant="t0"} 0.000999
		spillway_budget_limits_left_out{} %d
	`, 600+2*mostBudgets+1-mostBudgets))
}

// lint checks names and help of everything that is exported.
func lint(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
