package sim

import (
	"strings"
	"testing"
)

// A tenant's figures are those of all its classes and groups of callers, and
// all tenants together are everybody.
func TestTenantsAddUp(t *testing.T) {
	s, err := ParseScenario("x", strings.NewReader("slots 4\ncaller a rate=1x deadline=8s\ncaller jobs tenant=a class=batch rate=1x deadline=60s\ncaller b rate=0.5x deadline=8s\nfor 60s"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Play("ours", nil)
	if err != nil {
		t.Fatal(err)
	}
	offered := map[string]int64{}
	for _, g := range r.Groups {
		offered[g.Name] += g.Offered
	}
	if got, want := r.Tenants["a"].Offered, offered["a"]+offered["jobs"]; got != want || offered["jobs"] == 0 {
		t.Errorf("tenant a made %d requests, its groups %d", got, want)
	}
	if got := r.Tenants["b"].Offered; got != offered["b"] {
		t.Errorf("tenant b made %d requests, its group %d", got, offered["b"])
	}
	if got := r.Tenants["a"].Offered + r.Tenants["b"].Offered; got != r.Offered {
		t.Errorf("the tenants made %d requests of %d", got, r.Offered)
	}
	if worked := r.Tenants["a"].SlotSeconds + r.Tenants["b"].SlotSeconds; worked < 0.999*r.SlotSeconds || worked > 1.001*r.SlotSeconds {
		t.Errorf("the tenants had %.2f slot-seconds of %.2f", worked, r.SlotSeconds)
	}
}
