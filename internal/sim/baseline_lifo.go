package sim

import "time"

// lifoPatience is how long a line may stand before the newest goes first.
const lifoPatience = time.Second

// lifo is adaptive LIFO: first come, first served, but while the line has not
// been empty for a second the newest goes first. The expired are dropped when
// their turn comes.
type lifo struct {
	ticketList
	since time.Time // not empty since
}

func newLIFO(*slotPool) rules { return rules{line: new(lifo), drop: expired} }

func (l *lifo) push(now time.Time, t *ticket) {
	if l.oldest == nil {
		l.since = now
	}
	l.ticketList.push(now, t)
}

func (l *lifo) next(now time.Time) *ticket {
	if now.Sub(l.since) > lifoPatience {
		return l.newest
	}
	return l.oldest
}
