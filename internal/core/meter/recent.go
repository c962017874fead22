package meter

import "time"

const (
	recentSlots = 10
	recentSlot  = time.Second
)

// Recent counts what happened in about the last ten seconds: the running
// second and the nine before it. The zero value is ready.
type Recent struct {
	slots [recentSlots]int64
	sum   int64
	at    time.Time // start of the running slot
	head  int
}

// Add counts n events at now.
func (r *Recent) Add(now time.Time, n int) {
	r.advance(now)
	r.slots[r.head] += int64(n)
	r.sum += int64(n)
}

// Sum is the number of events in the last ten seconds.
func (r *Recent) Sum(now time.Time) int64 {
	if r.sum > 0 { // before the first event no second runs yet
		r.advance(now)
	}
	return r.sum
}

func (r *Recent) advance(now time.Time) {
	if r.at.IsZero() {
		r.at = now
		return
	}
	steps := int64(now.Sub(r.at) / recentSlot)
	if steps <= 0 {
		return
	}
	r.at = r.at.Add(time.Duration(steps) * recentSlot)
	for i := int64(0); i < min(steps, recentSlots); i++ {
		r.head = (r.head + 1) % recentSlots
		r.sum -= r.slots[r.head]
		r.slots[r.head] = 0
	}
}
