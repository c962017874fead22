package admit

import (
	"testing"
	"time"
)

// BenchmarkSpend is the uncontended decision with money: budgets of every
// scope, and a ladder whose caller agrees to all of it.
func BenchmarkSpend(b *testing.B) {
	for name, change := range map[string]func(*Policy, *Request){
		"none": func(*Policy, *Request) {},
		"tenant": func(p *Policy, _ *Request) {
			p.Tenants[0].Budgets.All = Budget{Limits: [NumSpans]int64{Day: 1 << 50}}
		},
		"every scope": func(p *Policy, _ *Request) {
			x := Budget{Limits: [NumSpans]int64{Hour: 1 << 50, Day: 1 << 50}}
			p.Budget = x
			p.Tenants[0].Budgets = Budgets{All: x, Key: x, User: x, Session: x, Models: map[string]Budget{"": x}}
		},
		"ladder": func(p *Policy, r *Request) { climb(p, r) },
		"tenant and ladder": func(p *Policy, r *Request) {
			p.Tenants[0].Budgets.All = Budget{Limits: [NumSpans]int64{Day: 1 << 50}}
			climb(p, r)
		},
	} {
		b.Run(name, func(b *testing.B) {
			p := priced(64, Budgets{})
			r := Request{Tenant: "a", Model: "m", Input: 500, Key: "k", User: "u", Session: "s"}
			change(p, &r)
			p.Defaults()
			c := newBench(p)
			now := t0
			b.ReportAllocs()
			for b.Loop() {
				r.ID++
				now = now.Add(time.Millisecond)
				r.Arrived, r.Deadline = now, now.Add(8*time.Second)
				if d := c.Offer(now, r); d[0].Verdict != Run {
					b.Fatal(d[0])
				}
				c.Finish(now.Add(time.Millisecond), r.ID, Outcome{OK: true, Known: true, Input: 500, Output: 100, Status: 200, Cost: 600})
			}
		})
	}
}

func climb(p *Policy, r *Request) {
	p.Models = append(p.Models, Model{Name: "small", Deployments: []Deployment{{Name: "s", Concurrency: 4}}})
	p.Models[0].Ladder.Rungs = []Rung{features, trim, smaller, before}
	r.May = MayDegrade
	for i := range 4 {
		r.Rungs[i] = Shape{Changes: true, Input: 250}
	}
}
