package admit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestReloadKeeps: what waits, what was counted and what was learnt goes
// through any number of reloads.
func TestReloadKeeps(t *testing.T) {
	const s = time.Second
	p := func() *Policy {
		p := onePool(2, Tenant{Name: "a", Limits: map[string]Limits{"": {Requests: 50, Tokens: 1e6}}})
		return p
	}
	d := newDesk(t, p())
	for i := range 20 { // a call takes three seconds
		at := time.Duration(i) * 3 * s
		d.offer(at, Request{})
		d.good(at+3*s, d.last)
	}
	const at = 60 * s
	d.fill(at, 6, Request{Deadline: after(at + 60*s)})
	state := d.c.Snapshot(after(at))
	requests, tokens := d.c.Quota(after(at), "a", "m")
	for range 10 {
		if ds := d.configure(at, p()); len(ds) != 0 {
			t.Fatalf("a reload without change decided %+v", ds)
		}
	}
	if got := d.c.Snapshot(after(at)); fmt.Sprint(got) != fmt.Sprint(state) {
		t.Errorf("state %+v, before the reloads %+v", got, state)
	}
	r, k := d.c.Quota(after(at), "a", "m")
	if r != requests || k != tokens {
		t.Errorf("limits %+v %+v, before the reloads %+v %+v", r, k, requests, tokens)
	}
	d.only(d.good(at+s, d.last-5), d.last-3, Run, StageDispatch) // in the old order
}

// TestOff: a deployment that is off gets no further calls, whatever waits; what runs
// on it ends as ever, and when it is on again it is what it was.
func TestOff(t *testing.T) {
	const s = time.Second
	policy := func(x, y bool) *Policy {
		return deployments(Deployment{Name: "x", Concurrency: 1, Off: x}, Deployment{Name: "y", Concurrency: 1, Off: y})
	}
	d := newDesk(t, policy(false, false))
	d.fill(0, 5, Request{Deadline: after(60 * s)})
	d.configure(0, policy(true, false))
	ran := map[string]int{}
	for i := range 2 { // both end; one place is left for what waits
		for _, x := range d.good(s, ID(i+1)) {
			ran[x.Deployment]++
		}
	}
	if ran["y"] != 1 || ran["x"] != 0 {
		t.Errorf("%v: x is off", ran)
	}
	d.configure(s, policy(true, true))
	if ds := d.good(2*s, 3); len(ds) != 0 {
		t.Errorf("%+v: nothing is on", ds)
	}
	d.is(d.offer(2*s, Request{}), Reject, StageCapacity)
	if n := d.c.Waiting(); n != 2 {
		t.Errorf("%d wait: who waited stays", n)
	}
	if ds := d.configure(10*s, policy(false, true)); len(ds) != 1 || ds[0].ID != 4 || ds[0].Deployment != "x" {
		t.Errorf("%+v: in the old order, on x", ds)
	}
}

// TestOffAtAnyMoment: deployments go off and on while requests come, end and fail;
// the invariants, which the desk checks after each event, hold.
func TestOffAtAnyMoment(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	policy := func(x, y bool) *Policy {
		p := deployments(Deployment{Name: "x", Concurrency: 2, Off: x}, Deployment{Name: "y", Concurrency: 1, Off: y, Tier: 1})
		p.Models[0].Breaker.Cooldown = time.Second
		return p
	}
	d := newDesk(t, policy(false, false))
	at, ran := time.Duration(0), map[ID]bool{}
	note := func(ds []Decision) {
		for _, x := range ds {
			delete(ran, x.ID)
			if x.Verdict == Run {
				ran[x.ID] = true
			}
		}
	}
	off := 0
	for range 4000 {
		at += time.Duration(rng.IntN(400)) * time.Millisecond
		switch n := rng.IntN(10); {
		case n < 4:
			note(append([]Decision{d.offer(at, Request{})}, d.rest...))
		case n < 8:
			for id := range ID(d.last + 1) { // the oldest, not any: maps have no order
				if ran[id] {
					delete(ran, id)
					if n == 4 {
						note(d.finish(at, id, failed))
					} else {
						note(d.good(at, id))
					}
					break
				}
			}
		case n == 8:
			note(d.tick(at))
		default:
			off = rng.IntN(4)
			note(d.configure(at, policy(off&1 > 0, off&2 > 0)))
		}
	}
	note(d.configure(at, policy(false, false)))
	if d.last < 1000 {
		t.Errorf("only %d requests", d.last)
	}
}

// TestReloadSlots: more slots run what waits at once, fewer let what runs end.
func TestReloadSlots(t *testing.T) {
	const s = time.Second
	slots := func(n int) *Policy { return exact(onePool(n, Tenant{Name: "a"})) }
	d := newDesk(t, slots(1))
	d.fill(0, 5, Request{Deadline: after(60 * s)})
	ds := d.configure(s, slots(3))
	if len(ds) != 2 || ds[0].ID != 2 || ds[1].ID != 3 || ds[0].Verdict != Run {
		t.Fatalf("got %+v, want 2 and 3 to run", ds)
	}
	if ds := d.configure(2*s, slots(1)); len(ds) != 0 || d.c.Running() != 3 {
		t.Fatalf("got %+v with %d running, want all three to go on", ds, d.c.Running())
	}
	for id := ID(1); id <= 2; id++ {
		if ds := d.good(3*s, id); len(ds) != 0 {
			t.Fatalf("got %+v while more run than may", ds)
		}
	}
	d.only(d.good(4*s, 3), 4, Run, StageDispatch)
}

// TestModelLeaves: what waits for a model that is no longer named is served,
// nothing new is taken, and when it comes back its slots and waiters are one.
func TestModelLeaves(t *testing.T) {
	const s = time.Second
	p := func(models ...string) *Policy {
		p := &Policy{Tenants: []Tenant{{Name: "a"}}}
		for _, m := range models {
			p.Models = append(p.Models, Model{Name: m, Deployments: []Deployment{{Name: "d-" + m, Concurrency: 1}}})
		}
		return exact(p)
	}
	d := newDesk(t, p("m", "n"))
	d.fill(0, 3, Request{Deadline: after(60 * s)})
	d.configure(s, p("n"))
	d.is(d.offer(s, Request{}), Reject, StageUnknown)
	d.only(d.good(2*s, 1), 2, Run, StageDispatch)
	d.configure(3*s, p("n", "m"))
	d.is(d.offer(3*s, Request{Deadline: after(60 * s)}), Queue, StageQueue)
	d.only(d.good(4*s, 2), 3, Run, StageDispatch)
	d.only(d.good(5*s, 3), 5, Run, StageDispatch)
}

// TestTenantLeaves: its requests end as they would have.
func TestTenantLeaves(t *testing.T) {
	d := newDesk(t, exact(onePool(1, Tenant{Name: "a"}, Tenant{Name: "b"})))
	d.fill(0, 2, Request{})
	d.configure(0, exact(onePool(1, Tenant{Name: "b"})))
	d.is(d.offer(0, Request{}), Reject, StageUnknown)
	d.only(d.good(time.Second, 1), 2, Run, StageDispatch)
	d.good(2*time.Second, 2)
}

// TestAnyModel serves what no other pool names.
func TestAnyModel(t *testing.T) {
	p := exact(&Policy{Tenants: []Tenant{{Name: "a"}}, Models: []Model{
		{Name: "m", Deployments: []Deployment{{Name: "d", Concurrency: 1}}}, {Name: AnyModel, Deployments: []Deployment{{Name: "rest", Concurrency: 1}}},
	}})
	d := newDesk(t, p)
	for model, want := range map[string]string{"m": "d", "something": "rest"} {
		if got := d.offer(0, Request{Model: model}); got.Deployment != want {
			t.Errorf("%s runs on %q, want %q", model, got.Deployment, want)
		}
	}
}

// TestWeightReload: a changed weight counts from the next request on.
func TestWeightReload(t *testing.T) {
	const s = time.Second
	policy := func(weight int) *Policy {
		return exact(onePool(1, Tenant{Name: "a", Weight: weight}, Tenant{Name: "b"}))
	}
	d := newDesk(t, policy(1))
	for range 20 {
		d.offer(0, Request{Tenant: "a", Class: Batch, Deadline: after(600 * s)})
		d.offer(0, Request{Tenant: "b", Class: Batch, Deadline: after(600 * s)})
	}
	d.configure(0, policy(3))
	got := map[string]int{}
	running := ID(1)
	for i := range 16 {
		x := d.good(time.Duration(i+1)*s, running)
		running = x[0].ID
		got[d.c.calls[running].tenant().policy.Name]++
	}
	if got["a"] < 11 || got["a"] > 13 {
		t.Errorf("served %v, want three to one", got)
	}
}
