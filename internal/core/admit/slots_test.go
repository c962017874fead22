package admit

import (
	"math/rand/v2"
	"testing"
	"time"
)

func deployments(ds ...Deployment) *Policy {
	p := exact(onePool(1, Tenant{Name: "a"}))
	p.Models[0].Deployments = ds
	return p
}

// TestSlotHeld: a stream keeps its slot to the end of its body, however early
// its first token came (B142).
func TestSlotHeld(t *testing.T) {
	const s = time.Second
	d := newDesk(t, deployments(Deployment{Name: "d", Concurrency: 2}))
	far := Request{Stream: true, Deadline: after(20 * s)}
	d.is(d.offer(0, far), Run, StageFree)
	d.is(d.offer(0, far), Run, StageFree)
	d.is(d.offer(0, far), Queue, StageQueue)
	d.c.FirstByte(after(s), 1)
	d.c.FirstByte(after(s), 2)
	if ds := d.tick(5 * s); len(ds) != 0 || d.c.Running() != 2 {
		t.Errorf("%+v while two streams run", ds)
	}
	got := d.only(d.good(10*s, 2), 3, Run, StageDispatch)
	if got.Wait != 10*s {
		t.Errorf("waited %v", got.Wait)
	}
}

// TestSlotBack: whenever the caller leaves, the slot comes back at once, and
// only once (B175, B177).
func TestSlotBack(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name string
		end  func(*desk)
	}{
		{"before anything was sent", func(d *desk) { d.cancel(s, 1) }},
		{"before headers", func(d *desk) { d.finish(s, 1, Outcome{CallerGone: true}) }},
		{"mid-body", func(d *desk) { d.c.FirstByte(after(s), 1); d.finish(2*s, 1, Outcome{CallerGone: true, Output: 3}) }},
		{"after the last byte", func(d *desk) { d.good(2*s, 1) }},
		{"the upstream fails", func(d *desk) { d.finish(s, 1, Outcome{Status: 500}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, deployments(Deployment{Name: "d", Concurrency: 1}))
			d.is(d.offer(0, Request{}), Run, StageFree)
			tt.end(d)
			if d.c.Running() != 0 {
				t.Fatal("the slot is gone")
			}
			for _, again := range []func() []Decision{ // the shell says it twice, or late
				func() []Decision { return d.c.Finish(after(3*s), 1, Outcome{OK: true}) },
				func() []Decision { return d.c.Cancel(after(3*s), 1) },
				func() []Decision { d.c.FirstByte(after(3*s), 1); return nil },
				func() []Decision { return d.c.Finish(after(3*s), 999, Outcome{}) },
			} {
				if ds := again(); len(ds) != 0 {
					t.Errorf("decided %+v on an ended request", ds)
				}
			}
			for i := range 10 { // one a minute for ten minutes
				at := time.Duration(i+1) * time.Minute
				d.is(d.offer(at, Request{}), Run, StageFree)
				d.good(at+s, d.last)
			}
			if d.c.Running() != 0 || d.c.tenants["a"].active != 0 {
				t.Error("something is counted that has ended")
			}
		})
	}
}

// TestDeploymentReload: an endpoint leaves and comes back while ten requests
// run on it; it never runs more than it may, and counts return to zero (B178).
func TestDeploymentReload(t *testing.T) {
	const s = time.Second
	both := func() *Policy {
		return deployments(Deployment{Name: "x", Concurrency: 10}, Deployment{Name: "y", Concurrency: 10})
	}
	d := newDesk(t, both())
	d.fill(0, 20, Request{})
	on := map[string]int{}
	for _, k := range d.c.calls {
		on[k.deployment.name]++
	}
	if on["x"] != 10 || on["y"] != 10 {
		t.Fatalf("spread as %v", on)
	}
	d.configure(s, deployments(Deployment{Name: "y", Concurrency: 10})) // x leaves, its ten go on
	var onY []ID
	for id, k := range d.c.calls {
		if k.deployment.name == "y" {
			onY = append(onY, id)
		}
	}
	for _, id := range onY { // y is empty again
		d.good(2*s, id)
	}
	d.configure(3*s, both()) // x is back, still busy with its ten
	for range 10 {
		if got := d.offer(4*s, Request{}); got.Verdict != Run || got.Deployment != "y" {
			t.Fatalf("got %v on %q: x has no free slot", got.Verdict, got.Deployment)
		}
	}
	d.is(d.offer(4*s, Request{}), Queue, StageQueue)
	for id, k := range d.c.calls {
		if k.running {
			d.good(5*s, id)
		}
	}
	for id := range d.c.calls {
		d.good(6*s, id)
	}
	for _, dep := range d.c.pools[0].deployments {
		if dep.running != 0 {
			t.Errorf("%s still runs %d", dep.name, dep.running)
		}
	}
}

// TestSlotsLowered: while one deployment has more running than it now may,
// the others' slots are used all the same.
func TestSlotsLowered(t *testing.T) {
	const s = time.Second
	d := newDesk(t, deployments(Deployment{Name: "x", Concurrency: 16}))
	d.fill(0, 18, Request{Deadline: after(60 * s)})
	ds := d.configure(s, deployments(Deployment{Name: "x", Concurrency: 8}, Deployment{Name: "y", Concurrency: 8}))
	if len(ds) != 2 || ds[0].Deployment != "y" || ds[1].Deployment != "y" {
		t.Errorf("got %+v, want both that wait to run on y", ds)
	}
}

// TestSpread: two hundred requests over two deployments differ by at most a
// fifth (B179), and unequal ones get their proportion.
func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		name    string
		a, b    int
		running int // at once
		want    float64
		slack   float64
	}{
		{"equal, one at a time", 64, 64, 1, 1, 1.2},
		{"equal, busy", 64, 64, 100, 1, 1.2},
		{"three to one, busy", 96, 32, 100, 3, 1.2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, deployments(Deployment{Name: "a", Concurrency: tt.a}, Deployment{Name: "b", Concurrency: tt.b}))
			got := map[string]float64{}
			var live []ID
			rng := rand.New(rand.NewPCG(1, 1))
			for i := range 200 {
				at := time.Duration(i) * 5 * time.Millisecond
				if len(live) == tt.running {
					n := rng.IntN(len(live))
					d.good(at, live[n])
					live = append(live[:n], live[n+1:]...)
				}
				x := d.offer(at, Request{})
				d.is(x, Run, StageFree)
				got[x.Deployment]++
				live = append(live, x.ID)
			}
			if r := got["a"] / got["b"]; r > tt.want*tt.slack || r < tt.want/tt.slack {
				t.Errorf("%v of a for each of b, want %v", r, tt.want)
			}
		})
	}
}
