package telemetry

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spillway-llm/spillway/internal/core/admit"
)

// MoneyState is what is spent and held of all budgets at the moment of a scrape.
type MoneyState struct {
	Budgets     []BudgetState
	Held, Alive int64 // micro-dollars: held of budgets, and of that by requests that are alive
	Forgotten   int64 // accounts of users and sessions that had to give way, so far
}

// BudgetState is one limit of one account. The limits of an account have the
// same Held, PerMinute and Alarm.
type BudgetState struct {
	Scope        admit.Scope
	Tenant, Name string // Name is the model or the key; both are empty where the scope has none
	Span         admit.Span
	Limit        int64 // micro-dollars, as the next three
	Used, Held   int64
	PerMinute    int64 // spent in the last minute
	Alarm        admit.Alarm
	Lasts        time.Duration // until the limit is reached at that rate; the largest duration if never
}

// mostBudgets bounds the limits that a scrape tells of: six series each, at most.
const mostBudgets = 1_000

func newMoneyCollector() *moneyCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("spillway_budget_"+name, help, labels, nil)
	}
	account := []string{"scope", "tenant", "name"}
	limit := append(slices.Clone(account), "span")
	return &moneyCollector{
		limit:      desc("limit_dollars", "What may be spent in the span, by the limit in force now. A model or a key of a tenant that has spent nothing in the span is left out.", limit...),
		used:       desc("used_dollars", "Of the limit, what is spent.", limit...),
		held:       desc("held_dollars", "Of the limit, what running requests hold.", limit...),
		alarm:      desc("alarm", "How serious the state is: 0 calm, 1 fast, 2 soft, 3 exhausted.", account...),
		minute:     desc("minute_dollars", "Spent in the last minute.", account...),
		exhaustion: desc("exhaustion_seconds", "Time until the first limit of the account is reached at the rate of the last minute; +Inf if never.", account...),
		leaked:     desc("leaked_dollars", "Held by no request that is alive. It is always 0: anything else is a fault of the gateway."),
		forgotten:  desc("accounts_forgotten_total", "Accounts of end users and sessions that had to give way to newer ones."),
		leftOut:    desc("limits_left_out", "Limits that are not told of because there are too many; those furthest from being reached."),
	}
}

// moneyCollector tells of budgets.
type moneyCollector struct {
	limit, used, held, alarm, minute, exhaustion, leaked, forgotten, leftOut *prometheus.Desc
}

func (c *moneyCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.limit, c.used, c.held, c.alarm, c.minute, c.exhaustion, c.leaked, c.forgotten, c.leftOut} {
		ch <- d
	}
}

// payer is an account by its labels.
type payer struct {
	scope        admit.Scope
	tenant, name string
}

// tell skips a second limit of the same labels, which would spoil the whole
// scrape.
func (c *moneyCollector) tell(ch chan<- prometheus.Metric, s *MoneyState) {
	told, leftOut := tellable(s.Budgets)
	put := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	spans := map[payer][admit.NumSpans]bool{}
	accounts := map[payer]BudgetState{} // of each, the limit that is reached first
	for i := range told {
		b := &told[i]
		p := payer{b.Scope, label(b.Tenant), label(b.Name)}
		seen := spans[p]
		if seen[b.Span] {
			continue
		}
		seen[b.Span] = true
		spans[p] = seen
		if first, ok := accounts[p]; !ok || b.Lasts < first.Lasts {
			accounts[p] = *b
		}
		scope, span := b.Scope.String(), b.Span.String()
		put(c.limit, dollars(b.Limit), scope, p.tenant, p.name, span)
		put(c.used, dollars(b.Used), scope, p.tenant, p.name, span)
		put(c.held, dollars(b.Held), scope, p.tenant, p.name, span)
	}
	for p, b := range accounts {
		scope := p.scope.String()
		put(c.alarm, float64(b.Alarm), scope, p.tenant, p.name)
		put(c.minute, dollars(b.PerMinute), scope, p.tenant, p.name)
		lasts := b.Lasts.Seconds()
		if b.Lasts == math.MaxInt64 {
			lasts = math.Inf(1)
		}
		put(c.exhaustion, lasts, scope, p.tenant, p.name)
	}
	put(c.leaked, dollars(s.Held-s.Alive))
	put(c.leftOut, float64(leftOut))
	ch <- prometheus.MustNewConstMetric(c.forgotten, prometheus.CounterValue, float64(s.Forgotten))
}

// tellable is the limits that are worth a series: those of models and keys once
// something is spent, and of too many those nearest to being reached.
func tellable(list []BudgetState) (told []BudgetState, leftOut int) {
	told = make([]BudgetState, 0, len(list))
	for _, b := range list {
		if b.Scope <= admit.ScopeTenant || b.Used+b.Held > 0 {
			told = append(told, b)
		}
	}
	if len(told) <= mostBudgets {
		return told, 0
	}
	reached := func(b *BudgetState) float64 { return float64(b.Used+b.Held) / float64(max(b.Limit, 1)) }
	slices.SortStableFunc(told, func(a, b BudgetState) int { return cmp.Compare(reached(&b), reached(&a)) })
	return told[:mostBudgets], len(told) - mostBudgets
}

// BudgetAlarm counts a change of how serious the state of an account is.
func (m *Metrics) BudgetAlarm(s admit.Scope, to admit.Alarm) {
	m.alarms.WithLabelValues(s.String(), to.String()).Inc()
}
