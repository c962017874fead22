package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// visit is one request of a caller, with all its attempts.
type visit struct {
	arrival  Arrival
	manners  *Manners
	room     *room
	counts   *counts   // of its tenant and class
	normal   float64   // its luck: a standard normal variate
	work     work      // on the first server of its pool
	intended time.Time // first try

	id       admit.ID
	gen      uint32    // moves on when the visit ends, so that its events are void
	offered  time.Time // this attempt
	started  time.Time
	firstAt  time.Time // the first token came
	attempt  int
	state    state
	queue    *room // where it waits
	site     *site // where it runs
	key      int
	job      job
	failure  admit.Outcome
	promised time.Duration // predicted wait
	stage    admit.Stage   // of its last refusal
	lane     *lane         // its tenant's queue, once it was looked for
	changes  admit.Rungs   // that would change it
	recent   bool          // there is an answer from before
	rungs    admit.Rungs   // of this attempt
	form     form          // which they make of it
	cost     int64         // micro-dollars, of all attempts
}

type state uint8

const (
	outside state = iota // between attempts, or ended
	waiting
	running
)

// ending is how a visit ends.
type ending uint8

const (
	endOnTime  ending = iota
	endLate           // answered, or abandoned, after its deadline
	endExpired        // dropped from the queue after it had been admitted
	endRefused
	endLeft
	endFailed
	numEndings = iota
)

// backoff is what the official SDKs wait without advice: half a second,
// doubled each time, at most 8 s, less up to a quarter.
func (r *Run) backoff(attempt int) time.Duration {
	d := min(500*time.Millisecond<<min(attempt, 5), 8*time.Second)
	return time.Duration(float64(d) * (1 - 0.25*r.manners.Float64()))
}

var polite = &Manners{}

func (r *Run) arrive(a Arrival) {
	v := r.newVisit()
	v.arrival, v.manners, v.intended, v.room = a, a.Manners, r.now, r.room(a.Model)
	if v.manners == nil {
		v.manners = polite
	}
	if v.room != nil {
		v.normal = r.drawing.NormFloat64()
		v.work = v.room.first().work(v.normal, &a)
	}
	r.willing(v)
	v.counts = r.tally.offered(r, v)
	if a.Deadline > 0 && !v.manners.Patient {
		r.at(r.now.Add(a.Deadline), event{kind: kindGiveUp, visit: v, gen: v.gen})
	}
	if v.manners.Leave > 0 && r.manners.Float64() < v.manners.Leave {
		r.at(r.now.Add(time.Duration(r.manners.Float64()*float64(a.Deadline))), event{kind: kindLeave, visit: v, gen: v.gen})
	}
	if a.Leave > 0 {
		r.at(r.now.Add(a.Leave), event{kind: kindLeave, visit: v, gen: v.gen})
	}
	r.offer(v)
}

func (r *Run) newVisit() *visit {
	if n := len(r.spare); n > 0 {
		v := r.spare[n-1]
		r.spare = r.spare[:n-1]
		*v = visit{gen: v.gen}
		return v
	}
	return new(visit)
}

func (r *Run) offer(v *visit) {
	r.lastID++
	v.id, v.offered, v.state, v.firstAt = r.lastID, r.now, outside, time.Time{}
	v.promised = 0
	v.counts.attempts++
	r.visits[v.id] = v
	q := admit.Request{
		ID: v.id, Tenant: v.arrival.Tenant, Model: v.arrival.Model, Class: v.arrival.Class, Attempt: v.attempt,
		Input: v.arrival.Input, Bytes: 4 * v.arrival.Input, Stream: v.arrival.Stream, Arrived: r.now,
		Key: v.arrival.Key, User: v.arrival.User, Session: v.arrival.Session, Turn: v.arrival.Turn, May: v.arrival.May, Recent: v.recent,
	}
	switch {
	case v.arrival.MaxOutput > 0:
		q.MaxOutput = v.arrival.MaxOutput
	case v.manners.Capped:
		q.MaxOutput = v.arrival.Output
	case v.manners.Cap > 0:
		q.MaxOutput = v.manners.Cap
	}
	if v.arrival.Deadline > 0 && !v.arrival.Untold {
		left := v.intended.Add(v.arrival.Deadline).Sub(r.now)
		if v.manners.Told > 0 {
			left = time.Duration(float64(left) * v.manners.Told)
		}
		q.Deadline = r.now.Add(left)
	}
	r.shapes(v, &q)
	r.take(r.decider.Offer(r.now, q))
}

func (r *Run) queued(v *visit, d *admit.Decision) {
	if d.Stage != admit.StageAgain {
		v.promised = d.Wait
	}
	v.state = waiting
	v.queue = v.room
	if d.Model != "" {
		v.queue = r.room(d.Model)
	}
	v.queue.waiting[v.arrival.Class]++
	v.queue.joined(v)
}

// unqueue takes a visit off the queue.
func (r *Run) unqueue(v *visit) {
	if v.state != waiting {
		return
	}
	v.queue.waiting[v.arrival.Class]--
	v.queue.parted(v)
	v.state = outside
}

// begin sends a visit upstream.
func (r *Run) begin(v *visit, d *admit.Decision) {
	x := r.site(v, d)
	x.room.served(r.now, v)
	r.unqueue(v)
	v.state, v.started, v.site, v.key, v.job = running, r.now, x, d.Key, job{}
	v.rungs, v.form = d.Rungs, r.formOf(v, d.Rungs)
	r.tally.began(r, v)
	r.tally.went(v, d.Model)
	x.called(r.now)
	tokens := v.form.input + v.form.output
	if o, after, ok := x.server.admit(r.now, d.Key, tokens, r.manners); !ok {
		x.refusedBy(r.now, &o)
		v.failure = o
		r.at(r.now.Add(after), event{kind: kindFailure, visit: v, gen: v.gen})
		return
	}
	x.took(r.now, tokens)
	r.lastJob++
	v.job = job{visit: v, work: v.workOf(x.server, v.form), seq: r.lastJob}
	x.server.begin(r.now, &v.job)
}

// answered is the end of a complete answer.
func (r *Run) answered(v *visit) {
	done := r.now
	if v.arrival.Stream {
		done = v.firstAt
	}
	how := endOnTime
	if v.arrival.Deadline > 0 && done.After(v.intended.Add(v.arrival.Deadline)) {
		how = endLate
	}
	if !v.arrival.Stream {
		r.observe(v)
	}
	id := v.id
	o := admit.Outcome{Status: 200, OK: true, Known: true, Input: v.form.input, Output: v.form.output, Cost: v.site.price.Of(v.form.input, v.form.output)}
	v.site.cost += o.Cost
	v.cost += o.Cost
	r.tally.worked(r, v, how == endOnTime)
	r.tally.served(r, v, how == endOnTime)
	r.close(v, how)
	r.take(r.decider.Finish(r.now, id, o))
}

// failed is the end of an attempt that the upstream did not take.
func (r *Run) failed(v *visit) {
	id := v.id
	if v.failure.Fault == admit.Throttled {
		r.observe(v)
	}
	if r.now.Sub(v.started) > instant {
		r.tally.worked(r, v, false)
	}
	ds := r.decider.Finish(r.now, id, v.failure)
	for i := range ds {
		if ds[i].ID == id { // the policy tries again by itself
			v.state = outside
			r.take(ds)
			return
		}
	}
	delete(r.visits, id)
	v.state = outside
	v.counts.errors++
	r.take(ds)
	wait := v.failure.RetryAfter
	if wait == 0 {
		wait = r.backoff(v.attempt)
	}
	r.again(v, wait, endFailed)
}

// refused is the caller reading a refusal.
func (r *Run) refused(v *visit, d *admit.Decision) {
	admitted := v.state == waiting
	r.tally.refused(r, v, d, admitted)
	r.unqueue(v)
	delete(r.visits, v.id)
	v.stage = d.Stage
	how := endRefused
	if admitted {
		how = endExpired
	}
	switch {
	case v.manners.Hasty:
		r.again(v, 500*time.Millisecond, how)
	case d.NoRetry:
		r.close(v, how)
	case d.RetryAfter == 0:
		r.again(v, r.backoff(v.attempt), how)
	case d.RetryAfter > 59*time.Second:
		r.close(v, how) // the gateway then asks not to retry
	default:
		r.again(v, d.RetryAfter, how)
	}
}

// recalled is the caller reading an answer from before.
func (r *Run) recalled(v *visit, d *admit.Decision) {
	r.unqueue(v)
	v.started, v.firstAt, v.rungs = r.now, r.now, d.Rungs
	r.tally.recalled(r, v)
	r.close(v, endOnTime)
}

// again comes back if there is an attempt and time left.
func (r *Run) again(v *visit, after time.Duration, otherwise ending) {
	late := v.arrival.Deadline > 0 && r.now.Add(after).After(v.intended.Add(v.arrival.Deadline))
	if v.attempt >= v.manners.Retries || late {
		r.close(v, otherwise)
		return
	}
	v.attempt++
	r.at(r.now.Add(after), event{kind: kindAgain, visit: v, gen: v.gen})
}

// leave is the caller hanging up.
func (r *Run) leave(v *visit, how ending) {
	was, id, cost := v.state, v.id, int64(0)
	switch was {
	case waiting:
		r.unqueue(v)
	case running:
		cost = v.site.left(r.now, v)
		v.cost += cost
		v.site.server.drop(r.now, &v.job)
		r.tally.worked(r, v, false)
	}
	r.close(v, how)
	switch was {
	case waiting:
		r.take(r.decider.Cancel(r.now, id))
	case running:
		r.take(r.decider.Finish(r.now, id, admit.Outcome{CallerGone: true, Cost: cost}))
	}
}

// close is the end of the whole request.
func (r *Run) close(v *visit, how ending) {
	delete(r.visits, v.id)
	r.tally.closed(r, v, how)
	if t := v.arrival.talk; t != nil {
		r.hush(t)
	}
	v.gen++
	v.state = outside
	r.spare = append(r.spare, v)
}
