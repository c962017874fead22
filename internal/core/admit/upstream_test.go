package admit

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/breaker"
)

// where is the deployment of a decision that must be a Run.
func (d *desk) where(ds []Decision, id ID) string {
	d.t.Helper()
	for _, x := range ds {
		if x.ID == id && x.Verdict == Run {
			return x.Deployment
		}
	}
	d.t.Fatalf("%d does not run: %+v", id, ds)
	return ""
}

func two() *Policy {
	return deployments(Deployment{Name: "x", Concurrency: 4, Tier: 0}, Deployment{Name: "y", Concurrency: 4, Tier: 1})
}

// TestFailover: what one deployment fails goes to another at once, and never
// back to the failing one while another is left.
func TestFailover(t *testing.T) {
	const s = time.Second
	for name, o := range map[string]Outcome{
		"error":                  {Status: 500, Retryable: true},
		"reset":                  {Fault: Failed, Retryable: true},
		"silence":                {Fault: Silent, Retryable: true},
		"out of memory":          {Status: 500, Fault: OutOfSpace, Retryable: true},
		"limit, come back in 9s": {Status: 429, Retryable: true, RetryAfter: 9 * s},
		"full":                   {Status: 503, Fault: Saturated, Retryable: true},
		"our key is refused":     {Status: 401},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, two())
			id := d.run(0, Request{})
			ds := d.finish(s/10, id, o)
			if got := d.where(ds, id); got != "y" {
				t.Errorf("it went to %s", got)
			}
			if ds[0].Verdict != Queue || ds[0].Stage != StageAgain {
				t.Errorf("first %+v", ds[0])
			}
		})
	}
	for name, o := range map[string]Outcome{
		"the request's fault":      {Status: 400, Fault: Invalid},
		"a part was sent":          {Status: 200, Fault: Failed, Retryable: true, Sent: true},
		"the caller left":          {CallerGone: true, Retryable: true},
		"too long, no other model": {Status: 400, Fault: TooLong},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, two())
			if ds := d.finish(s/10, d.run(0, Request{}), o); len(ds) != 0 {
				t.Errorf("it goes on: %+v", ds)
			}
		})
	}
	t.Run("waits for the other, not for the failing", func(t *testing.T) {
		p := deployments(Deployment{Name: "x", Concurrency: 1}, Deployment{Name: "y", Concurrency: 1})
		p.Models[0].Balance = RoundRobin
		d := newDesk(t, p)
		a, b := d.run(0, Request{}), d.run(0, Request{})
		d.only(d.finish(s/10, a, failed), a, Queue, StageAgain)
		if got := d.where(d.good(s, b), a); got != "y" {
			t.Errorf("it went to %s", got)
		}
	})
}

// TestFailoverBudgets: further attempts are bounded by rate and by number at
// once, so that an outage does not double the load on what is left.
func TestFailoverBudgets(t *testing.T) {
	p := two()
	p.Models[0].Deployments[0].Concurrency, p.Models[0].Deployments[1].Concurrency = 200, 200
	p.Models[0].Breaker.Consecutive = -1 // the budget alone
	p.Models[0].Breaker.MinCount = 1000
	p.Retry.Failover = FailoverPolicy{Percent: 20, Reserve: 5, Concurrent: -1}
	d := newDesk(t, p)
	var ids []ID
	for range 100 {
		ids = append(ids, d.run(0, Request{}))
	}
	again := 0
	for i, id := range ids {
		if len(d.finish(time.Second+time.Duration(i), id, failed)) > 0 {
			again++
		}
	}
	if again != 5 { // at once, of one tenant: the reserve
		t.Errorf("%d went again at once, want 5", again)
	}
}

// TestEachDeploymentOnce: a request comes to each deployment once before it
// comes to one again, and to another model rather than that.
func TestEachDeploymentOnce(t *testing.T) {
	const s = time.Second
	policy := func(cause Cause) *Policy {
		p := two()
		p.Models = append(p.Models, p.Models[0])
		p.Models[1].Name, p.Models[1].Deployments = "n", []Deployment{{Name: "z", Concurrency: 4}}
		p.Models[0].Fallback[cause] = []string{"n"}
		return p
	}
	for name, o := range map[string]Outcome{
		"errors":                   failed,
		"silence":                  {Fault: Silent, Retryable: true},
		"a fault of none (408)":    {Status: 408, Fault: Invalid, Retryable: true},
		"a limit, nothing told":    {Status: 429, Retryable: true},
		"too much to do, no 5xx":   {Status: 429, Fault: Saturated, Retryable: true},
		"a limit, for 3 s":         {Status: 429, Retryable: true, RetryAfter: 3 * s},
		"a limit, for ten minutes": {Status: 429, Retryable: true, RetryAfter: 600 * s},
	} {
		t.Run(name, func(t *testing.T) {
			cause, third := CauseError, "z"
			if o.fault() == Throttled || o.fault() == Saturated {
				cause = CauseOverloaded
			}
			d := newDesk(t, policy(cause))
			id := d.run(0, Request{Deadline: after(400 * s)})
			if got := d.where(d.finish(s/10, id, o), id); got != "y" {
				t.Fatalf("then it went to %s", got)
			}
			ds := d.finish(s/5, id, o)
			if o.fault() == Invalid { // no other model heals it
				third = "x"
				ds = append(ds, d.tick(2*s)...)
			}
			if got := d.where(ds, id); got != third {
				t.Errorf("and then to %s", got)
			}
		})
	}
	t.Run("a pause beyond patience is nothing that is left", func(t *testing.T) {
		d := newDesk(t, policy(CauseOverloaded))
		long := Outcome{Status: 429, Retryable: true, RetryAfter: 60 * s}
		a, b := d.run(0, Request{Deadline: after(400 * s)}), d.run(0, Request{Deadline: after(400 * s)})
		d.finish(s/10, a, long) // goes to y
		d.finish(s/10, a, long) // both pause for a minute, longer than anybody waits
		if got := d.where(d.finish(s/5, b, Outcome{Status: 503, Fault: Saturated, Retryable: true}), b); got != "z" {
			t.Errorf("it went to %s", got)
		}
	})
}

// TestStranded: what was under way when a breaker opened goes to another
// deployment outside the budgets, as far as that one has room.
func TestStranded(t *testing.T) {
	const s = time.Second
	moved := func(room int) (n int) {
		p := two()
		p.Models[0].Deployments[0].Concurrency, p.Models[0].Deployments[1].Concurrency = 40, room
		p.Retry.Failover = FailoverPolicy{Percent: -1, Reserve: 4}
		d := newDesk(t, p)
		var ids []ID
		for range 40 {
			ids = append(ids, d.run(0, Request{}))
		}
		for i, id := range ids {
			ds := d.finish(s+time.Duration(i), id, failed)
			for _, x := range ds {
				if x.ID == id && x.Verdict == Run && x.Deployment == "y" {
					n++
				}
			}
		}
		return n
	}
	if n := moved(40); n != 40 { // three by the budget, the fourth opens the breaker
		t.Errorf("%d of 40 moved", n)
	}
	if n := moved(20); n != 20 {
		t.Errorf("%d moved to 20 slots", n)
	}
}

// TestFallbackIsNoRetry: a request that is too long for a model was no failure,
// and however many there are they go to the model that takes them.
func TestFallbackIsNoRetry(t *testing.T) {
	for fault, cause := range map[Fault]Cause{TooLong: CauseContext, Filtered: CauseFilter} {
		p := exact(onePool(1, Tenant{Name: "a"}))
		p.Models = append(p.Models, p.Models[0])
		for i, name := range []string{"m", "long"} {
			p.Models[i].Name, p.Models[i].Deployments = name, []Deployment{{Name: "d-" + name, Concurrency: 100}}
		}
		p.Models[0].Fallback[cause] = []string{"long"}
		p.Retry.Failover = FailoverPolicy{Percent: -1, Reserve: 2}
		d := newDesk(t, p)
		for range 50 {
			id := d.run(0, Request{})
			if got := d.where(d.finish(0, id, Outcome{Status: 400, Fault: fault}), id); got != "d-long" {
				t.Errorf("it went to %s", got)
			}
		}
		if state, _ := d.c.byName["d-m"].breaker.State(after(0)); state != breaker.Closed || d.c.byName["d-m"].breaker.Failing(after(0)) != 0 {
			t.Errorf("%v counts against the breaker", fault)
		}
	}
}

// TestFallback: the reason says which model may serve instead, every model is
// tried once, and the decision says which it was.
func TestFallback(t *testing.T) {
	policy := func() *Policy {
		p := exact(onePool(1, Tenant{Name: "a", Limits: map[string]Limits{"small": {Requests: 2}}}))
		p.Models = append(p.Models, p.Models[0], p.Models[0])
		for i, name := range []string{"m", "long", "small"} {
			p.Models[i].Name, p.Models[i].Deployments = name, []Deployment{{Name: "d-" + name, Concurrency: 2}}
		}
		p.Models[0].Fallback = [NumCauses][]string{CauseOverloaded: {"small"}, CauseContext: {"long"}, CauseError: {"long", "small"}}
		p.Models[1].Fallback[CauseError] = []string{"m", "small"}
		return p
	}
	const s = time.Second
	t.Run("by context", func(t *testing.T) {
		d := newDesk(t, policy())
		id := d.run(0, Request{})
		ds := d.finish(s, id, Outcome{Status: 400, Fault: TooLong})
		if d.where(ds, id) != "d-long" || ds[len(ds)-1].Model != "long" {
			t.Errorf("got %+v", ds)
		}
	})
	t.Run("by error, each model once", func(t *testing.T) {
		d := newDesk(t, policy())
		id := d.run(0, Request{})
		silent := Outcome{Fault: Silent, Retryable: true}
		if got := d.where(d.finish(s, id, silent), id); got != "d-long" {
			t.Errorf("first to %s", got)
		}
		if got := d.where(d.finish(2*s, id, silent), id); got != "d-small" {
			t.Errorf("then to %s", got)
		}
		if ds := d.finish(3*s, id, silent); len(ds) != 0 {
			t.Errorf("and then %+v", ds)
		}
	})
	t.Run("a filter has none", func(t *testing.T) {
		d := newDesk(t, policy())
		if ds := d.finish(s, d.run(0, Request{}), Outcome{Status: 400, Fault: Filtered}); len(ds) != 0 {
			t.Errorf("got %+v", ds)
		}
	})
	t.Run("on arrival, within the limits there", func(t *testing.T) {
		d := newDesk(t, policy())
		d.fill(0, 2, Request{Deadline: after(60 * s)})
		soon := Request{Deadline: after(1500 * time.Millisecond)}
		for range 2 {
			got := d.offer(0, soon)
			d.is(got, Run, StageFree)
			if got.Deployment != "d-small" || got.Model != "small" {
				t.Errorf("got %+v", got)
			}
		}
		d.is(d.offer(0, soon), Reject, StageWait)
	})
}

// TestTiers: a dearer tier gets what those before it cannot serve in time, at
// once if that is known at once, else when it is time.
func TestTiers(t *testing.T) {
	const s = time.Second
	p := deployments(Deployment{Name: "cheap", Concurrency: 1, Price: Price{Output: 1e6}}, Deployment{Name: "dear", Concurrency: 1, Price: Price{Output: 9e6}}, Deployment{Name: "last", Concurrency: 1, Reserve: true})
	p.Models[0].Balance = Cost
	d := newDesk(t, p)
	run := func(at time.Duration, r Request) string {
		got := d.offer(at, r)
		d.is(got, Run, StageFree)
		return got.Deployment
	}
	if got := run(0, Request{}); got != "cheap" {
		t.Errorf("first on %s", got)
	}
	if got := run(0, Request{Deadline: after(1500 * time.Millisecond)}); got != "dear" {
		t.Errorf("in a hurry on %s", got)
	}
	d.is(d.offer(0, Request{Deadline: after(6 * s)}), Queue, StageQueue) // 3 can wait for the cheap one
	if got := run(0, Request{Deadline: after(1600 * time.Millisecond)}); got != "last" {
		t.Errorf("when the others are taken on %s", got)
	}
	if ds := d.good(s/2, 2); len(ds) != 0 {
		t.Errorf("the dear one is free and 3 took it: %+v", ds)
	}
	due := d.c.Next().Sub(t0)
	if due < 4*s || due > 5500*time.Millisecond {
		t.Fatalf("3 stops waiting for the cheap one after %v", due)
	}
	if got := d.where(d.tick(due), 3); got != "dear" {
		t.Errorf("then it runs on %s", got)
	}
}

// TestBreakerIsCapacity: an open breaker takes slots away for predictions and
// for routing; with nothing left, requests are refused at once with the time.
func TestBreakerIsCapacity(t *testing.T) {
	const s = time.Second
	p := two()
	p.Models[0].Balance = RoundRobin
	p.Models[0].Deployments[1].Tier = 0
	p.Retry.Attempts = 1
	d := newDesk(t, p)
	fail := func(at time.Duration, name string, n int) {
		for i := 0; n > 0; i++ {
			got := d.offer(at+time.Duration(i), Request{})
			if got.Verdict != Run {
				return
			}
			if got.Deployment == name {
				d.finish(at+time.Duration(i), got.ID, failed)
				n--
			} else {
				d.good(at+time.Duration(i), got.ID)
			}
		}
	}
	fail(0, "x", 4)
	snap := d.c.Snapshot(after(s))
	if snap.Pools[0].Slots != 4 || snap.Deployments[0].State != breaker.Open || snap.Deployments[0].Tally.Faults[Failed] != 4 {
		t.Errorf("with x open: %+v", snap)
	}
	changes := d.c.Changes()
	if len(changes) != 1 || changes[0].Deployment != "x" || changes[0].To != breaker.Open || changes[0].Why != breaker.Consecutive {
		t.Errorf("changes %+v", changes)
	}
	fail(2*s, "y", 12) // each is now alone, and x lets a probe pass
	probe := d.offer(3*s, Request{})
	d.is(probe, Run, StageFree)
	if other := d.offer(3*s, Request{}); other.Verdict == Run {
		t.Error("two probes at once")
	}
	if d.c.Snapshot(after(3 * s)).Deployments[0].State != breaker.HalfOpen {
		t.Error("x does not probe")
	}
	d.finish(3*s+1, probe.ID, failed)
	got := d.offer(3*s+2, Request{})
	d.is(got, Reject, StageCapacity)
	if got.RetryAfter < s/2 || got.RetryAfter > 3*s {
		t.Errorf("nothing is left, come back in %v", got.RetryAfter)
	}
}

// TestKeys: keys take turns, each has its own limits and its own pause, and a
// refused one is left out.
func TestKeys(t *testing.T) {
	const s = time.Second
	p := deployments(Deployment{Name: "x", Concurrency: 100, Keys: make([]Quota, 3)})
	d := newDesk(t, p)
	seen := map[int]int{}
	for range 9 {
		got := d.offer(0, Request{})
		d.is(got, Run, StageFree)
		seen[got.Key]++
	}
	if len(seen) != 3 || seen[0] != 3 {
		t.Errorf("keys by calls: %v", seen)
	}
	d.finish(s, 1, Outcome{Status: 429, RetryAfter: 30 * s}) // key 0
	d.finish(s, 2, Outcome{Status: 401})                     // key 1
	for range 5 {
		if got := d.offer(s, Request{}); got.Verdict != Run || got.Key != 2 {
			t.Errorf("got %+v, want key 2", got)
		}
	}
	d.finish(s, 3, Outcome{Status: 429, RetryAfter: 2 * s}) // key 2: now nothing is left for 2 s
	got := d.offer(s, Request{})
	d.is(got, Queue, StageQueue)
	if got.Wait < 2*s {
		t.Errorf("predicted wait %v, every key pauses for 2 s", got.Wait)
	}
	if due := d.c.Next(); !due.Equal(after(3 * s)) {
		t.Errorf("next %v", due.Sub(t0))
	}
	d.only(d.tick(3*s), got.ID, Run, StageDispatch)
	late := d.offer(3*s, Request{Deadline: after(4 * s)})
	if late.Verdict != Run {
		t.Errorf("key 2 passes again: %+v", late)
	}
}

// TestKeysRefused: with every key refused by the provider there is nothing to
// wait for, and the caller need not come back.
func TestKeysRefused(t *testing.T) {
	d := newDesk(t, deployments(Deployment{Name: "x", Concurrency: 4}))
	d.finish(time.Second, d.run(0, Request{}), Outcome{Status: 401})
	if got := d.offer(2*time.Second, Request{}); got.Verdict != Reject || got.Stage != StageCapacity || !got.NoRetry {
		t.Errorf("got %+v", got)
	}
	d.is(d.offer(90*time.Second, Request{}), Run, StageFree) // it is asked again
}

// TestOneKeyForAnother: a limit of one key sends the attempt to the next key
// of the same deployment, at once.
func TestOneKeyForAnother(t *testing.T) {
	p := deployments(Deployment{Name: "x", Concurrency: 4, Keys: make([]Quota, 2)})
	d := newDesk(t, p)
	id := d.run(0, Request{})
	ds := d.finish(time.Second, id, Outcome{Status: 429, Retryable: true, RetryAfter: 20 * time.Second})
	if d.where(ds, id) != "x" || ds[len(ds)-1].Key != 1 {
		t.Errorf("got %+v", ds)
	}
}

// TestLimitsAreCapacity: a limit of requests a minute feeds predictions like
// slots do, and what waits runs when it allows.
func TestLimitsAreCapacity(t *testing.T) {
	const s = time.Second
	p := deployments(Deployment{Name: "x", Concurrency: 100, Keys: []Quota{{Requests: 60}}})
	d := newDesk(t, p)
	d.is(d.offer(0, Request{}), Run, StageFree)
	got := d.offer(0, Request{})
	d.is(got, Queue, StageQueue)
	if got.Wait < s/2 || got.Wait > 2*s {
		t.Errorf("one a second: predicted wait %v", got.Wait)
	}
	for range 20 {
		d.offer(0, Request{})
	}
	if last := d.offer(0, Request{}); last.Verdict != Reject || last.Stage != StageWait {
		t.Errorf("twenty wait for one a second, with 8 s: %+v", last)
	}
	due := d.c.Next().Sub(t0)
	if due < 700*time.Millisecond || due > 1100*time.Millisecond {
		t.Errorf("the next runs after %v", due)
	}
	d.only(d.tick(due), got.ID, Run, StageDispatch)
	if c := d.c.Snapshot(after(due)).Deployments[0].Concurrency; c != 2 {
		t.Errorf("advice %d calls at once, one a second of one second each needs 2 with headroom", c)
	}
}

// TestDailyTokens: batch does not get what interactive will need until midnight.
func TestDailyTokens(t *testing.T) {
	p := deployments(Deployment{Name: "x", Concurrency: 100, Keys: []Quota{{Daily: 100_000}}})
	d := newDesk(t, p)
	big := Request{Input: 40_000, Deadline: after(time.Hour)}
	d.finish(time.Minute, d.run(0, big), Outcome{Status: 200, OK: true, Known: true, Input: 40_000, Output: 100}) // half a day's interactive use in the first hour
	batch := big
	batch.Class = Batch
	got := d.offer(2*time.Minute, batch)
	if got.Verdict == Run {
		t.Errorf("batch took what the day needs: %+v", got)
	}
	d.is(d.offer(2*time.Minute, big), Run, StageFree)
}

// TestAffinity: requests of one session stay together, and leave a deployment
// that is busier than the others or open.
func TestAffinity(t *testing.T) {
	const s = time.Second
	p := deployments(Deployment{Name: "x", Concurrency: 40}, Deployment{Name: "y", Concurrency: 40}, Deployment{Name: "z", Concurrency: 40})
	d := newDesk(t, p)
	counts := map[string]int{}
	r := Request{Affinity: 99}
	for i := range 30 {
		got := d.offer(time.Duration(i)*2*s, r)
		d.good(time.Duration(i)*2*s+s, got.ID)
		counts[got.Deployment]++
	}
	if len(counts) != 1 {
		t.Errorf("one session went to %v", counts)
	}
	clear(counts)
	for range 60 {
		counts[d.offer(100*s, r).Deployment]++
	}
	if len(counts) != 3 {
		t.Errorf("sixty at once went to %v", counts)
	}
}

// TestSlowDeployment: one that became three times slower gets less, and the
// times that it teaches do not make the others look slow.
func TestSlowDeployment(t *testing.T) {
	const s = time.Second
	p := deployments(Deployment{Name: "x", Concurrency: 8}, Deployment{Name: "y", Concurrency: 8})
	p.Models[0].Balance = RoundRobin
	d := newDesk(t, p)
	for i := range 60 {
		at := time.Duration(i) * 10 * s
		far := Request{Deadline: after(at + 60*s)}
		a, b := d.offer(at, far), d.offer(at, far)
		if a.Deployment == "y" {
			a, b = b, a
		}
		d.good(at+s, a.ID)
		d.good(at+3*s, b.ID)
	}
	x, y := d.c.byName["x"], d.c.byName["y"]
	if r := y.ratio(false) / x.ratio(false); r < 2.5 || r > 3.5 {
		t.Errorf("y takes %.2f times as long as x, want 3", r)
	}
	if c := d.c.pools[0].capacity; c < 8/0.5*0.9+8/1.5*0.9 || c > 8/0.5*1.1+8/1.5*1.1 {
		t.Errorf("capacity %.1f, want that of 8 at twice the mean's speed and 8 at two thirds of it", c)
	}
	if mean := d.c.pools[0].service.Mean(); mean < 1700*time.Millisecond || mean > 2300*time.Millisecond {
		t.Errorf("mean %v", mean)
	}
}

// TestAffinityToTheOther: while the preferred deployment pauses, a session stays
// with the one it went to instead.
func TestAffinityToTheOther(t *testing.T) { // B129
	const s = time.Second
	p := deployments(Deployment{Name: "x", Concurrency: 40}, Deployment{Name: "y", Concurrency: 40}, Deployment{Name: "z", Concurrency: 40})
	d := newDesk(t, p)
	r := Request{Affinity: 7}
	first := d.offer(0, r)
	ds := d.finish(s, first.ID, Outcome{Status: 429, Retryable: true, RetryAfter: 600 * s})
	other := d.where(ds, first.ID)
	d.good(2*s, first.ID)
	for i := range 10 {
		at := time.Duration(10+50*i) * s
		got := d.offer(at, r)
		d.good(at+s, got.ID)
		if got.Deployment != other {
			t.Errorf("turn %d went to %s, the session is at %s", i, got.Deployment, other)
		}
	}
	if got := d.offer(700*s, r); got.Deployment != first.Deployment {
		t.Errorf("after the pause it went to %s, not back to %s", got.Deployment, first.Deployment)
	}
}

// TestRefusedInARow: where every call meets a 429 and nobody says until when,
// the provider is asked less and less often, and a single good answer ends that.
func TestRefusedInARow(t *testing.T) {
	const s = time.Second
	p := deployments(Deployment{Name: "x", Concurrency: 4, Tier: 0}, Deployment{Name: "y", Concurrency: 4, Tier: 1})
	d := newDesk(t, p)
	asked := 0
	for i := range 60 { // a request a second
		at := time.Duration(i) * s
		got := d.offer(at, Request{Deadline: after(at + 1300*time.Millisecond)})
		if got.Deployment == "x" {
			asked++
			d.where(d.finish(at+s/100, got.ID, Outcome{Status: 429, Retryable: true}), got.ID)
		}
		d.good(at+s/2, got.ID)
	}
	if asked < 6 || asked > 15 {
		t.Errorf("asked %d times in a minute of nothing but 429s", asked)
	}
	if wait := d.c.byName["x"].keys[0].paused.Sub(after(60 * s)); wait > refusedMost {
		t.Errorf("it pauses for %v more", wait)
	}
}
