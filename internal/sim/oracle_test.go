package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// TestOracleKeepsItsPromise: at constant speed, whatever it lets in is on time.
func TestOracleKeepsItsPromise(t *testing.T) {
	for seed := range uint64(10) {
		r := newDumbRun(t, "oracle", seed, true)
		r.play(500)
		if r.late > 0 || r.expired > 0 || r.onTime < 100 || r.refused < 10 {
			t.Errorf("seed %d: %d on time, %d late, %d expired, %d refused", seed, r.onTime, r.late, r.expired, r.refused)
		}
		r = newDumbRun(t, "oracle-rank", seed, true)
		r.play(500)
		if r.late > 0 || r.expired == 0 || r.onTime < 100 {
			t.Errorf("seed %d, by class: %d on time, %d late, %d expired", seed, r.onTime, r.late, r.expired)
		}
	}
}

// TestOracleAgreesWithReplanning: with callers that leave, calls that fail and
// a speed that changes, the plan that is kept up to date gives the decisions of
// one that is made anew for every request.
func TestOracleAgreesWithReplanning(t *testing.T) {
	for _, name := range []string{"oracle", "oracle-rank"} {
		for seed := range uint64(10) {
			kept, anew := newDumbRun(t, name, seed, false), newDumbRun(t, name, seed, false)
			for _, p := range anew.d.(*baseline).pools {
				enter := p.enter
				o := p.line.(*oracle)
				p.enter = func(now time.Time, t *ticket) *refusal {
					o.spoil(0)
					return enter(now, t)
				}
			}
			kept.play(600)
			anew.play(600)
			if kept.log.String() != anew.log.String() {
				t.Errorf("%s, seed %d: decisions differ", name, seed)
			}
		}
	}
}

// TestOracleIsFIFO compares with a schedule made by hand for every request:
// slots as a plain list, no deadline of what is ahead looked at.
func TestOracleIsFIFO(t *testing.T) {
	const slots = 3
	rng := rand.New(rand.NewPCG(5, 5))
	truth := times{}
	d, err := NewDecider("oracle", smallPolicy(slots), truth, 1)
	if err != nil {
		t.Fatal(err)
	}
	var free [slots]time.Duration // when the slots are free of all that was let in
	ends := map[admit.ID]time.Duration{}
	now, admitted := time.Duration(0), 0
	run := func(ds []admit.Decision, now time.Duration) {
		for _, d := range ds {
			if d.Verdict == admit.Run {
				ends[d.ID] = now + truth[d.ID][1]
			}
		}
	}
	for id := admit.ID(1); id <= 3000; id++ {
		now += time.Duration(rng.ExpFloat64() * float64(250*time.Millisecond))
		for {
			first, end := admit.ID(0), now
			for id, e := range ends {
				if e < end || e == end && (first == 0 || id < first) {
					first, end = id, e
				}
			}
			if first == 0 {
				break
			}
			delete(ends, first)
			run(d.Finish(epoch.Add(end), first, admit.Outcome{Status: 200, OK: true}), end)
		}
		total := time.Duration(rng.ExpFloat64() * float64(time.Second))
		deadline := now + time.Duration(rng.Int64N(int64(4*time.Second)))
		truth[id] = [2]time.Duration{total / 4, total}
		slices.Sort(free[:])
		want := max(free[0], now)+total <= deadline
		ds := d.Offer(epoch.Add(now), admit.Request{ID: id, Tenant: "a", Model: "m", Arrived: epoch.Add(now), Deadline: epoch.Add(deadline)})
		if got := ds[0].Verdict != admit.Reject; got != want {
			t.Fatalf("request %d: let in %v, by hand %v", id, got, want)
		}
		run(ds, now)
		if want {
			admitted++
			free[0] = max(free[0], now) + total
		}
	}
	if admitted < 500 || admitted > 2500 {
		t.Errorf("%d let in: the load tests nothing", admitted)
	}
}
