package sim

import "time"

const (
	codelTarget   = 100 * time.Millisecond
	codelInterval = time.Second
)

// codel is CoDel in the form of folly: where even the luckiest request of an
// interval waited more than a target, the pool is overloaded, and until an
// interval ends better it drops everything that waited more than twice the
// target when its turn comes. The line itself has no bound.
type codel struct {
	least      time.Duration // wait of the luckiest in the running interval
	until      time.Time     // end of the running interval
	overloaded bool
}

func newCodel(*slotPool) rules {
	return rules{line: new(ticketList), drop: new(codel).drop}
}

func (c *codel) drop(now time.Time, t *ticket) *refusal {
	wait := now.Sub(t.arrived)
	if now.Before(c.until) {
		c.least = min(c.least, wait)
	} else {
		c.overloaded = c.least > codelTarget
		c.least, c.until = wait, now.Add(codelInterval)
	}
	if c.overloaded && wait > 2*codelTarget {
		return tooLate
	}
	return nil
}
