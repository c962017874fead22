package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func BenchmarkDeciders(b *testing.B) {
	for _, name := range deciderNames() {
		b.Run(name, func(b *testing.B) { benchDecider(b, name) })
	}
}

// benchDecider ends one call and offers another, with twice as many waiting as run.
func benchDecider(b *testing.B, name string) {
	const slots, tenants = 64, 1000
	p := smallPolicy(slots, func(p *admit.Policy) {
		for i := range tenants {
			p.Tenants = append(p.Tenants, admit.Tenant{Name: fmt.Sprint("tenant-", i)})
		}
	})
	d, err := NewDecider(name, p, second{}, 1)
	if err != nil {
		b.Fatal(err)
	}
	now, id := epoch, admit.ID(0)
	var running []admit.ID
	take := func(ds []admit.Decision) {
		for _, d := range ds {
			if d.Verdict == admit.Run {
				running = append(running, d.ID)
			}
		}
	}
	offer := func() {
		id++
		r := admit.Request{ID: id, Tenant: p.Tenants[id%tenants].Name, Model: "m", Class: admit.Batch, Input: 500, Arrived: now, Deadline: now.Add(time.Minute)}
		take(d.Offer(now, r))
	}
	for range 3 * slots {
		now = now.Add(time.Second / slots)
		offer()
	}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second / slots)
		if len(running) > 0 {
			ended := running[0]
			running = running[1:]
			take(d.Finish(now, ended, admit.Outcome{Status: 200, OK: true, Known: true, Input: 500, Output: 50}))
		}
		offer()
	}
}

// second is a Truth: everything takes a second.
type second struct{}

func (second) Service(admit.ID) (first, total time.Duration) { return time.Second / 5, time.Second }
