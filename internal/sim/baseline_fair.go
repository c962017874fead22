package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/queue"
)

// fairLine serves the customer who has paid the least, of equals the first in
// the policy, and of each the oldest request. What paying means is the
// business of its user.
type fairLine struct{ active *queue.Heap[*customer] }

func newFairLine() fairLine {
	poorer := func(a, b *customer) bool {
		if a.paid != b.paid {
			return a.paid < b.paid
		}
		return a.index < b.index
	}
	return fairLine{queue.NewHeap(poorer, func(c *customer) *int { return &c.pos })}
}

func (f *fairLine) push(now time.Time, t *ticket) {
	c := t.customer
	c.list.push(now, t)
	if c.list.oldest == t {
		f.active.Push(c)
	}
}

func (f *fairLine) next(time.Time) *ticket {
	if f.active.Len() == 0 {
		return nil
	}
	return f.active.Min().list.oldest
}

func (f *fairLine) remove(t *ticket) {
	c := t.customer
	c.list.remove(t)
	if c.list.oldest == nil {
		f.active.Remove(c)
	}
}

// pay books for the customer, whether it has anything waiting or not.
func (f *fairLine) pay(c *customer, amount int64) {
	c.paid += amount
	if c.list.oldest != nil {
		f.active.Fix(c)
	}
}

// boundCustomer refuses when a customer has twice as many waiting as the pool has slots.
func (p *slotPool) boundCustomer(_ time.Time, t *ticket) *refusal {
	if t.customer.waiting >= depthPerSlot*p.slots {
		return lineFull
	}
	return nil
}

// roundRobin serves customers in turn, a request each, whatever it costs. What
// they pay is the number of their last turn; who comes anew goes to the end.
type roundRobin struct {
	fairLine
	turn int64
}

func newRoundRobin(p *slotPool) rules {
	r := &roundRobin{fairLine: newFairLine()}
	return rules{line: r, enter: p.boundCustomer, drop: expired, started: r.started}
}

func (r *roundRobin) push(now time.Time, t *ticket) {
	if t.customer.list.oldest == nil {
		r.turn++
		t.customer.paid = r.turn
	}
	r.fairLine.push(now, t)
}

func (r *roundRobin) started(_ time.Time, t *ticket) {
	r.turn++
	r.pay(t.customer, r.turn-t.customer.paid)
}
