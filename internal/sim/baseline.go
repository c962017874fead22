package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// baseline is a gateway with one idea: a Decider to compare ours with. It
// keeps the slots of each pool of a policy and whatever waits for them; the
// idea is in the rules of each pool. Limits, classes, watermarks and bounds of
// the policy do not count unless the rules say so. It never repeats a failed
// call. What it drops, it drops when a slot is free or its rules send one.
type baseline struct {
	policy    *admit.Policy
	pools     map[string]*slotPool // by model
	order     []*slotPool
	customers map[string]int // index of each tenant in the policy
	tickets   map[admit.ID]*ticket
	seq       uint64
	outcome   admit.Outcome    // reused: what the present Finish was told
	out       []admit.Decision // reused
	spare     []*ticket
}

// rules are the idea of a baseline, for one pool. A func that is nil has nothing to say.
type rules struct {
	line
	enter   func(now time.Time, t *ticket) *refusal // on arrival; nil lets it in
	drop    func(now time.Time, t *ticket) *refusal // when its turn has come; nil lets it run
	started func(now time.Time, t *ticket)          // it runs
	// choose is where the next goes; without it that is the least loaded deployment
	// with a free slot.
	choose func(now time.Time, t *ticket) *slots
	due    func() time.Time // from when on the next may go; zero if nothing waits, nil if time does not matter
	// ended says that it ran and is over, or left the line by itself. o is nil
	// if nothing was sent.
	ended func(now time.Time, t *ticket, o *admit.Outcome)
}

// line is an order of service. The pool counts what is in it.
type line interface {
	push(now time.Time, t *ticket)
	next(now time.Time) *ticket // whose turn it is; nil if nobody waits
	remove(t *ticket)           // it runs, is dropped or left
}

// refusal is a no.
type refusal struct {
	stage admit.Stage
	retry time.Duration // time to come back; 0 says none
}

var (
	noSuch   = &refusal{stage: admit.StageUnknown}
	noSlots  = &refusal{stage: admit.StageCapacity}
	lineFull = &refusal{stage: admit.StageBound}
	tooLate  = &refusal{stage: admit.StageLate}
)

// newBaseline makes a baseline for the pools of p, whose defaults are filled.
func newBaseline(p *admit.Policy, idea func(*slotPool) rules) *baseline {
	b := &baseline{
		policy: p, pools: map[string]*slotPool{}, customers: map[string]int{}, tickets: map[admit.ID]*ticket{},
	}
	for i := range p.Tenants {
		b.customers[p.Tenants[i].Name] = i
	}
	for i := range p.Models {
		pool := newSlotPool(&p.Models[i], p.Tenants)
		pool.rules = idea(pool)
		b.pools[pool.model.Name] = pool
		b.order = append(b.order, pool)
	}
	return b
}

// Offer runs the request if a slot is free, which means that nobody waits.
func (b *baseline) Offer(now time.Time, r admit.Request) []admit.Decision {
	b.out = b.out[:0]
	t, no := b.ticket(&r)
	if no == nil && t.pool.enter != nil {
		no = t.pool.enter(now, t)
	}
	if no != nil {
		b.refuse(now, t, no)
		return b.out
	}
	p := t.pool
	b.tickets[t.id] = t
	p.push(now, t)
	p.waiting++
	t.customer.waiting++
	if p.running == p.slots {
		b.out = append(b.out, admit.Decision{ID: t.id, Verdict: admit.Queue, Stage: admit.StageQueue})
		return b.out
	}
	b.dispatch(now, p, admit.StageFree)
	if t.deployment == nil && b.tickets[r.ID] == t {
		b.out = append(b.out, admit.Decision{ID: r.ID, Verdict: admit.Queue, Stage: admit.StageQueue})
	}
	return b.out
}

// FirstByte changes nothing.
func (b *baseline) FirstByte(time.Time, admit.ID) {}

// Finish frees the slot and gives it to whose turn it is.
func (b *baseline) Finish(now time.Time, id admit.ID, o admit.Outcome) []admit.Decision {
	b.out = b.out[:0]
	if t := b.tickets[id]; t != nil && t.deployment != nil {
		b.outcome = o
		b.over(now, t, &b.outcome)
		b.dispatch(now, t.pool, admit.StageDispatch)
	}
	return b.out
}

// Cancel takes out a request whose caller left before it was sent.
func (b *baseline) Cancel(now time.Time, id admit.ID) []admit.Decision {
	b.out = b.out[:0]
	if t := b.tickets[id]; t != nil {
		b.over(now, t, nil)
		b.dispatch(now, t.pool, admit.StageDispatch)
	}
	return b.out
}

// Tick sends what may go by now.
func (b *baseline) Tick(now time.Time) []admit.Decision {
	b.out = b.out[:0]
	for _, p := range b.order {
		if p.due != nil {
			b.dispatch(now, p, admit.StageDispatch)
		}
	}
	return b.out
}

// Observe changes nothing.
func (b *baseline) Observe(time.Time, string, int, admit.Sample) []admit.Decision { return nil }

// Next is when rules send one by time.
func (b *baseline) Next() (next time.Time) {
	for _, p := range b.order {
		if p.due == nil {
			continue
		}
		if at := p.due(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// ticket makes one for a request, or says why there can be none; it is then
// good for the refusal only.
func (b *baseline) ticket(r *admit.Request) (*ticket, *refusal) {
	var t *ticket
	if n := len(b.spare); n > 0 {
		t, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		t = new(ticket)
	}
	b.seq++
	*t = ticket{
		id: r.ID, seq: b.seq, class: r.Class, stream: r.Stream, input: r.Input, maxOutput: r.MaxOutput,
		arrived: r.Arrived, deadline: r.Deadline,
	}
	i, ok := b.customers[r.Tenant]
	t.pool = b.pools[r.Model]
	if t.pool == nil {
		t.pool = b.pools[admit.AnyModel]
	}
	if !ok || t.pool == nil || r.Class >= admit.NumClasses {
		return t, noSuch
	}
	t.customer = &t.pool.customers[i]
	if t.deadline.IsZero() {
		t.deadline = r.Arrived.Add(b.policy.Classes[r.Class].Deadline)
	}
	if t.pool.slots == 0 {
		return t, noSlots
	}
	return t, nil
}

// dispatch fills the free slots.
func (b *baseline) dispatch(now time.Time, p *slotPool, stage admit.Stage) {
	for p.running < p.slots && p.waiting > 0 {
		if p.due != nil && p.due().After(now) {
			return
		}
		t := p.next(now)
		if t == nil { // those that wait do so for a certain slot
			return
		}
		b.leaveLine(t)
		if p.drop != nil {
			if no := p.drop(now, t); no != nil {
				b.refuse(now, t, no)
				continue
			}
		}
		if p.choose != nil {
			t.deployment = p.choose(now, t)
		} else {
			t.deployment = p.pick()
		}
		t.deployment.running++
		p.running++
		if p.started != nil {
			p.started(now, t)
		}
		b.out = append(b.out, admit.Decision{
			ID: t.id, Verdict: admit.Run, Stage: stage, Deployment: t.deployment.name, Key: t.deployment.key, Wait: now.Sub(t.arrived),
		})
	}
}

func (b *baseline) leaveLine(t *ticket) {
	t.pool.remove(t)
	t.pool.waiting--
	t.customer.waiting--
}

// over ends a request that was let in, wherever it is.
func (b *baseline) over(now time.Time, t *ticket, o *admit.Outcome) {
	if t.deployment != nil {
		t.deployment.running--
		t.pool.running--
	} else {
		b.leaveLine(t)
	}
	if t.pool.ended != nil {
		t.pool.ended(now, t, o)
	}
	b.forget(t)
}

func (b *baseline) refuse(now time.Time, t *ticket, no *refusal) {
	b.out = append(b.out, admit.Decision{
		ID: t.id, Verdict: admit.Reject, Stage: no.stage, Wait: now.Sub(t.arrived), RetryAfter: no.retry,
	})
	b.forget(t)
}

// forget lets the ticket be used again by a later Offer.
func (b *baseline) forget(t *ticket) {
	delete(b.tickets, t.id)
	b.spare = append(b.spare, t)
}
