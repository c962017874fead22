package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// dumbRun drives a decider with random callers and a server that just takes
// its time, and checks after every event that no slot is given twice, none is
// idle while somebody waits, and every request ends once.
type dumbRun struct {
	t     *testing.T
	name  string
	d     Decider
	rng   *rand.Rand
	now   time.Time
	slots map[string]int // by model
	reqs  map[admit.ID]*dumbRequest
	live  []*dumbRequest // waiting or running, in order of arrival
	slow  float64        // times as long as at first
	log   strings.Builder
	tidy  bool // nobody leaves and nothing fails

	onTime, late, refused, expired int
}

type dumbRequest struct {
	admit.Request
	first, total     time.Duration // at the first speed
	running, settled bool
	started, end     time.Time
	begun            float64 // speed when it started
}

// Service is at the present speed.
func (r *dumbRun) Service(id admit.ID) (first, total time.Duration) {
	q := r.reqs[id]
	return time.Duration(float64(q.first) * r.slow), time.Duration(float64(q.total) * r.slow)
}

func newDumbRun(t *testing.T, name string, seed uint64, tidy bool) *dumbRun {
	p := smallPolicy(3, func(p *admit.Policy) {
		p.Models[0].Deployments = append(p.Models[0].Deployments, admit.Deployment{Name: "e", Concurrency: 2})
		p.Models = append(p.Models, admit.Model{Name: "n", Deployments: []admit.Deployment{{Name: "d", Concurrency: 1}}})
		p.Tenants[1].Weight = 3
		p.Tenants = append(p.Tenants, admit.Tenant{Name: "c", Limits: map[string]admit.Limits{"m": {Requests: 100}}})
	})
	r := &dumbRun{
		t: t, name: name, rng: rand.New(rand.NewPCG(seed, 7)), now: epoch, slow: 1, tidy: tidy,
		slots: map[string]int{"m": 5, "n": 1}, reqs: map[admit.ID]*dumbRequest{},
	}
	d, err := NewDecider(name, p, r, seed)
	if err != nil {
		t.Fatal(err)
	}
	r.d = d
	return r
}

// play runs n arrivals and all that follows from them.
func (r *dumbRun) play(n int) {
	next := r.now
	for offered := 0; offered < n || len(r.live) > 0; {
		var done *dumbRequest
		at := next
		if offered == n {
			at = time.Time{}
		}
		for _, q := range r.live {
			if q.running && (at.IsZero() || !q.end.After(at)) {
				done, at = q, q.end
			}
		}
		if tick := r.d.Next(); !tick.IsZero() && (at.IsZero() || tick.Before(at)) {
			r.now = tick
			r.take(r.d.Tick(r.now))
			continue
		}
		if at.IsZero() {
			r.t.Fatalf("%s: %d wait for nothing", r.name, len(r.live))
		}
		r.now = at
		switch {
		case done != nil:
			r.finish(done)
		case !r.tidy && r.rng.IntN(8) == 0 && len(r.live) > 0:
			r.leave(r.live[r.rng.IntN(len(r.live))])
		case !r.tidy && r.rng.IntN(100) == 0:
			r.change([]float64{1, 3, 0.5}[r.rng.IntN(3)])
		default:
			offered++
			r.offer(admit.ID(offered))
			// Bursts and pauses: from a third of what the slots can do to three times as much.
			load := []float64{0.3, 1, 3}[offered/50%3]
			next = r.now.Add(time.Duration(r.rng.ExpFloat64() / load * float64(200*time.Millisecond)))
		}
	}
	if len(r.live) > 0 {
		r.t.Fatalf("%s: %d never ended", r.name, len(r.live))
	}
}

func (r *dumbRun) offer(id admit.ID) {
	q := &dumbRequest{Request: admit.Request{
		ID: id, Tenant: string(rune('a' + r.rng.IntN(3))), Model: "m", Class: admit.Class(r.rng.IntN(3)),
		Input: 100, MaxOutput: r.rng.Int64N(3) * 50, Stream: r.rng.IntN(2) == 0, Arrived: r.now,
		Deadline: r.now.Add(time.Duration(r.rng.Int64N(int64(8 * time.Second)))),
	}}
	if r.rng.IntN(6) == 0 {
		q.Model = "n"
	}
	q.total = time.Duration(r.rng.ExpFloat64() * float64(time.Second))
	q.first = q.total / 4
	r.reqs[id] = q
	r.live = append(r.live, q)
	r.take(r.d.Offer(r.now, q.Request))
}

func (r *dumbRun) finish(q *dumbRequest) {
	o := admit.Outcome{Status: 200, OK: true, Known: true, Input: 100, Output: int64(q.total / (20 * time.Millisecond))}
	if !r.tidy && r.rng.IntN(10) == 0 {
		o = admit.Outcome{Status: 503, Retryable: true}
	}
	q.running = false
	ds := r.d.Finish(r.now, q.ID, o)
	if again := slices.ContainsFunc(ds, func(d admit.Decision) bool { return d.ID == q.ID }); !again {
		r.settle(q)
		if r.kept(q) {
			r.onTime++
		} else {
			r.late++
		}
	}
	r.take(ds)
}

// kept says whether a request that ran made its deadline.
func (r *dumbRun) kept(q *dumbRequest) bool {
	end := q.end
	if q.Stream {
		end = q.started.Add(time.Duration(float64(q.first) * q.begun))
	}
	return !end.After(q.Deadline)
}

func (r *dumbRun) leave(q *dumbRequest) {
	r.settle(q)
	if q.running {
		q.running = false
		r.take(r.d.Finish(r.now, q.ID, admit.Outcome{CallerGone: true}))
		return
	}
	r.take(r.d.Cancel(r.now, q.ID))
}

// change of speed: what runs is slower from now on.
func (r *dumbRun) change(slow float64) {
	for _, q := range r.live {
		if q.running {
			q.end = r.now.Add(time.Duration(float64(q.end.Sub(r.now)) * slow / r.slow))
		}
	}
	r.slow = slow
}

func (r *dumbRun) settle(q *dumbRequest) {
	if q.settled {
		r.t.Fatalf("%s: %d ended twice", r.name, q.ID)
	}
	q.settled = true
	r.live = slices.DeleteFunc(r.live, func(o *dumbRequest) bool { return o == q })
}

func (r *dumbRun) take(ds []admit.Decision) {
	for _, d := range ds {
		fmt.Fprintln(&r.log, r.now.Sub(epoch), d)
		q := r.reqs[d.ID]
		switch {
		case q == nil || q.settled || q.running:
			r.t.Fatalf("%s: %v for %d, which does not wait", r.name, d.Verdict, d.ID)
		case d.Verdict == admit.Run:
			q.running, q.started, q.begun = true, r.now, r.slow
			q.end = r.now.Add(time.Duration(float64(q.total) * r.slow))
		case d.Verdict == admit.Reject:
			r.settle(q)
			if d.Stage == admit.StageLate {
				r.expired++
			} else {
				r.refused++
			}
		}
	}
	running, waiting := map[string]int{}, map[string]int{}
	for _, q := range r.live {
		if q.running {
			running[q.Model]++
		} else {
			waiting[q.Model]++
		}
	}
	if unbound[r.name] {
		return
	}
	for model, slots := range r.slots {
		if running[model] > slots {
			r.t.Fatalf("%s at %v: %d run on %d slots of %s", r.name, r.now.Sub(epoch), running[model], slots, model)
		}
		if running[model] < slots && waiting[model] > 0 && r.name != ours && r.name != plain { // ours waits for limits and breakers, too
			r.t.Fatalf("%s at %v: %d of %d slots of %s work while %d wait", r.name, r.now.Sub(epoch), running[model], slots, model, waiting[model])
		}
	}
}

// unbound are the deciders that look at no slots.
var unbound = map[string]bool{"uncontrolled": true, "fixed-pace": true, "adaptive-pace": true}

func TestDecidersKeepTheRules(t *testing.T) {
	for _, name := range deciderNames() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				newDumbRun(t, name, seed, false).play(600)
			}
		})
	}
}

func TestDecidersRepeatThemselves(t *testing.T) {
	for _, name := range deciderNames() {
		a, b := newDumbRun(t, name, 3, false), newDumbRun(t, name, 3, false)
		a.play(400)
		b.play(400)
		if a.log.Len() == 0 || a.log.String() != b.log.String() {
			t.Errorf("%s: the same events gave other decisions", name)
		}
	}
}
