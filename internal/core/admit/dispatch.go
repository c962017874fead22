package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/breaker"
	"github.com/spillway-llm/spillway/internal/core/predict"
)

// enqueue puts the call into its queue.
func (c *Controller) enqueue(now time.Time, k *call) {
	m := k.lane.member
	m.waiting++
	k.item.Cost = int64(k.est.Raw)
	k.queued = k.arrived
	k.item.Expires, k.item.Due = c.expires(now, k)
	k.lane.note(now, k, c.policy.Classes[k.lane.class].MaxWait)
	if k.most == anyRank {
		m.pool.over++
	}
	m.pool.queues[k.lane.class].Push(now, k.lane.flow, &k.item)
}

// dequeue takes the call out of its queue.
func (k *call) dequeue() {
	m := k.lane.member
	m.pool.queues[k.lane.class].Remove(&k.item)
	m.waiting--
	k.lane.unbook(k)
	if p := m.pool; k.most == anyRank {
		p.over--
		p.lent = min(p.lent, p.over)
	}
}

// expires is when waiting becomes pointless for a call, and its place in its
// lane: the same, but for a call that goes again, whose time upstream does not
// count as waiting but as seniority.
func (c *Controller) expires(now time.Time, k *call) (expires, due time.Time) {
	maxWait := c.policy.Classes[k.lane.class].MaxWait
	at := c.latest(now, k.lane, k.est, k.stream, k.observed, k.deadline)
	due = earlier(at, k.arrived.Add(maxWait))
	if expires = earlier(at, k.queued.Add(maxWait)); k.most != anyRank {
		// Then it is time for a dearer tier, while that can still make it.
		spill := k.deadline.Add(-k.pool().service.Need(k.est, k.stream, c.policy.Classes[k.lane.class].Confidence))
		expires = earlier(expires, earlier(spill, k.queued.Add(maxWait*4/5)))
	}
	return expires, due
}

// latest is when a request must start, as it is predicted now: after it, even
// with a median service time it could not make its deadline.
func (c *Controller) latest(now time.Time, l *lane, est predict.Estimate, stream, observed bool, deadline time.Time) time.Time {
	if observed || c.policy.Observe || now.Before(l.member.distrust) {
		return deadline
	}
	return deadline.Add(-l.member.pool.service.Need(est, stream, 50))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// renew predicts a waiting call again, with what was learnt since it came.
func (k *call) renew() {
	k.est, k.plain = k.as(k.input, k.maxOutput, k.rungs)
}

// dispatch fills free slots, as long as there are any and something waits:
// the best class first, unless a worse one is owed its floor; within a class
// the tenant whose turn it is. What can no longer make its deadline is dropped
// before it costs anything.
func (c *Controller) dispatch(now time.Time, p *pool) {
	p.wake = c.resume(now, p)
	for p.waiting() > 0 && p.room(now) {
		best, owed := p.class()
		k, d, key := c.turnOf(now, p, owed)
		if k == nil {
			continue
		}
		if d == nil && owed != best {
			k, d, key = c.turnOf(now, p, best)
			if k == nil {
				continue
			}
		}
		if d == nil {
			w := k.want(c.mostRank(k))
			p.wakeAfter(now, &w)
			return
		}
		if d.rank > max(k.most, p.base) {
			p.lent++
		}
		k.dequeue()
		p.waited(k, now.Sub(k.queued))
		p.pay(k.lane.class, int64(p.service.Slots(k.est.Raw)), c.policy)
		c.out = append(c.out, k.dispatched(now))
		c.run(now, k, d, key, &c.out[len(c.out)-1])
	}
	if p.waiting() > 0 {
		p.wakeOpen(now)
	}
}

// turnOf is the call of the class whose turn it is, and the deployment that it
// runs on; nil if nothing that it may use has room. A call that is too late
// even for that runs in a cheaper form, if its caller agreed to one that is not;
// one that went to another pool for it, or was dropped, is nil as well.
func (c *Controller) turnOf(now time.Time, p *pool, class Class) (*call, *deployment, int) {
	l := p.queues[class].Next().Oldest().Value.lane
	k := l.next(now)
	k.renew()
	w := k.want(c.mostRank(k))
	d, key := c.choose(now, p, &w)
	if d != nil && c.late(now, k, d, k.est) {
		shrink := func(q *Request, set Rungs) bool { return c.shrink(now, k, d, q, set) }
		if !c.lessen(now, k, StageLate, shrink) {
			c.drop(now, k, StageLate)
			return nil, nil, 0
		}
		if k.pool() != p {
			return nil, nil, 0
		}
	}
	return k, d, key
}

// mostRank is the highest rank that a waiting call may use. Who of those that
// wait gets the place which one of them needs does not matter.
func (c *Controller) mostRank(k *call) int {
	p := k.pool()
	if !p.tiered() || p.over > p.lent {
		return anyRank
	}
	return max(k.most, p.base)
}

// dispatched is the decision that a call which waited runs now.
func (k *call) dispatched(now time.Time) Decision {
	stage := StageDispatch
	if k.why != StageUnknown && k.sent == 0 {
		stage = k.why
	}
	return Decision{ID: k.id, Verdict: Run, Stage: stage, Wait: now.Sub(k.arrived), Need: k.need, Observed: k.observed, Model: k.model(), Rungs: k.rungs}
}

// room says whether any deployment could take a call, its keys apart.
func (p *pool) room(now time.Time) bool {
	for _, d := range p.deployments {
		if d.room(now) {
			return true
		}
	}
	return false
}

// wakeAfter asks for a Tick when a deployment that has no room for the call
// now may have it by time alone.
func (p *pool) wakeAfter(now time.Time, w *want) {
	if t := p.opening(now, w); !t.IsZero() {
		p.wakeBy(t)
	}
}

// wakeOpen asks for a Tick when a breaker lets a probe pass.
func (p *pool) wakeOpen(now time.Time) {
	for _, d := range p.deployments {
		if at := d.breaker.Opens(now); !at.IsZero() && !d.left && !d.off && d.running < d.slots {
			p.wakeBy(at)
		}
	}
}

func (p *pool) wakeBy(t time.Time) {
	if p.wake.IsZero() || t.Before(p.wake) {
		p.wake = t
	}
}

// opening is when that is; zero if only the end of a running call makes room.
func (p *pool) opening(now time.Time, w *want) (soonest time.Time) {
	for _, d := range p.deployments {
		if d.rank > w.most || w.avoids(d) || d.left || d.off || d.running >= d.slots {
			continue
		}
		at := d.breaker.Opens(now)
		if at.IsZero() {
			if d.begun() >= d.calls(now) {
				continue
			}
			_, wait := d.key(now, w.input+w.est.Output, comesFirst(w.class))
			at = now.Add(max(wait, time.Microsecond))
		}
		if soonest.IsZero() || at.Before(soonest) {
			soonest = at
		}
	}
	return soonest
}

// late is the feasibility test at dequeue, of a form of the call. While others wait the slot should
// go to one that makes it with the class's confidence; the last one may try
// with even odds. A predictor that is not believed drops only the expired.
func (c *Controller) late(now time.Time, k *call, d *deployment, est predict.Estimate) bool {
	if !now.Before(k.deadline) {
		return true
	}
	p := k.pool()
	if k.observed || c.policy.Observe || now.Before(k.lane.member.distrust) {
		return false
	}
	confidence := 50
	if p.waiting() > 1 && k.most == anyRank { // who waits for a cheaper place did not have to
		confidence = c.policy.Classes[k.lane.class].Confidence
	}
	need := float64(p.service.Need(est, k.stream, confidence)) * max(d.ratio(k.stream), 1)
	return now.Add(span(need)).After(k.deadline)
}

// class is the best with work, and the one to be served: the same, or a worse
// one whose floor has earned its next request. Something must wait.
func (p *pool) class() (best, owed Class) {
	best = Class(NumClasses)
	for class, q := range p.queues {
		if q.Len() == 0 {
			continue
		}
		if best == NumClasses {
			best = Class(class)
		} else if p.credit[class] > 0 && p.credit[class] >= int64(p.service.Slots(time.Duration(q.Next().Oldest().Cost))) {
			return best, Class(class)
		}
	}
	return best, best
}

// pay books the dispatch of cost: classes that wait earn their floor of it.
func (p *pool) pay(served Class, cost int64, policy *Policy) {
	for class, q := range p.queues {
		if q.Len() == 0 {
			p.credit[class] = 0
			continue
		}
		p.credit[class] += cost * int64(max(policy.Classes[class].Floor, 0)) / 100
		if Class(class) == served {
			p.credit[class] = max(p.credit[class]-cost, 0)
		}
	}
}

// run gives the call a slot of a deployment.
func (c *Controller) run(now time.Time, k *call, dep *deployment, key int, d *Decision) {
	p := k.pool()
	p.count(now)
	dep.take(now, k, key)
	p.turned(dep)
	if dep.told != breaker.Closed {
		c.note(now, dep)
	}
	c.runs++
	k.sent++
	k.running, k.first, k.alive, k.started = true, false, false, now
	k.terms = nil
	k.place = len(p.running)
	p.running = append(p.running, k)
	k.charged = int64(p.service.Slots(k.est.Raw))
	p.queues[k.lane.class].Charge(k.lane.flow, k.charged)
	d.Deployment, d.Key = dep.name, key
}

// stop takes the slot back and corrects what was charged for it; used is the
// tokens that the attempt took, negative if nobody knows.
func (c *Controller) stop(now time.Time, k *call, used int64) {
	p := k.pool()
	p.count(now)
	last := p.running[len(p.running)-1]
	p.running[k.place] = last
	last.place = k.place
	p.running[len(p.running)-1] = nil
	p.running = p.running[:len(p.running)-1]
	k.deployment.release(now, k, used)
	c.runs--
	k.running = false
	credit := 2 * int64(p.service.Mean()) // two calls, as far as fair flows may differ
	p.queues[k.lane.class].Correct(k.lane.flow, int64(now.Sub(k.started))-k.charged, credit)
}

// drop ends a waiting call that cannot make it: with an answer from before, if
// its caller takes one.
func (c *Controller) drop(now time.Time, k *call, stage Stage) {
	p := k.pool()
	k.dequeue()
	k.lane.flow.Missed(now, k.patience/5)
	p.waited(k, now.Sub(k.queued))
	if c.recalled(now, k, stage) {
		return
	}
	limit, bound := "the caller's deadline", k.deadline.Sub(k.arrived)
	if most := c.policy.Classes[k.lane.class].MaxWait; most < bound && now.Sub(k.arrived) >= most {
		limit, bound = "the longest wait of the class", most
	}
	c.refuse(now, k, stage, limit, millis(now.Sub(k.arrived)), millis(bound))
}

// evict ends a waiting call for another of better rank, unless another pool has
// a place for a cheaper form of it, or an answer from before will do.
func (c *Controller) evict(now time.Time, k *call) {
	if c.lessen(now, k, StageEvicted, nil) {
		return
	}
	k.dequeue()
	if c.recalled(now, k, StageEvicted) {
		return
	}
	c.refuse(now, k, StageEvicted, "the place in a full queue", millis(now.Sub(k.arrived)), millis(k.deadline.Sub(k.arrived)))
}

func (c *Controller) refuse(now time.Time, k *call, stage Stage, limit string, figure, bound int64) {
	w := k.pool().wait(now, k.lane)
	c.out = append(c.out, Decision{
		ID: k.id, Verdict: Reject, Stage: stage, Wait: now.Sub(k.arrived), Need: k.need, RetryAfter: c.jitter(w, false),
		Limit: limit, Figure: figure, Bound: bound,
	})
	c.end(now, k, 0)
}

// end forgets the call. Its tokens are settled with what was used; negative
// means that nobody knows, and the estimate stands. A request that was never
// sent leaves no trace.
func (c *Controller) end(now time.Time, k *call, used int64) {
	k.lane.member.settle(now, k, used)
	c.settleMoney(now, k)
	k.tenant().active--
	if k.repeat {
		k.tenant().repeating--
		c.repeating--
	}
	delete(c.calls, k.id)
	c.spare = append(c.spare, k)
}

// jitter spreads a predicted time to come back by a fifth either way, so that
// callers who were given the same time do not come back together. A certain one
// is spread over the tenth that follows it.
func (c *Controller) jitter(d time.Duration, certain bool) time.Duration {
	if d <= 0 {
		return 0
	}
	const least = 200 * time.Millisecond
	from, width := 0.8, 0.4
	if certain {
		from, width = 1, 0.1
	}
	return max(time.Duration(float64(d)*(from+width*c.rng.Float64())), least)
}
