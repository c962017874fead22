package admit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func benchController(tenants, slots int, limits Limits) *Controller {
	p := onePool(slots)
	for i := range tenants {
		p.Tenants = append(p.Tenants, Tenant{Name: fmt.Sprintf("tenant-%d", i), Limits: map[string]Limits{"": limits}})
	}
	p.Models[0].Queue.Work = 1000 * time.Hour
	p.Defaults()
	return newBench(p)
}

func newBench(p *Policy) *Controller { return New(t0, p, rand.New(rand.NewPCG(1, 1))) }

// BenchmarkOfferFinish is the uncontended decision: a slot is free.
func BenchmarkOfferFinish(b *testing.B) {
	for _, tenants := range []int{1, 1000, 100_000} {
		for name, limits := range map[string]Limits{"plain": {}, "limits": {Requests: 1 << 40, Tokens: 1 << 50}} {
			b.Run(fmt.Sprintf("%s/tenants=%d", name, tenants), func(b *testing.B) {
				c := benchController(tenants, 64, limits)
				now := t0
				names := make([]string, tenants)
				for i := range names {
					names[i] = c.policy.Tenants[i].Name
				}
				b.ReportAllocs()
				id := ID(0)
				for b.Loop() {
					id++
					now = now.Add(time.Millisecond)
					r := Request{ID: id, Tenant: names[int(id*7919)%tenants], Model: "m", Input: 500, Arrived: now, Deadline: now.Add(8 * time.Second)}
					if d := c.Offer(now, r); d[0].Verdict != Run {
						b.Fatal(d[0])
					}
					c.Finish(now.Add(time.Millisecond), id, Outcome{OK: true, Known: true, Input: 500, Output: 100, Status: 200})
				}
			})
		}
	}
}

// BenchmarkEnqueueDequeue keeps 5,000 requests of 5,000 tenants waiting: each
// turn ends one call, which dispatches a waiting one, and offers another.
func BenchmarkEnqueueDequeue(b *testing.B) {
	for _, n := range []int{100, 5000} {
		b.Run(fmt.Sprintf("waiters=%d", n), func(b *testing.B) {
			c := benchController(n, 64, Limits{})
			now := t0
			id := ID(0)
			var running []ID
			offer := func() {
				id++
				now = now.Add(50 * time.Microsecond)
				r := Request{ID: id, Tenant: c.policy.Tenants[int(id*7919)%n].Name, Model: "m", Class: Batch, Input: 500, Arrived: now, Deadline: now.Add(1000 * time.Hour)}
				for _, d := range c.Offer(now, r) {
					switch d.Verdict {
					case Run:
						running = append(running, d.ID)
					case Reject:
						b.Fatal(d)
					}
				}
			}
			c.policy.Classes[Batch].MaxWait = 1000 * time.Hour
			for c.Waiting() < n {
				offer()
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now = now.Add(50 * time.Microsecond)
				for _, d := range c.Finish(now, running[i%64], Outcome{OK: true, Known: true, Input: 500, Output: 100}) {
					running[i%64] = d.ID
				}
				offer()
			}
		})
	}
}
