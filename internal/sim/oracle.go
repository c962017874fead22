package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/core/queue"
)

// oracle is clairvoyant: it knows how long every call will really take, lays
// all that runs and waits on the slots, and lets in exactly what will then make
// its deadline. It serves in order of arrival, or the best class first; then
// those who come later in a better class are not foreseen, and may push others
// out when their turn comes.
//
// It knows the present speed of the upstream, not its future one: after a
// change it takes new times for everything, and what cannot make it any more
// is dropped when its turn comes.
type oracle struct {
	pool    *slotPool
	truth   Truth
	byClass bool
	lines   [admit.NumClasses]ticketList // all in the first, unless by class
	plans   [admit.NumClasses]plan       // for each line: after it and those before it are served
	running []*ticket
}

// plan is when each slot will be free.
type plan struct {
	slots *queue.Heap[*freeSlot]
	all   []*freeSlot
	stale bool // something did not go as planned
}

type freeSlot struct {
	at    time.Duration // since epoch
	index int
	pos   int
}

var hopeless = &refusal{stage: admit.StageWait}

const (
	speedTolerance = 0.02             // a change of speed below it is none
	endTolerance   = time.Millisecond // and so is a call that ends so close to its time
)

// newOracle makes the rules of a clairvoyant.
func newOracle(truth Truth, byClass bool) func(*slotPool) rules {
	return func(p *slotPool) rules {
		if many, ok := truth.(manyTruth); ok && many.Apart(p.model.Name) {
			return newSpreadOracle(p, many, byClass)
		}
		o := &oracle{pool: p, truth: truth, byClass: byClass}
		for i := range o.plans {
			o.plans[i] = newPlan(p.slots)
		}
		return rules{line: o, enter: o.enter, drop: o.drop, started: o.started, ended: o.ended}
	}
}

func newPlan(slots int) plan {
	p := plan{slots: queue.NewHeap(func(a, b *freeSlot) bool {
		if a.at != b.at {
			return a.at < b.at
		}
		return a.index < b.index
	}, func(s *freeSlot) *int { return &s.pos })}
	for i := range slots {
		s := &freeSlot{index: i}
		p.all = append(p.all, s)
		p.slots.Push(s)
	}
	return p
}

// take plans the ticket for the slot that is free first, if it makes its
// deadline there.
func (p *plan) take(now time.Duration, t *ticket) bool {
	s := p.slots.Min()
	start := max(s.at, now)
	if start+t.need() > t.deadline.Sub(epoch) {
		return false
	}
	s.at = start + t.total
	p.slots.Fix(s)
	return true
}

// need is the time from the start to what the deadline means.
func (t *ticket) need() time.Duration {
	if t.stream {
		return t.first
	}
	return t.total
}

func (o *oracle) rank(t *ticket) int {
	if o.byClass {
		return int(t.class)
	}
	return 0
}

func (o *oracle) push(now time.Time, t *ticket) { o.lines[o.rank(t)].push(now, t) }
func (o *oracle) remove(t *ticket)              { o.lines[o.rank(t)].remove(t) }

func (o *oracle) next(time.Time) *ticket {
	for i := range o.lines {
		if t := o.lines[i].oldest; t != nil {
			return t
		}
	}
	return nil
}

// enter lets in what makes it behind all that goes before it.
func (o *oracle) enter(now time.Time, t *ticket) *refusal {
	o.watch(now)
	t.first, t.total = o.truth.Service(t.id)
	rank := o.rank(t)
	p := &o.plans[rank]
	if p.stale {
		o.replan(now, rank)
	}
	if !p.take(now.Sub(epoch), t) {
		return hopeless
	}
	o.spoil(rank + 1) // those after it are pushed back
	return nil
}

// spoil has the plans from a rank on made anew when they are needed.
func (o *oracle) spoil(rank int) { stale(o.plans[rank:]) }

func stale(plans []plan) {
	for i := range plans {
		plans[i].stale = true
	}
}

// replan lays what runs, and what waits up to a rank, on the slots. What
// will miss its deadline will be dropped and takes no slot.
func (o *oracle) replan(now time.Time, rank int) {
	p, at := &o.plans[rank], now.Sub(epoch)
	for i, s := range p.all {
		s.at = at
		if i < len(o.running) {
			s.at = o.running[i].end.Sub(epoch)
		}
		p.slots.Fix(s)
	}
	for i := range rank + 1 {
		for t := o.lines[i].oldest; t != nil; t = t.newer {
			p.take(at, t)
		}
	}
	p.stale = false
}

// watch looks whether the upstream's speed has changed, by one of the calls
// that run, and if so takes new times for all of them.
func (o *oracle) watch(now time.Time) {
	if len(o.running) == 0 {
		return
	}
	probe := o.running[0]
	_, total := o.truth.Service(probe.id)
	change := float64(total)/float64(max(probe.total, 1)) - 1
	if total == 0 || max(change, -change) <= speedTolerance {
		return
	}
	for _, t := range o.running {
		before := max(t.total, 1)
		t.first, t.total = o.truth.Service(t.id)
		left := float64(max(t.end.Sub(now), 0)) * float64(t.total) / float64(before)
		t.end = now.Add(time.Duration(left))
	}
	for i := range o.lines {
		for t := o.lines[i].oldest; t != nil; t = t.newer {
			t.first, t.total = o.truth.Service(t.id)
		}
	}
	o.spoil(0)
}

// drop repeats the test at the present speed.
func (o *oracle) drop(now time.Time, t *ticket) *refusal {
	t.first, t.total = o.truth.Service(t.id)
	if !now.Add(t.need()).After(t.deadline) {
		return nil
	}
	o.spoil(o.rank(t))
	return tooLate
}

func (o *oracle) started(now time.Time, t *ticket) {
	t.end = now.Add(t.total)
	t.place = len(o.running)
	o.running = append(o.running, t)
	stale(o.plans[:o.rank(t)]) // better ones found no place for it in theirs
}

func (o *oracle) ended(now time.Time, t *ticket, _ *admit.Outcome) {
	if t.deployment == nil { // it left the line
		o.spoil(o.rank(t))
		return
	}
	last := len(o.running) - 1
	o.running[t.place] = o.running[last]
	o.running[t.place].place = t.place
	o.running = o.running[:last]
	if off := now.Sub(t.end); max(off, -off) > endTolerance {
		o.spoil(0)
	}
	o.watch(now)
}
