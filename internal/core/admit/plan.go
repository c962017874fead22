package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/predict"
)

// plan is the whole answer to an Offer before anything is changed.
type plan struct {
	tenant   *tenant
	pool     *pool
	member   *member
	lane     *lane
	est      predict.Estimate
	deadline time.Time
	need     time.Duration // from start to what the deadline means, with the class's confidence
	wait     time.Duration // for a place behind all of the tenant's others
	promise  time.Duration // for its own place among them
	delay    time.Duration // the part of promise by requests that will overtake, before it is corrected
	busy     time.Duration // a refusal by prediction claims that every slot works for so long
	victims  []*call       // leave the queue to make room

	verdict  Verdict
	stage    Stage
	retry    time.Duration // before jitter
	certain  bool          // retry is exact, not a prediction
	noRetry  bool
	observed bool // a predicted refusal that only observes
	limit    string
	figure   int64
	bound    int64
	most     int     // the highest rank of deployments that it may use
	blocked  bool    // it waits although calls at once are free
	model    string  // the fallback that it is for
	visited  []*pool // the models before that

	home             *pool         // the model that was asked for; nil if there is none
	stayed           bool          // its session was moved before, and stays
	rungs            Rungs         // of its ladder that make the request what is looked at
	input, maxOutput int64         // tokens of that
	plain            time.Duration // slot time before their savings
	payers           payers
	cost             charge
	hasty            *account // has a pace that it is too much for
	pace             *limit   // which that is
}

// stages is the table that every Offer walks until one decides. Looks only
// read: what they memoise changes no decision. Certain and cheap ones come
// first; priority comes before prediction, so that the overload of a low class
// never touches a better one.
var stages = [...]struct {
	stage Stage
	look  func(*Controller, time.Time, *Request, *plan) bool
}{
	{StageUnknown, (*Controller).lookUnknown},
	{StageDeadline, (*Controller).lookDeadline},
	{StageCapacity, (*Controller).lookCapacity},
	{StageConcurrency, (*Controller).lookConcurrency},
	{StageRequests, (*Controller).lookRequests},
	{StageTokens, (*Controller).lookTokens},
	{StageSpend, (*Controller).lookSpend},
	{StagePace, (*Controller).lookPace},
	{StageFree, (*Controller).lookFree},
	{StageRetry, (*Controller).lookRetry},
	{StageShed, (*Controller).lookShed},
	{StageWait, (*Controller).lookWait},
	{StageBound, (*Controller).lookBound},
	{StageQueue, (*Controller).lookQueue},
}

func (c *Controller) look(now time.Time, r *Request, p *plan) {
	for i := range stages {
		if stages[i].look(c, now, r, p) {
			p.stage = stages[i].stage
			return
		}
	}
}

// expect is the wait that the decision tells.
func (p *plan) expect() time.Duration {
	if p.verdict == Queue {
		return p.promise
	}
	return p.wait
}

func (p *plan) reject(retry time.Duration) bool {
	p.verdict, p.retry = Reject, retry
	return true
}

// rejectUntil refuses until a time that is certain: a limit is then free
// again, and before it coming back is in vain.
func (p *plan) rejectUntil(free time.Duration) bool {
	p.certain = true
	return p.reject(free)
}

func (p *plan) measure(limit string, figure, bound int64) {
	p.limit, p.figure, p.bound = limit, figure, bound
}

func (c *Controller) lookUnknown(now time.Time, r *Request, p *plan) bool {
	p.tenant, p.pool = c.tenants[r.Tenant], c.poolOf(r.Model)
	if p.tenant == nil || p.pool == nil || r.Class >= NumClasses {
		p.measure("the tenant, the model or the class is not configured", 0, 0)
		return p.reject(0)
	}
	p.member = c.memberOf(now, p.pool, p.tenant)
	p.lane = p.member.laneOf(r.Class)
	p.input, p.maxOutput = r.Input, r.MaxOutput
	p.est = p.pool.service.Estimate(&p.member.known, r.Input, r.MaxOutput)
	if p.plain = p.est.Raw; p.rungs != 0 && p.pool == p.home {
		p.est = p.est.Scaled(p.pool.factor(p.rungs))
	}
	return false
}

func (c *Controller) lookDeadline(now time.Time, r *Request, p *plan) bool {
	p.deadline = r.Deadline
	if p.deadline.IsZero() {
		p.deadline = r.Arrived.Add(c.policy.Classes[r.Class].Deadline)
	}
	p.need = p.pool.service.Need(p.est, r.Stream, c.policy.Classes[r.Class].Confidence)
	p.measure("the caller's deadline", millis(now.Sub(r.Arrived)), millis(p.deadline.Sub(r.Arrived)))
	if now.Before(p.deadline) {
		return false
	}
	p.noRetry = true // the caller has given up on this one
	return p.reject(0)
}

func (c *Controller) lookCapacity(now time.Time, _ *Request, p *plan) bool {
	p.pool.current(now)
	p.measure("usable slots of the model", int64(len(p.pool.running)), int64(p.pool.slots))
	if p.pool.slots > 0 {
		return false
	}
	if p.pool.refused {
		p.measure("keys that the provider accepts", 0, 1)
		p.noRetry = true // only the operator can mend that
	}
	if p.pool.opens.After(now) {
		return p.reject(p.pool.opens.Sub(now))
	}
	return p.reject(5 * time.Second)
}

func (c *Controller) lookConcurrency(_ time.Time, _ *Request, p *plan) bool {
	t := p.tenant
	p.measure("the tenant's requests at once", int64(t.active), int64(t.policy.Concurrency))
	if t.policy.Concurrency == 0 || t.active < t.policy.Concurrency {
		return false
	}
	return p.reject(p.pool.service.Mean() / time.Duration(t.policy.Concurrency))
}

func (c *Controller) lookRequests(now time.Time, _ *Request, p *plan) bool {
	w := p.member.requests
	if w == nil {
		return false
	}
	p.measure("the tenant's requests a minute", w.Used(now), w.Limit())
	if w.Fits(now, 1) {
		return false
	}
	return p.rejectUntil(w.Wait(now, 1))
}

func (c *Controller) lookTokens(now time.Time, r *Request, p *plan) bool {
	w := p.member.tokens
	if w == nil {
		return false
	}
	n := r.Input + p.est.Output
	p.measure("the tenant's tokens a minute", w.Used(now), w.Limit())
	if w.Fits(now, n) {
		return false
	}
	return p.rejectUntil(w.Wait(now, n))
}

// lookFree never refuses: a prediction must not turn away what can run now.
// What waits for a limit or for a preferred tier, and is not of a worse class,
// comes first. A dearer tier is used only if the ones before it would be too late.
func (c *Controller) lookFree(now time.Time, r *Request, p *plan) bool {
	p.measure("usable slots of the model", int64(len(p.pool.running)), int64(p.pool.slots))
	p.most = anyRank
	w := r.want(p, anyRank)
	rank, ok := p.pool.any(now, &w)
	if p.pool.tiered() && rank > p.pool.base {
		p.most = p.pool.reach(p.pool.wait(now, p.lane), c.patience(now, r.Class, p))
		ok = ok && rank <= p.most
	}
	dearer := ok && rank > p.pool.base && p.pool.over <= p.pool.lent // nobody who waits would take it
	if !ok || p.pool.better(r.Class+1) && !dearer {
		p.blocked = p.pool.room(now)
		return false
	}
	p.verdict = Run
	return true
}

// lookRetry refuses retries beyond the budget as soon as anything must wait.
func (c *Controller) lookRetry(now time.Time, r *Request, p *plan) bool {
	p.wait = p.pool.wait(now, p.lane)
	if r.Attempt == 0 {
		return false
	}
	p.measure("the tenant's retries of ten seconds", p.tenant.retries.Sum(now), p.tenant.retryBudget(now, c.policy.Retry))
	if p.tenant.mayRetry(now, c.policy.Retry) || c.dark(p) {
		return false
	}
	p.noRetry = true
	return p.reject(p.comeBack(now, 0))
}

// lookShed holds classes back by their watermark.
func (c *Controller) lookShed(now time.Time, r *Request, p *plan) bool {
	q := &p.pool.policy.Queue
	rank := shedRank(r.Class, p.tenant.policy.LowTier)
	patience := c.patience(now, r.Class, p)
	low, high := q.Low, q.High
	if high == 0 {
		low, high = patience/2, patience
	}
	limit := watermark(low, high, rank)
	p.measure("the predicted wait", millis(p.wait), millis(limit))
	over := p.wait > limit && limit < patience // what misses the deadline anyway is lookWait's
	if over {
		p.busy = limit
	}
	if q.DepthHigh > 0 {
		if depth, most := p.pool.waiting(), watermark(q.DepthLow, q.DepthHigh, rank); depth >= most {
			p.measure("requests waiting for the model", int64(depth), int64(most))
			over = true
		}
	}
	if !over || now.Before(p.member.distrust) || c.dark(p) {
		return false
	}
	return p.reject(p.comeBack(now, p.wait-limit))
}

// lookWait is the feasibility test at arrival. What must fit lies between the
// wait for the request's own place and that for one behind all the others of
// its tenant: those whom it overtakes wait longer for it.
func (c *Controller) lookWait(now time.Time, r *Request, p *plan) bool {
	patience := time.Duration(float64(c.patience(now, r.Class, p)) / max(p.pool.margin, 1))
	due := earlier(c.latest(now, p.lane, p.est, r.Stream, p.observed, p.deadline), r.Arrived.Add(c.policy.Classes[r.Class].MaxWait))
	p.promise, p.delay = p.pool.place(now, p.lane, due, p.wait)
	p.measure("the predicted wait", millis(p.wait), millis(patience))
	if p.promise+time.Duration(owed*float64(p.wait-p.promise)) <= patience || now.Before(p.member.distrust) || c.dark(p) {
		return false
	}
	p.busy = patience
	if patience == 0 { // it claims that not even a free slot would do
		p.busy = p.deadline.Sub(now)
	}
	return p.reject(p.comeBack(now, p.wait-patience))
}

func (c *Controller) lookQueue(_ time.Time, _ *Request, p *plan) bool {
	p.measure("the predicted wait", millis(p.promise), 0)
	p.verdict = Queue
	return true
}

// dark marks a predicted refusal in the mode that only observes, and says so.
func (c *Controller) dark(p *plan) bool {
	p.observed = p.observed || c.policy.Observe
	return c.policy.Observe
}

// patience is the longest predicted wait that the request can bear. The class's
// bound on the real wait keeps a fifth for errors of the prediction.
func (c *Controller) patience(now time.Time, class Class, p *plan) time.Duration {
	return max(min(p.deadline.Sub(now)-p.need, c.policy.Classes[class].MaxWait*4/5), 0)
}

// shedRank is the place in the shed order, from what is held back first to
// what is held back last. Retries beyond their budget, and the expired, never
// get as far as this.
func shedRank(class Class, lowTier bool) int {
	rank := [NumClasses]int{Interactive: 4, Standard: 3, Batch: 2, Speculative: 0}[class]
	if lowTier {
		rank = min(rank, 1)
	}
	return rank
}

// watermark is the mark of a rank: low for the first to go, high for the last.
func watermark[T time.Duration | int](low, high T, rank int) T {
	return low + (high-low)*T(rank)/4
}

// comeBack is when coming back makes sense: after the excess is gone, and
// after the queue has moved on once for each of those who wanted this place.
func (p *plan) comeBack(now time.Time, excess time.Duration) time.Duration {
	m := p.member
	offers := float64(m.offers.Sum(now) + 1)
	admitted := max(offers-float64(m.refused.Sum(now)), offers/32)
	share := p.pool.shareOf(p.lane)
	move := float64(p.pool.service.Mean()) / share
	return excess + time.Duration(move*offers/admitted)
}

func millis(d time.Duration) int64 { return d.Milliseconds() }
