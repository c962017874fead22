package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/breaker"
)

// fault is what was wrong, where the shell did not say it in words.
func (o *Outcome) fault() Fault {
	switch {
	case o.Fault != NoFault || o.OK || o.CallerGone:
		return o.Fault
	case o.Status == 429:
		return Throttled
	case o.Status == 0 && o.Retryable, o.Status >= 500 && o.Status != 501:
		return Failed
	case o.Status == 401, o.Status == 402, o.Status == 403, o.Status == 407:
		return Denied
	}
	return Invalid
}

// A caller who leaves says nothing of an upstream, unless nothing came for so
// long that any other caller would have left too: so many times what is usual,
// and at least as long as that.
const (
	goneTimes = 3
	goneFirst = 10 * time.Second // without a first token
	goneWhole = time.Minute      // without an answer that is not streamed
)

// forsaken says that the caller of a silent upstream left. Where every caller
// is less patient than the limit for silence, nothing else tells of it.
func (k *call) forsaken(now time.Time, o *Outcome) bool {
	if !o.CallerGone || k.first || o.Delay < 0 {
		return false
	}
	usual, whole := k.pool().service.Expected(k.est, k.input, 0)
	least := goneFirst
	if !k.stream {
		usual, least = whole, goneWhole
	}
	return now.Sub(k.started)-o.Delay >= max(least, goneTimes*usual)
}

// judge tells the deployment and its key how an attempt ended. Callers who
// left and faults of the request are neutral, and so is what began before the
// breaker last opened.
func (c *Controller) judge(now time.Time, k *call, o *Outcome) {
	d, fault := k.deployment, o.fault()
	d.tally.count(o, fault)
	if k.key >= len(d.keys) {
		return // the keys have changed
	}
	q, present := d.keys[k.key], k.epoch == d.breaker.Epoch()
	defer d.flag()
	until := now.Add(min(o.RetryAfter, pauseMost))
	switch fault {
	case NoFault:
		if !o.OK {
			if !present || !k.forsaken(now, o) {
				return
			}
			d.breaker.Failure(now, false, 0)
			break
		}
		q.denials, q.denied, q.refusals = 0, time.Time{}, 0
		if c.good(now, k, o, present); d.told == breaker.Closed && d.auto == nil && !d.breaker.Warned() && !d.warned {
			return // the usual case: nothing is different
		}
	case Failed, Silent:
		if present {
			d.breaker.Failure(now, false, o.RetryAfter)
		}
	case OutOfSpace:
		if present {
			d.breaker.Failure(now, true, o.RetryAfter)
		}
	case Saturated:
		if d.auto != nil {
			d.auto.Full(now, d.running, d.policy.Most)
		}
		if o.RetryAfter > 0 {
			q.paused = latest(q.paused, until)
		}
		if present && o.Status >= 500 {
			d.breaker.Failure(now, false, o.RetryAfter)
		}
	case Throttled:
		q.throttled(now, k, o, until)
	case Denied:
		wait := min(deniedFirst<<min(q.denials, 5), deniedMost)
		q.denials++
		q.denied = now.Add(max(wait, o.RetryAfter))
	}
	d.pool.survey(now)
	c.note(now, d)
}

// throttled is a 429: the pause it asks for is kept, and the pace of what ran
// out is taken down. Where nobody says what that was, it was requests.
func (q *key) throttled(now time.Time, k *call, o *Outcome, until time.Time) {
	pause := time.Time{}
	q.refusals++
	switch over := q.refusals - refusalsInRow; {
	case o.RetryAfter > 0:
		pause = until
		q.paused = latest(q.paused, until)
	case over >= 0: // nothing at all comes through: asking less often says as much
		q.paused = latest(q.paused, now.Add(min(time.Second<<min(over, 6), refusedMost)))
	}
	switch o.Scarce {
	case ScarceDay:
		if o.RetryAfter == 0 {
			q.paused = latest(q.paused, now.Add(min(q.day.Left(now), time.Hour)))
		}
	case ScarceTokens:
		q.tokens.Refused(now, k.size(), pause)
	default:
		q.requests.Refused(now, 1, pause)
	}
}

// good is an answer: its times, without what its size explains, are what the
// latency breaker and the learnt concurrency see.
func (c *Controller) good(now time.Time, k *call, o *Outcome, present bool) {
	d, p := k.deployment, k.pool()
	var t breaker.Latencies
	if o.Delay >= 0 {
		total := now.Sub(k.started)
		t.Total = total - o.Delay
		d.times.total.Add(t.Total.Seconds())
		if k.stream && k.first {
			d.times.first.Add((k.firstTook - o.Delay).Seconds())
			t.First = max(p.service.Unsized(k.firstTook-o.Delay, k.input), time.Millisecond)
			if o.Output >= leastTokens {
				t.PerToken = (total - k.firstTook) / time.Duration(o.Output)
			}
		}
	}
	if d.auto != nil {
		d.auto.Sample(now, t, d.running+1, d.policy.Most)
		d.slots = d.auto.Limit()
	}
	if !present || k.alive { // counted by its first sign of life
		return
	}
	if d.breaker.Good(now, d.calls(now), t) {
		c.changed(Change{At: now, Deployment: d.name, ScaleUp: true})
	}
}

// After so many 429s in a row, without a word of when, a key pauses: for a
// second, then for twice as long each time, at most as long as a limit that has
// come back should be noticed within.
const (
	refusalsInRow = 4
	refusedMost   = 10 * time.Second
)

// leastTokens of output make a time by token.
const leastTokens = 8

// Change is something about a deployment that an operator should hear of once.
type Change struct {
	At         time.Time
	Deployment string
	From, To   breaker.State
	Why        breaker.Why
	Until      time.Time // of an opening
	Warning    bool      // latency comes near the point where the breaker opens
	ScaleUp    bool      // a call took so long that more capacity is needed
	Spending   *Spending // an account's state changed; the rest is then empty, but At
	Level      *Stepping // a level of a ladder changed; the same
}

// mostChanges bounds what nobody fetches.
const mostChanges = 64

func (c *Controller) changed(x Change) {
	if len(c.changes) < mostChanges {
		c.changes = append(c.changes, x)
	}
}

// Changes are what happened to deployments since the last call, oldest first.
// The slice is valid until the next call of any method.
func (c *Controller) Changes() []Change {
	list := c.changes
	c.changes = c.changes[:0]
	return list
}

// note writes down a change of state once.
func (c *Controller) note(now time.Time, d *deployment) {
	state, why := d.breaker.State(now)
	if state != d.told {
		c.changed(Change{At: now, Deployment: d.name, From: d.told, To: state, Why: why, Until: d.breaker.Opens(now)})
		d.told = state
	}
	if w := d.breaker.Warned(); w != d.warned {
		if d.warned = w; w {
			c.changed(Change{At: now, Deployment: d.name, From: state, To: state, Warning: true})
		}
	}
}
