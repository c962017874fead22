package admit

import (
	"testing"
	"time"
)

func limited(l Limits) *Policy {
	return exact(onePool(16, Tenant{Name: "a", Limits: map[string]Limits{"": l}}))
}

// TestNoTrace: a refused request changes nothing that later requests are
// measured by, whichever stage refused it (B111, B112).
func TestNoTrace(t *testing.T) {
	p := limited(Limits{Requests: 10, Tokens: 500})
	p.Tenants[0].Concurrency = 3
	d := newDesk(t, p)
	d.fill(0, 3, Request{Input: 50}) // 150 tokens each are reserved
	for i := range 20 {
		d.is(d.offer(time.Second, Request{Attempt: i % 2}), Reject, StageConcurrency)
		d.is(d.offer(time.Second, Request{Model: "none"}), Reject, StageUnknown)
		d.is(d.offer(time.Second, Request{Deadline: after(time.Second)}), Reject, StageDeadline)
	}
	requests, tokens := d.c.Quota(after(time.Second), "a", "m")
	if requests.Remaining != 7 || tokens.Remaining != 50 {
		t.Errorf("%d requests and %d tokens remain, want 7 and 50", requests.Remaining, tokens.Remaining)
	}
	tn := d.c.tenants["a"]
	if tn.active != 3 || tn.retries.Sum(after(time.Second)) != 0 {
		t.Errorf("%d active, %d retries", tn.active, tn.retries.Sum(after(time.Second)))
	}
	d.finish(2*time.Second, 1, Outcome{OK: true, Known: true, Input: 50, Output: 20}) // gives 80 back
	d.is(d.offer(2*time.Second, Request{Input: 140}), Reject, StageTokens)            // more than 130: and takes no request
	requests, tokens = d.c.Quota(after(2*time.Second), "a", "m")
	if requests.Remaining != 7 || tokens.Remaining != 130 {
		t.Errorf("%d requests and %d tokens remain, want 7 and 130", requests.Remaining, tokens.Remaining)
	}
}

// TestTokenRace: five at once against 100 tokens a minute, each for up to 175:
// one is admitted, for a reservation is never larger than the limit and never
// smaller than the estimate (B112, B114).
func TestTokenRace(t *testing.T) {
	d := newDesk(t, limited(Limits{Tokens: 100}))
	d.is(d.offer(0, Request{Input: 10, MaxOutput: 175}), Run, StageFree) // 110, taken as 100: the window is empty
	for range 4 {
		got := d.offer(0, Request{Input: 10, MaxOutput: 175})
		d.is(got, Reject, StageTokens)
		if got.Figure != 100 || got.Bound != 100 {
			t.Errorf("refused at %d of %d", got.Figure, got.Bound)
		}
	}
	d.finish(time.Second, 1, Outcome{OK: true, Known: true, Input: 10, Output: 165}) // it took 175
	_, tokens := d.c.Quota(after(time.Second), "a", "m")
	if tokens.Remaining != 0 || tokens.Reset != 59*time.Second {
		t.Errorf("%+v, want nothing until 60 s", tokens)
	}
	d.is(d.offer(59*time.Second, Request{}), Reject, StageTokens)
	d.is(d.offer(60*time.Second, Request{}), Run, StageFree)
}

// TestTokensSettle: what was not used comes back, what was never sent leaves
// no trace, and an end of which nobody knows the tokens keeps the estimate.
func TestTokensSettle(t *testing.T) {
	for _, tt := range []struct {
		name             string
		end              func(*desk)
		tokens, requests int64 // used
	}{
		{"used less", func(d *desk) { d.finish(1e9, 1, Outcome{OK: true, Known: true, Input: 10, Output: 20}) }, 30, 1},
		{"used more", func(d *desk) { d.finish(1e9, 1, Outcome{OK: true, Known: true, Input: 10, Output: 220}) }, 230, 1},
		{"good, unknown", func(d *desk) { d.finish(1e9, 1, Outcome{OK: true}) }, 110, 1},
		{"failed", func(d *desk) { d.finish(1e9, 1, Outcome{Status: 500}) }, 0, 1},
		{"left mid-stream", func(d *desk) { d.finish(1e9, 1, Outcome{CallerGone: true, Input: 10, Output: 5}) }, 15, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, limited(Limits{Requests: 100, Tokens: 1000}))
			d.offer(0, Request{Input: 10})
			tt.end(d)
			requests, tokens := d.c.Quota(after(1e9), "a", "m")
			if got := 1000 - tokens.Remaining; got != tt.tokens {
				t.Errorf("%d tokens used, want %d", got, tt.tokens)
			}
			if got := 100 - requests.Remaining; got != tt.requests {
				t.Errorf("%d requests used, want %d", got, tt.requests)
			}
		})
	}
	t.Run("left while waiting", func(t *testing.T) {
		p := limited(Limits{Requests: 100, Tokens: 1000})
		p.Models[0].Deployments[0].Concurrency = 1
		d := newDesk(t, p)
		d.fill(0, 2, Request{Input: 10})
		d.cancel(1e9, 2)
		requests, tokens := d.c.Quota(after(1e9), "a", "m")
		if requests.Remaining != 99 || tokens.Remaining != 890 {
			t.Errorf("remain %d and %d, want only the first to count", requests.Remaining, tokens.Remaining)
		}
	})
}

// TestLimitReload: a reload never refills a window (B181, B182).
func TestLimitReload(t *testing.T) {
	d := newDesk(t, limited(Limits{Requests: 100}))
	d.fill(0, 10, Request{})
	for i := range 5 {
		d.configure(time.Duration(i)*time.Second, limited(Limits{Requests: 10}))
		got := d.offer(5*time.Second, Request{})
		d.is(got, Reject, StageRequests) // the 11th
		if got.Figure != 10 || got.Bound != 10 || got.RetryAfter < 55*time.Second {
			t.Errorf("%+v", got)
		}
	}
	d.configure(10*time.Second, limited(Limits{Requests: 5}))
	got := d.offer(10*time.Second, Request{})
	d.is(got, Reject, StageRequests) // ten stand against five
	if got.Figure != 10 || got.Bound != 5 || got.RetryAfter < 50*time.Second {
		t.Errorf("%+v", got)
	}
	for id := range ID(10) {
		d.good(15*time.Second, id+1)
	}
	d.configure(20*time.Second, limited(Limits{}))
	d.is(d.offer(20*time.Second, Request{}), Run, StageFree) // no limit at all
	d.configure(21*time.Second, limited(Limits{Requests: 12}))
	d.is(d.offer(21*time.Second, Request{}), Run, StageFree)        // the 12th
	d.is(d.offer(21*time.Second, Request{}), Reject, StageRequests) // counted through the change
}

// TestRetryAfterOfWindow: the limiter that refused knows when it will not (B079).
func TestRetryAfterOfWindow(t *testing.T) {
	d := newDesk(t, limited(Limits{Requests: 3}))
	d.fill(0, 3, Request{})
	seen := map[time.Duration]bool{}
	for range 50 {
		got := d.offer(50*time.Second, Request{})
		d.is(got, Reject, StageRequests)
		if got.RetryAfter < 10*time.Second || got.RetryAfter > 15*time.Second {
			t.Fatalf("come back after %v, the window moves in 10 s", got.RetryAfter)
		}
		seen[got.RetryAfter] = true
	}
	if len(seen) < 40 {
		t.Errorf("only %d different times of 50: callers come back together", len(seen))
	}
	d.is(d.offer(60*time.Second, Request{}), Run, StageFree)
}

// TestClockBack: a clock that jumps back an hour gives no impossible figures (B193).
func TestClockBack(t *testing.T) {
	d := newDesk(t, limited(Limits{Requests: 3, Tokens: 1000}))
	d.fill(0, 2, Request{})
	back := -time.Hour
	d.is(d.offer(back, Request{}), Run, StageFree) // the limit has room
	got := d.offer(back, Request{})
	d.is(got, Reject, StageRequests)
	if got.RetryAfter <= 0 {
		t.Errorf("come back after %v", got.RetryAfter)
	}
	requests, tokens := d.c.Quota(after(back), "a", "m")
	for _, a := range []Allowance{requests, tokens} {
		if a.Remaining < 0 || a.Remaining > a.Limit || a.Reset < 0 {
			t.Errorf("%+v", a)
		}
	}
	for id := range ID(3) {
		d.good(back+time.Second, id+1)
	}
}
