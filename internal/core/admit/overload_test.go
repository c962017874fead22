package admit

import (
	"testing"
	"time"
)

func constant(r float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return r }
}

func onePool(slots int, tenants ...Tenant) *Policy {
	return &Policy{Models: []Model{{Name: "m", Deployments: []Deployment{{Name: "d", Concurrency: slots}}}}, Tenants: tenants}
}

func TestTune(t *testing.T) {
	for _, load := range []float64{1, 2, 5, 10} {
		w := newWorld(t, onePool(16, Tenant{Name: "big"}, Tenant{Name: "light"}), 1)
		w.actors = []*actor{
			{name: "big", rate: constant(16 * load * .95), deadline: 8 * time.Second, retries: 2},
			{name: "light", rate: constant(16 * load * .05), deadline: 8 * time.Second, retries: 2},
		}
		w.run(60 * time.Second)
		t.Logf("load %v\n%s", load, w.report(60*time.Second))
	}
}
