// Package meter measures quantities over time: exact rolling windows, counts
// of the last seconds, decaying rates and means, and decaying histograms.
//
// Every type takes the time as an argument, is a plain value owned by one
// goroutine, and treats a time that runs backwards as no time passed.
package meter

import "time"

// grain is how finely a Window keeps time: entries within Span/grain are one.
const grain = 512

// Window is a limit on a quantity over any span of fixed length: what was
// added in the last Span never exceeds Limit, wherever the span begins.
// Amounts are reserved first and settled when the real figure is known.
//
// It keeps a log of amounts rather than two counters, because a token bucket
// lets twice its rate through in an unlucky span and an interpolated counter
// guesses. Entries closer than Span/512 share one, so the log is bounded.
type Window struct {
	limit   int64
	span    time.Duration
	sum     int64
	entries []entry // a ring: count entries from head
	head    int
	count   int
	first   uint64 // sequence number of the entry at head
}

type entry struct {
	opened, last time.Time // last decides when it leaves the window
	amount       int64
}

// Reservation is an amount taken from a Window, to be settled once.
// The zero value stands for nothing reserved.
type Reservation struct {
	seq    uint64
	amount int64
	held   bool
}

// NewWindow makes a window that lets limit through in any span. A limit of
// zero or less means no limit.
func NewWindow(limit int64, span time.Duration) *Window {
	return &Window{limit: limit, span: span}
}

// Limit is the most that fits into one span; 0 means no limit.
func (w *Window) Limit() int64 { return max(w.limit, 0) }

// SetLimit changes the limit and keeps what was counted.
func (w *Window) SetLimit(limit int64) { w.limit = limit }

// Fits says whether n more fit now. An amount above the limit is taken as the
// limit, so that it passes when the window is empty instead of never.
func (w *Window) Fits(now time.Time, n int64) bool {
	if w.limit <= 0 {
		return true
	}
	w.expire(now)
	return w.sum+min(n, w.limit) <= w.limit
}

// Wait is how long until n would fit if nothing else were added; 0 if now.
func (w *Window) Wait(now time.Time, n int64) time.Duration {
	if w.Fits(now, n) {
		return 0
	}
	excess := w.sum + min(n, w.limit) - w.limit
	for i := 0; i < w.count; i++ {
		e := w.at(i)
		if excess -= e.amount; excess <= 0 {
			return max(e.last.Add(w.span).Sub(now), time.Nanosecond)
		}
	}
	return w.span
}

// Reserve counts n (at most the limit) from now on, whether it fits or not.
func (w *Window) Reserve(now time.Time, n int64) Reservation {
	w.expire(now)
	if w.limit > 0 {
		n = min(n, w.limit)
	}
	return Reservation{seq: w.add(now, n), amount: n, held: true}
}

// Settle replaces what r reserved by what was really used. Amounts of a
// reservation that already left the window are counted from now, as far as
// they exceed it. Settling twice or settling nothing changes nothing.
func (w *Window) Settle(now time.Time, r *Reservation, used int64) {
	if !r.held {
		return
	}
	r.held = false
	delta := used - r.amount
	w.expire(now)
	switch {
	case delta == 0:
	case r.seq >= w.first && r.seq < w.first+uint64(w.count):
		w.at(int(r.seq - w.first)).amount += delta
		w.sum += delta
	case delta > 0:
		w.add(now, delta)
	}
}

// Shrink lowers what r reserved to n, in its place in time, and leaves it to be
// settled. More than is reserved, or what has left the window, changes nothing.
func (w *Window) Shrink(now time.Time, r *Reservation, n int64) {
	if w.expire(now); !r.held || n >= r.amount || r.seq < w.first {
		return
	}
	w.Settle(now, r, n)
	r.held, r.amount = true, n
}

// Used is the amount in the span that ends now.
func (w *Window) Used(now time.Time) int64 {
	w.expire(now)
	return w.sum
}

// Empty is how long until everything counted has left the window.
func (w *Window) Empty(now time.Time) time.Duration {
	w.expire(now)
	if w.count == 0 {
		return 0
	}
	return max(w.at(w.count-1).last.Add(w.span).Sub(now), 0)
}

func (w *Window) at(i int) *entry { return &w.entries[(w.head+i)%len(w.entries)] }

func (w *Window) expire(now time.Time) {
	for w.count > 0 && now.Sub(w.entries[w.head].last) >= w.span {
		w.sum -= w.entries[w.head].amount
		w.head = (w.head + 1) % len(w.entries)
		w.count--
		w.first++
	}
}

func (w *Window) add(now time.Time, n int64) uint64 {
	w.sum += n
	if w.count > 0 {
		e := w.at(w.count - 1)
		if now.Before(e.last) { // time ran backwards: as if no time passed
			now = e.last
		}
		if now.Sub(e.opened) < w.span/grain {
			e.last, e.amount = now, e.amount+n
			return w.first + uint64(w.count) - 1
		}
	}
	if w.count == len(w.entries) {
		w.grow()
	}
	w.count++
	*w.at(w.count - 1) = entry{opened: now, last: now, amount: n}
	return w.first + uint64(w.count) - 1
}

func (w *Window) grow() {
	bigger := make([]entry, max(8, 2*len(w.entries)))
	for i := 0; i < w.count; i++ {
		bigger[i] = *w.at(i)
	}
	w.entries, w.head = bigger, 0
}
