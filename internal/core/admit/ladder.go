package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// rung is what is known of one rung of a pool's ladder.
type rung struct {
	ratio   meter.Mean // real over what the numbers of tokens said, of calls whose lowest rung it was
	took    meter.Mean // seconds of slot time of these
	usual   meter.Mean // seconds that they would have taken as asked, by prediction
	served  int64
	asleep  time.Time // until then it is left out: it did not help
	samples int
}

const (
	rungMemory  = 100
	rungBelief  = 10               // samples that the configured saving weighs
	rungSamples = 100              // between two judgements
	rungHelps   = 0.98             // of the time that is needed without it is no help
	rungRest    = 10 * time.Minute // until one that did not help is tried again
)

// ladderOf brings the rungs in line with a policy and keeps what was learnt.
func ladderOf(old []rung, was, now []Rung) []rung {
	list := make([]rung, min(len(now), MaxRungs))
	for i := range list {
		for j := range min(len(old), len(was)) {
			if was[j].Name == now[i].Name {
				list[i] = old[j]
			}
		}
	}
	return list
}

// usable says that rung i may be taken for the request: it is on, it changes
// something, and the caller agrees.
func (p *pool) usable(now time.Time, r *Request, i int) bool {
	x := &p.policy.Ladder.Rungs[i]
	return !x.Off && x.Kind != RungRecent && r.Rungs[i].Changes && r.May&x.Kind.needs() != 0 && !now.Before(p.rungs[i].asleep)
}

// standing is the rungs that every request of this kind takes now: by the level
// of its class, and by what is spent.
func (c *Controller) standing(now time.Time, r *Request, home *pool) (set Rungs) {
	if len(home.rungs) == 0 || c.policy.Observe || r.Class >= NumClasses {
		return 0
	}
	return home.upTo(now, r, max(home.levels[r.Class].idle(now, &home.policy.Ladder), c.spendLevel(r)))
}

// upTo is the rungs that a request takes at a level.
func (p *pool) upTo(now time.Time, r *Request, at uint8) (set Rungs) {
	if at == 0 || r.May&MayDegrade == 0 {
		return 0
	}
	for i := range p.rungs {
		if uint8(p.policy.Ladder.Rungs[i].Kind) < at && p.usable(now, r, i) {
			set = p.with(set, i)
		}
	}
	return set
}

// with is a set with one more rung. One pool serves a request: a rung that
// sends it to another takes the place of the one that did so before.
func (p *pool) with(set Rungs, i int) Rungs {
	if p.policy.Ladder.Rungs[i].Model != "" {
		for j := range p.rungs {
			if p.policy.Ladder.Rungs[j].Model != "" {
				set &^= 1 << j
			}
		}
	}
	return set | 1<<i
}

// spendLevel is the level that the accounts of the request ask for. Lower
// classes are a step ahead.
func (c *Controller) spendLevel(r *Request) (at uint8) {
	if !c.counts {
		return 0
	}
	for _, a := range c.payersFor(r) {
		if a != nil {
			at = max(at, a.level)
		}
	}
	if at > 0 && r.Class >= Batch {
		at = min(at+1, NumLevels-1)
	}
	return at
}

// payersFor are the accounts of a request, that of its tenant for its model
// included, if it has one already.
func (c *Controller) payersFor(r *Request) payers {
	list := c.payersOf(r)
	if t, p := c.tenants[r.Tenant], c.byModel[r.Model]; t != nil && p != nil && p.index < len(t.members) && t.members[p.index] != nil {
		list[ScopeModel] = t.members[p.index].spent
	}
	return list
}

// calmed looks again at accounts that asked for less: what they count may have
// become old since anything was last spent.
func (c *Controller) calmed(now time.Time, r *Request) {
	if !c.counts {
		return
	}
	for _, a := range c.payersFor(r) {
		if a != nil && (a.alarm != Calm || a.level > 0) {
			c.alarm(now, a)
		}
	}
}

// degraded is the request with the rungs of a set.
func (c *Controller) degraded(r *Request, home *pool, set Rungs) Request {
	q := *r
	for i := range home.rungs {
		if !set.Has(i) {
			continue
		}
		q.Input, q.MaxOutput = r.Rungs[i].Input, r.Rungs[i].MaxOutput
		if m := home.policy.Ladder.Rungs[i].Model; m != "" {
			q.Model = m
		}
	}
	return q
}

// least tries a request with the rungs of its level. Where another pool would
// serve it but has no slot free, that is to relieve its own model and not to
// wait longer: the lowest pool is taken that it waits least for. It gives the
// rungs that were taken.
func (c *Controller) least(now time.Time, r *Request, home *pool, set Rungs, p *plan, t *Trace) Rungs {
	q := c.degraded(r, home, set)
	c.try(now, &q, home, set, p, t)
	for i := len(home.rungs) - 1; i >= 0 && p.verdict != Run; i-- {
		if !(home.moving & set).Has(i) {
			continue
		}
		set &^= 1 << i
		q, other := c.degraded(r, home, set), plan{}
		c.try(now, &q, home, set, &other, t)
		if other.verdict == Run || other.verdict == Queue && (p.verdict == Reject || other.expect() < p.expect()) {
			*p = other
		}
	}
	return p.rungs
}

// factor is what the rungs of a set leave of a call's time, beyond what the
// numbers of its tokens say: what calls at the lowest of them really took, and
// until there were some what the policy believes.
func (p *pool) factor(set Rungs) float64 {
	if set == 0 {
		return 1
	}
	believed, last := 1.0, -1
	for i := range p.rungs {
		if x := &p.policy.Ladder.Rungs[i]; set.Has(i) {
			if x.Model != "" {
				return 1 // another pool, whose times are known by themselves
			}
			believed *= 1 - float64(min(max(x.Saving, 0), 95))/100
			last = i
		}
	}
	if last < 0 {
		return 1
	}
	return min(p.rungs[last].ratio.Shrunk(believed, rungBelief), 1)
}

// mended says whether a cheaper form of the request may be let in where the
// stage refused it as it was.
func mended(s Stage) bool {
	switch s {
	case StageShed, StageWait, StageBound, StageSpend, StagePace, StageTokens, StageCapacity:
		return true
	}
	return false
}

// descend looks for the first cheaper form of a refused request that is let in:
// it goes down the ladder, and leaves out what makes no difference.
func (c *Controller) descend(now time.Time, r *Request, set Rungs, p *plan, t *Trace) {
	home := p.home
	if home == nil || len(home.rungs) == 0 || r.May&MayDegrade == 0 || !mended(p.stage) || c.policy.Observe {
		return
	}
	for i := range home.rungs {
		if set.Has(i) || !home.usable(now, r, i) {
			continue
		}
		next := home.with(set, i)
		q := c.degraded(r, home, next)
		other := plan{}
		if c.try(now, &q, home, next, &other, t); other.verdict != Reject {
			*p = other
			p.stage = StageLadder
			return
		}
		if home.policy.Ladder.Rungs[i].Model == "" { // what another model refuses is not its to serve
			set = next
		}
	}
}

// recall answers a refused request with an answer from before, if the caller
// takes one and the ladder ends with it.
func (c *Controller) recall(r *Request, p *plan) {
	home := p.home
	if home == nil || !r.Recent || r.May&MayRecent == 0 || !mended(p.stage) || c.policy.Observe {
		return
	}
	for i := range home.rungs {
		if x := &home.policy.Ladder.Rungs[i]; x.Kind == RungRecent && !x.Off {
			p.verdict, p.stage, p.rungs = Recall, StageLadder, 1<<i
			return
		}
	}
}

// descended learns from a good call what its rungs really saved.
func (k *call) descended(now time.Time, took time.Duration, output int64) {
	if k.home == nil || len(k.home.rungs) == 0 {
		return
	}
	if k.rungs == 0 {
		if k.pool() == k.home {
			x := &k.home.whole
			x.took.Add(took.Seconds(), rungMemory)
			x.usual.Add(k.home.sized(k, k.input, output), rungMemory)
		}
		return
	}
	last := -1
	for i := range k.home.rungs {
		if k.rungs.Has(i) {
			last = i
		}
	}
	if last < 0 {
		return // the ladder was shortened meanwhile
	}
	x := &k.home.rungs[last]
	x.served++
	x.took.Add(took.Seconds(), rungMemory)
	usual := k.usual.Seconds()
	if !k.shorter {
		usual = k.home.sized(k, k.asked, output)
	}
	x.usual.Add(usual, rungMemory)
	if k.pool() != k.home {
		return
	}
	plain := k.home.service.Slots(k.plain).Seconds() * k.home.longer(k, k.input, output)
	x.ratio.Add(min(took.Seconds()/max(plain, 1e-4), 4), rungMemory)
	if x.samples++; x.samples < rungSamples {
		return
	}
	// Judged by what calls took beside what they would have taken as asked, as far
	// off as that is for those that are, and not again with every call: by chance
	// it would soon look useless.
	x.samples = 0
	if x.took.Shrunk(0, 0) > rungHelps*x.usual.Shrunk(0, 0)*k.home.whole.off() {
		x.asleep = now.Add(rungRest)
	}
}

// off is how far real times are off the predicted ones.
func (x *rung) off() float64 { return x.took.Shrunk(1, rungBelief) / x.usual.Shrunk(1, rungBelief) }

// sized is what a call of these tokens takes, in seconds: not by what is known
// of its tenant, as a tenant of whom all is degraded teaches nothing of it.
func (p *pool) sized(k *call, input, output int64) float64 {
	_, raw := p.service.Expected(k.est, input, output)
	return p.service.Slots(raw).Seconds()
}

// longer is how much longer calls of an answer's length take than those of the
// length that was expected.
func (p *pool) longer(k *call, input, output int64) float64 {
	_, real := p.service.Expected(k.est, input, output)
	_, expected := p.service.Expected(k.est, input, 0)
	return real.Seconds() / max(expected.Seconds(), 1e-4)
}

// Calm says that a request would be served as it was asked: its model has room
// and nobody waits, no level and no budget asks for less, and its session was
// not moved. It is for shells to whom it costs something to work out what the
// ladder would make of a request, and changes nothing.
func (c *Controller) Calm(now time.Time, r *Request) bool {
	home := c.poolOf(r.Model)
	if home == nil || r.Class >= NumClasses {
		return true
	}
	if home.levels[r.Class].at > 0 || home.waiting() > 0 || !home.room(now) || c.spendLevel(r) > 0 {
		return false
	}
	if _, moved := c.stays.byKey[stayKey{r.Tenant, r.Session, home.policy.Name}]; moved {
		return false
	}
	t := c.tenants[r.Tenant]
	if t == nil || home.index >= len(t.members) || t.members[home.index] == nil {
		return !c.counts // nothing is known of what it costs
	}
	m := t.members[home.index]
	est := home.service.Estimate(&m.known, r.Input, r.MaxOutput)
	if m.tokens != nil && !m.tokens.Fits(now, r.Input+est.Output) {
		return false
	}
	list := c.payersOf(r)
	list[ScopeModel] = m.spent
	cost := home.charge(r.Input, r.MaxOutput, est, r.Tier, &list)
	for _, a := range list {
		if a != nil && a.slack <= cost.most {
			return false
		}
	}
	return true
}
