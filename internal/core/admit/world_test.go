package admit

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/guptarohit/asciigraph"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world drives a Controller in virtual time: callers who arrive, retry as the
// official SDKs do and leave at their deadline, and an upstream with slots.
// The invariants of invariant_test.go are checked after every event.
type world struct {
	t       *testing.T
	c       *Controller
	policy  *Policy
	rng     *rand.Rand
	now     time.Time
	end     time.Time
	events  timeline
	seq     int
	lastID  ID
	reqs    map[ID]*visit
	slow    float64 // service time factor now
	mean    time.Duration
	sigma   float64
	actors  []*actor
	check   *ledger
	sampled []sample
	busyNS  int64
	capNS   int64
	sloAt   time.Time
	retry   bool
	fail    func(*visit) (Outcome, bool)
}

type actor struct {
	name     string
	class    Class
	rate     func(time.Duration) float64
	deadline time.Duration
	wrong    float64 // the deadline told is the true one times this
	retries  int
	stream   bool
	leave    float64 // share of callers who leave at a random moment

	offered, onTime, late, refused, attempts, left int
	work, wasted                                   float64 // slot-seconds within the run: of answers in time, of others
	waits                                          []time.Duration
	refusal                                        time.Duration
	lateRefusal                                    time.Duration
}

type visit struct {
	id       ID
	actor    *actor
	intended time.Time
	offered  time.Time
	attempt  int
	started  time.Time
	service  time.Duration
	state    byte // q, r, or 0
	queued   bool
	predict  time.Duration
	gen      int
	first    bool
}

type sample struct{ waiting, running, goodput, refused float64 }

type event struct {
	at  time.Time
	seq int
	do  func()
}
type timeline []event

func (t timeline) Len() int { return len(t) }
func (t timeline) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].seq < t[j].seq
}
func (t timeline) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timeline) Push(x any)   { *t = append(*t, x.(event)) }
func (t *timeline) Pop() any {
	old := *t
	e := old[len(old)-1]
	*t = old[:len(old)-1]
	return e
}

func newWorld(t *testing.T, p *Policy, seed uint64) *world {
	p.Defaults()
	w := &world{
		t: t, policy: p, now: t0, reqs: map[ID]*visit{}, slow: 1, mean: time.Second, sigma: 0.25,
		rng: rand.New(rand.NewPCG(seed, 1)),
	}
	w.c = New(t0, p, rand.New(rand.NewPCG(seed, 2)))
	w.check = newLedger(w.c)
	return w
}

func (w *world) at(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.events, event{w.now.Add(max(d, 0)), w.seq, do})
}

// draw is a log-normal time with the world's mean and sigma.
func (w *world) draw() time.Duration {
	return time.Duration(float64(w.mean) * math.Exp(w.sigma*w.rng.NormFloat64()-w.sigma*w.sigma/2))
}

func (w *world) run(d time.Duration) {
	w.end = t0.Add(d)
	for _, a := range w.actors {
		w.arrivals(a)
	}
	for i := time.Duration(1); i <= d/time.Second; i++ {
		heap.Push(&w.events, event{t0.Add(i * time.Second), -1, w.sample})
	}
	for w.events.Len() > 0 {
		next := w.events[0]
		if due := w.c.Next(); !due.IsZero() && due.Before(next.at) {
			w.now = due
			w.take(w.c.Tick(w.now))
			continue
		}
		heap.Pop(&w.events)
		w.now = next.at
		next.do()
	}
}

func (w *world) arrivals(a *actor) {
	rate := a.rate(w.now.Sub(t0))
	gap := 100 * time.Millisecond
	if rate > 0 {
		gap = time.Duration(w.rng.ExpFloat64() / rate * float64(time.Second))
	}
	if w.now.Add(gap).After(w.end) {
		return
	}
	w.at(gap, func() {
		if rate > 0 {
			a.offered++
			w.offer(&visit{actor: a, intended: w.now})
		}
		w.arrivals(a)
	})
}

func (w *world) offer(v *visit) {
	w.lastID++
	v.id, v.offered, v.state, v.queued, v.first = w.lastID, w.now, 'q', false, false
	v.gen++
	v.actor.attempts++
	w.reqs[v.id] = v
	told := v.intended.Add(v.actor.deadline)
	if v.actor.wrong > 0 {
		told = v.intended.Add(time.Duration(float64(v.actor.deadline) * v.actor.wrong))
	}
	gen := v.gen
	if v.actor.leave > 0 && w.rng.Float64() < v.actor.leave {
		w.at(time.Duration(w.rng.Float64()*float64(v.actor.deadline)), func() { w.leave(v, gen) })
	}
	if v.actor.deadline > 0 {
		w.at(v.intended.Add(v.actor.deadline).Sub(w.now), func() {
			if v.gen != gen || v.state == 0 || v.first {
				return
			}
			v.actor.late++
			w.leave(v, gen)
		})
	} else {
		told = time.Time{}
	}
	w.check.offered(v.id)
	w.take(w.c.Offer(w.now, Request{
		ID: v.id, Tenant: v.actor.name, Model: "m", Class: v.actor.class, Attempt: v.attempt, Input: 100, Bytes: 400,
		Stream: v.actor.stream, Arrived: w.now, Deadline: told,
	}))
}

// leave is the caller hanging up, at its deadline or before.
func (w *world) leave(v *visit, gen int) {
	if v.gen != gen || v.state == 0 {
		return
	}
	running := v.state == 'r'
	v.state = 0
	v.actor.left++
	delete(w.reqs, v.id)
	w.check.settled(v.id)
	if running {
		v.actor.wasted += w.within(v)
		w.take(w.c.Finish(w.now, v.id, Outcome{CallerGone: true}))
	} else {
		w.take(w.c.Cancel(w.now, v.id))
	}
}

func (w *world) take(ds []Decision) {
	w.check.took(w.now, ds)
	for _, d := range slices.Clone(ds) {
		v := w.reqs[d.ID]
		switch d.Verdict {
		case Queue:
			v.predict, v.queued, v.state = d.Wait, true, 'q'
		case Run:
			v.state, v.started = 'r', w.now
			v.service = time.Duration(float64(w.draw()) * w.slow)
			if v.queued || v.actor.offered > 0 {
				v.actor.waits = append(v.actor.waits, w.now.Sub(v.offered))
			}
			gen := v.gen
			if v.actor.stream {
				w.at(v.service/5, func() {
					if v.gen == gen && v.state == 'r' {
						v.first = true
						w.c.FirstByte(w.now, v.id)
					}
				})
			}
			w.finishLater(v, gen, v.service)
		case Reject:
			delete(w.reqs, d.ID)
			w.check.settled(d.ID)
			v.state = 0
			w.rejected(v, d)
		}
	}
}

func (w *world) finishLater(v *visit, gen int, in time.Duration) {
	w.at(in, func() {
		if v.gen != gen || v.state != 'r' {
			return
		}
		v.state = 0
		delete(w.reqs, v.id)
		v.actor.work += w.within(v)
		o := Outcome{Status: 200, OK: true, Input: 100, Output: 200, Known: true}
		v.actor.onTime++
		w.check.settled(v.id)
		w.take(w.c.Finish(w.now, v.id, o))
	})
}

// within is the slot time of a visit inside the run.
func (w *world) within(v *visit) float64 {
	to := w.now
	if to.After(w.end) {
		to = w.end
	}
	return max(to.Sub(v.started).Seconds(), 0)
}

func (w *world) rejected(v *visit, d Decision) {
	a := v.actor
	a.refused++
	a.refusal += w.now.Sub(v.offered)
	if d.NoRetry || v.attempt >= a.retries || d.RetryAfter == 0 {
		return
	}
	wait := d.RetryAfter
	if w.now.Add(wait).After(v.intended.Add(a.deadline)) {
		return
	}
	v.attempt++
	w.at(wait, func() { w.offer(v) })
}

func (w *world) sample() {
	var s sample
	s.waiting, s.running = float64(w.c.Waiting()), float64(w.c.Running())
	for _, a := range w.actors {
		s.goodput += float64(a.onTime)
		s.refused += float64(a.refused)
	}
	w.sampled = append(w.sampled, s)
}

// report is the story's outcome as text: a table and a plot.
func (w *world) report(d time.Duration) string {
	var b strings.Builder
	capacity := float64(w.policy.Models[0].Deployments[0].Concurrency) * d.Seconds()
	total := 0.0
	fmt.Fprintf(&b, "%-8s %-12s %8s %8s %8s %8s %8s %9s %9s %9s\n", "tenant", "class", "offered", "on time", "late", "refusals", "attempts", "slots", "p95 wait", "refusal")
	for _, a := range w.actors {
		total += a.work
		slices.Sort(a.waits)
		p95 := time.Duration(0)
		if n := len(a.waits); n > 0 {
			p95 = a.waits[n*95/100]
		}
		mean := time.Duration(0)
		if a.refused > 0 {
			mean = a.refusal / time.Duration(a.refused)
		}
		fmt.Fprintf(&b, "%-8s %-12s %8d %8d %8d %8d %8.2f %9.2f %8.2fs %8.2fs\n", a.name, a.class, a.offered, a.onTime, a.late, a.refused,
			float64(a.attempts)/float64(max(a.offered, 1)), a.work/d.Seconds(), p95.Seconds(), mean.Seconds())
	}
	wasted := 0.0
	for _, a := range w.actors {
		wasted += a.wasted
	}
	fmt.Fprintf(&b, "slot time on answers in time: %.1f %%, on others: %.1f %%\n\n", 100*total/capacity, 100*wasted/capacity)
	waiting := make([]float64, len(w.sampled))
	for i, s := range w.sampled {
		waiting[i] = s.waiting
	}
	b.WriteString(asciigraph.Plot(waiting, asciigraph.Height(8), asciigraph.Width(60), asciigraph.Caption("requests waiting, by second")))
	b.WriteByte('\n')
	return b.String()
}
