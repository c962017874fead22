// Package breaker keeps what one upstream can be trusted with now: a share of
// its capacity by errors and latency, with cooldown and stepped recovery; a
// pace by what its 429s and limit headers say; and, where nobody told, how many
// calls it should have at once.
//
// Every type takes the time as an argument, belongs to one goroutine, and
// treats a time that runs backwards as no time passed.
package breaker

import "time"

// Policy is when a breaker takes capacity away, and how it gives it back. Zero
// means the default.
type Policy struct {
	// Errors is the share of failures in the window, in per cent, above which
	// the breaker lets less through. Default 10. Smaller reacts to fewer failures.
	Errors int
	// Open is the share of failures in the window, in per cent, at which the
	// breaker opens. Default 50.
	Open int
	// Window is how long results count. It should not be shorter than most
	// calls take. Default 60 s.
	Window time.Duration
	// MinCount is how many results the window must hold before its share means
	// anything. Default 20.
	MinCount int
	// Consecutive failures open the breaker at once, as soon as they are more
	// than the share of failures in the window explains. Default 4; negative
	// means never.
	Consecutive int
	// Cooldown is the least time the breaker stays open; it is twice the last
	// outage, if that is longer, and at most CooldownMax. Default 30 s and 300 s.
	Cooldown, CooldownMax time.Duration
	// Alone is the pause before each probe where no other deployment of the
	// model is left, so that there is nothing better to do with a request.
	// Default 2 s.
	Alone time.Duration
	// Step is the least time at each of the ten steps of recovery. Default 2 s.
	// Smaller returns sooner to an upstream that may fail again.
	Step time.Duration
	// First is the latency of the first token, or of the answer where there is
	// no stream, without what its tokens explain.
	First Latency
	// PerToken is the time of one token of output. Without figures it is not looked at.
	PerToken Latency
	// Total is the time of a whole call, as it comes. Without figures it is not looked at.
	Total Latency
}

// Latency are the thresholds of one kind of latency. Zero means the default,
// negative that there is none. Only First has defaults: 2, 3 and 10 s; a
// default never opens a breaker unless the latency is also three times what
// is usual for the upstream, as some models think before they speak.
type Latency struct {
	Warn    time.Duration // the 95 % quantile above it is worth a warning
	Open    time.Duration // the 99 % quantile above it opens the breaker
	ScaleUp time.Duration // any latency above it says that more capacity is needed
}

// Defaults fills every zero field.
func (p *Policy) Defaults() {
	or(&p.Errors, 10)
	or(&p.Open, 50)
	or(&p.Window, 60*time.Second)
	or(&p.MinCount, 20)
	or(&p.Consecutive, 4)
	or(&p.Cooldown, 30*time.Second)
	or(&p.CooldownMax, 300*time.Second)
	or(&p.Alone, 2*time.Second)
	or(&p.Step, 2*time.Second)
}

func or[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
