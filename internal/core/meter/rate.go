package meter

import (
	"math"
	"time"
)

// Rate is an exponentially decaying rate: amount a second, as an average that
// forgets with time constant RateTau. While young it averages over its life,
// at least a second. The zero value is ready and reads zero.
type Rate struct {
	level    float64 // amount, decayed to at
	at, born time.Time
}

// RateTau is the time constant of every Rate.
const RateTau = 30 * time.Second

// Add counts an amount at now.
func (r *Rate) Add(now time.Time, amount float64) {
	r.level = r.decayed(now) + amount
	if r.born.IsZero() {
		r.born, r.at = now, now
	}
	if now.After(r.at) {
		r.at = now
	}
}

// PerSecond is the rate at now.
func (r *Rate) PerSecond(now time.Time) float64 {
	if r.level == 0 {
		return 0
	}
	if now.Before(r.at) {
		now = r.at
	}
	span := RateTau.Seconds()
	if age := max(now.Sub(r.born).Seconds(), 1); age < 4*span {
		span *= 1 - math.Exp(-age/span)
	}
	return r.decayed(now) / span
}

func (r *Rate) decayed(now time.Time) float64 {
	d := now.Sub(r.at)
	if r.level == 0 || d <= 0 {
		return r.level
	}
	return r.level * math.Exp(-d.Seconds()/RateTau.Seconds())
}

// Mean is a mean over about the last Memory samples: a plain mean at first,
// then an exponentially forgetting one. The zero value is ready.
type Mean struct {
	n, mean float64
}

// Add takes a sample; memory is how many samples it remembers, at least 1.
func (m *Mean) Add(x, memory float64) {
	m.n = min(m.n+1, memory)
	m.mean += (x - m.mean) / m.n
}

// Shrunk is the mean drawn towards prior, which weighs as much as weight samples.
func (m *Mean) Shrunk(prior, weight float64) float64 {
	return (m.n*m.mean + weight*prior) / (m.n + weight)
}
