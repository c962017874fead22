package breaker

import "time"

// results counts good and failed calls over a rolling window, by twelfths of
// it. The zero value is empty.
type results struct {
	slots  [12]struct{ good, failed int }
	good   int
	failed int
	at     time.Time // start of the running slot
	head   int
}

func (r *results) add(now time.Time, window time.Duration, failed bool) {
	r.advance(now, window)
	if failed {
		r.slots[r.head].failed++
		r.failed++
	} else {
		r.slots[r.head].good++
		r.good++
	}
}

// count is the failed ones and all.
func (r *results) count(now time.Time, window time.Duration) (failed, n int) {
	if r.good+r.failed > 0 {
		r.advance(now, window)
	}
	return r.failed, r.good + r.failed
}

func (r *results) advance(now time.Time, window time.Duration) {
	slot := max(window/time.Duration(len(r.slots)), 1)
	if r.at.IsZero() {
		r.at = now
		return
	}
	passed := now.Sub(r.at) / slot
	if passed <= 0 {
		return
	}
	r.at = r.at.Add(passed * slot)
	for range min(passed, time.Duration(len(r.slots))) {
		r.head = (r.head + 1) % len(r.slots)
		s := &r.slots[r.head]
		r.good -= s.good
		r.failed -= s.failed
		s.good, s.failed = 0, 0
	}
}
