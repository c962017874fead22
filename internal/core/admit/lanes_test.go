package admit

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestLanes: three tenants wait for one slot, and operators see who, how many
// and for how long.
func TestLanes(t *testing.T) {
	const s = time.Second
	d := newDesk(t, exact(onePool(1, Tenant{Name: "a"}, Tenant{Name: "b"}, Tenant{Name: "c"})))
	d.fill(0, 1, Request{Tenant: "a", Deadline: after(600 * s)}) // takes the slot
	d.fill(1*s, 2, Request{Tenant: "a", Class: Batch, Deadline: after(600 * s)})
	d.fill(2*s, 3, Request{Tenant: "b", Class: Batch, Deadline: after(600 * s)})
	d.fill(3*s, 2, Request{Tenant: "c", Class: Batch, Deadline: after(600 * s)})

	now := after(4 * s)
	lanes := &Lanes{Limit: 2}
	v, ok := d.c.View(now, 0, lanes)
	if !ok || v.Model != "m" || v.Classes[Batch].Waiting != 7 || v.Entry[Batch] <= 0 || v.Entry[Interactive] <= 0 || len(v.Deployments) != 1 {
		t.Errorf("view %+v, %v", v, ok)
	}
	got := lanes.Longest()
	if len(got) != 2 || lanes.Left != 1 {
		t.Fatalf("%d lanes and %d left out, want 2 and 1: %+v", len(got), lanes.Left, got)
	}
	if b := got[0]; b.Tenant != "b" || b.Class != Batch || b.Waiting != 3 || b.Oldest != 2*s {
		t.Errorf("the longest is %+v", b)
	}
	if a := got[1]; a.Tenant != "a" || a.Waiting != 2 || a.Oldest != 3*s { // as long as c's, but older
		t.Errorf("the next is %+v", a)
	}
	for _, l := range got {
		offered := d.c.Explain(now, withDefaults(Request{Tenant: l.Tenant, Class: l.Class, Deadline: after(600 * s)}))
		for _, step := range offered.Steps {
			if step.Stage == StageShed && step.Figure != l.Wait.Milliseconds() {
				t.Errorf("%s: operators see %v, an offer %d ms", l.Tenant, l.Wait, step.Figure)
			}
		}
	}
}

// TestLanesOfMany: a list that is full many times over holds the same as one
// that never is.
func TestLanesOfMany(t *testing.T) {
	c, now := crowd(30, 3, 4)
	all := viewAll(c, now, 1000)
	lanes := &Lanes{Limit: 7}
	for i := range c.Pools() {
		c.View(now, i, lanes)
	}
	if got := lanes.Longest(); !reflect.DeepEqual(got, all[:7]) || lanes.Left != len(all)-7 {
		t.Errorf("%d left out of %d: %+v, want %+v", lanes.Left, len(all), got, all[:7])
	}
}

// TestEntry: where a slot is free a newcomer does not wait.
func TestEntry(t *testing.T) {
	d := newDesk(t, exact(onePool(2, Tenant{Name: "a"})))
	d.fill(0, 1, Request{})
	if v, _ := d.c.View(t0, 0, &Lanes{}); v.Entry != [NumClasses]time.Duration{} {
		t.Errorf("a slot is free, and waits are %v", v.Entry)
	}
	d.fill(0, 1, Request{})
	if v, _ := d.c.View(t0, 0, &Lanes{}); v.Entry[Interactive] <= 0 {
		t.Errorf("no slot is free, and waits are %v", v.Entry)
	}
}

// TestMarks: what holds a class back is what the offer is compared with.
func TestMarks(t *testing.T) {
	p := onePool(1, Tenant{Name: "a"}, Tenant{Name: "low", LowTier: true})
	p.Models[0].Queue.Low, p.Models[0].Queue.High = 2*time.Second, 10*time.Second
	d := newDesk(t, exact(p))
	v, _ := d.c.View(t0, 0, &Lanes{})
	for class, want := range [NumClasses]Marks{{4 * time.Second, 10 * time.Second}, {4 * time.Second, 8 * time.Second}, {4 * time.Second, 6 * time.Second}, {2 * time.Second, 2 * time.Second}} {
		if v.Marks[class] != want {
			t.Errorf("%v: %v, want %v", Class(class), v.Marks[class], want)
		}
	}
}

// TestPayers: a tenant with its limits, and what is used of them.
func TestPayers(t *testing.T) {
	d := newDesk(t, exact(onePool(1, Tenant{Name: "a", Limits: map[string]Limits{"": {Requests: 5}}}, Tenant{Name: "b"})))
	d.fill(0, 2, Request{Tenant: "a"})
	var got []PayerState
	for i := range d.c.Payers() {
		got = append(got, d.c.Payer(t0, i))
	}
	want := []PayerState{
		{TenantState: TenantState{Name: "a", Active: 2, Waiting: 1, Came: true}},
		{TenantState: TenantState{Name: "b"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := d.c.Quotas(t0, 0, nil), []QuotaState{{Tenant: "a", Model: "m", Requests: Usage{5, 2}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// crowd is a controller with so many tenants, models and classes, all of which
// wait, some more than others.
func crowd(tenants, models int, classes Class) (*Controller, time.Time) {
	p := &Policy{Budget: Budget{Limits: [NumSpans]int64{Day: 1 << 50}}}
	for i := range models {
		m := Model{Name: fmt.Sprintf("model-%02d", i), Queue: QueuePolicy{Total: 1 << 20, Work: 1000 * time.Hour}}
		for j := range 3 {
			m.Deployments = append(m.Deployments, Deployment{Name: fmt.Sprintf("up-%d-%d", i, j), Concurrency: 16, Price: Price{Known: true, Input: 1e6, Output: 4e6}})
		}
		p.Models = append(p.Models, m)
	}
	for i := range tenants {
		p.Tenants = append(p.Tenants, Tenant{
			Name: fmt.Sprintf("tenant-%03d", i), Limits: map[string]Limits{"": {Requests: 1 << 20, Tokens: 1 << 40}},
			Budgets: Budgets{All: Budget{Limits: [NumSpans]int64{Day: 1 << 40}}},
		})
	}
	p.Defaults()
	for class := range p.Classes {
		p.Classes[class].MaxWait = 1000 * time.Hour
	}
	c, now, id := newBench(p), t0, ID(0)
	for i := range models {
		for j := range tenants {
			for class := range classes {
				for range 1 + (i+j*7+int(class))%3 {
					id++
					now = now.Add(20 * time.Microsecond)
					c.Offer(now, Request{ID: id, Tenant: p.Tenants[j].Name, Model: p.Models[i].Name, Class: class, Input: 500, Arrived: now, Deadline: now.Add(1000 * time.Hour)})
				}
			}
		}
	}
	return c, now
}

// BenchmarkView is what a lock around the controller is held for, part by part:
// 200 tenants of 20 models wait in all classes, about 32,000 requests. outdated
// is when the shares are due to be made again.
func BenchmarkView(b *testing.B) {
	c, now := crowd(200, 20, NumClasses)
	b.Run("pool", func(b *testing.B) {
		b.ReportAllocs()
		lanes := &Lanes{Limit: 100}
		for i := 0; b.Loop(); i++ {
			if i%20 == 0 {
				lanes = &Lanes{Limit: 100}
			}
			c.View(now, i%20, lanes)
		}
	})
	b.Run("pool/outdated", func(b *testing.B) {
		b.ReportAllocs()
		lanes := &Lanes{Limit: 100}
		for i := 0; b.Loop(); i++ {
			if i%20 == 0 {
				lanes = &Lanes{Limit: 100}
			}
			c.View(now.Add(5*time.Second), i%20, lanes)
		}
	})
	b.Run("payer", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			c.Payer(now, i%200)
		}
	})
	b.Run("quotas", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			c.Quotas(now, i%200, nil)
		}
	})
	b.Run("money", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Money()
		}
	})
	b.Run("all/at/once", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Snapshot(now)
		}
	})
}
