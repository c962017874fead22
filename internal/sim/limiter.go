package sim

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/core/meter"
)

// limiter enforces an upstream's own Limit for one key.
type limiter struct {
	requests, tokens, daily quota // nil: none
}

// quota is a limit on one quantity.
type quota interface {
	wait(now time.Time, n int64) time.Duration // until n fit; 0 is now
	take(now time.Time, n int64)
	told(now time.Time) admit.Told
	set(now time.Time, limit int64)
}

func newLimiter(l Limit) limiter {
	return limiter{
		requests: newQuota(l, int64(l.Requests)), tokens: newQuota(l, l.Tokens),
		daily: newQuota(Limit{Kind: Fixed, Per: 24 * time.Hour}, l.Daily),
	}
}

func newQuota(l Limit, limit int64) quota {
	switch {
	case limit == 0:
		return nil
	case l.Kind == Bucket:
		b := &bucket{per: l.per(), burst: l.Burst}
		if b.burst == 0 {
			b.burst = b.per
		}
		b.set(epoch, limit)
		b.level = b.size
		return b
	case l.Kind == Fixed:
		return &fixed{limit: limit, per: l.per()}
	default:
		return rolling{meter.NewWindow(limit, l.per())}
	}
}

// changed is the limiter under another limit, with what was counted as far as
// it is counted in the same way.
func (m limiter) changed(now time.Time, from, to Limit) limiter {
	next := newLimiter(to)
	keep := func(q *quota, old quota, limit int64) {
		if *q != nil && old != nil {
			old.set(now, limit)
			*q = old
		}
	}
	if from.Kind == to.Kind && from.per() == to.per() && from.Burst == to.Burst {
		keep(&next.requests, m.requests, int64(to.Requests))
		keep(&next.tokens, m.tokens, to.Tokens)
	}
	keep(&next.daily, m.daily, to.Daily)
	return next
}

// take counts a call, or says how long it would have to wait, and for what.
func (m *limiter) take(now time.Time, tokens int64) (wait time.Duration, scarce admit.Scarce) {
	for _, x := range [...]struct {
		quota  quota
		n      int64
		scarce admit.Scarce
	}{{m.requests, 1, admit.ScarceRequests}, {m.tokens, tokens, admit.ScarceTokens}, {m.daily, tokens, admit.ScarceDay}} {
		if x.quota == nil {
			continue
		}
		if w := x.quota.wait(now, x.n); w > wait {
			wait, scarce = w, x.scarce
		}
	}
	if wait > 0 {
		return wait, scarce
	}
	if m.requests != nil {
		m.requests.take(now, 1)
	}
	if m.tokens != nil {
		m.tokens.take(now, tokens)
	}
	if m.daily != nil {
		m.daily.take(now, tokens)
	}
	return 0, 0
}

// refused counts a call that did not fit.
func (m *limiter) refused(now time.Time) {
	if m.requests != nil {
		m.requests.take(now, 1)
	}
}

// rolling counts in any span of fixed length.
type rolling struct{ *meter.Window }

func (w rolling) wait(now time.Time, n int64) time.Duration { return w.Wait(now, n) }
func (w rolling) take(now time.Time, n int64)               { w.Reserve(now, n) }
func (w rolling) set(_ time.Time, limit int64)              { w.SetLimit(limit) }

func (w rolling) told(now time.Time) admit.Told {
	return admit.Told{Limit: w.Limit(), Remaining: max(w.Limit()-w.Used(now), 0), Reset: w.Empty(now)}
}

// bucket is filled all the time and holds what comes in a burst's time.
type bucket struct {
	per, burst time.Duration
	rate       float64 // a nanosecond
	size       float64
	level      float64
	at         time.Time
}

func (b *bucket) fill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.level, b.at = min(b.level+b.rate*float64(d), b.size), now
	}
}

// fits is what n counts for: an amount above the size is taken as the size.
func (b *bucket) fits(n int64) float64 { return min(float64(n), b.size) }

func (b *bucket) wait(now time.Time, n int64) time.Duration {
	b.fill(now)
	const rounding = 1e-6
	if lack := b.fits(n) - b.level; lack > rounding {
		return time.Duration(math.Ceil(lack / b.rate))
	}
	return 0
}

func (b *bucket) take(now time.Time, n int64) {
	b.fill(now)
	b.level = max(b.level-b.fits(n), -b.size)
}

func (b *bucket) set(now time.Time, limit int64) {
	b.fill(now)
	b.rate = float64(limit) / float64(b.per)
	b.size = max(b.rate*float64(b.burst), 1)
	b.level = min(b.level, b.size)
}

func (b *bucket) told(now time.Time) admit.Told {
	b.fill(now)
	return admit.Told{Limit: int64(b.size), Remaining: int64(max(b.level, 0)), Reset: time.Duration((b.size - b.level) / b.rate)}
}

// fixed counts in spans of the calendar.
type fixed struct {
	limit int64
	per   time.Duration
	begun time.Time // of the span that used is of
	used  int64
}

// turn begins a new span when its time has come. Spans are counted from a midnight.
func (f *fixed) turn(now time.Time) {
	if begun := epoch.Add(now.Sub(epoch).Truncate(f.per)); begun.After(f.begun) {
		f.begun, f.used = begun, 0
	}
}

func (f *fixed) wait(now time.Time, n int64) time.Duration {
	f.turn(now)
	if f.used+min(n, f.limit) <= f.limit {
		return 0
	}
	return f.begun.Add(f.per).Sub(now)
}

func (f *fixed) take(now time.Time, n int64) {
	f.turn(now)
	f.used += min(n, f.limit)
}

func (f *fixed) set(_ time.Time, limit int64) { f.limit = limit }

func (f *fixed) told(now time.Time) admit.Told {
	f.turn(now)
	return admit.Told{Limit: f.limit, Remaining: max(f.limit-f.used, 0), Reset: f.begun.Add(f.per).Sub(now)}
}
