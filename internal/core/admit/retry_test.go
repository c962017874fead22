package admit

import (
	"testing"
	"time"
)

var failed = Outcome{Status: 503, Retryable: true}

// TestOwnRetry: what fails upstream before anything was sent goes again, with
// its arrival, its deadline and its place (B161).
func TestOwnRetry(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name    string
		change  func(*Policy)
		request Request
		before  func(*desk)
		outcome Outcome
		at      time.Duration
		again   bool
		pause   time.Duration // at least, before it goes again
	}{
		{name: "overloaded upstream", outcome: failed, at: s, again: true},
		{name: "not retryable", outcome: Outcome{Status: 400}, at: s},
		{name: "it was good", outcome: Outcome{Status: 200, OK: true, Retryable: true}, at: s},
		{name: "the caller left", outcome: Outcome{Status: 503, Retryable: true, CallerGone: true}, at: s},
		{name: "the upstream asks to wait", outcome: Outcome{Status: 429, Retryable: true, RetryAfter: 3 * s}, at: s, again: true, pause: 3 * s},
		{name: "the upstream asks to wait too long", outcome: Outcome{Status: 429, Retryable: true, RetryAfter: 8 * s}, at: s},
		{name: "a silent upstream", outcome: Outcome{Fault: Silent, Retryable: true}, at: s},
		{name: "a refused key", outcome: Outcome{Status: 401}, at: s},
		{name: "the first token was sent", outcome: failed, at: s, before: func(d *desk) { d.c.FirstByte(after(s/2), 1) }},
		{name: "too late for another", outcome: failed, at: 7500 * time.Millisecond},
		{name: "no attempts left", outcome: failed, at: s, change: func(p *Policy) { p.Retry.Attempts = 1 }},
		{name: "no budget left", outcome: failed, at: s, change: func(p *Policy) { p.Retry.Failover = FailoverPolicy{-1, -1, -1} }},
		{name: "the model is gone", outcome: failed, at: s, before: func(d *desk) {
			p := exact(onePool(1, Tenant{Name: "a"}))
			p.Models[0].Name = "other"
			d.configure(s/2, p)
		}},
		{name: "longer upstream than it may wait (B166)", outcome: failed, at: 5 * s, change: func(p *Policy) { p.Classes[Interactive].MaxWait = s }, again: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := exact(onePool(1, Tenant{Name: "a"}))
			p.Retry.Attempts = 2
			if tt.change != nil {
				tt.change(p)
			}
			d := newDesk(t, p)
			d.is(d.offer(0, tt.request), Run, StageFree)
			if tt.before != nil {
				tt.before(d)
			}
			ds := d.finish(tt.at, 1, tt.outcome)
			if !tt.again {
				if len(ds) != 0 || d.c.Running() != 0 {
					t.Errorf("got %+v, want the end", ds)
				}
				return
			}
			d.only(ds, 1, Queue, StageAgain)
			if d.c.Running() != 0 {
				t.Error("it holds a slot while it waits")
			}
			back := d.c.Next().Sub(t0)
			if pause := back - tt.at; pause < max(tt.pause, 125*time.Millisecond) || pause > max(tt.pause, 375*time.Millisecond) {
				t.Errorf("it goes again after %v", pause)
			}
			run := d.only(d.tick(back), 1, Run, StageDispatch)
			if run.Wait != back {
				t.Errorf("its wait is %v, want from its arrival: %v", run.Wait, back)
			}
			if ds := d.finish(back+s/2, 1, failed); len(ds) != 0 {
				t.Errorf("a third attempt: %+v", ds)
			}
		})
	}
}

// TestOwnRetryWaits: a retry that finds its slot taken by a better class waits
// for it anew, for as long as its class may wait, and not for as long as it ran.
func TestOwnRetryWaits(t *testing.T) {
	const s = time.Second
	p := exact(onePool(1, Tenant{Name: "a"}))
	p.Classes[Batch].MaxWait = 3 * s
	d := newDesk(t, p)
	d.is(d.offer(0, Request{Class: Batch, Deadline: after(60 * s)}), Run, StageFree)
	d.is(d.offer(4*s, Request{}), Queue, StageQueue)
	ds := d.finish(5*s, 1, failed)
	if len(ds) != 2 || ds[1].ID != 2 || ds[1].Verdict != Run {
		t.Fatalf("got %+v, want the better class to run", ds)
	}
	if ds := d.tick(5500 * time.Millisecond); len(ds) != 0 {
		t.Errorf("dropped for the time it ran: %+v", ds)
	}
	d.only(d.good(6*s, 2), 1, Run, StageDispatch)
}

// TestRetryBudget: a tenth of ten seconds' first tries, and three.
func TestRetryBudget(t *testing.T) {
	p := exact(onePool(1, Tenant{Name: "a"}, Tenant{Name: "b"}))
	d := newDesk(t, p)
	long := Request{Deadline: after(time.Hour)}
	p.Classes[Interactive].MaxWait = time.Hour
	d.fill(0, 40, long)
	retry := long
	retry.Attempt = 1
	for range 3 + 40/10 {
		d.is(d.offer(time.Second, retry), Queue, StageQueue)
	}
	got := d.offer(time.Second, retry)
	d.is(got, Reject, StageRetry)
	if got.Figure != 7 || got.Bound != 7 || !got.NoRetry {
		t.Errorf("%+v", got)
	}
	d.is(d.offer(time.Second, long), Queue, StageQueue) // a first try is not concerned
	retry.Tenant = "b"
	d.is(d.offer(time.Second, retry), Queue, StageQueue) // nor is another tenant
	retry.Tenant = "a"
	d.is(d.offer(10*time.Second, retry), Reject, StageRetry) // the first tries are forgotten before the retries
	for range 3 {
		d.is(d.offer(11*time.Second, retry), Queue, StageQueue) // the reserve
	}
	d.is(d.offer(11*time.Second, retry), Reject, StageRetry)
}

// TestRetryRuns: with a free slot a retry costs nobody anything.
func TestRetryRuns(t *testing.T) {
	p := exact(onePool(100, Tenant{Name: "a"}))
	p.Retry = RetryPolicy{Percent: -1, Reserve: -1}
	d := newDesk(t, p)
	for range 50 {
		d.is(d.offer(0, Request{Attempt: 2}), Run, StageFree)
	}
}

// TestForsaken: where callers leave before the limit for silence, what tells of
// a silent upstream is how long nothing came.
func TestForsaken(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name   string
		usual  time.Duration // to the first token
		stays  time.Duration
		whole  bool
		first  bool // a token came
		delay  time.Duration
		leaves bool // out of rotation after some of them
	}{
		{"soon (B122)", s, 9 * s, false, false, 0, false},
		{"late", s, 11 * s, false, false, 0, true},
		{"late, in the midst of its answer (B123)", s, 100 * s, false, true, 0, false},
		{"late, but it thinks", 20 * s, 50 * s, false, false, 0, false},
		{"late, although it thinks", 20 * s, 61 * s, false, false, 0, true},
		{"late, and nobody streams", s, 59 * s, true, false, 0, false},
		{"very late, and nobody streams", s, 61 * s, true, false, 0, true},
		{"late by our own fault", s, 11 * s, false, false, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := exact(two())
			p.Models[0].Prior.First = c.usual
			d := newDesk(t, p)
			at := time.Duration(0)
			for i := range 5 {
				got := d.offer(at, Request{Stream: !c.whole, Deadline: after(at + 1000*s)})
				if gone := got.Deployment == "y"; gone != (c.leaves && i == 4) {
					t.Fatalf("call %d goes to %s", i, got.Deployment)
				}
				if c.first {
					d.c.FirstByte(after(at+s), got.ID)
				}
				at += c.stays
				d.finish(at, got.ID, Outcome{CallerGone: true, Delay: c.delay})
			}
		})
	}
}

// TestLeavingIsNeutral: callers who leave teach the predictor nothing, and the
// deployment stays in rotation (B122, B123).
func TestLeavingIsNeutral(t *testing.T) {
	d := newDesk(t, exact(onePool(1, Tenant{Name: "a"})))
	before := d.c.Snapshot(t0).Pools[0]
	for i := range 50 {
		at := time.Duration(i) * time.Second
		d.is(d.offer(at, Request{Stream: true, Deadline: after(at + 100*time.Millisecond)}), Run, StageFree)
		d.finish(at+100*time.Millisecond, d.last, Outcome{CallerGone: true})
	}
	after := d.c.Snapshot(after(time.Minute)).Pools[0]
	if after.Mean != before.Mean || after.Factor != before.Factor || after.Slots != 1 {
		t.Errorf("fifty that left changed %+v to %+v", before, after)
	}
}
