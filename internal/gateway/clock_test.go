package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// step sets the wall clock, as an operator or a time server does, or as a machine
// finds it that was asleep.
func (r *rig) step(d time.Duration) {
	r.g.applying.Lock()
	r.g.gate.wall = func() time.Time { return time.Now().Round(0).Add(d) }
	r.g.applying.Unlock()
}

// B101, B192, B193: the wall clock goes an hour back, a day back, an hour on. What is limited
// by time that has passed does not notice.
func TestTheWallClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, -25 * time.Hour, time.Hour, 40 * 24 * time.Hour} {
		bubble(t, func(t *testing.T) {
			r := setup(t, one(1, tenantsOf("{name: a, keys: [KEY], limits: {rpm: 3}}")), reply(200, "application/json", wholeAnswer))
			ask := func() answer { return r.ask(chatPath, plainAsk, secret...) }
			for range 3 {
				if a := ask(); a.status != 200 {
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
			r.step(by)
			time.Sleep(30 * time.Second)
			a := ask()
			var wait int
			if fmt.Sscan(a.header.Get("Retry-After"), &wait); a.status != 429 || wait < 1 || wait > 59 {
				t.Errorf("by %v: %d, come back in %q s", by, a.status, a.header.Get("Retry-After"))
			}
			time.Sleep(time.Duration(wait) * time.Second)
			if a := ask(); a.status != 200 {
				t.Errorf("by %v, after the wait: %d: locked out", by, a.status)
			}
			time.Sleep(2 * clockEvery) // the step has been seen
			for i := range 4 {
				if a := ask(); (a.status == 200) != (i < 3) {
					t.Errorf("by %v, request %d of a full minute: %d", by, i, a.status)
				}
			}
		})
	}
}

// A machine that slept over midnight: the day of a budget that goes by the
// calendar is a new one within a minute. One that was set back has not got its money
// again, and a rolling budget has nothing to do with either.
func TestCalendarsFollowTheWallClock(t *testing.T) {
	for _, tt := range []struct {
		name     string
		calendar bool
		by       time.Duration
		want     int
	}{
		{"slept over midnight", true, 24 * time.Hour, 200},
		{"slept for a week", true, 7 * 24 * time.Hour, 200},
		{"set back to yesterday", true, -24 * time.Hour, 402},
		{"set back a little", true, -3 * time.Second, 402},
		{"slept over midnight, rolling", false, 24 * time.Hour, 402},
	} {
		bubble(t, func(t *testing.T) {
			conf := strings.Replace(fmt.Sprintf(priced, ""), "budget: {day: 1000}", fmt.Sprintf("budget: {day: 0.0001, pace: off, calendar: %v}", tt.calendar), 1)
			r := setup(t, conf, http.HandlerFunc(reply(200, "application/json", wholeAnswer)))
			status := 200
			for range 30 {
				if status = r.ask(chatPath, plainAsk).status; status == 402 {
					break
				}
			}
			if status != 402 {
				t.Fatalf("the budget is never used up: %d", status)
			}
			r.step(tt.by)
			time.Sleep(clockEvery + time.Second)
			if a := r.ask(chatPath, plainAsk); a.status != tt.want {
				t.Errorf("%s: %d, want %d: %s", tt.name, a.status, tt.want, a.body)
			}
			if n := r.log.told("the wall clock was set"); n != 1 {
				t.Errorf("%s: told %d times", tt.name, n)
			}
			time.Sleep(10 * clockEvery)
			if n := r.log.told("the wall clock was set"); n != 1 {
				t.Errorf("%s: told %d times of one step", tt.name, n)
			}
		})
	}
}

// What a policy says in times of the calendar is moved, and nothing else is.
func TestPolicyAhead(t *testing.T) {
	until := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	budget := admit.Budget{Calendar: true, Zone: time.Hour, Raised: admit.Override{Until: until}}
	p := admit.Policy{Budget: budget, Tenants: []admit.Tenant{{Name: "a", Budgets: admit.Budgets{All: budget, Key: admit.Budget{Zone: time.Hour}, Models: map[string]admit.Budget{"chat": budget}}}},
		Models: []admit.Model{{Deployments: []admit.Deployment{{Keys: []admit.Quota{{Daily: 5, Midnight: time.Hour}}}}}}}
	p.Ahead(2 * time.Hour)
	for name, b := range map[string]admit.Budget{"all": p.Budget, "a tenant's": p.Tenants[0].Budgets.All, "a tenant's by model": p.Tenants[0].Budgets.Models["chat"]} {
		if b.Zone != 3*time.Hour || !b.Raised.Until.Equal(until.Add(-2*time.Hour)) {
			t.Errorf("%s: %v %v", name, b.Zone, b.Raised.Until)
		}
	}
	if b := p.Tenants[0].Budgets.Key; b.Zone != time.Hour || !b.Raised.Until.IsZero() {
		t.Errorf("a rolling one: %+v", b)
	}
	if q := p.Models[0].Deployments[0].Keys[0]; q.Midnight != -time.Hour || q.Daily != 5 {
		t.Errorf("%+v", q)
	}
}
