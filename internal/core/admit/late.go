package admit

import (
	"math/bits"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/predict"
)

// terms are what a waiting call may still be made of, should it turn out that
// it cannot be in time as it is.
type terms struct {
	asked  Request // as its caller asked for it
	ladder []Rung  // of its model, when it came: rungs are told apart by their places
}

// termsOf are the terms of a request that begins to wait; nil if nothing cheaper
// can be made of it.
func (c *Controller) termsOf(r *Request, p *plan) *terms {
	if p.home == nil || len(p.home.rungs) == 0 || r.May&MayDegrade == 0 || p.pool != p.home && p.rungs == 0 {
		return nil
	}
	cheaper := r.Recent
	for i := range p.home.rungs {
		cheaper = cheaper || r.Rungs[i].Changes
	}
	if !cheaper {
		return nil
	}
	return &terms{*r, p.home.policy.Ladder.Rungs}
}

// bends says that something else may still be made of the call.
func (c *Controller) bends(now time.Time, k *call) bool {
	return k.terms != nil && now.Before(k.deadline) && !c.policy.Observe && slices.Equal(k.terms.ladder, k.home.policy.Ladder.Rungs)
}

// lessen looks for the first cheaper form in which a waiting call that has lost
// its place can still be in time, and is true if there is one. It goes down the
// ladder from where the call is. own tries a form that its own pool serves; another
// pool must run it now, or queue it in time. why is what it would else be refused
// for.
func (c *Controller) lessen(now time.Time, k *call, why Stage, own func(q *Request, set Rungs) bool) bool {
	if !c.bends(now, k) {
		return false
	}
	r, set := &k.terms.asked, k.rungs
	for i := bits.Len8(uint8(set)); i < len(k.home.rungs); i++ {
		if !k.home.usable(now, r, i) {
			continue
		}
		next := k.home.with(set, i)
		q := c.degraded(r, k.home, next)
		if c.poolOf(q.Model) != k.pool() {
			if c.move(now, k, &q, next, why) {
				return true
			}
		} else if own != nil && own(&q, next) {
			return true
		}
		if k.home.policy.Ladder.Rungs[i].Model == "" {
			set = next
		}
	}
	return false
}

// shrink makes the call, whose turn it is, a cheaper one that the deployment
// serves in time. What it holds may become less by it, never more.
func (c *Controller) shrink(now time.Time, k *call, d *deployment, q *Request, set Rungs) bool {
	est, plain := k.as(q.Input, q.MaxOutput, set)
	if c.late(now, k, d, est) {
		return false
	}
	m := k.lane.member
	c.holdElsewhere(now, k, m, q, est)
	k.become(q, set, est, plain)
	k.need = m.pool.service.Need(est, k.stream, c.policy.Classes[k.lane.class].Confidence)
	if m.tokens != nil {
		m.tokens.Shrink(now, &k.tokens, k.size())
	}
	k.why = StageLate
	return true
}

// hold lets a call wait on that is too late as it is, but not in a cheaper form.
// It stays what it is until its turn comes, and is the first of its lane.
func (c *Controller) hold(now time.Time, k *call, q *Request, set Rungs) bool {
	est, _ := k.as(q.Input, q.MaxOutput, set)
	until := earlier(c.latest(now, k.lane, est, k.stream, k.observed, k.deadline), k.queued.Add(c.policy.Classes[k.lane.class].MaxWait))
	if !now.Before(until) {
		return false
	}
	k.lane.unbook(k)
	c.expiry.Move(&k.item, until, latest(k.item.Due, now))
	k.lane.book(k)
	return true
}

// moves are what is asked of another pool that a waiting call could go to. What
// counts the call already is not asked again.
var moves = [...]func(*Controller, time.Time, *Request, *plan) bool{
	(*Controller).lookUnknown,
	(*Controller).lookDeadline,
	(*Controller).lookCapacity,
	(*Controller).lookRequests,
	(*Controller).lookTokens,
	(*Controller).lookFree,
	(*Controller).lookBehind,
	(*Controller).lookShed,
	(*Controller).lookWait,
	(*Controller).lookFull,
	(*Controller).lookQueue,
}

func (c *Controller) lookBehind(now time.Time, _ *Request, p *plan) bool {
	p.wait = p.pool.wait(now, p.lane)
	return false
}

// lookFull refuses where the queue is full: nobody gives way to what comes from
// another one.
func (c *Controller) lookFull(_ time.Time, r *Request, p *plan) bool {
	q, x := &p.pool.policy.Queue, p.pool
	full := p.member.waiting >= q.PerTenant || x.waiting() >= q.Total || x.waitingBytes()+r.Bytes > q.Bytes || x.work() > q.Work
	return full && p.reject(0)
}

// move takes a waiting call to another pool, if that can run it now or queue it
// in time, and its budgets have room for what it costs there.
func (c *Controller) move(now time.Time, k *call, q *Request, set Rungs, why Stage) bool {
	q.Deadline = k.deadline
	p := plan{home: k.home, rungs: set}
	for _, look := range moves {
		if look(c, now, q, &p) {
			break
		}
	}
	if p.verdict == Reject || p.tenant != k.tenant() {
		return false
	}
	if p.verdict == Run && now.Add(p.pool.service.Need(p.est, k.stream, 50)).After(k.deadline) {
		return false
	}
	if p.verdict == Queue && !now.Add(p.promise).Before(k.queued.Add(c.policy.Classes[k.lane.class].MaxWait)) {
		return false
	}
	if !c.holdElsewhere(now, k, p.member, q, p.est) {
		return false
	}
	if why == StageLate { // who gave way says nothing of how long others wait
		k.pool().waited(k, now.Sub(k.queued))
	}
	k.dequeue()
	k.lane.member.settle(now, k, 0)
	k.lane, k.most, k.need, k.why = p.lane, p.most, p.need, why
	k.promised, k.delay = now.Sub(k.arrived)+p.promise, p.delay
	if k.visited = nil; p.pool != k.home {
		k.visited = []*pool{k.home}
	}
	k.become(q, set, p.est, p.plain)
	p.member.reserve(now, k)
	p.pool.tokens.Add(float64(k.size()), tokenMemory)
	p.pool.demanded(now, p.lane, p.est.Raw)
	if c.settled(now, k, q); k.elsewhere() {
		k.home.levels[k.lane.class].pressed = now
	}
	if p.verdict == Queue {
		c.enqueue(now, k)
		if p.blocked {
			w := k.want(c.mostRank(k))
			p.pool.wakeAfter(now, &w)
		}
		p.pool.wakeOpen(now)
		return true
	}
	w := k.want(k.most)
	d, key := c.choose(now, p.pool, &w)
	c.out = append(c.out, k.dispatched(now))
	c.run(now, k, d, key, &c.out[len(c.out)-1])
	return true
}

// as predicts the call in another form that its pool serves; plain is its raw
// time before what the rungs save beyond tokens.
func (k *call) as(input, maxOutput int64, set Rungs) (est predict.Estimate, plain time.Duration) {
	m := k.lane.member
	est = m.pool.service.Estimate(&m.known, input, maxOutput)
	if plain = est.Raw; set != 0 && m.pool == k.home {
		est = est.Scaled(m.pool.factor(set))
	}
	return est, plain
}

// become makes the call what the rungs of a set make of it.
func (k *call) become(q *Request, set Rungs, est predict.Estimate, plain time.Duration) {
	asked := &k.terms.asked
	k.rungs, k.input, k.maxOutput, k.est, k.plain = set, q.Input, q.MaxOutput, est, plain
	k.asked, k.shorter = asked.Input, q.MaxOutput != asked.MaxOutput
	if t := k.tenant(); k.home.index < len(t.members) && t.members[k.home.index] != nil {
		k.usual = k.home.service.Slots(k.home.service.Estimate(&t.members[k.home.index].known, asked.Input, asked.MaxOutput).Raw)
	}
}

// recalled answers a call that left its queue with an answer from before, if its
// caller takes one and it is still young enough.
func (c *Controller) recalled(now time.Time, k *call, why Stage) bool {
	if !c.bends(now, k) {
		return false
	}
	r := &k.terms.asked
	set, ok := k.home.recent(r)
	if !ok || !r.RecentUntil.IsZero() && !now.Before(r.RecentUntil) {
		return false
	}
	c.out = append(c.out, Decision{ID: k.id, Verdict: Recall, Stage: why, Wait: now.Sub(k.arrived), Need: k.need, Rungs: set})
	c.end(now, k, 0)
	return true
}
