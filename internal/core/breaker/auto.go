package breaker

import (
	"math"
	"slices"
	"time"
)

const (
	autoWindow  = time.Second
	autoLeast   = 10    // samples of a window
	autoMost    = 64    // samples that a window keeps
	autoSlower  = 1.5   // times the best: beyond, more calls only wait inside
	autoDecay   = 1.001 // a window: the best is believed less with time
	autoShrink  = 0.9
	autoBusy    = 0.8 // of the limit in use, without which it is not raised
	autoTrivial = 50 * time.Millisecond
)

// Auto learns how many calls an upstream should have at once, from how times
// change with load. It sees normalised times only, the first token without
// what the input explains and the time of a token of output: the whole time of
// a call follows the length of its answer and says nothing of load.
//
// A window of calls whose median is well above the best one seen means that
// calls wait inside, and takes a tenth away; otherwise the limit grows by the
// logarithm of its size as long as it is used (after the Vegas limiter of
// Netflix's concurrency-limits). A call that the upstream refused for being
// full counts like a slow window.
type Auto struct {
	limit        float64
	first, token samples
	peak         int // calls at once in this window
	since        time.Time
	cut          time.Time
}

// NewAuto starts from a limit.
func NewAuto(limit int) *Auto { return &Auto{limit: float64(limit)} }

// Limit is the calls at once.
func (a *Auto) Limit() int { return int(a.limit) }

// Bound keeps the limit between 1 and most.
func (a *Auto) Bound(most int) { a.limit = min(max(a.limit, 1), float64(max(most, 1))) }

// Sample takes the times of a good call, as far as they were measured, while
// running calls were there.
func (a *Auto) Sample(now time.Time, t Latencies, running, most int) {
	a.first.add(t.First)
	a.token.add(t.PerToken)
	a.peak = max(a.peak, running)
	if a.since.IsZero() {
		a.since = now
	}
	n := max(len(a.first.list), len(a.token.list))
	if now.Sub(a.since) < autoWindow || n < min(autoLeast+int(a.limit/2), autoMost) {
		return
	}
	slow := a.first.slow()
	slow = a.token.slow() || slow
	switch {
	case slow && float64(a.peak) >= a.limit/2:
		a.limit *= autoShrink
	case !slow && float64(a.peak) >= autoBusy*a.limit:
		a.limit += max(math.Log10(a.limit), 1)
	}
	a.Bound(most)
	a.since, a.peak = now, 0
}

// Full is a call refused because the upstream has too many; at most once a second.
func (a *Auto) Full(now time.Time, running, most int) {
	if now.Sub(a.cut) < autoWindow {
		return
	}
	a.cut, a.since, a.peak = now, now, 0
	a.limit = min(a.limit, float64(running+1)) * autoShrink
	a.Bound(most)
	a.first.list, a.token.list = a.first.list[:0], a.token.list[:0]
}

// samples are one kind of times in a window, and the best median of earlier ones.
type samples struct {
	list []time.Duration
	best float64 // seconds
}

func (s *samples) add(d time.Duration) {
	if d > 0 && len(s.list) < autoMost {
		s.list = append(s.list, d)
	}
}

// slow ends a window.
func (s *samples) slow() bool {
	if len(s.list) == 0 {
		return false
	}
	slices.Sort(s.list)
	median := s.list[len(s.list)/2].Seconds()
	s.list = s.list[:0]
	if s.best == 0 || median < s.best {
		s.best = median
		return false
	}
	slow := median > s.best*autoSlower && (median-s.best > autoTrivial.Seconds() || s.best < autoTrivial.Seconds())
	s.best *= autoDecay
	return slow
}
