package admit

import (
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
	"github.com/spillway-llm/spillway/internal/core/predict"
	"github.com/spillway-llm/spillway/internal/core/queue"
)

// Controller takes every decision. It is a state machine: each method takes
// the time, which must not run backwards between calls, and the decisions it
// returns are valid until the next call. It is not safe for concurrent use:
// the shell holds one lock around it.
type Controller struct {
	policy  *Policy
	rng     *rand.Rand
	pools   []*pool // by index; never shrinks, so that indices stay valid
	byModel map[string]*pool
	tenants map[string]*tenant
	calls   map[ID]*call
	byName  map[string]*deployment
	expiry  *queue.Expiry[*call]
	seq     uint64

	spent     *account     // of all tenants; nil without a budget
	counts    bool         // there is a budget somewhere
	restored  bool         // budgets know what was spent before
	stays     stays        // sessions that were moved to another model
	runs      int          // calls upstream now
	repeating int          // requests alive that had more than one attempt
	firsts    meter.Recent // first tries offered
	repeats   meter.Recent // our own further attempts
	changes   []Change     // not fetched yet

	payers  payers     // of the request at hand, as it was asked
	asked   Request    // reused: the request of an Offer
	plan    plan       // reused: and its plan
	out     []Decision // reused
	victims []*call    // reused
	spare   []*call    // ended calls to use again
}

// AnyModel is the name of a pool that serves every model not named.
const AnyModel = "*"

// New makes a controller. The policy must have its defaults filled and is not
// changed afterwards by either side. rng jitters times to come back; the same
// seed and the same events give the same decisions.
func New(now time.Time, p *Policy, rng *rand.Rand) *Controller {
	c := &Controller{
		rng:     rng,
		byModel: map[string]*pool{},
		tenants: map[string]*tenant{},
		calls:   map[ID]*call{},
		byName:  map[string]*deployment{},
		expiry:  queue.NewExpiry[*call](),
	}
	c.Configure(now, p)
	return c
}

func (c *Controller) poolOf(model string) *pool {
	if p := c.byModel[model]; p != nil {
		return p
	}
	return c.byModel[AnyModel]
}

// Offer brings a new request. The first decision is about it, others may
// follow for requests that had to give way.
func (c *Controller) Offer(now time.Time, r Request) []Decision {
	c.out = c.out[:0]
	c.asked, c.plan = r, plan{}
	c.calmed(now, c.pays(&c.asked))
	c.decide(now, &c.asked, &c.plan, nil)
	c.commit(now, &c.asked, &c.plan)
	return c.out
}

func (c *Controller) commit(now time.Time, r *Request, p *plan) {
	d := Decision{ID: r.ID, Verdict: p.verdict, Stage: p.stage, Wait: p.expect(), Need: p.need, Observed: p.observed, NoRetry: p.noRetry, Limit: p.limit, Figure: p.figure, Bound: p.bound, Model: p.model, Rungs: p.rungs}
	c.press(now, r, p)
	if p.member != nil {
		p.member.offers.Add(now, 1)
		p.tenant.came = true
		if r.Attempt == 0 {
			p.tenant.firsts.Add(now, 1)
			c.firsts.Add(now, 1)
		}
	}
	if p.verdict == Reject {
		d.RetryAfter = c.jitter(p.retry, p.certain)
		if p.stage == StageShed || p.stage == StageWait {
			p.member.refused.Add(now, 1)
			if until := now.Add(p.busy); until.After(p.pool.promised) {
				p.pool.promised = until
			}
			c.guard(now, p)
		}
		c.out = append(c.out, d)
		return
	}
	if p.verdict == Recall {
		c.out = append(c.out, d)
		return
	}
	k := c.admitted(now, r, p)
	if p.verdict == Run {
		w := r.want(p, p.most)
		dep, key := c.choose(now, p.pool, &w)
		c.out = append(c.out, d)
		c.run(now, k, dep, key, &c.out[len(c.out)-1])
		return
	}
	c.out = append(c.out, d)
	k.terms = c.termsOf(r, p)
	for _, v := range p.victims {
		c.evict(now, v)
	}
	c.victims = p.victims[:0]
	c.enqueue(now, k)
	if p.blocked {
		w := k.want(c.mostRank(k))
		p.pool.wakeAfter(now, &w)
	}
	p.pool.wakeOpen(now)
}

// admitted makes the call and takes from every limit at once.
func (c *Controller) admitted(now time.Time, r *Request, p *plan) *call {
	k := c.newCall()
	*k = call{
		home: p.home, rungs: p.rungs, plain: p.plain, session: r.Session, tier: r.Tier,
		id: r.ID, lane: p.lane, stream: r.Stream, attempt: r.Attempt, input: p.input, maxOutput: p.maxOutput, arrived: r.Arrived, deadline: p.deadline,
		est: p.est, need: p.need, promised: p.promise, delay: p.delay, observed: p.observed,
		patience: min(p.deadline.Sub(r.Arrived), c.policy.Classes[r.Class].MaxWait),
		task:     r.Task, affinity: r.Affinity, most: p.most, visited: p.visited,
	}
	if k.rungs != 0 {
		m := c.memberOf(now, k.home, p.tenant)
		k.usual = k.home.service.Slots(k.home.service.Estimate(&m.known, r.Input, r.MaxOutput).Raw)
		k.asked, k.shorter = r.Input, p.maxOutput != r.MaxOutput
	}
	c.seq++
	k.item = queue.Item[*call]{Value: k, Cost: int64(p.est.Raw), Bytes: r.Bytes, Seq: c.seq}
	c.calls[k.id] = k
	p.tenant.active++
	if r.Attempt > 0 {
		p.tenant.retries.Add(now, 1)
	}
	p.member.reserve(now, k)
	c.pay(now, k, r, p)
	c.settled(now, k, r)
	p.pool.tokens.Add(float64(k.size()), tokenMemory)
	p.pool.demanded(now, p.lane, p.est.Raw)
	return k
}

func (c *Controller) newCall() *call {
	if n := len(c.spare); n > 0 {
		k := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return k
	}
	return new(call)
}

// guard distrusts the predictor when it refuses much of a tenant's traffic
// while the pool has nothing to do: above a fifth of ten seconds' requests,
// with hardly anything of the tenant waiting, and above a tenth of the slot
// time unused although a refusal said that every slot would work. A queue that
// is short while every slot works is no evidence: nothing is lost by it, and
// neither is what was unused before. For ten seconds the tenant then has the
// bounds and the deadline itself only. (After finagle's DeadlineFilter, which
// never rejects more than a fifth.)
func (c *Controller) guard(now time.Time, p *plan) {
	m, pool := p.member, p.pool
	offers, refused := m.offers.Sum(now), m.refused.Sum(now)
	if offers < 10 || refused*5 <= offers || m.waiting > pool.policy.Queue.PerTenant/10 {
		return
	}
	if pool.idle.Sum(now) > int64(pool.slots)*1000 {
		m.distrust = now.Add(10 * time.Second)
	}
}

// FirstByte tells that the upstream's first event came.
func (c *Controller) FirstByte(now time.Time, id ID) {
	k := c.calls[id]
	if k == nil || !k.running || k.first {
		return
	}
	k.first, k.firstTook = true, now.Sub(k.started)
	d, p := k.deployment, k.pool()
	took := k.firstTook
	if len(p.deployments) > 1 {
		expected, _ := p.service.Expected(k.est, k.input, 0)
		took = time.Duration(float64(took) / d.paced(true, took, expected))
	}
	p.service.First(&k.lane.member.known, k.est, k.input, took)
	if k.epoch == d.breaker.Epoch() && d.breaker.Alive(now, d.calls(now)) {
		k.alive = true
		d.flag()
		p.survey(now)
		c.note(now, d)
	}
}

// Finish ends one attempt. The slot is free at once and others may run. If
// the attempt failed in a way that another may mend, a decision on the same
// ID says so; without one the request has ended. An unknown ID is ignored.
func (c *Controller) Finish(now time.Time, id ID, o Outcome) []Decision {
	c.out = c.out[:0]
	k := c.calls[id]
	if k == nil || !k.running {
		return c.out
	}
	p := k.pool()
	k.hold.spent += max(o.Cost, 0)
	if o.OK { // learnt first: the correction of the charge believes it
		input := k.input
		if o.Known && o.Input > 0 {
			input = o.Input
		}
		took := now.Sub(k.started)
		if len(p.deployments) > 1 {
			_, expected := p.service.Expected(k.est, input, o.Output)
			took = time.Duration(float64(took) / k.deployment.paced(false, took, expected))
		}
		p.length(k.est.Output, o.Output)
		p.service.Total(&k.lane.member.known, k.est, input, o.Output, took)
		k.descended(now, took, o.Output)
		p.done.Add(now, 1)
		p.lastDone = now
	}
	switch { // who leaves a running call found its start too late to matter
	case o.OK:
		k.lane.flow.Served(now, k.patience/5)
	case o.CallerGone && !k.first:
		k.lane.flow.Missed(now, k.patience/5)
	}
	used := o.Input + o.Output
	if used == 0 && o.OK {
		used = -1
	}
	c.stop(now, k, used)
	c.judge(now, k, &o)
	if c.again(now, k, &o) {
		c.out = append(c.out, Decision{ID: id, Verdict: Queue, Stage: StageAgain, Need: k.need, Observed: k.observed, Model: k.model()})
	} else {
		c.end(now, k, used)
	}
	c.dispatch(now, p)
	if k.parked && k.pool() != p {
		c.dispatch(now, k.pool())
	}
	return c.out
}

// Cancel tells that the caller left before anything was sent upstream: it
// waited, or was just given a slot. A call that was sent ends with Finish. An
// unknown ID is ignored.
func (c *Controller) Cancel(now time.Time, id ID) []Decision {
	c.out = c.out[:0]
	k := c.calls[id]
	if k == nil {
		return c.out
	}
	p := k.pool()
	switch {
	case k.running:
		c.stop(now, k, 0)
	case k.parked:
		k.unpark()
	default:
		k.dequeue()
		k.lane.flow.Missed(now, k.patience/5)
	}
	c.end(now, k, 0)
	c.dispatch(now, p)
	return c.out
}

// Next is when Tick must be called, the zero time if nothing is due by itself.
func (c *Controller) Next() time.Time {
	var next time.Time
	if it := c.expiry.Min(); it != nil {
		next = it.Expires
	}
	for _, p := range c.pools {
		if !p.wake.IsZero() && (next.IsZero() || p.wake.Before(next)) {
			next = p.wake
		}
	}
	return next
}

// Tick drops what waited in vain or makes it cheaper, and runs what waited for time to pass.
func (c *Controller) Tick(now time.Time) []Decision {
	c.out = c.out[:0]
	for it := c.expiry.Min(); it != nil && !now.Before(it.Expires); it = c.expiry.Min() {
		k := it.Value
		k.renew()
		if k.most != anyRank && c.spill(now, k) {
			continue
		}
		if expires, due := c.expires(now, k); now.Before(expires) { // it needs less than was believed
			k.lane.unbook(k)
			c.expiry.Move(it, expires, due)
			k.lane.book(k)
			continue
		}
		hold := func(q *Request, set Rungs) bool { return c.hold(now, k, q, set) }
		if !c.lessen(now, k, StageLate, hold) {
			c.drop(now, k, StageLate)
		}
	}
	for _, p := range c.pools {
		if !p.wake.IsZero() && !now.Before(p.wake) {
			c.dispatch(now, p)
		}
	}
	return c.out
}

// Waiting and Running are the numbers of requests in the two states; those
// between two attempts wait.
func (c *Controller) Waiting() (n int) {
	for _, p := range c.pools {
		n += p.waiting() + len(p.parked)
	}
	return n
}

// Running is described at Waiting.
func (c *Controller) Running() (n int) {
	for _, p := range c.pools {
		n += len(p.running)
	}
	return n
}

func (p Prior) predict() predict.Prior {
	return predict.Prior{First: p.First, PerInput: p.PerInput, PerOutput: p.PerOutput, Output: p.Output}
}

// Observe tells what was learnt of a deployment, or of one of its keys, apart
// from how a call ended. Unknown names are ignored. The decisions returned are
// for requests that can run now.
func (c *Controller) Observe(now time.Time, deployment string, key int, s Sample) []Decision {
	c.out = c.out[:0]
	d := c.byName[deployment]
	if d == nil || key < 0 || key >= len(d.keys) || d.left {
		return c.out
	}
	q := d.keys[key]
	q.requests.Hear(now, s.Requests)
	q.tokens.Hear(now, s.Tokens)
	d.flag()
	if !d.pool.wake.IsZero() {
		c.dispatch(now, d.pool)
	}
	return c.out
}
