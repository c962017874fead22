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

// count is the failed ones and all, without those that are too old by now.
func (r *results) count(now time.Time, window time.Duration) (failed, n int) {
	failed, n = r.failed, r.good+r.failed
	for i := range r.passed(now, window) {
		s := &r.slots[(r.head+1+i)%len(r.slots)]
		failed, n = failed-s.failed, n-s.failed-s.good
	}
	return failed, n
}

// passed is how many slots have become old since the running one began.
func (r *results) passed(now time.Time, window time.Duration) int {
	if r.at.IsZero() {
		return 0
	}
	return int(min(max(now.Sub(r.at)/r.slot(window), 0), time.Duration(len(r.slots))))
}

func (r *results) slot(window time.Duration) time.Duration {
	return max(window/time.Duration(len(r.slots)), 1)
}

func (r *results) advance(now time.Time, window time.Duration) {
	if r.at.IsZero() {
		r.at = now
		return
	}
	n, slot := r.passed(now, window), r.slot(window)
	if n == 0 {
		return
	}
	r.at = r.at.Add(now.Sub(r.at) / slot * slot)
	for range n {
		r.head = (r.head + 1) % len(r.slots)
		s := &r.slots[r.head]
		r.good -= s.good
		r.failed -= s.failed
		s.good, s.failed = 0, 0
	}
}
