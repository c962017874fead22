package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

const (
	vtcInput  = 1    // virtual tokens of an input token
	vtcOutput = 2    // and of an output token
	vtcUnit   = 1000 // virtual tokens are counted in thousandths, to be divided by weights
	vtcRecent = 5    // the mean of so many answers is the next one's expected length
)

// vtc is the virtual token counter of Sheng et al.: whoever has been given the
// fewest tokens by weight goes next. It charges the input and the expected
// output at the start, and corrects both at the end. A customer who comes
// anew is lifted to the least of those who wait, or, when nobody waits, to the
// one who was the last to leave the line: being idle earns nothing.
type vtc struct {
	fairLine
	pool    *slotPool
	lengths []lengths // by customer
	last    *customer // the last to leave the line
}

// lengths are a customer's latest answers.
type lengths struct {
	tokens [vtcRecent]int64
	count  int
}

func newVTC(p *slotPool) rules {
	v := &vtc{fairLine: newFairLine(), pool: p, lengths: make([]lengths, len(p.customers))}
	return rules{line: v, enter: p.boundCustomer, drop: expired, started: v.started, ended: v.ended}
}

func (v *vtc) push(now time.Time, t *ticket) {
	if c := t.customer; c.list.oldest == nil {
		switch {
		case v.active.Len() > 0:
			c.paid = max(c.paid, v.active.Min().paid)
		case v.last != nil:
			c.paid = max(c.paid, v.last.paid)
		}
	}
	v.fairLine.push(now, t)
}

func (v *vtc) remove(t *ticket) {
	v.fairLine.remove(t)
	if t.customer.list.oldest == nil {
		v.last = t.customer
	}
}

func (v *vtc) started(_ time.Time, t *ticket) {
	t.charged = t.customer.tokens(t.input, v.expected(t))
	v.pay(t.customer, t.charged)
}

// ended corrects the charge. It stands where nobody knows how long the answer
// was, or became before its caller left.
func (v *vtc) ended(_ time.Time, t *ticket, o *admit.Outcome) {
	switch {
	case t.deployment == nil:
	case o == nil:
		v.pay(t.customer, -t.charged)
	case o.Output == 0 && (o.OK || o.CallerGone):
	default:
		v.pay(t.customer, t.customer.tokens(o.Input, o.Output)-t.charged)
		if o.OK {
			l := &v.lengths[t.customer.index]
			l.tokens[l.count%vtcRecent] = o.Output
			l.count++
		}
	}
}

// expected is the length of answer that a request is charged for, in tokens.
func (v *vtc) expected(t *ticket) int64 {
	l := &v.lengths[t.customer.index]
	n := int64(min(l.count, vtcRecent))
	tokens := v.pool.model.Prior.Output
	if n > 0 {
		tokens = 0
		for _, length := range l.tokens[:n] {
			tokens += length
		}
		tokens /= n
	}
	if t.maxOutput > 0 {
		tokens = min(tokens, t.maxOutput)
	}
	return tokens
}

// tokens is what a request costs the customer, in thousandths of virtual tokens by weight.
func (c *customer) tokens(input, output int64) int64 {
	return (vtcInput*input + vtcOutput*output) * vtcUnit / int64(max(c.tenant.Weight, 1))
}
