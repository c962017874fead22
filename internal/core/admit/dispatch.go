package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/predict"
)

// enqueue puts the call into its queue; front keeps its place for another attempt.
func (c *Controller) enqueue(now time.Time, k *call, front bool) {
	m := k.lane.member
	m.waiting++
	k.item.Cost = int64(k.est.Raw)
	k.queued = k.arrived
	if front {
		k.queued = now // the time upstream was not spent in the queue
	}
	k.item.Expires, k.item.Due = c.expires(now, k)
	k.lane.note(now, k, c.policy.Classes[k.lane.class].MaxWait)
	q := m.pool.queues[k.lane.class]
	if front {
		q.PushFront(now, k.lane.flow, &k.item)
	} else {
		q.Push(now, k.lane.flow, &k.item)
	}
}

// dequeue takes the call out of its queue.
func (k *call) dequeue() {
	m := k.lane.member
	m.pool.queues[k.lane.class].Remove(&k.item)
	m.waiting--
	k.lane.unbook(k)
}

// expires is when waiting becomes pointless for a call, and its place in its
// lane: the same, but for a call that goes again, whose time upstream does not
// count as waiting but as seniority.
func (c *Controller) expires(now time.Time, k *call) (expires, due time.Time) {
	maxWait := c.policy.Classes[k.lane.class].MaxWait
	at := c.latest(now, k.lane, k.est, k.stream, k.observed, k.deadline)
	return earlier(at, k.queued.Add(maxWait)), earlier(at, k.arrived.Add(maxWait))
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
	m := k.lane.member
	k.est = m.pool.service.Estimate(&m.known, k.input, k.maxOutput)
}

// dispatch fills free slots, as long as there are any and something waits:
// the best class first, unless a worse one is owed its floor; within a class
// the tenant whose turn it is. What can no longer make its deadline is dropped
// before it costs anything.
func (c *Controller) dispatch(now time.Time, p *pool) {
	for p.pick() != nil {
		class, ok := p.class()
		if !ok {
			return
		}
		l := p.queues[class].Next().Oldest().Value.lane
		k := l.next(now)
		k.renew()
		if c.late(now, k) {
			c.drop(now, k, StageLate)
			continue
		}
		k.dequeue()
		p.waited(k, now.Sub(k.queued))
		p.pay(class, int64(p.service.Slots(k.est.Raw)), c.policy)
		c.out = append(c.out, Decision{ID: k.id, Verdict: Run, Stage: StageDispatch, Wait: now.Sub(k.arrived), Need: k.need, Observed: k.observed})
		c.run(now, k, &c.out[len(c.out)-1])
	}
}

// late is the feasibility test at dequeue. While others wait the slot should
// go to one that makes it with the class's confidence; the last one may try
// with even odds. A predictor that is not believed drops only the expired.
func (c *Controller) late(now time.Time, k *call) bool {
	if !now.Before(k.deadline) {
		return true
	}
	p := k.pool()
	if k.observed || c.policy.Observe || now.Before(k.lane.member.distrust) {
		return false
	}
	confidence := 50
	if p.waiting() > 1 {
		confidence = c.policy.Classes[k.lane.class].Confidence
	}
	return now.Add(p.service.Need(k.est, k.stream, confidence)).After(k.deadline)
}

// class is the one to be served: the best with work, or a worse one whose
// floor has earned its next request.
func (p *pool) class() (Class, bool) {
	best := Class(NumClasses)
	for class, q := range p.queues {
		if q.Len() == 0 {
			continue
		}
		if best == NumClasses {
			best = Class(class)
		} else if p.credit[class] > 0 && p.credit[class] >= int64(p.service.Slots(time.Duration(q.Next().Oldest().Cost))) {
			return Class(class), true
		}
	}
	return best, best != NumClasses
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

// run gives the call a slot.
func (c *Controller) run(now time.Time, k *call, d *Decision) {
	p := k.pool()
	p.count(now)
	dep := p.pick()
	dep.running++
	p.turn = (p.turn + 1) % len(p.deployments)
	k.deployment = dep
	k.running, k.first, k.started = true, false, now
	k.place = len(p.running)
	p.running = append(p.running, k)
	k.charged = int64(p.service.Slots(k.est.Raw))
	p.queues[k.lane.class].Charge(k.lane.flow, k.charged)
	d.Deployment = dep.name
}

// stop takes the slot back and corrects what was charged for it.
func (c *Controller) stop(now time.Time, k *call) {
	p := k.pool()
	p.count(now)
	last := p.running[len(p.running)-1]
	p.running[k.place] = last
	last.place = k.place
	p.running[len(p.running)-1] = nil
	p.running = p.running[:len(p.running)-1]
	k.deployment.running--
	k.running = false
	credit := 2 * int64(p.service.Mean()) // two calls, as far as fair flows may differ
	p.queues[k.lane.class].Correct(k.lane.flow, int64(now.Sub(k.started))-k.charged, credit)
}

// drop ends a waiting call that cannot make it.
func (c *Controller) drop(now time.Time, k *call, stage Stage) {
	p := k.pool()
	k.dequeue()
	k.lane.flow.Missed(now, k.patience/5)
	p.waited(k, now.Sub(k.queued))
	limit, bound := "the caller's deadline", k.deadline.Sub(k.arrived)
	if most := c.policy.Classes[k.lane.class].MaxWait; most < bound && now.Sub(k.arrived) >= most {
		limit, bound = "the longest wait of the class", most
	}
	c.refuse(now, k, stage, limit, millis(now.Sub(k.arrived)), millis(bound))
}

// evict ends a waiting call for another of better rank.
func (c *Controller) evict(now time.Time, k *call) {
	k.dequeue()
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
	m := k.lane.member
	m.tenant.active--
	if m.tokens != nil && used >= 0 {
		m.tokens.Settle(now, &k.tokens, used)
	}
	if m.requests != nil && k.started.IsZero() {
		m.requests.Settle(now, &k.requests, 0)
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
