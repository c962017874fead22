package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// paces plays one policy at twice what a limit of ten a second allows.
func paces(t *testing.T, policy, told string) *Result {
	t.Helper()
	s, err := ParseScenario("x", strings.NewReader("deployment a slots=40 "+told+"\nupstream a slots=1000 requests=10 per=1s\n"+
		"caller c rate=20 deadline=8s\nat 60s limit requests=5 on a until 120s\nfor 240s"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Play(policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPaces(t *testing.T) {
	limited := func(r *Result) float64 { return r.Deployments[0].Limited }
	calls := func(r *Result) float64 { return float64(r.Deployments[0].Calls) / r.Duration }
	free := paces(t, "uncontrolled", "rpm=600")
	if limited(free) < 0.5 || calls(free) < 19 {
		t.Errorf("uncontrolled makes %.1f calls a second, of which %.2f are refused", calls(free), limited(free))
	}
	fixed := paces(t, "fixed-pace", "rpm=600")
	if c := calls(fixed); c < 7.9 || c > 8.3 { // 0.8 of ten, and what waits at the end
		t.Errorf("a fixed pace makes %.2f calls a second", c)
	}
	tokens := paces(t, "fixed-pace", "tpm=90000")
	if c := calls(tokens); c < 3.9 || c > 4.2 { // 0.8 of 1,500 a second, 300 each
		t.Errorf("a fixed pace of tokens makes %.2f calls a second", c)
	}
	adaptive := paces(t, "adaptive-pace", "")
	if l := limited(adaptive); l > 0.05 || *adaptive.Deployments[0].Used < 0.75 {
		t.Errorf("an adaptive pace meets the limit with %.3f of its calls and uses %.2f of it", l, *adaptive.Deployments[0].Used)
	}
}

// Uncontrolled takes deployments and keys in turn.
func TestUncontrolledTakesTurns(t *testing.T) {
	p := &admit.Policy{Models: []admit.Model{{Name: "m", Deployments: []admit.Deployment{
		{Name: "a", Concurrency: 1, Keys: make([]admit.Quota, 2)}, {Name: "b", Concurrency: 1},
	}}}, Tenants: []admit.Tenant{{Name: "t"}}}
	p.Defaults()
	d, err := NewDecider("uncontrolled", p, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []admit.Decision{{Deployment: "a", Key: 1}, {Deployment: "b"}, {Deployment: "a", Key: 0}, {Deployment: "b"}, {Deployment: "a", Key: 1}} {
		got := d.Offer(epoch.Add(time.Duration(i)), ask(admit.ID(i+1), "t", "m", epoch))[0]
		if got.Verdict != admit.Run || got.Deployment != want.Deployment || got.Key != want.Key {
			t.Errorf("call %d goes to %s with key %d", i, got.Deployment, got.Key)
		}
	}
}
