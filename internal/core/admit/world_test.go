package admit

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func onePool(slots int, tenants ...Tenant) *Policy {
	return &Policy{Models: []Model{{Name: "m", Deployments: []Deployment{{Name: "d", Concurrency: slots}}}}, Tenants: tenants}
}

// world drives a Controller in virtual time: callers of caller_test.go, and an
// upstream with slots. The ledger of invariant_test.go, if there is one,
// checks the controller after every event.
type world struct {
	c       *Controller
	policy  *Policy
	rng     *rand.Rand
	now     time.Time
	end     time.Time
	events  timeline
	seq     int
	lastID  ID
	visits  map[ID]*visit
	callers []*caller
	ledger  *ledger

	mean  time.Duration // of the service time
	sigma float64       // of its logarithm
	slow  float64       // service time factor now
	fail  float64       // share of attempts that fail at once, so that another may help

	seconds []second
	history []outcome
}

// second is one second of the run, for the plot and for what was possible.
type second struct {
	waiting int
	slots   int
	asked   float64 // slot-seconds that first tries of the second stand for
}

// outcome is the end of one request, over all its attempts.
type outcome struct {
	caller   *caller
	intended time.Time
	onTime   bool
}

type event struct {
	at  time.Time
	seq int
	do  func()
}

type timeline []event

func (t timeline) Len() int { return len(t) }
func (t timeline) Less(i, j int) bool {
	return cmp.Or(t[i].at.Compare(t[j].at), cmp.Compare(t[i].seq, t[j].seq)) < 0
}
func (t timeline) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timeline) Push(x any)   { *t = append(*t, x.(event)) }
func (t *timeline) Pop() any {
	last := len(*t) - 1
	e := (*t)[last]
	*t = (*t)[:last]
	return e
}

func newWorld(p *Policy, seed uint64) *world {
	p.Defaults()
	w := &world{
		policy: p, now: t0, visits: map[ID]*visit{}, slow: 1, mean: time.Second, sigma: 0.25,
		rng: rand.New(rand.NewPCG(seed, 1)),
		c:   New(t0, p, rand.New(rand.NewPCG(seed, 2))),
	}
	w.ledger = newLedger(w.c)
	return w
}

// in does something later.
func (w *world) in(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.events, event{w.now.Add(max(d, 0)), w.seq, do})
}

// draw is a log-normal time with the world's mean and sigma.
func (w *world) draw() time.Duration {
	return time.Duration(float64(w.mean) * w.slow * math.Exp(w.sigma*w.rng.NormFloat64()-w.sigma*w.sigma/2))
}

// run lets callers come for d, and the rest end as it will.
func (w *world) run(d time.Duration) {
	w.end = t0.Add(d)
	w.seconds = make([]second, d/time.Second)
	for i := range w.seconds {
		w.in(time.Duration(i+1)*time.Second-1, func() {
			w.seconds[i].waiting, w.seconds[i].slots = w.c.Waiting(), w.slots()
		})
	}
	for _, a := range w.callers {
		w.arrivals(a)
	}
	for w.events.Len() > 0 {
		next := w.events[0]
		if due := w.c.Next(); !due.IsZero() && due.Before(next.at) {
			w.now = due
			w.take(w.c.Tick(w.now))
			if again := w.c.Next(); !again.IsZero() && !again.After(due) {
				panic("Tick leaves something due")
			}
			continue
		}
		heap.Pop(&w.events)
		w.now = next.at
		next.do()
	}
}

func (w *world) slots() (n int) {
	for _, d := range w.policy.Models[0].Deployments {
		n += d.Concurrency
	}
	return n
}

// reload gives the controller a changed copy of the policy.
func (w *world) reload(change func(*Policy)) {
	p := *w.policy
	p.Models = slices.Clone(p.Models)
	p.Models[0].Deployments = slices.Clone(p.Models[0].Deployments)
	p.Tenants = slices.Clone(p.Tenants)
	change(&p)
	w.policy = &p
	w.take(w.c.Configure(w.now, w.policy))
}

// take does what the controller decided.
func (w *world) take(ds []Decision) {
	if w.ledger != nil {
		w.ledger.took(w.now, ds)
	}
	for _, d := range slices.Clone(ds) {
		v := w.visits[d.ID]
		switch d.Verdict {
		case Queue:
			v.state = queued
		case Run:
			w.begin(v)
		case Reject:
			w.ended(v)
			w.refused(v, d)
		}
	}
}

// begin is the upstream starting to work on a visit.
func (w *world) begin(v *visit) {
	v.state, v.started = running, w.now
	v.runs++
	run := v.runs
	v.caller.runs++
	v.caller.waits = append(v.caller.waits, w.now.Sub(v.offered))
	current := func() bool { return v.runs == run && v.state == running }
	service := w.draw()
	if w.fail > 0 && w.rng.Float64() < w.fail {
		w.in(service/10, func() {
			if current() {
				w.failed(v)
			}
		})
		return
	}
	if v.caller.stream {
		w.in(service/5, func() {
			if current() {
				v.first = true
				w.c.FirstByte(w.now, v.id)
			}
		})
	}
	w.in(service, func() {
		if current() {
			w.ended(v)
			w.close(v, true)
			v.caller.work += w.within(v)
			w.take(w.c.Finish(w.now, v.id, Outcome{Status: 200, OK: true, Input: 100, Output: 200, Known: true}))
		}
	})
}

// failed is an attempt that the upstream refused before anything was sent.
func (w *world) failed(v *visit) {
	v.caller.wasted += w.within(v)
	ds := w.c.Finish(w.now, v.id, Outcome{Status: 503, Retryable: true})
	if slices.ContainsFunc(ds, func(d Decision) bool { return d.ID == v.id }) {
		w.take(ds)
		return
	}
	w.ended(v)
	w.take(ds)
	backoff := time.Duration(float64(500*time.Millisecond<<v.attempt) * (0.75 + 0.25*w.rng.Float64()))
	w.retry(v, backoff)
}

// within is the slot time of a visit inside the run.
func (w *world) within(v *visit) float64 {
	to := w.now
	if to.After(w.end) {
		to = w.end
	}
	return max(to.Sub(v.started).Seconds(), 0)
}
