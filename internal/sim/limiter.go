package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// limiter enforces an upstream's own Limit.
type limiter struct {
	requests, tokens *meter.Window // nil: none
}

func newLimiter(l Limit) limiter {
	per := l.Per
	if per == 0 {
		per = time.Minute
	}
	var m limiter
	if l.Requests > 0 {
		m.requests = meter.NewWindow(int64(l.Requests), per)
	}
	if l.Tokens > 0 {
		m.tokens = meter.NewWindow(l.Tokens, per)
	}
	return m
}

// take counts a call, or says how long it would have to wait.
func (m *limiter) take(now time.Time, tokens int64) time.Duration {
	var wait time.Duration
	if m.requests != nil {
		wait = m.requests.Wait(now, 1)
	}
	if m.tokens != nil {
		wait = max(wait, m.tokens.Wait(now, tokens))
	}
	if wait > 0 {
		return wait
	}
	if m.requests != nil {
		m.requests.Reserve(now, 1)
	}
	if m.tokens != nil {
		m.tokens.Reserve(now, tokens)
	}
	return 0
}
