package admit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkDeployments is Offer and Finish with many deployments, at seven
// tenths of their slots: nothing waits, so that each call is chosen a place.
func BenchmarkDeployments(b *testing.B) {
	for _, n := range []int{1, 2, 10, 50} {
		for _, balance := range []Balance{LeastLoaded, Cost, Score} {
			b.Run(fmt.Sprintf("%v/deployments=%d", balance, n), func(b *testing.B) { benchDeployments(b, n, balance, Quota{}, 0) })
		}
	}
	b.Run("limits/deployments=50", func(b *testing.B) {
		benchDeployments(b, 50, LeastLoaded, Quota{Requests: 1e9, Tokens: 1e12, Daily: 1e15}, 0)
	})
	b.Run("affinity/deployments=50", func(b *testing.B) { benchDeployments(b, 50, LeastLoaded, Quota{}, 1) })
}

func benchDeployments(b *testing.B, n int, balance Balance, q Quota, affinity uint64) {
	p := &Policy{Models: []Model{{Name: "m", Balance: balance}}, Tenants: []Tenant{{Name: "a"}}}
	for i := range n {
		p.Models[0].Deployments = append(p.Models[0].Deployments, Deployment{
			Name: fmt.Sprint("d", i), Concurrency: 64, Price: Price{Input: 1e6, Output: 1e6}, Keys: []Quota{q},
		})
	}
	p.Defaults()
	c := New(t0, p, rand.New(rand.NewPCG(1, 1)))
	now, id := t0, ID(0)
	offer := func() {
		now = now.Add(100 * time.Microsecond)
		id++
		c.Offer(now, Request{ID: id, Tenant: "a", Model: "m", Input: 300, Arrived: now, Deadline: now.Add(time.Minute), Affinity: affinity * uint64(id)})
	}
	running := n * 64 * 7 / 10
	for range running {
		offer()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		c.Finish(now, ID(i+1), Outcome{Status: 200, OK: true, Known: true, Input: 300, Output: 200})
		offer()
	}
}
