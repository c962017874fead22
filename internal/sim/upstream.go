package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// Upstream is a model server: a number of slots, and times made of tokens.
//
//	prefill = (First + PerInput·in)·noise
//	decode  = PerOutput·out·noise, slower by 1+Slowdown with every slot busy
//
// With Mean set, every call takes Mean on average whatever its tokens, and
// the first token comes after a fifth of it.
type Upstream struct {
	Slots     int           // calls that run at once; more wait inside, first come first served
	Queue     int           // calls that may wait inside; more are answered 429. 0 means no bound
	First     time.Duration // fixed part of the time to the first token
	PerInput  time.Duration // a token of input
	PerOutput time.Duration // a token of output
	Mean      time.Duration
	Noise     float64 // sigma of the log-normal factor of mean 1
	Slowdown  float64
	Limit     Limit
}

// work is the true work of a call: seconds with a slot to itself.
type work struct{ first, total float64 }

// draw fixes the work of a request that only this upstream serves.
func (u *Upstream) draw(rng *rand.Rand, a *Arrival) work { return u.work(rng.NormFloat64(), a) }

// work is that of a request whose luck is normal, a standard normal variate.
// It is drawn once for each request, so that every policy meets the same, and
// whichever upstream serves it. Where the luck of the request is known, that
// counts.
func (u *Upstream) work(normal float64, a *Arrival) work {
	if a.Luck.Total > 0 {
		total := u.mean(a) * a.Luck.Total
		switch {
		case a.Luck.First > 0:
			return work{total * a.Luck.First, total}
		case u.Mean > 0:
			return work{total / 5, total}
		}
		return work{(u.First.Seconds() + u.PerInput.Seconds()*float64(a.Input)) * a.Luck.Total, total}
	}
	noise := math.Exp(u.Noise*normal - u.Noise*u.Noise/2)
	if u.Mean > 0 {
		t := u.Mean.Seconds() * noise
		return work{t / 5, t}
	}
	first := (u.First.Seconds() + u.PerInput.Seconds()*float64(a.Input)) * noise
	return work{first, first + u.PerOutput.Seconds()*float64(a.Output)*noise}
}

// mean is the expected work of a request, in seconds.
func (u *Upstream) mean(a *Arrival) float64 {
	if u.Mean > 0 {
		return u.Mean.Seconds()
	}
	return u.First.Seconds() + u.PerInput.Seconds()*float64(a.Input) + u.PerOutput.Seconds()*float64(a.Output)
}
