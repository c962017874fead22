package breaker

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

const (
	usualMemory = 1000 // samples that the usual latency remembers
	usualTimes  = 3    // a default threshold is also this many times the usual
	clip        = 4    // a sample counts for the usual as this many times it at most
	leastSlow   = 3    // slow calls without which a quantile is chance
	scaleEvery  = time.Minute
)

// defaultFirst are the thresholds of the first token where nobody set any.
var defaultFirst = Latency{Warn: 2 * time.Second, Open: 3 * time.Second, ScaleUp: 10 * time.Second}

// latency watches one kind of latency. The zero value has seen nothing.
type latency struct {
	recent meter.Hist // seconds
	usual  meter.Mean // seconds
	warned bool
}

// limits are the thresholds that hold: the configured ones, or the default
// with what is usual.
func (l *latency) limits(p, def Latency) Latency {
	usual := time.Duration(usualTimes * l.usual.Shrunk(0, 1e-9) * float64(time.Second))
	pick := func(set, def time.Duration) time.Duration {
		switch {
		case set != 0:
			return set
		case def == 0:
			return -1
		}
		return max(def, usual)
	}
	return Latency{pick(p.Warn, def.Warn), pick(p.Open, def.Open), pick(p.ScaleUp, def.ScaleUp)}
}

// take counts one sample and says whether it is slow by itself, whether the
// quantile asks to open, and whether more capacity is needed.
func (l *latency) take(d time.Duration, p, def Latency, least int) (slow, open, more bool) {
	at := l.limits(p, def)
	s := max(d.Seconds(), 0)
	l.recent.Add(s)
	usual := l.usual.Shrunk(s, 1e-9)
	l.usual.Add(min(s, clip*usual), usualMemory)
	n := float64(l.recent.Count())
	above := func(t time.Duration) float64 { return 1 - l.recent.Below(t.Seconds()) }
	l.warned = at.Warn > 0 && int(n) >= least && above(at.Warn) > 0.05 && above(at.Warn)*n >= leastSlow
	slow = at.Open > 0 && d > at.Open
	open = slow && int(n) >= least && above(at.Open) > 0.01 && above(at.Open)*n >= leastSlow
	return slow, open, at.ScaleUp > 0 && d > at.ScaleUp
}

func (l *latency) forget() { l.recent, l.warned = meter.Hist{}, false }

// Latencies are the times of one good call, freed of what its size explains
// and of delays that were our own. Zero means not measured.
type Latencies struct {
	First, PerToken, Total time.Duration
}

// Good is the result of a call that ended well, with its times; usable is the
// calls at once that the upstream has now. What comes back too late while the
// upstream recovers from being slow has failed. It says that more capacity is
// needed, at most once a minute.
func (b *Breaker) Good(now time.Time, usable int, t Latencies) (more bool) {
	b.advance(now)
	epoch := b.epoch
	slow, more := b.latency(now, t)
	switch {
	case b.epoch != epoch:
	case slow && b.state != Closed && b.why >= SlowFirst:
		b.Failure(now, false, 0)
	default:
		b.Success(now, usable)
	}
	return more
}

// Alive is a sign of life before the result: while an upstream recovers, and
// not from being slow, it is as good as one. counted says that it was taken for it.
func (b *Breaker) Alive(now time.Time, usable int) (counted bool) {
	if b.advance(now); b.state == Closed || b.state == Open || b.why >= SlowFirst {
		return false
	}
	b.Success(now, usable)
	return true
}

// latency takes the times of a good call.
func (b *Breaker) latency(now time.Time, t Latencies) (slow, more bool) {
	look := func(l *latency, d time.Duration, p, def Latency, why Why) {
		if d <= 0 || p == (Latency{}) && def == (Latency{}) {
			return
		}
		s, open, m := l.take(d, p, def, b.policy.MinCount)
		slow, more = slow || s, more || m
		if open && b.state == Closed {
			b.open(now, why, 0)
		}
	}
	look(&b.first, t.First, b.policy.First, defaultFirst, SlowFirst)
	look(&b.token, t.PerToken, b.policy.PerToken, Latency{}, SlowToken)
	look(&b.total, t.Total, b.policy.Total, Latency{}, SlowTotal)
	if more = more && (b.scaled.IsZero() || now.Sub(b.scaled) >= scaleEvery); more {
		b.scaled = now
	}
	return slow, more
}

// Warned says that latency is near the point where the breaker opens.
func (b *Breaker) Warned() bool { return b.first.warned || b.token.warned || b.total.warned }
