package admit

import (
	"math/rand/v2"
	"testing"
	"time"
)

// laddered is a pool with one slot where a call takes a second, and a smaller
// model whose calls take a tenth of that.
func laddered(rungs ...Rung) *Policy {
	p := exact(onePool(1, Tenant{Name: "a"}, Tenant{Name: "b"}))
	p.Models = append(p.Models, Model{Name: "small", Prior: Prior{First: 100 * time.Millisecond, PerInput: 1, PerOutput: 1, Output: 100},
		Deployments: []Deployment{{Name: "s", Concurrency: 4}}})
	p.Models[0].Prior = Prior{First: time.Nanosecond, PerInput: time.Millisecond, PerOutput: 1, Output: 100} // a thousand tokens take a second
	p.Models[0].Ladder.Rungs = rungs
	return p
}

var (
	features = Rung{Name: "features", Kind: RungFeatures}
	trim     = Rung{Name: "trim", Kind: RungCompute}
	smaller  = Rung{Name: "smaller", Kind: RungModel, Model: "small"}
	before   = Rung{Name: "before", Kind: RungRecent}
)

// willing is a request of a second whose caller agrees to everything; trimming
// leaves a quarter of it.
func willing(d time.Duration) Request {
	return Request{
		Input: 1000, May: MayDegrade, Deadline: after(d),
		Rungs: [MaxRungs]Shape{{}, {Changes: true, Input: 250}, {Changes: true, Input: 1000}, {Changes: true}},
	}
}

// A request that does not fit as asked is let in as the first cheaper form that
// does; rungs that change nothing of it are left out.
func TestLadderMakesARequestFit(t *testing.T) {
	d := newDesk(t, laddered(features, trim, smaller, before))
	d.run(0, Request{Input: 2000}) // two seconds
	as := d.offer(0, Request{Input: 1000, Deadline: after(3 * time.Second)})
	d.is(as, Reject, StageWait)
	got := d.offer(0, willing(3*time.Second))
	d.is(got, Queue, StageLadder)
	if got.Rungs != 1<<1 || got.Model != "" {
		t.Errorf("got rungs %b at %q, want only the trimmed context", got.Rungs, got.Model)
	}
	got = d.offer(0, willing(1500*time.Millisecond)) // trimmed it still comes too late
	d.is(got, Run, StageLadder)
	if got.Rungs != 1<<1|1<<2 || got.Model != "small" || got.Deployment != "s" {
		t.Errorf("got rungs %b at %q, want the smaller model", got.Rungs, got.Model)
	}
}

func TestLadderNeedsConsent(t *testing.T) {
	d := newDesk(t, laddered(features, trim, smaller, before))
	d.run(0, Request{Input: 2000})
	r := willing(1500 * time.Millisecond)
	for _, may := range []Consent{0, MayFeatures, MayFeatures | MayCompute} {
		r.May = may
		d.is(d.offer(0, r), Reject, StageWait)
	}
	r.May = MayDegrade &^ MayModel // the model is pinned: an answer from before is still its own
	r.Recent = true
	got := d.offer(0, r)
	d.is(got, Recall, StageLadder)
	if got.Rungs != 1<<3 {
		t.Errorf("rungs %b", got.Rungs)
	}
}

// The quantised deployments of the same model are a pool of their own, which
// only consent to compute opens.
func TestLadderOpensQuantisedDeployments(t *testing.T) {
	p := laddered(Rung{Name: "int8", Kind: RungCompute, Model: "m@int8"})
	p.Models = append(p.Models, Model{Name: "m@int8", Prior: p.Models[0].Prior, Deployments: []Deployment{{Name: "q", Concurrency: 1}}})
	d := newDesk(t, p)
	d.run(0, Request{Input: 2000})
	r := Request{Input: 1000, Deadline: after(1500 * time.Millisecond), May: MayCompute, Rungs: [MaxRungs]Shape{{Changes: true, Input: 1000}}}
	got := d.offer(0, r)
	d.is(got, Run, StageLadder)
	if got.Deployment != "q" || got.Model != "m@int8" {
		t.Errorf("runs at %q of %q", got.Deployment, got.Model)
	}
}

// Money is a reason to step down as well: the cheaper form has room in the budget.
func TestLadderFitsTheBudget(t *testing.T) {
	p := laddered(features, trim, smaller)
	p.Models[0].Deployments[0].Price = Price{Known: true, Input: dollar}
	p.Models[1].Deployments[0].Price = Price{Known: true, Input: dollar / 10}
	p.Tenants[0].Budgets.All = limits(Hour, 1200)
	d := newDesk(t, p)
	d.run(0, Request{Input: 900, MaxOutput: 1})
	r := willing(8 * time.Second)
	r.May = MayFeatures
	d.is(d.offer(time.Millisecond, r), Reject, StageSpend)
	r.May = MayDegrade
	got := d.offer(time.Millisecond, r)
	if got.Verdict == Reject || !got.Rungs.Has(1) {
		t.Errorf("got %+v, want the trimmed request", got)
	}
}

// Over the soft threshold everybody who agrees is stepped down, though nothing
// is refused and slots are free; when the money is back they are served as asked.
func TestSpendLevels(t *testing.T) {
	p := laddered(features, trim, smaller)
	p.Models[0].Deployments[0] = Deployment{Name: "d", Concurrency: 9, Price: Price{Known: true, Input: dollar}}
	p.Tenants[0].Budgets.All = limits(Hour, 100_000)
	d := newDesk(t, p)
	rungs := func(at time.Duration, class Class) Rungs {
		t.Helper()
		r := willing(at + 20*time.Second)
		r.Class = class
		r.Rungs[0] = Shape{Changes: true, Input: 1000}
		got := d.offer(at, r)
		if got.Verdict != Run {
			t.Fatalf("%+v", got)
		}
		d.finish(at+time.Millisecond, got.ID, Outcome{Status: 200, OK: true, Known: true, Input: r.Input, Output: 100})
		return got.Rungs
	}
	spend := func(at time.Duration, n int64) {
		d.finish(at, d.run(at, Request{Input: 10, MaxOutput: 1}), Outcome{Status: 200, OK: true, Known: true, Output: 100, Cost: n})
	}
	spend(0, 79_000)
	if got := rungs(time.Second, Interactive); got != 0 {
		t.Errorf("below the threshold: rungs %b", got)
	}
	spend(2*time.Second, 2000)
	if got := rungs(3*time.Second, Interactive); got != 1 {
		t.Errorf("above 80 %%: rungs %b, want features", got)
	}
	if got := rungs(3*time.Second, Batch); got != 3 {
		t.Errorf("batch: rungs %b, want a step more", got)
	}
	spend(4*time.Second, 13_500)
	if got := rungs(5*time.Second, Interactive); got != 7 {
		t.Errorf("at 94.5 %%: rungs %b, want all", got)
	}
	late := 70 * time.Minute
	spend(late, 10)
	if got := rungs(late+time.Second, Interactive); got != 0 {
		t.Errorf("an hour later: rungs %b", got)
	}
}

// What a rung saves is learnt from the calls it was used for; one that saves
// nothing is left out for a while.
func TestRungThatDoesNotHelpIsLeftOut(t *testing.T) {
	p := laddered(Rung{Name: "logprobs", Kind: RungFeatures, Saving: 50})
	p.Models[0].Deployments[0].Concurrency = 4
	p.Tenants[0].Budgets.All = limits(Hour, 1000)
	p.Models[0].Deployments[0].Price = Price{Known: true, Request: 1}
	d := newDesk(t, p)
	d.finish(0, d.run(0, Request{}), Outcome{Status: 200, OK: true, Known: true, Output: 100, Cost: 810})
	used := 0
	for i := range 140 {
		at := time.Duration(i+1) * 2 * time.Second
		r := Request{Input: 1000, May: MayDegrade, Rungs: [MaxRungs]Shape{{Changes: true, Input: 1000}}, Deadline: after(at + 30*time.Second)}
		got := d.offer(at, r)
		if got.Rungs != 0 {
			used++
		}
		d.finish(at+time.Second, got.ID, Outcome{Status: 200, OK: true, Known: true, Input: 1000, Output: 100})
	}
	if used < rungSamples || used > rungSamples+1 {
		t.Errorf("used %d times, want until %d calls have shown that it saves nothing", used, rungSamples)
	}
	state := d.c.Snapshot(after(5 * time.Minute)).Pools[0]
	if len(state.Rungs) != 1 || !state.Rungs[0].Asleep || state.Rungs[0].Served != int64(used) {
		t.Errorf("the snapshot says %+v", state.Rungs)
	}
}

// A small saving is not taken for none by chance: answers differ in length, and
// calls in speed.
func TestRungThatHelpsALittleStays(t *testing.T) {
	asleep := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		p := laddered(Rung{Name: "logprobs", Kind: RungFeatures, Saving: 10})
		p.Models[0].Deployments[0].Concurrency = 4
		p.Models[0].Prior = Prior{First: time.Millisecond, PerInput: 1, PerOutput: 10 * time.Millisecond, Output: 100}
		p.Models[0].Ladder.Up = [3]int{-1, 1000, 1000}
		d := newDesk(t, p)
		at := time.Duration(0)
		for i := range 500 {
			at += 5 * time.Second
			r := Request{Input: 1000, Deadline: after(at + 30*time.Second)}
			if i >= 100 {
				r.May, r.Rungs = MayDegrade, [MaxRungs]Shape{{Changes: true, Input: 1000}}
			}
			got := d.offer(at, r)
			n := 20 + rng.Int64N(160)
			took := float64(n) * 0.01 * (0.7 + 0.6*rng.Float64())
			if got.Rungs != 0 {
				took *= 0.9
			}
			d.finish(at+time.Duration(took*1e9), got.ID, Outcome{Status: 200, OK: true, Known: true, Input: 1000, Output: n})
		}
		if d.c.Snapshot(after(at)).Pools[0].Rungs[0].Asleep {
			asleep++
		}
	}
	if asleep > 1 {
		t.Errorf("left out in %d of 20 runs, though it saves a tenth", asleep)
	}
}

// Levels go down by pressure and come back step by step when it is over.
func TestLevels(t *testing.T) {
	var l level
	p := LadderPolicy{}
	p.defaults()
	at := func(s float64, x, load float64) uint8 {
		l.press(after(time.Duration(s*float64(time.Second))), x, load, Interactive, &p)
		return l.at
	}
	at(0, 0, 0.5)
	for s := 1.0; s <= 30; s++ {
		at(s, 0.4, 0.9)
	}
	if l.at != 0 {
		t.Errorf("level %d below every threshold", l.at)
	}
	if at(31, 2, 1.5); l.at != 1 {
		t.Errorf("level %d after a second of pressure, want 1", l.at)
	}
	if at(31.5, 2, 1.5); l.at != 1 {
		t.Error("two steps within a second")
	}
	at(33, 2, 1.5)
	if at(35, 2, 1.5); l.at != 3 {
		t.Errorf("level %d, want 3", l.at)
	}
	for s := 36.0; s < 90; s++ {
		at(s, 0, 1.4) // the wait is gone, because of the ladder
	}
	if l.at != 3 {
		t.Errorf("level %d, although what is asked for does not fit", l.at)
	}
	var steps []float64
	for s, was := 90.0, l.at; s < 150; s++ {
		if at(s, 0, 0.8); l.at != was {
			steps, was = append(steps, s), l.at
		}
	}
	if len(steps) != 3 || steps[0] != 105 || steps[1] != 120 || steps[2] != 135 {
		t.Errorf("came back at %v, want three steps, 15 s apart", steps)
	}
	if sum := l.held[0] + l.held[1] + l.held[2] + l.held[3]; sum != 149*time.Second {
		t.Errorf("%v of 149 s are accounted for", sum)
	}
	if speculative := (level{}); true {
		speculative.press(after(0), 0.25, 0, Speculative, &p)
		if speculative.press(after(2*time.Second), 0.25, 0, Speculative, &p); speculative.at != 1 {
			t.Error("speculative work is not the first to step down")
		}
	}
}

// A session that was moved stays there until the pressure has been gone for a
// while, and goes back where a turn begins (B128, B129).
func TestSessionStaysWhereItWasMoved(t *testing.T) {
	p := laddered(smaller)
	p.Models[0].Ladder.Hold = 30 * time.Second
	d := newDesk(t, p)
	turn := func(at time.Duration, session string, begins bool) (model string) {
		t.Helper()
		r := Request{Input: 1000, Session: session, May: MayDegrade, Turn: begins, Deadline: after(at + 1500*time.Millisecond), Rungs: [MaxRungs]Shape{{Changes: true, Input: 1000}}}
		got := d.offer(at, r)
		if got.Verdict != Run {
			t.Fatalf("at %v: %+v", at, got)
		}
		d.good(at+50*time.Millisecond, got.ID)
		return got.Model
	}
	busy := d.run(0, Request{Input: 2000})
	if got := turn(0, "s", true); got != "small" {
		t.Fatalf("served by %q while its own model is busy", got)
	}
	d.good(time.Second, busy)
	if got := turn(2*time.Second, "s", true); got != "small" {
		t.Errorf("two seconds later by %q: the pressure may come back", got)
	}
	if got := turn(3*time.Second, "other", true); got != "" {
		t.Errorf("another session by %q, though its model is idle", got)
	}
	if got := turn(40*time.Second, "s", false); got != "small" {
		t.Errorf("in the midst of a turn by %q", got)
	}
	if got := turn(41*time.Second, "s", true); got != "" {
		t.Errorf("at the beginning of a turn by %q, want its own model", got)
	}
	if got := turn(42*time.Second, "s", false); got != "" {
		t.Errorf("after it came back by %q", got)
	}
}

func TestSessionStaysAtAFallback(t *testing.T) {
	p := laddered()
	p.Models[0].Fallback[CauseOverloaded] = []string{"small"}
	p.Models[0].Fallback[CauseError] = []string{"small"}
	p.Retry.Attempts = 3
	d := newDesk(t, p)
	r := func(at time.Duration) Request {
		return Request{Input: 100, Session: "s", Turn: true, Deadline: after(at + 5*time.Second)}
	}
	id := d.run(0, r(0))
	ds := d.finish(0, id, Outcome{Status: 429, Fault: Throttled, Retryable: true, RetryAfter: 10 * time.Minute})
	if len(ds) == 0 || ds[len(ds)-1].Model != "small" {
		t.Fatalf("it does not go on elsewhere: %+v", ds)
	}
	d.good(100*time.Millisecond, id)
	for i := range 10 { // while the primary pauses, each turn goes straight there
		at := time.Duration(i+1) * 30 * time.Second
		got := d.offer(at, r(at))
		if got.Verdict != Run || got.Model != "small" {
			t.Fatalf("turn %d: %+v", i, got)
		}
		d.good(at+100*time.Millisecond, got.ID)
	}
	at := 13 * time.Minute
	got := d.offer(at, r(at))
	if got.Verdict != Run || got.Model != "" {
		t.Errorf("after the pause: %+v, want its own model again", got)
	}
}

func TestStaysAreBounded(t *testing.T) {
	var s stays
	for i := range mostStays + 10 {
		s.moved(after(time.Duration(i)*time.Millisecond), stayKey{"t", string(rune(i)), "m"}, "n", 1)
	}
	if len(s.byKey) > mostStays {
		t.Errorf("%d sessions", len(s.byKey))
	}
	s.moved(after(2*time.Hour), stayKey{"t", "new", "m"}, "n", 1)
	if len(s.byKey) != 1 {
		t.Errorf("%d sessions after two hours, want only the new one", len(s.byKey))
	}
}
