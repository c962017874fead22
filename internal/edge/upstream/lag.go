package upstream

import (
	"math"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	lagEvery = 100 * time.Millisecond // readings are at least this far apart
	lagSpan  = time.Second            // and count for about this long

	// lagLimit is a wait for a processor that no unburdened process has: two
	// turns of ten milliseconds that others take. The process is saturated when
	// more than one wake-up in a hundred waits longer, and more than a couple.
	lagLimit = 20 * time.Millisecond
	lagFew   = 3

	// wakeUps are the times that a goroutine must be woken between the call and
	// its first byte: the one that writes the request, the one that reads the
	// connection, the caller by that one, and the caller once more for the first
	// event behind the headers. HTTP/2 has as many.
	wakeUps = 4
)

// Lag tells how long goroutines of this process wait for a processor, so that
// times taken here are not all put down to an upstream. The zero value is ready
// and has nothing to tell before its second reading. It is safe for concurrent
// use.
//
// The runtime counts every eighth wake-up, so the figures of a second in which
// little happened are rough; they then matter little.
type Lag struct {
	next atomic.Int64 // when to read again, in nanoseconds of Unix time
	p90  atomic.Int64 // nanoseconds
	full atomic.Bool

	beats beats

	mu       sync.Mutex
	sample   [1]metrics.Sample
	readings [lagSpan/lagEvery + 1]lagReading // a ring
	last     int                              // index of the latest one
}

// lagReading is the distribution of all waits since the process began.
type lagReading struct {
	at     time.Time // zero: none
	counts []uint64
}

// Delay is how much of the time to a first byte that ends now may be this
// process's own: each wake-up on the way may have waited as long as the 90 %
// quantile of all does. It is negative while the process is saturated: times
// taken now say nothing of the upstream. Most calls cost one comparison.
func (l *Lag) Delay(now time.Time) time.Duration {
	l.update(now)
	if l.full.Load() {
		return -1
	}
	return wakeUps * time.Duration(l.p90.Load())
}

// P90 is the 90 % quantile of the waits of about the last second.
func (l *Lag) P90(now time.Time) time.Duration {
	l.update(now)
	return time.Duration(l.p90.Load())
}

// Saturated reports whether this process gets fewer processors than it needs.
func (l *Lag) Saturated(now time.Time) bool {
	l.update(now)
	return l.full.Load()
}

func (l *Lag) update(now time.Time) {
	at := now.UnixNano()
	if l.fresh(at) || !l.mu.TryLock() {
		return // or another goroutine reads it just now
	}
	defer l.mu.Unlock()
	if l.fresh(at) {
		return
	}
	l.next.Store(at + int64(lagEvery))
	l.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(l.sample[:])
	if l.sample[0].Value.Kind() != metrics.KindFloat64Histogram { // a runtime without it
		return
	}
	h := l.sample[0].Value.Float64Histogram()
	l.add(now, h.Counts, h.Buckets)
}

// fresh reports whether the latest reading will do. A clock that was set back
// makes it old.
func (l *Lag) fresh(at int64) bool {
	left := l.next.Load() - at
	return left > 0 && left <= int64(lagEvery)
}

// add takes a reading and draws the figures of the time since an older one.
func (l *Lag) add(now time.Time, counts []uint64, bounds []float64) {
	if base := l.base(now); base != nil {
		d := waits{counts: counts, before: base.counts, bounds: bounds}
		total := d.count(0)
		late := d.count(lagLimit)
		l.p90.Store(int64(d.quantile(0.9, total)))
		l.full.Store(late >= lagFew && late*100 > total)
	}
	l.last = (l.last + 1) % len(l.readings)
	r := &l.readings[l.last]
	r.at, r.counts = now, append(r.counts[:0], counts...)
}

// base is the oldest reading of the last second, or the latest one if there has
// been none for longer; nil before the first.
func (l *Lag) base(now time.Time) *lagReading {
	for i := range l.readings {
		r := &l.readings[(l.last+1+i)%len(l.readings)]
		if !r.at.IsZero() && now.Sub(r.at) <= lagSpan+lagEvery {
			return r
		}
	}
	if r := &l.readings[l.last]; !r.at.IsZero() {
		return r
	}
	return nil
}

// waits is the difference between two readings of a histogram whose bucket i
// lies between bounds i and i+1, in seconds.
type waits struct {
	counts, before []uint64
	bounds         []float64
}

func (w *waits) in(i int) uint64 {
	if i >= len(w.before) {
		return w.counts[i]
	}
	return w.counts[i] - min(w.counts[i], w.before[i])
}

// count is how many waits lie wholly at or above a duration.
func (w *waits) count(from time.Duration) (n uint64) {
	for i := range w.counts {
		if from == 0 || w.bounds[i] >= from.Seconds() {
			n += w.in(i)
		}
	}
	return n
}

// quantile is the upper end of the bucket in which the quantile lies, its lower
// end if there is no upper one, and 0 for no waits.
func (w *waits) quantile(q float64, total uint64) time.Duration {
	rank := uint64(math.Ceil(q * float64(total)))
	for i := range w.counts {
		n := w.in(i)
		if n < rank || n == 0 {
			rank -= n
			continue
		}
		bound := w.bounds[i+1]
		if math.IsInf(bound, 1) {
			bound = w.bounds[i]
		}
		return time.Duration(math.Max(bound, 0) * float64(time.Second))
	}
	return 0
}
