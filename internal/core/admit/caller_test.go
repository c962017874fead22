package admit

import "time"

// caller is a stream of independent requests of one tenant and class, whose
// authors retry as the official SDKs do and leave at their deadline.
type caller struct {
	name, tenant string
	class        Class
	rate         float64 // requests a second now
	rateChanges  int
	deadline     time.Duration // 0: waits for ever and tells none
	told         float64       // the deadline told is the true one times this
	retries      int
	hasty        bool // comes back after half a second, whatever it was told
	stream       bool // the deadline means the first token
	leave        float64

	offered, onTime, late, gone int // requests; gone: left before their deadline
	refusals, attempts, runs    int
	work, wasted                float64 // slot-seconds within the run: of answers in time, of others
	waits                       []time.Duration
	toRefusal                   time.Duration // sum over refusals
}

type state byte

const (
	outside state = iota
	queued
	running
)

// visit is one request of a caller, with all its attempts.
type visit struct {
	id       ID
	caller   *caller
	intended time.Time // first try
	offered  time.Time // this attempt
	attempt  int
	runs     int
	started  time.Time
	state    state
	first    bool // the first token came
	closed   bool
}

func (w *world) arrivals(a *caller) {
	if a.rate <= 0 {
		return
	}
	gap := time.Duration(w.rng.ExpFloat64() / a.rate * float64(time.Second))
	if w.now.Add(gap).After(w.end) {
		return
	}
	changes := a.rateChanges
	w.in(gap, func() {
		if changes == a.rateChanges {
			a.offered++
			w.seconds[min(int(w.now.Sub(t0)/time.Second), len(w.seconds)-1)].asked += w.mean.Seconds() * w.slow
			w.visit(a)
			w.arrivals(a)
		}
	})
}

func (w *world) setRate(a *caller, rate float64) {
	a.rate = rate
	a.rateChanges++
	w.arrivals(a)
}

func (w *world) visit(a *caller) {
	v := &visit{caller: a, intended: w.now}
	if a.deadline > 0 {
		w.in(a.deadline, func() {
			if !v.closed && !v.first {
				a.late++
				w.leave(v)
			}
		})
	}
	if a.leave > 0 && w.rng.Float64() < a.leave {
		w.in(time.Duration(w.rng.Float64()*float64(a.deadline)), func() {
			if !v.closed {
				a.gone++
				w.leave(v)
			}
		})
	}
	w.offer(v)
}

func (w *world) offer(v *visit) {
	w.lastID++
	v.id, v.offered, v.state, v.first = w.lastID, w.now, queued, false
	a := v.caller
	a.attempts++
	w.visits[v.id] = v
	r := Request{
		ID: v.id, Tenant: a.tenant, Model: "m", Class: a.class, Attempt: v.attempt, Input: 100, Bytes: 400,
		Stream: a.stream, Arrived: w.now,
	}
	if a.deadline > 0 {
		left := v.intended.Add(a.deadline).Sub(w.now)
		r.Deadline = w.now.Add(time.Duration(float64(left) * a.told))
	}
	if w.ledger != nil {
		w.ledger.offered(v.id)
	}
	w.take(w.c.Offer(w.now, r))
}

// leave is the caller hanging up, at its deadline or before.
func (w *world) leave(v *visit) {
	w.close(v, false)
	was := v.state
	if was != outside {
		w.ended(v)
	}
	switch was {
	case queued:
		w.take(w.c.Cancel(w.now, v.id))
	case running:
		v.caller.wasted += w.within(v)
		w.take(w.c.Finish(w.now, v.id, Outcome{CallerGone: true}))
	}
}

// refused is the caller reading a refusal.
func (w *world) refused(v *visit, d Decision) {
	a := v.caller
	a.refusals++
	a.toRefusal += w.now.Sub(v.offered)
	switch {
	case a.hasty:
		w.retry(v, 500*time.Millisecond)
	case d.NoRetry || d.RetryAfter == 0:
		w.close(v, false)
	default:
		w.retry(v, min(d.RetryAfter, 59*time.Second))
	}
}

// retry comes again if there is a try and time left.
func (w *world) retry(v *visit, after time.Duration) {
	a := v.caller
	if v.attempt >= a.retries || a.deadline > 0 && w.now.Add(after).After(v.intended.Add(a.deadline)) {
		w.close(v, false)
		return
	}
	v.attempt++
	w.in(after, func() {
		if !v.closed {
			w.offer(v)
		}
	})
}

// ended is the end of one attempt as the controller sees it.
func (w *world) ended(v *visit) {
	v.state = outside
	delete(w.visits, v.id)
	if w.ledger != nil {
		w.ledger.settled(v.id)
	}
}

// close is the end of the whole request.
func (w *world) close(v *visit, onTime bool) {
	v.closed = true
	if onTime {
		v.caller.onTime++
	}
	w.history = append(w.history, outcome{v.caller, v.intended, onTime})
}
