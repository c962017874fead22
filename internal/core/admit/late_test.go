package admit

import (
	"math/rand/v2"
	"testing"
	"time"
)

// tardy tells how a request came to wait too long: behind a call that was
// predicted to take two seconds and takes four. r is due a second after that.
func tardy(t *testing.T, p *Policy, r Request) (d *desk, busy, waits ID) {
	t.Helper()
	d = newDesk(t, p)
	busy = d.run(0, Request{Input: 2000})
	got := d.offer(0, r)
	d.is(got, Queue, StageQueue)
	return d, busy, got.ID
}

// due is willing, with a deadline that leaves two seconds for surprises.
func due() Request { return willing(5 * time.Second) }

// Whose turn comes too late for the request as it was asked gets the first
// cheaper form that its own model still serves in time.
func TestLateIsMadeCheaperAtItsTurn(t *testing.T) {
	d, busy, id := tardy(t, laddered(features, trim, before), due())
	if ds := d.tick(4100 * time.Millisecond); len(ds) != 0 {
		t.Fatalf("trimmed it has time: %+v", ds)
	}
	got := d.only(d.good(4200*time.Millisecond, busy), id, Run, StageLate)
	if got.Rungs != 1<<1 || got.Model != "" || got.Deployment != "d" || got.Need > 800*time.Millisecond {
		t.Errorf("got %+v, want the trimmed context on its own model", got)
	}
}

// What is not late is not touched, and neither is what no form would save.
func TestOnlyWhatIsLateAndCanBeSavedIsMadeCheaper(t *testing.T) {
	d, busy, id := tardy(t, laddered(features, trim), due())
	if got := d.only(d.good(2*time.Second, busy), id, Run, StageDispatch); got.Rungs != 0 {
		t.Errorf("degraded by %b, though it was in time", got.Rungs)
	}
	d, _, id = tardy(t, laddered(features, trim), due())
	d.tick(4100 * time.Millisecond)
	d.only(d.tick(4990*time.Millisecond), id, Reject, StageLate)
}

// Without consent to anything that would help it is dropped as ever.
func TestLateNeedsConsent(t *testing.T) {
	for _, may := range []Consent{0, MayFeatures, MayDefer} {
		r := due()
		r.May = may
		d, _, id := tardy(t, laddered(features, trim, smaller), r)
		d.only(d.tick(4100*time.Millisecond), id, Reject, StageLate)
	}
}

// Another pool takes it if it can run it now; the session stays there.
func TestLateGoesToAnotherPool(t *testing.T) {
	r := due()
	r.Session, r.Rungs = "s", [MaxRungs]Shape{{Changes: true, Input: 1000}}
	d, _, id := tardy(t, laddered(smaller), r)
	got := d.only(d.tick(4100*time.Millisecond), id, Run, StageLate)
	if got.Model != "small" || got.Deployment != "s" || got.Rungs != 1 {
		t.Errorf("got %+v, want the smaller model", got)
	}
	d.good(4200*time.Millisecond, id)
	next := r
	next.Arrived, next.Deadline = time.Time{}, after(13*time.Second)
	if got := d.offer(5*time.Second, next); got.Model != "small" {
		t.Errorf("the session goes on at %q", got.Model)
	}
}

// Or if it can queue it in time; the caller hears nothing of that until it runs.
func TestLateQueuesAtAnotherPool(t *testing.T) {
	r := due()
	r.Rungs = [MaxRungs]Shape{{Changes: true, Input: 1000}}
	p := laddered(smaller)
	p.Models[1].Deployments[0].Concurrency = 1
	d, _, id := tardy(t, p, r)
	other := d.run(4*time.Second, Request{Tenant: "b", Model: "small", Input: 1000})
	if ds := d.tick(4100 * time.Millisecond); len(ds) != 0 {
		t.Fatalf("got %+v, want it to wait for the smaller model", ds)
	}
	if n := d.c.Depth("small", Interactive); n != 1 {
		t.Fatalf("%d wait for the smaller model", n)
	}
	got := d.only(d.good(4150*time.Millisecond, other), id, Run, StageLate)
	if got.Model != "small" || got.Rungs != 1 {
		t.Errorf("got %+v", got)
	}
}

// A pool that cannot be in time, has no room for it, or none in the tenant's own
// limit there, is passed over.
func TestLateIsNotSentInVain(t *testing.T) {
	for name, spoil := range map[string]func(*Policy){
		"too slow":    func(p *Policy) { p.Models[1].Prior.First = 2 * time.Second },
		"off":         func(p *Policy) { p.Models[1].Deployments[0].Off = true },
		"over tokens": func(p *Policy) { p.Tenants[0].Limits = map[string]Limits{"small": {Tokens: 1100}} },
		"no budget": func(p *Policy) {
			p.Models[1].Deployments[0].Price = Price{Known: true, Input: dollar}
			p.Tenants[0].Budgets.Models = map[string]Budget{"small": limits(Hour, 1000)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := laddered(smaller)
			spoil(p)
			r := due()
			r.Rungs = [MaxRungs]Shape{{Changes: true, Input: 1000}}
			d := newDesk(t, p)
			d.offer(0, Request{Model: "small", Input: 500})
			d.run(0, Request{Input: 2000})
			got := d.offer(0, r)
			d.is(got, Queue, StageQueue)
			d.only(d.tick(4100*time.Millisecond), got.ID, Reject, StageLate)
		})
	}
}

// The ladder ends with an answer from before, as long as that is young enough.
func TestLateIsAnsweredFromBefore(t *testing.T) {
	for _, tt := range []struct {
		until time.Time
		want  Verdict
	}{{time.Time{}, Recall}, {after(time.Minute), Recall}, {after(4 * time.Second), Reject}} {
		r := due()
		r.Recent, r.RecentUntil, r.Rungs = true, tt.until, [MaxRungs]Shape{{Changes: true}}
		d, _, id := tardy(t, laddered(before), r)
		got := d.only(d.tick(4100*time.Millisecond), id, tt.want, StageLate)
		if tt.want == Recall && (got.Rungs != 1 || got.Wait != 4100*time.Millisecond) {
			t.Errorf("got %+v", got)
		}
		if tt.want == Recall && d.c.Waiting() != 0 {
			t.Error("it waits still")
		}
	}
}

// What has to give way may go to another pool at once, too. Cheaper forms for
// its own model are no help: what it lost is the place.
func TestEvictedIsMadeCheaper(t *testing.T) {
	p := laddered(trim, smaller)
	p.Models[0].Queue.Total = 1
	d := newDesk(t, p)
	d.run(0, Request{Input: 2000})
	r := willing(8 * time.Second)
	r.Class, r.Rungs = Batch, [MaxRungs]Shape{{Changes: true, Input: 250}, {Changes: true, Input: 250}}
	gives := d.offer(0, r)
	d.is(gives, Queue, StageQueue)
	d.is(d.offer(0, Request{Input: 1000}), Queue, StageQueue)
	got := d.only(d.rest, gives.ID, Run, StageEvicted)
	if got.Model != "small" || got.Rungs != 1|1<<1 {
		t.Errorf("got %+v, want the smaller model with the trimmed context", got)
	}
}

// What it holds of budgets and limits becomes what the cheaper form needs, at
// once, and all of it is given back at its end.
func TestLateHoldsLess(t *testing.T) {
	p := laddered(features, trim)
	p.Models[0].Deployments[0].Price = Price{Known: true, Input: dollar}
	p.Tenants[0].Budgets.All = limits(Hour, 100_000)
	p.Tenants[0].Limits = map[string]Limits{"m": {Tokens: 100_000}}
	d, busy, id := tardy(t, p, due())
	figures := func(at time.Duration) (held, used int64) {
		return d.c.tenants["a"].spent.held, usage(after(at), d.c.tenants["a"].members[0].tokens).Used
	}
	d.finish(4200*time.Millisecond, busy, Outcome{Status: 200, OK: true, Known: true, Input: 2000, Output: 100, Cost: 2000})
	if held, used := figures(4200 * time.Millisecond); held != 250 || used != 2100+350 {
		t.Errorf("it holds %d and %d tokens are used, want what 250 tokens of input need", held, used)
	}
	d.finish(4500*time.Millisecond, id, Outcome{Status: 200, OK: true, Known: true, Input: 250, Output: 50, Cost: 250})
	if held, used := figures(4500 * time.Millisecond); held != 0 || used != 2100+300 {
		t.Errorf("after its end %d are held, %d tokens used", held, used)
	}
}

// Rungs are told apart by their places: with another ladder they mean something
// else, and what waits is left as it is.
func TestLateUnderAnotherLadder(t *testing.T) {
	r := due()
	r.Rungs[0].Changes, r.Rungs[0].Input = true, 1000
	d, busy, id := tardy(t, laddered(features, trim), r)
	d.configure(time.Second, laddered(trim, features))
	ds := d.tick(4100 * time.Millisecond)
	d.only(ds, id, Reject, StageLate)
	d.good(4200*time.Millisecond, busy)
}

// A call that goes on after a failure says so itself: the stage of the first
// start is not told twice.
func TestLateOnlyOnce(t *testing.T) {
	p := laddered(features, trim)
	p.Retry.Attempts = 2
	p.Models[0].Deployments = append(p.Models[0].Deployments, Deployment{Name: "e", Concurrency: 1})
	d := newDesk(t, p)
	first, second := d.run(0, Request{Input: 2000}), d.run(0, Request{Input: 2000})
	got := d.offer(0, willing(6*time.Second))
	d.is(got, Queue, StageQueue)
	d.tick(5100 * time.Millisecond)
	d.only(d.good(5100*time.Millisecond, first), got.ID, Run, StageLate)
	d.good(5110*time.Millisecond, second)
	ds := d.finish(5120*time.Millisecond, got.ID, Outcome{Status: 503, Fault: Failed, Retryable: true})
	if len(ds) != 2 || ds[1].Verdict != Run || ds[1].Stage != StageDispatch || ds[1].Rungs != 1<<1 {
		t.Errorf("got %+v, want it to go on as the cheaper form it was", ds)
	}
}

// Under a load that is often slower than was predicted all of it happens, and
// what must always hold does: above all that accounts hold what the requests
// alive hold of them (desk), and nothing of those that have ended.
func TestLateKeepsTheBooks(t *testing.T) {
	type way struct {
		stage   Stage
		verdict Verdict
	}
	seen := map[way]int{}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := laddered(features, trim, Rung{Name: "int8", Kind: RungCompute, Model: "m@int8"}, smaller, before)
		p.Models[0].Ladder.Up = [3]int{-1, 1000, 1000} // no levels: everybody comes as asked
		p.Models[0].Queue.PerTenant, p.Models[0].Queue.Total = 4, 6
		p.Models[1].Deployments[0].Concurrency = 1
		p.Models = append(p.Models, Model{Name: "m@int8", Prior: p.Models[0].Prior, Deployments: []Deployment{{Name: "q", Concurrency: 1}}})
		for i := range p.Models {
			p.Models[i].Deployments[0].Price = Price{Known: true, Input: dollar, Output: dollar}
		}
		p.Tenants[0].Budgets = Budgets{All: limits(Hour, 4e6), User: limits(Hour, 3e6), Models: map[string]Budget{"small": limits(Hour, 1e6)}}
		p.Tenants[1].Limits = map[string]Limits{"": {Requests: 500, Tokens: 300_000}}
		d := newDesk(t, p)
		at, ends := time.Duration(0), map[ID]time.Duration{}
		note := func(ds []Decision) {
			for _, x := range ds {
				seen[way{x.Stage, x.Verdict}]++
				switch x.Verdict {
				case Run:
					ends[x.ID] = at + time.Duration(float64(d.c.calls[x.ID].est.Raw)*(0.5+2*rng.Float64()))
				case Recall:
					d.ledger.settled(x.ID)
				}
			}
		}
		for range 600 {
			next, what := at+time.Duration(rng.ExpFloat64()*0.5e9), ID(0)
			for id, end := range ends {
				if end < next || end == next && id < what {
					next, what = end, id
				}
			}
			if due := d.c.Next(); !due.IsZero() && due.Before(after(next)) {
				at = max(at, due.Sub(t0))
				note(d.tick(at))
				continue
			}
			if at = next; what != 0 {
				delete(ends, what)
				note(d.finish(at, what, Outcome{Status: 200, OK: true, Known: true, Input: 500, Output: 100, Cost: 600}))
				continue
			}
			r := willing(at + time.Second + time.Duration(rng.IntN(5000))*time.Millisecond)
			r.Tenant, r.User, r.Session = pickOf(rng, "a", "b"), pickOf(rng, "", "u"), pickOf(rng, "", "s", "t")
			r.Class, r.May, r.Recent = Class(rng.IntN(3)), pickOf(rng, 0, MayFeatures|MayCompute, MayDegrade), rng.IntN(2) == 0
			r.Rungs[2], r.Rungs[3] = Shape{Changes: true, Input: 1000}, Shape{Changes: true, Input: 1000}
			got := d.offer(at, r)
			note(append([]Decision{got}, d.rest...))
		}
		for id := range ends {
			d.finish(at, id, Outcome{Status: 200, OK: true})
		}
		for len(d.c.calls) > 0 {
			for id := range d.c.calls {
				d.cancel(at, id)
				break
			}
		}
		every(d.c, func(a *account) {
			if a.held != 0 || a.bound != 0 || a.holders != 0 {
				t.Errorf("seed %d: %v holds %d for %d requests, and none is left", seed, a.scope, a.held, a.holders)
			}
		})
	}
	for _, w := range []way{{StageLate, Run}, {StageLate, Recall}, {StageLate, Reject}, {StageEvicted, Run}, {StageEvicted, Recall}, {StageDispatch, Run}} {
		if seen[w] == 0 {
			t.Errorf("never %v by %v", w.verdict, w.stage)
		}
	}
}

func pickOf[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }
