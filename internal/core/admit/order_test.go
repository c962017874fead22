package admit

import (
	"slices"
	"testing"
	"time"
)

// TestWatermarks hold classes back one after the other as the queue grows.
func TestWatermarks(t *testing.T) {
	asks := []struct {
		tenant string
		class  Class
		from   int // requests waiting from which it is held back
	}{{"a", Speculative, 2}, {"cheap", Interactive, 4}, {"a", Batch, 6}, {"a", Standard, 8}, {"a", Interactive, 10}} // in shed order
	p := exact(onePool(1, Tenant{Name: "a"}, Tenant{Name: "cheap", LowTier: true}))
	q := &p.Models[0].Queue
	q.DepthLow, q.DepthHigh, q.Low, q.High = 2, 10, time.Hour, time.Hour
	for i := range p.Classes {
		p.Classes[i].MaxWait = 100 * time.Hour
	}
	d := newDesk(t, p)
	far := after(100 * time.Hour)
	d.offer(0, Request{Deadline: far})
	for waiting := 0; waiting <= 10; waiting++ {
		for _, ask := range asks {
			got := d.c.Explain(t0, Request{Tenant: ask.tenant, Class: ask.class, Model: "m", Arrived: t0, Deadline: far}).Decision
			if held := got.Stage == StageShed; held != (waiting >= ask.from) {
				t.Errorf("%v of %s with %d waiting: held back %v", ask.class, ask.tenant, waiting, held)
			}
		}
		d.offer(0, Request{Deadline: far})
	}
}

func TestWatermark(t *testing.T) {
	for rank, want := range []time.Duration{2, 4, 6, 8, 10} {
		if got := watermark(2*time.Second, 10*time.Second, rank); got != want*time.Second {
			t.Errorf("rank %d from %v, want %v", rank, got, want*time.Second)
		}
	}
}

// TestDeadlinePassed: what expired is dropped before it costs a slot, and a
// passed or absurd deadline never puts anything first (B163, B164).
func TestDeadlinePassed(t *testing.T) {
	const s = time.Second
	d := newDesk(t, exact(onePool(1, Tenant{Name: "a"})))
	d.offer(0, Request{Deadline: after(60 * s)})                                                  // 1 runs
	d.is(d.offer(0, Request{Deadline: after(1<<63 - 1)}), Queue, StageQueue)                      // 2: as far as time goes
	d.is(d.offer(0, Request{Deadline: after(5 * s)}), Queue, StageQueue)                          // 3
	d.is(d.offer(0, Request{Deadline: after(20 * s)}), Queue, StageQueue)                         // 4
	d.is(d.offer(9*s, Request{Arrived: after(0), Deadline: after(6 * s)}), Reject, StageDeadline) // passed three seconds ago
	ds := d.finish(10*s, 1, Outcome{Status: 400})                                                 // the timer for 3 came late
	if len(ds) != 2 || ds[0].ID != 3 || ds[1].ID != 4 {
		t.Fatalf("got %+v, want 3 dropped and 4 to run, which must start before 2", ds)
	}
	d.is(ds[0], Reject, StageLate)
	d.is(ds[1], Run, StageDispatch)
	d.only(d.good(11*s, 4), 2, Run, StageDispatch)
}

// TestMaxWait bounds the time in the queue alone (B166), and the refusal says
// which bound it was.
func TestMaxWait(t *testing.T) {
	const s = time.Second
	p := exact(onePool(1, Tenant{Name: "a"}))
	p.Classes[Interactive].MaxWait = 3 * s
	d := newDesk(t, p)
	far := Request{Deadline: after(60 * s)}
	d.is(d.offer(0, far), Run, StageFree)    // five seconds upstream are nothing to it
	d.is(d.offer(0, far), Queue, StageQueue) // predicted to wait a second
	if next := d.c.Next(); !next.Equal(after(3 * s)) {
		t.Errorf("it may wait until %v, want 3 s", next.Sub(t0))
	}
	got := d.only(d.tick(3*s), 2, Reject, StageLate)
	if got.Limit != "the longest wait of the class" || got.Figure != 3000 || got.Bound != 3000 {
		t.Errorf("refused by %q, %d of %d", got.Limit, got.Figure, got.Bound)
	}
	if ds := d.good(5*s, 1); len(ds) != 0 {
		t.Errorf("got %+v", ds)
	}
}

// TestLateAtDispatch: while others wait the slot goes to one that makes it.
func TestLateAtDispatch(t *testing.T) {
	const s = time.Second
	d := newDesk(t, exact(onePool(1, Tenant{Name: "a"})))
	for i := range 8 { // enough to believe how times spread: 0.5 to 1.9 s
		at := time.Duration(i-10) * s
		d.good(at+s, d.run(at, Request{}))
	}
	one := d.run(0, Request{Deadline: after(60 * s)})
	d.is(d.offer(0, Request{Deadline: after(6 * s)}), Queue, StageQueue)  // two
	d.is(d.offer(0, Request{Deadline: after(60 * s)}), Queue, StageQueue) // three
	ds := d.good(4600*time.Millisecond, one)                              // two would need luck
	if len(ds) != 2 {
		t.Fatalf("got %+v, want 2 dropped and 3 run", ds)
	}
	d.is(ds[0], Reject, StageLate)
	d.is(ds[1], Run, StageDispatch)
	if ds[0].ID != one+1 || ds[1].ID != one+2 {
		t.Errorf("got %+v", ds)
	}
}

// TestClassOrder: better classes first, whoever came first, and within one the
// tenants in turn.
func TestClassOrder(t *testing.T) {
	const s = time.Second
	p := exact(onePool(1, Tenant{Name: "a"}, Tenant{Name: "b"}))
	for i := range p.Classes {
		p.Classes[i].Floor = -1
		p.Classes[i].MaxWait = time.Hour
	}
	d := newDesk(t, p)
	far := after(time.Hour)
	d.offer(0, Request{Deadline: far}) // 1
	for _, x := range []struct {
		tenant string
		class  Class
	}{{"a", Batch}, {"a", Speculative}, {"a", Interactive}, {"a", Interactive}, {"b", Interactive}, {"b", Standard}} { // 2 to 7
		d.is(d.offer(0, Request{Tenant: x.tenant, Class: x.class, Deadline: far}), Queue, StageQueue)
	}
	var got []ID
	for running, at := ID(1), s; d.c.Waiting() > 0; at += s {
		running = d.good(at, running)[0].ID
		got = append(got, running)
	}
	if want := []ID{6, 4, 5, 7, 2, 3}; !slices.Equal(got, want) { // b before a, who had the first slot
		t.Errorf("served %v, want %v", got, want)
	}
}

// TestNoAllocation: a decision without contention allocates nothing; two
// allocations would be tolerable.
func TestNoAllocation(t *testing.T) {
	for name, limits := range map[string]Limits{"plain": {}, "limits": {Requests: 1 << 40, Tokens: 1 << 50}} {
		c := benchController(1000, 64, limits)
		now, id := t0, ID(0)
		got := testing.AllocsPerRun(20_000, func() {
			id++
			now = now.Add(time.Millisecond)
			c.Offer(now, Request{ID: id, Tenant: c.policy.Tenants[id%1000].Name, Model: "m", Input: 500, Arrived: now, Deadline: now.Add(8 * time.Second)})
			c.Finish(now.Add(time.Millisecond), id, Outcome{OK: true, Known: true, Input: 500, Output: 100, Status: 200})
		})
		if got > 2 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
