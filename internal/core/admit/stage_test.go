package admit

import (
	"testing"
	"time"
)

// TestStages has every stage that can decide decide once. Predictions are a
// second a call (exact), so that the figures can be checked in the head.
func TestStages(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		stage  Stage
		name   string
		change func(*Policy)
		before func(*desk)
		ask    Request
		want   Decision // Verdict, NoRetry, Limit, Figure, Bound, Deployment
		retry  [2]time.Duration
	}{
		{stage: StageUnknown, name: "tenant", ask: Request{Tenant: "nobody"},
			want: Decision{Verdict: Reject, Limit: "the tenant, the model or the class is not configured"}},
		{stage: StageUnknown, name: "model", ask: Request{Model: "none"},
			want: Decision{Verdict: Reject, Limit: "the tenant, the model or the class is not configured"}},
		{stage: StageUnknown, name: "class", ask: Request{Class: NumClasses},
			want: Decision{Verdict: Reject, Limit: "the tenant, the model or the class is not configured"}},
		{stage: StageDeadline, name: "passed on arrival", ask: Request{Arrived: after(-3 * s), Deadline: after(-1 * s)},
			want: Decision{Verdict: Reject, NoRetry: true, Limit: "the caller's deadline", Figure: 3000, Bound: 2000}},
		{stage: StageDeadline, name: "is this instant", ask: Request{Arrived: after(-1 * s), Deadline: after(0)},
			want: Decision{Verdict: Reject, NoRetry: true, Limit: "the caller's deadline", Figure: 1000, Bound: 1000}},
		{stage: StageDeadline, name: "before it arrived (B164)", ask: Request{Arrived: after(0), Deadline: after(-1 * s)},
			want: Decision{Verdict: Reject, NoRetry: true, Limit: "the caller's deadline", Figure: 0, Bound: -1000}},
		{stage: StageCapacity, name: "no deployment", change: func(p *Policy) { p.Models[0].Deployments = nil },
			want:  Decision{Verdict: Reject, Limit: "usable slots of the model"},
			retry: [2]time.Duration{4 * s, 6 * s}},
		{stage: StageConcurrency, change: func(p *Policy) { p.Tenants[0].Concurrency = 2 },
			before: func(d *desk) { d.fill(0, 2, Request{}) }, // one runs, one waits: both count
			want:   Decision{Verdict: Reject, Limit: "the tenant's requests at once", Figure: 2, Bound: 2},
			retry:  [2]time.Duration{400 * time.Millisecond, 600 * time.Millisecond}},
		{stage: StageRequests, change: func(p *Policy) { p.Tenants[0].Limits = map[string]Limits{"m": {Requests: 2}} },
			before: func(d *desk) { d.fill(0, 2, Request{}) },
			want:   Decision{Verdict: Reject, Limit: "the tenant's requests a minute", Figure: 2, Bound: 2},
			retry:  [2]time.Duration{60 * s, 90 * s}}, // never before the window moves (B079)
		{stage: StageTokens, change: func(p *Policy) { p.Tenants[0].Limits = map[string]Limits{"": {Tokens: 250}} },
			before: func(d *desk) { d.fill(0, 2, Request{Input: 10}) }, // 110 each
			ask:    Request{Input: 10},
			want:   Decision{Verdict: Reject, Limit: "the tenant's tokens a minute", Figure: 220, Bound: 250},
			retry:  [2]time.Duration{60 * s, 90 * s}},
		{stage: StageFree,
			want: Decision{Verdict: Run, Deployment: "d", Limit: "usable slots of the model", Figure: 0, Bound: 1}},
		{stage: StageRetry, change: func(p *Policy) { p.Retry = RetryPolicy{Percent: -1, Reserve: -1} },
			before: func(d *desk) { d.fill(0, 1, Request{}) }, ask: Request{Attempt: 1},
			want:  Decision{Verdict: Reject, NoRetry: true, Limit: "the tenant's retries of ten seconds"},
			retry: [2]time.Duration{200 * time.Millisecond, 5 * s}},
		{stage: StageShed, name: "watermark", change: func(p *Policy) { p.Models[0].Queue.Low, p.Models[0].Queue.High = s, 4*s },
			before: func(d *desk) { d.fill(0, 4, Request{Class: Batch}) }, // three wait: more than 2.5 s
			ask:    Request{Class: Batch, Deadline: after(100 * s)},
			want:   Decision{Verdict: Reject, Limit: "the predicted wait", Figure: -1, Bound: 2500},
			retry:  [2]time.Duration{200 * time.Millisecond, 10 * s}},
		{stage: StageShed, name: "depth", change: func(p *Policy) { p.Models[0].Queue.DepthLow, p.Models[0].Queue.DepthHigh = 1, 3 },
			before: func(d *desk) { d.fill(0, 3, Request{}) },
			ask:    Request{Class: Batch},
			want:   Decision{Verdict: Reject, Limit: "requests waiting for the model", Figure: 2, Bound: 2},
			retry:  [2]time.Duration{200 * time.Millisecond, 90 * s}},
		{stage: StageWait, name: "too late", before: func(d *desk) { d.fill(0, 3, Request{}) },
			ask:   Request{Deadline: after(3 * s)},
			want:  Decision{Verdict: Reject, Limit: "the predicted wait", Figure: -1, Bound: -1},
			retry: [2]time.Duration{200 * time.Millisecond, 20 * s}},
		{stage: StageWait, name: "arrival counts (B167)", before: func(d *desk) { d.fill(0, 3, Request{}) },
			ask:   Request{Arrived: after(-2 * s), Deadline: after(s)}, // two of three seconds are gone
			want:  Decision{Verdict: Reject, Limit: "the predicted wait", Figure: -1, Bound: 0},
			retry: [2]time.Duration{200 * time.Millisecond, 20 * s}},
		{stage: StageBound, name: "per tenant", change: func(p *Policy) { p.Models[0].Queue.PerTenant = 2 },
			before: func(d *desk) { d.fill(0, 3, Request{}) },
			want:   Decision{Verdict: Reject, Limit: "the tenant's requests waiting for the model", Figure: 2, Bound: 2},
			retry:  [2]time.Duration{200 * time.Millisecond, 20 * s}},
		{stage: StageBound, name: "total", change: func(p *Policy) { p.Models[0].Queue.Total = 2 },
			before: func(d *desk) { d.fill(0, 3, Request{}) },
			want:   Decision{Verdict: Reject, Limit: "requests waiting for the model", Figure: 2, Bound: 2},
			retry:  [2]time.Duration{200 * time.Millisecond, 20 * s}},
		{stage: StageBound, name: "bytes", change: func(p *Policy) { p.Models[0].Queue.Bytes = 1000 },
			before: func(d *desk) { d.fill(0, 2, Request{Bytes: 600}) }, ask: Request{Bytes: 401},
			want:  Decision{Verdict: Reject, Limit: "bytes of requests waiting for the model", Figure: 1001, Bound: 1000},
			retry: [2]time.Duration{200 * time.Millisecond, 20 * s}},
		{stage: StageBound, name: "larger than the queue", change: func(p *Policy) { p.Models[0].Queue.Bytes = 1000 },
			before: func(d *desk) { d.fill(0, 1, Request{}) }, ask: Request{Bytes: 1001},
			want:  Decision{Verdict: Reject, NoRetry: true, Limit: "bytes of requests waiting for the model", Figure: 1001, Bound: 1000},
			retry: [2]time.Duration{200 * time.Millisecond, 20 * s}},
		{stage: StageBound, name: "work", change: func(p *Policy) { p.Models[0].Queue.Work = 1500 * time.Millisecond },
			before: func(d *desk) { d.fill(0, 3, Request{}) },
			want:   Decision{Verdict: Reject, Limit: "milliseconds of work waiting for the model", Figure: 2000, Bound: 1500},
			retry:  [2]time.Duration{200 * time.Millisecond, 20 * s}},
		{stage: StageQueue, before: func(d *desk) { d.fill(0, 1, Request{}) },
			want: Decision{Verdict: Queue, Limit: "the predicted wait", Figure: -1}},
	} {
		t.Run(tt.stage.String()+" "+tt.name, func(t *testing.T) {
			p := exact(onePool(1, Tenant{Name: "a"}))
			if tt.change != nil {
				tt.change(p)
			}
			d := newDesk(t, p)
			if tt.before != nil {
				tt.before(d)
			}
			explained := d.c.Explain(t0, withDefaults(tt.ask))
			got := d.offer(0, tt.ask)
			d.is(got, tt.want.Verdict, tt.stage)
			if got.NoRetry != tt.want.NoRetry || got.Limit != tt.want.Limit || got.Deployment != tt.want.Deployment {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			near := func(got, want int64) bool { return want < 0 && got > 0 || got == want || got == want-1 } // -1: some positive figure
			if got.Bound != tt.want.Bound && !near(got.Bound, tt.want.Bound) || !near(got.Figure, tt.want.Figure) {
				t.Errorf("got %d of %d, want %d of %d", got.Figure, got.Bound, tt.want.Figure, tt.want.Bound)
			}
			if got.RetryAfter < tt.retry[0] || got.RetryAfter > tt.retry[1] {
				t.Errorf("come back after %v, want %v", got.RetryAfter, tt.retry)
			}
			if e := explained.Decision; e.Stage != got.Stage || e.Verdict != got.Verdict || e.Figure != got.Figure || e.Bound != got.Bound {
				t.Errorf("Explain said %+v, it was %+v", e, got)
			}
			last := explained.Steps[len(explained.Steps)-1]
			if !last.Decides || last.Stage != got.Stage {
				t.Errorf("Explain's last step is %+v", last)
			}
		})
	}
}

func withDefaults(r Request) Request {
	if r.Tenant == "" {
		r.Tenant = "a"
	}
	if r.Model == "" {
		r.Model = "m"
	}
	if r.Arrived.IsZero() {
		r.Arrived = t0
	}
	if r.Deadline.IsZero() {
		r.Deadline = r.Arrived.Add(8 * time.Second)
	}
	return r
}

// TestLaterStages has the stages decide that act on what waits or runs.
func TestLaterStages(t *testing.T) {
	const s = time.Second
	p := exact(onePool(1, Tenant{Name: "a"}))
	p.Models[0].Queue.Order = FIFO
	d := newDesk(t, p)
	d.is(d.offer(0, Request{}), Run, StageFree)                           // 1
	d.is(d.offer(0, Request{}), Queue, StageQueue)                        // 2
	d.is(d.offer(0, Request{Deadline: after(5 * s)}), Queue, StageQueue)  // 3
	d.is(d.offer(0, Request{Deadline: after(30 * s)}), Queue, StageQueue) // 4

	got := d.only(d.good(s, 1), 2, Run, StageDispatch)
	if got.Wait != s || got.Deployment != "d" {
		t.Errorf("dispatched %+v, want after a second", got)
	}

	due := d.c.Next()
	if !due.After(after(2*s)) || !due.Before(after(5*s)) {
		t.Errorf("next is at %v, want where 3 can no longer make it", due.Sub(t0))
	}
	if ds := d.tick(due.Sub(t0) - 1); len(ds) != 0 {
		t.Errorf("dropped too early: %+v", ds)
	}
	if ds := d.tick(due.Sub(t0)); len(ds) != 0 { // a call has been measured since, and was shorter than believed
		t.Errorf("dropped by what was believed when it came: %+v", ds)
	}
	later := d.c.Next()
	if !later.After(due) || !later.Before(after(5*s)) {
		t.Errorf("next is at %v, want a little after %v", later.Sub(t0), due.Sub(t0))
	}
	late := d.only(d.tick(later.Sub(t0)), 3, Reject, StageLate)
	if late.RetryAfter < 200*time.Millisecond || late.Bound != 5000 {
		t.Errorf("late: %+v", late)
	}

	ds := d.finish(4*s, 2, Outcome{Status: 503, Retryable: true})
	if len(ds) != 2 || ds[0].ID != 2 || ds[1].ID != 4 {
		t.Fatalf("got %+v, want 2 to go again, and 4 to run meanwhile", ds)
	}
	d.is(ds[0], Queue, StageAgain)
	d.is(ds[1], Run, StageDispatch)
	d.only(d.good(5*s, 4), 2, Run, StageDispatch)                // before others: it has been served once (B161)
	if ds := d.good(6*s, 2); len(ds) != 0 || d.c.Running() > 0 { // the end
		t.Errorf("got %+v, %d run", ds, d.c.Running())
	}
	if !d.c.Next().IsZero() {
		t.Error("something is due in an empty house")
	}
}
