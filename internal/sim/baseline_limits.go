package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/core/meter"
)

// limits is the common gateway: each tenant's requests a minute as configured,
// counted by the minute of the clock, and behind that a line of bounded depth.
// Its 429 says when the minute ends; a full line says nothing.
type limits struct {
	pool    *slotPool
	windows []minute // by customer
	no      refusal  // reused
}

// minute counts one customer's requests.
type minute struct {
	most  int64 // 0 means no limit
	begun int64 // minutes since 1970
	used  int64
}

func newLimits(p *slotPool) rules {
	return rules{line: new(ticketList), enter: limitsOf(p).enter}
}

func limitsOf(p *slotPool) *limits {
	l := &limits{pool: p, windows: make([]minute, len(p.customers))}
	for i := range p.customers {
		of := p.customers[i].tenant.Limits
		own, ok := of[p.model.Name]
		if !ok {
			own = of[""]
		}
		l.windows[i].most = own.Requests
	}
	return l
}

func (l *limits) enter(now time.Time, t *ticket) *refusal {
	w := &l.windows[t.customer.index]
	if w.most > 0 {
		if m := now.Unix() / 60; m != w.begun {
			w.begun, w.used = m, 0
		}
		if w.used >= w.most {
			l.no = refusal{stage: admit.StageRequests, retry: time.Unix((w.begun+1)*60, 0).Sub(now)}
			return &l.no
		}
		w.used++
	}
	return l.pool.boundDepth(now, t)
}

const (
	breakerVolume = 20              // calls in ten seconds before their errors mean anything
	breakerPause  = 5 * time.Second // how long it stays open before a trial
)

// breaker is limits with a circuit breaker: when half of at least 20 calls of
// the last ten seconds failed, it refuses everything for five seconds, then
// sends one call on trial, which closes it or opens it again. Only an upstream
// that breaks or does not answer fails a call; callers who leave do not.
type breaker struct {
	limits       *limits
	calls, fails meter.Recent
	open         bool
	until        time.Time // while open: no trial before
	trial        *ticket   // while open: the call on trial
}

func newBreaker(p *slotPool) rules {
	b := &breaker{limits: limitsOf(p)}
	return rules{line: new(ticketList), enter: b.enter, drop: b.drop, started: b.started, ended: b.ended}
}

func (b *breaker) enter(now time.Time, t *ticket) *refusal {
	if no := b.drop(now, t); no != nil {
		return no
	}
	return b.limits.enter(now, t)
}

func (b *breaker) drop(now time.Time, _ *ticket) *refusal {
	if b.open && (b.trial != nil || now.Before(b.until)) {
		return noSlots
	}
	return nil
}

func (b *breaker) started(_ time.Time, t *ticket) {
	if b.open {
		b.trial = t
	}
}

func (b *breaker) ended(now time.Time, t *ticket, o *admit.Outcome) {
	trial := t == b.trial
	if trial {
		b.trial = nil
	}
	if t.deployment == nil || o == nil || o.CallerGone || b.open && !trial {
		return
	}
	failed := o.Status == 0 || o.Status >= 500
	if !failed && trial {
		*b = breaker{limits: b.limits}
		return
	}
	b.calls.Add(now, 1)
	if failed {
		b.fails.Add(now, 1)
	}
	if calls := b.calls.Sum(now); trial || calls >= breakerVolume && 2*b.fails.Sum(now) >= calls {
		b.open, b.until = true, now.Add(breakerPause)
	}
}
