package admit

import (
	"testing"
	"time"
)

// TestGuardTrips: the prior says two minutes, calls end after 50 ms, and none
// ends well, so that nothing is learnt. Every second twelve come for four
// slots, which idle nearly all the time.
func TestGuardTrips(t *testing.T) {
	p := exact(onePool(4, Tenant{Name: "a"}))
	p.Models[0].Prior.First = 2 * time.Minute
	d := newDesk(t, p)
	refused := make([]int, 20)
	for second := range refused {
		at := time.Duration(second) * time.Second
		var running []ID
		for range 12 {
			switch got := d.offer(at, Request{Deadline: after(at + 8*time.Second)}); got.Verdict {
			case Run:
				running = append(running, got.ID)
			case Reject:
				d.is(got, Reject, StageWait)
				refused[second]++
			}
		}
		for len(running) > 0 {
			at += 50 * time.Millisecond
			var next []ID
			for _, id := range running {
				for _, x := range d.finish(at, id, Outcome{Status: 400}) {
					next = append(next, x.ID)
				}
			}
			running = next
		}
	}
	if refused[0] != 8 || refused[1] != 8 {
		t.Errorf("refused %v: the prior is not what refuses", refused)
	}
	believed := 0
	for _, n := range refused[2:] {
		if n > 0 {
			believed++
		}
	}
	if believed > 6 { // ten seconds without prediction each time it trips
		t.Errorf("refused %v: the guard lets the predictor do it", refused)
	}
}

// TestDistrust: while the predictor is not believed only bounds and the
// deadline itself refuse.
func TestDistrust(t *testing.T) {
	const s = time.Second
	p := exact(onePool(1, Tenant{Name: "a"}))
	p.Models[0].Queue.PerTenant = 5
	d := newDesk(t, p)
	d.offer(0, Request{})
	hopeless := Request{Deadline: after(1500 * time.Millisecond)}
	d.is(d.offer(0, hopeless), Reject, StageWait)
	d.c.tenants["a"].members[0].distrust = after(10 * s)
	d.is(d.offer(0, hopeless), Queue, StageQueue)
	d.fill(0, 4, Request{})
	d.is(d.offer(0, Request{}), Reject, StageBound)
	if next := d.c.Next(); !next.Equal(after(1500 * time.Millisecond)) {
		t.Errorf("it may wait until %v, want its deadline", next.Sub(t0))
	}
	d.only(d.good(1400*time.Millisecond, 1), 3, Run, StageDispatch) // 100 ms before its deadline, it may try
	d.only(d.good(7900*time.Millisecond, 3), 4, Run, StageDispatch)
}

// TestDark: the mode that only observes marks what it would have refused, and
// lets it through to the deadline; limits and bounds refuse all the same.
func TestDark(t *testing.T) {
	const s = time.Second
	p := exact(onePool(1, Tenant{Name: "a", Limits: map[string]Limits{"": {Requests: 5}}}))
	p.Observe = true
	p.Retry = RetryPolicy{Percent: -1, Reserve: -1}
	p.Models[0].Queue.PerTenant = 4
	d := newDesk(t, p)
	d.is(d.offer(0, Request{}), Run, StageFree)
	for _, tt := range []struct {
		name     string
		ask      Request
		observed bool
	}{
		{"fits", Request{}, false},
		{"would miss its deadline", Request{Deadline: after(1500 * time.Millisecond)}, true},
		{"a retry beyond the budget", Request{Attempt: 1}, true},
	} {
		got := d.offer(0, tt.ask)
		d.is(got, Queue, StageQueue)
		if got.Observed != tt.observed {
			t.Errorf("%s: observed %v", tt.name, got.Observed)
		}
	}
	d.is(d.offer(0, Request{}), Queue, StageQueue)
	d.is(d.offer(0, Request{}), Reject, StageRequests)
	d.cancel(0, 5)
	d.is(d.offer(0, Request{Bytes: 1 << 40}), Reject, StageBound)
	if ds := d.tick(1400 * time.Millisecond); len(ds) != 0 {
		t.Errorf("dropped before its deadline: %+v", ds)
	}
	got := d.only(d.tick(1500*time.Millisecond), 3, Reject, StageLate)
	if got.RetryAfter == 0 {
		t.Error("no time to come back")
	}
	if next := d.c.Next(); !next.Equal(after(8 * s)) {
		t.Errorf("next is %v: those that fitted are dropped by prediction", next.Sub(t0))
	}
	if got := d.only(d.good(7900*time.Millisecond, 1), 2, Run, StageDispatch); got.Observed {
		t.Error("what was predicted to fit is marked")
	}
}
