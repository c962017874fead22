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
	{ // fairness: 8 tenants share 16 slots: share 2 each; two at 5x, two light
		names := []string{"agg1", "agg2", "mid1", "mid2", "mid3", "mid4", "lite1", "lite2"}
		rates := []float64{10, 10, 2, 2, 2, 2, .4, .4}
		var ts []Tenant
		for _, n := range names {
			ts = append(ts, Tenant{Name: n})
		}
		w := newWorld(t, onePool(16, ts...), 1)
		for i, n := range names {
			w.actors = append(w.actors, &actor{name: n, rate: constant(rates[i]), deadline: 8 * time.Second, retries: 2})
		}
		w.run(120 * time.Second)
		t.Logf("fair\n%s", w.report(120*time.Second))
	}
	{ // priority
		w := newWorld(t, onePool(16, Tenant{Name: "a"}, Tenant{Name: "b"}), 1)
		w.actors = []*actor{
			{name: "a", class: Interactive, rate: constant(16 * .8), deadline: 8 * time.Second, retries: 2},
			{name: "b", class: Batch, rate: constant(16 * 3), deadline: 60 * time.Second, retries: 2},
		}
		w.run(120 * time.Second)
		t.Logf("prio\n%s", w.report(120*time.Second))
	}
	{ // priority, one tenant
		w := newWorld(t, onePool(16, Tenant{Name: "a"}), 1)
		w.actors = []*actor{
			{name: "a", class: Interactive, rate: constant(16 * .8), deadline: 4 * time.Second, retries: 2},
			{name: "a", class: Batch, rate: constant(16 * 3), deadline: 60 * time.Second, retries: 2},
		}
		w.run(120 * time.Second)
		t.Logf("prio, one tenant\n%s", w.report(120*time.Second))
	}
	for seed := range uint64(3) { // brownout
		w := newWorld(t, onePool(16, Tenant{Name: "a"}), seed)
		w.actors = []*actor{
			{name: "a", rate: constant(16), deadline: 8 * time.Second, retries: 2},
		}
		w.at(40*time.Second, func() { w.slow = 3 })
		w.at(80*time.Second, func() { w.slow = 1 })
		w.run(120 * time.Second)
		t.Logf("brown\n%s", w.report(120*time.Second))
	}
	{ // streams: deadline is first token
		w := newWorld(t, onePool(16, Tenant{Name: "a"}), 1)
		w.sigma = 1
		w.actors = []*actor{
			{name: "a", stream: true, rate: constant(32), deadline: 8 * time.Second, retries: 2},
		}
		w.run(120 * time.Second)
		t.Logf("stream, wide\n%s", w.report(120*time.Second))
	}
}
