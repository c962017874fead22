package sim

import "time"

// depthPerSlot is how many requests may wait for each slot where a depth is bound.
const depthPerSlot = 2

// fifo serves in order of arrival, however many wait and for how long.
func fifo(*slotPool) rules { return rules{line: new(ticketList)} }

// depth refuses when twice as many wait as there are slots.
func depth(p *slotPool) rules {
	return rules{line: new(ticketList), enter: p.boundDepth}
}

// depthExpired also drops what has expired when its turn comes.
func depthExpired(p *slotPool) rules {
	return rules{line: new(ticketList), enter: p.boundDepth, drop: expired}
}

func (p *slotPool) boundDepth(time.Time, *ticket) *refusal {
	if p.waiting >= depthPerSlot*p.slots {
		return lineFull
	}
	return nil
}
