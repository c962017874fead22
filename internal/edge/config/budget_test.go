package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

const cent = dollar / 100

func TestBudgetsInTheCoresWords(t *testing.T) {
	c := good(t, "money")
	p := c.PolicyAt(at(t, "2026-01-15T00:00:00Z"))
	want := &admit.Policy{
		Budget: admit.Budget{Limits: [4]int64{0, 0, 0, 1_000_000_000 * dollar}, Calendar: true, Zone: time.Hour},
		Tenants: []admit.Tenant{{
			Name:   "bank",
			Limits: map[string]admit.Limits{"chat": {Requests: 600, Tokens: 400_000}, "": {Tokens: 1000}}, // local has those of limits
			Budgets: admit.Budgets{
				All: admit.Budget{
					Limits: [4]int64{1 * dollar, 20 * dollar, 100 * dollar, 2000 * dollar}, Soft: 70, Hold: [4]int{99, 98, 95, 50}, Pace: 12, Alert: -1,
					Raised: admit.Override{Limits: [4]int64{2 * dollar, 40 * dollar, 20050 * cent, 2500 * dollar}, Until: at(t, "2026-12-23T23:00:00Z").UTC()},
				},
				Models:  map[string]admit.Budget{"chat": {Limits: [4]int64{admit.Day: 30 * dollar}}, "": {Limits: [4]int64{admit.Day: 5 * dollar}}},
				Key:     admit.Budget{Limits: [4]int64{admit.Day: 50 * dollar}},
				User:    admit.Budget{Limits: [4]int64{admit.Hour: 1}},
				Session: admit.Budget{Limits: [4]int64{admit.Hour: dollar}, Pace: -1, Alert: 4},
			},
		}},
	}
	want.Defaults()
	if !reflect.DeepEqual(p.Budget, want.Budget) {
		t.Errorf("got  %+v\nwant %+v", p.Budget, want.Budget)
	}
	if !reflect.DeepEqual(p.Tenants, want.Tenants) {
		t.Errorf("got  %+v\nwant %+v", p.Tenants, want.Tenants)
	}
	if c.Answers != (Answers{Size: 64 << 20, TTL: time.Minute}) || !c.Models["chat"].Cache || c.Models["local"].Cache {
		t.Errorf("answers: %+v", c.Answers)
	}
	if c.Providers["hosted"].BillOnCancel != BillInput || c.Providers["gpu"].BillOnCancel != BillNone {
		t.Errorf("cancelled calls: %+v", c.Providers)
	}
}

// The calendar of a budget follows summer time, and says until when.
func TestCalendarOfABudget(t *testing.T) {
	for zone, want := range map[string]struct {
		winter, summer time.Duration
		holds          string
	}{
		"Europe/Berlin":       {time.Hour, 2 * time.Hour, "2026-03-29T01:00:00Z"},
		"America/Los_Angeles": {-8 * time.Hour, -7 * time.Hour, "2026-03-08T10:00:00Z"},
		"Asia/Kolkata":        {5*time.Hour + 30*time.Minute, 5*time.Hour + 30*time.Minute, ""},
		"UTC":                 {0, 0, ""},
	} {
		const base = "providers: {local: {kind: simulated}}\nmodels: {m: {deployments: [{provider: local, price: free}]}}\n"
		c := parse(t, base+"tenants: [{name: a, keys: ["+HashKey("k")+"], models: {m: {budget: {day: 1, calendar: true, zone: "+zone+"}}}}]")
		winter, summer := at(t, "2026-01-15T00:00:00Z"), at(t, "2026-07-15T00:00:00Z")
		if w, s := c.PolicyAt(winter).Tenants[0].Budgets.Models["m"].Zone, c.PolicyAt(summer).Tenants[0].Budgets.Models["m"].Zone; w != want.winter || s != want.summer {
			t.Errorf("%s: %v and %v, want %v and %v", zone, w, s, want.winter, want.summer)
		}
		until := time.Time{}
		if want.holds != "" {
			until = at(t, want.holds)
		}
		if got := c.PolicyHolds(winter); !got.Equal(until) {
			t.Errorf("%s: until %v, want %v", zone, got, until)
		}
	}
}

// An unknown price is a fault where a budget counts it, and nowhere else.
func TestBudgetsNeedPrices(t *testing.T) {
	for text, ok := range map[string]bool{
		"":                 true,
		"budget: {}":       true,
		"budget: {day: 1}": false,
		"budget: {day: 1}\nprices: testdata/prices/own.yaml":                     false,
		"tenants: [{name: a, keys: [K], budget: {month: 1}}]":                    false,
		"tenants: [{name: a, keys: [K], budgets: {user: {hour: 1}}}]":            false,
		"tenants: [{name: a, keys: [K], limits: {budget: {minute: 1}}}]":         false,
		"tenants: [{name: a, keys: [K], models: {known: {budget: {day: 1}}}}]":   true,
		"tenants: [{name: a, keys: [K], models: {gpt-4.1: {budget: {day: 1}}}}]": true,
		"tenants: [{name: a, keys: [K], models: {unknown: {budget: {day: 1}}}}]": false,
		"tenants: [{name: a, keys: [K], models: {falls: {budget: {day: 1}}}}]":   false,
		"tenants: [{name: a, keys: [K], models: {steps: {budget: {day: 1}}}}]":   false,
		"tenants: [{name: a, keys: [K], models: {unknown: {rpm: 1}}}]":           true,
	} {
		text = strings.ReplaceAll(text, "[K]", "["+HashKey("k")+"]") + `
providers: {a: {base_url: http://h/v1}}
models:
  known: {deployments: [{provider: a, price: free}]}
  gpt-4.1: {deployments: [{provider: a}]}
  unknown: {deployments: [{provider: a}]}
  falls: {deployments: [{provider: a, price: free}], fallback: {overloaded: [steps]}}
  steps: {deployments: [{provider: a, price: free}], degrade: [{name: x, model: unknown}]}
`
		if _, err := Parse("f", []byte(text), testEnv); (err == nil) != ok {
			t.Errorf("%s\n%v", text, err)
		}
	}
}
