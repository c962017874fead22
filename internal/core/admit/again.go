package admit

import (
	"slices"
	"time"
)

// again says whether a failed attempt is followed by another, and prepares it:
// the call is parked, without a slot, until it may go. It must be within the
// attempts of a request and within the budgets for further ones. The budgets
// are there so that failures do not multiply the load; where they cannot, an
// attempt is not counted.
func (c *Controller) again(now time.Time, k *call, o *Outcome) bool {
	if o.OK || o.CallerGone || o.Sent || k.first || k.sent >= c.policy.Retry.Attempts {
		return false
	}
	fault := o.fault()
	counted := fault != TooLong && fault != Filtered && !k.stranded(now)
	if counted && !c.mayRepeat(now, k.tenant()) || !c.onward(now, k, o, fault) {
		return false
	}
	if counted {
		c.repeated(now, k)
	}
	return true
}

// onward finds the place of the next attempt, which must be in time. Another key
// is tried at once where it was about the key, and else another deployment that
// has not failed the call; the same one only if no other is left, after a
// pause, and not if it was silent; a model to fall back to when this one has
// nothing more to offer, or one attempt is left.
func (c *Controller) onward(now time.Time, k *call, o *Outcome, fault Fault) bool {
	p := k.pool()
	k.avoid = append(k.avoid, failure{k.deployment, k.deployment.tally.Good})
	other := k.other(now)
	last := k.sent+1 == c.policy.Retry.Attempts && k.sent > 1
	if last && !other && c.fallBack(now, k, fault) {
		return true
	}
	if !p.retired && (o.Retryable || fault == Denied) {
		at, ok := now, true
		mine := (fault == Denied || fault == Throttled) && k.deployment.elsewhere(now, k.key) // it was about the key
		if !other || mine {
			at, ok = c.back(now, k, o, fault)
			k.avoid = nil
		}
		if ok && at.Sub(now) <= k.patience && at.Add(p.service.Need(k.est, k.stream, 50)).Before(k.deadline) {
			c.park(now, k, at)
			return true
		}
	}
	return c.fallBack(now, k, fault)
}

// stranded says that the call was under way when the breaker of its deployment
// opened, and that another one has room for it beside all that waits. Had it
// come a moment later it would have gone there in the first place: such calls
// are no more than the deployment had, once an outage, and take nothing away.
func (k *call) stranded(now time.Time) bool {
	p := k.pool()
	if k.deployment.left || k.epoch == k.deployment.breaker.Epoch() || p.waiting() > 0 || len(p.parked) > 0 {
		return false
	}
	for _, d := range p.deployments {
		if d != k.deployment && d.trusted(now) && d.room(now) {
			if n, _ := d.key(now, k.size(), comesFirst(k.lane.class)); n >= 0 {
				return true
			}
		}
	}
	return false
}

// back is when the same deployment may be asked again.
func (c *Controller) back(now time.Time, k *call, o *Outcome, fault Fault) (at time.Time, ok bool) {
	d := k.deployment
	if d.left || d.calls(now) == 0 {
		return now, false
	}
	switch fault {
	case Denied:
		return now, d.elsewhere(now, k.key)
	case Silent: // it may be working on it still
		return now, false
	}
	if d.elsewhere(now, k.key) { // the limit was that of one key
		return now, true
	}
	pause := c.policy.Retry.Backoff << min(k.sent-1, 6)
	pause = time.Duration(float64(pause) * (0.5 + c.rng.Float64()))
	return latest(now.Add(max(pause, o.RetryAfter)), d.paused()), true
}

// failure is a deployment that failed a call, and how many others it had served
// until then. It is avoided until it has served more.
type failure struct {
	d    *deployment
	good int64
}

// avoids says whether the call has failed there and nothing has changed since.
func (w *want) avoids(d *deployment) bool { return avoids(w.avoid, d) }

func avoids(list []failure, d *deployment) bool {
	for i := range list {
		if list[i].d == d && list[i].good == d.tally.Good {
			return true
		}
	}
	return false
}

// other says whether a deployment of the pool is left that has not failed the
// call: trusted with something, whether or not it has a free slot, and with a
// key that passes it in time.
func (k *call) other(now time.Time) bool {
	p := k.pool()
	left := min(k.deadline.Add(-p.service.Need(k.est, k.stream, 50)).Sub(now), k.patience)
	for _, d := range p.deployments {
		if avoids(k.avoid, d) || !d.trusted(now) {
			continue
		}
		if n, wait := d.key(now, k.size(), comesFirst(k.lane.class)); n >= 0 || wait < left {
			return true
		}
	}
	return false
}

// paused is the end of the pause of all keys.
func (d *deployment) paused() (until time.Time) {
	for i, k := range d.keys {
		if end := latest(k.paused, k.denied); i == 0 || end.Before(until) {
			until = end
		}
	}
	return until
}

// usable says that some key of it is not refused.
func (d *deployment) usable(now time.Time) bool {
	return slices.ContainsFunc(d.keys, func(k *key) bool { return !k.denied.After(now) })
}

// elsewhere says that it has another key that passes calls now.
func (d *deployment) elsewhere(now time.Time, than int) bool {
	for i, k := range d.keys {
		if i != than && k.wait(now, 1, true) == 0 {
			return true
		}
	}
	return false
}

// mayRepeat says whether the budgets for further attempts have room: by rate
// and by number at once, the tenant's and that of all.
func (c *Controller) mayRepeat(now time.Time, t *tenant) bool {
	f := c.policy.Retry.Failover
	if f.Percent < 0 && f.Reserve < 0 {
		return false
	}
	percent, reserve := int64(max(f.Percent, 0)), int64(max(f.Reserve, 0))
	whole, part := reserve*int64(max(len(c.byName), 1)), int64(max(f.Concurrent, 0))
	return t.again.Sum(now) < t.firsts.Sum(now)*percent/100+reserve &&
		c.repeats.Sum(now) < c.firsts.Sum(now)*percent/100+whole &&
		int64(t.repeating) < max(int64(t.active)*part/100, reserve) &&
		int64(c.repeating) < max(int64(c.runs)*part/100, whole)
}

// repeated books a further attempt.
func (c *Controller) repeated(now time.Time, k *call) {
	k.tenant().again.Add(now, 1)
	c.repeats.Add(now, 1)
	if !k.repeat {
		k.repeat = true
		k.tenant().repeating++
		c.repeating++
	}
}

// park keeps a call between two attempts. It holds no slot, and waits in no
// queue: it has been served once, and goes on as soon as it may.
func (c *Controller) park(now time.Time, k *call, at time.Time) {
	k.parked, k.resume = true, at
	k.queued = now // the time upstream was not spent waiting
	k.lane.member.waiting++
	p := k.pool()
	p.parked = append(p.parked, k)
}

// unpark ends that.
func (k *call) unpark() {
	p := k.pool()
	k.parked = false
	k.lane.member.waiting--
	p.parked = slices.DeleteFunc(p.parked, func(x *call) bool { return x == k })
}

// resume runs parked calls, drops those that cannot make it, and says when the
// next one is due.
func (c *Controller) resume(now time.Time, p *pool) (next time.Time) {
	soon := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for i := 0; i < len(p.parked); {
		k := p.parked[i]
		last := k.deadline.Add(-p.service.Need(k.est, k.stream, 50))
		if !now.Before(last) {
			k.unpark()
			c.refuse(now, k, StageLate, "the caller's deadline", millis(now.Sub(k.arrived)), millis(k.deadline.Sub(k.arrived)))
			continue
		}
		soon(last)
		if now.Before(k.resume) {
			soon(k.resume)
			i++
			continue
		}
		if len(k.avoid) > 0 && !k.other(now) {
			k.avoid = nil // nothing else is left
		}
		if p.better(k.lane.class) {
			i++
			continue
		}
		w := k.want(anyRank)
		d, n := c.choose(now, p, &w)
		if d == nil {
			if t := p.opening(now, &w); !t.IsZero() {
				soon(t)
			}
			i++
			continue
		}
		k.unpark()
		c.out = append(c.out, k.dispatched(now))
		c.run(now, k, d, n, &c.out[len(c.out)-1])
	}
	return next
}

// better says whether a better class waits.
func (p *pool) better(class Class) bool {
	for k := range class {
		if p.queues[k].Len() > 0 {
			return true
		}
	}
	return false
}

// cause is why another model should serve the request.
func (f Fault) cause() (Cause, bool) {
	switch f {
	case Failed, Silent, OutOfSpace, Denied:
		return CauseError, true
	case Throttled, Saturated:
		return CauseOverloaded, true
	case TooLong:
		return CauseContext, true
	case Filtered:
		return CauseFilter, true
	}
	return 0, false
}

// fallBack moves a call to another model that may serve it instead.
func (c *Controller) fallBack(now time.Time, k *call, fault Fault) bool {
	cause, ok := fault.cause()
	if !ok {
		return false
	}
	for _, name := range k.pool().policy.Fallback[cause] {
		p := c.byModel[name]
		if p == nil || slices.Contains(k.visited, p) || p == k.pool() {
			continue
		}
		m := c.memberOf(now, p, k.tenant())
		l := m.laneOf(k.lane.class)
		est := p.service.Estimate(&m.known, k.input, k.maxOutput)
		if m.requests != nil && !m.requests.Fits(now, 1) || m.tokens != nil && !m.tokens.Fits(now, k.input+est.Output) {
			continue
		}
		if p.current(now); p.slots == 0 || !now.Add(p.service.Need(est, k.stream, 50)).Before(k.deadline) {
			continue
		}
		if !c.holdElsewhere(now, k, m, &Request{Input: k.input, MaxOutput: k.maxOutput}, est) {
			continue
		}
		k.visited = append(k.visited, k.pool())
		k.lane.member.settle(now, k, 0)
		k.lane, k.est, k.plain, k.avoid = l, est, est.Raw, nil
		k.home.levels[k.lane.class].pressed = now
		c.stays.moved(now, stayKey{k.tenant().policy.Name, k.session, k.home.policy.Name}, name, 0)
		m.reserve(now, k)
		p.demanded(now, l, est.Raw)
		c.park(now, k, now)
		return true
	}
	return false
}

// model is the name of the pool that serves the call, if it is a fallback.
func (k *call) model() string {
	if len(k.visited) == 0 {
		return ""
	}
	return k.pool().policy.Name
}

// spill runs a waiting call on a dearer tier, because it is time. Without room
// there it waits on for any place.
func (c *Controller) spill(now time.Time, k *call) bool {
	p := k.pool()
	k.most = anyRank
	p.over++
	w := k.want(anyRank)
	d, n := c.choose(now, p, &w)
	if d == nil || p.better(k.lane.class) {
		p.wakeBy(now) // a better one may take the place that this one needs
		return false
	}
	k.dequeue()
	p.waited(k, now.Sub(k.queued))
	c.out = append(c.out, k.dispatched(now))
	c.run(now, k, d, n, &c.out[len(c.out)-1])
	return true
}
