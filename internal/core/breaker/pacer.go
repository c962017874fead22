package breaker

import (
	"math"
	"time"
)

const (
	perMinute  = 60.0
	burstShare = 200    // half a hundredth of a minute's limit may go at once
	safety     = 0.99   // of a limit that is known; with the burst it is all of it
	caution    = 0.95   // of what the provider says is left, over the time until it is back
	keepLeft   = 50     // below a fiftieth of the limit, only what is left counts
	moves      = 0.1    // of its span: a window whose end moves so far is none that is fixed
	plenty     = 10     // a tenth of the limit
	justBelow  = 0.985  // of the rate that met a 429 is the last good one
	decrease   = 0.93   // after a 429
	curve      = 0.0015 // of the recovery: a share of the good rate by the cube of a second
	beyond     = 0.01   // the same above the good rate
	probe      = 0.005  // and by the second, beside
	holdSends  = 60.0   // amounts sent between two 429s at the same rate
	holdMost   = 4.0    // and seconds at most
	tolerated  = 0.02   // share of refusals that is none of the rate's making
	fewest     = 40     // times what was refused must have passed, for a share to mean anything
	epoch      = time.Second
	idleRate   = 1.0 // amount a minute below which nothing is ever paced
)

// Pacer paces one quantity, requests or tokens, to what a provider allows. It
// is a token bucket whose rate is the least of
//
//   - the configured limit;
//   - what the provider's headers leave: what remains over the time until all
//     of it is back, but no less than the limit they tell over its span while
//     enough remains (a bucket that refills, a window that rolls and one that is
//     fixed tell Reset differently; all three are used up by this, and not more);
//   - what its 429s have taught where it says nothing: one decrease an epoch,
//     then a cubic recovery towards the rate at which it was met, flat there,
//     and faster beyond (the growth function of TCP CUBIC, Ha et al., 2008).
//
// The zero value paces nothing.
type Pacer struct {
	limit float64 // configured, a second; 0 unknown

	level float64 // of the bucket; below zero after an amount larger than it
	at    time.Time

	told   Told      // by the provider's headers
	toldBy time.Time // when all of it is back
	span   float64   // seconds that the limit is for: the longest Reset that was told
	sent   float64   // since then
	edge   time.Time // toldBy when this window, if it is one, was first heard of
	flows  bool      // toldBy moves: what was sent comes back by and by, not all at once

	good      float64   // the rate at which the last 429 came, a second; 0 while nothing was learnt
	cut       float64   // the rate right after it
	cutAt     time.Time // since when it grows again
	decreased time.Time
	hold      float64    // seconds that it stays at the good rate before it asks for more
	flow      [4]float64 // what was let through in each of the last seconds
	lost      [4]float64 // and what was not
	flowAt    time.Time
	born      time.Time
}

// Configure sets the limit a minute, 0 if none is known, and keeps what was learnt.
func (p *Pacer) Configure(limit int64) {
	was := p.limit
	p.limit = float64(limit) / perMinute
	if was == 0 {
		p.level = p.burst()
	}
	p.level = min(p.level, p.burst())
}

// Paced says whether anything is known to pace by.
func (p *Pacer) Paced() bool { return p.limit > 0 || p.told.Limit > 0 || p.good > 0 }

// Rate is the amount a second that is allowed now; +Inf if nothing is known.
func (p *Pacer) Rate(now time.Time) float64 {
	rate := math.Inf(1)
	if p.limit > 0 {
		rate = safety * p.limit
	}
	if p.told.Limit > 0 {
		rate = min(rate, p.toldRate(now))
	}
	if p.good > 0 {
		rate = min(rate, p.learnt(now))
	}
	return rate
}

// toldRate is the pace that the headers allow.
func (p *Pacer) toldRate(now time.Time) float64 {
	left, until := p.left(now)
	limit := float64(p.told.Limit)
	if until <= 0 {
		return limit / p.span
	}
	rate := caution * left / until
	if left > limit/keepLeft || p.flows {
		rate = max(rate, safety*limit/p.span)
	}
	return rate
}

// left is what the provider still lets through now, as far as it told, and the
// seconds until all of it is back.
func (p *Pacer) left(now time.Time) (left, until float64) {
	until = p.toldBy.Sub(now).Seconds()
	limit := float64(p.told.Limit)
	if until <= 0 {
		return limit, 0
	}
	return max(float64(max(p.told.Remaining, 0))-p.sent, 0), until
}

// learnt is the pace that 429s have taught.
func (p *Pacer) learnt(now time.Time) float64 {
	t := max(now.Sub(p.cutAt).Seconds(), 0)
	k := math.Cbrt((1 - p.cut/p.good) / curve)
	switch {
	case t < k:
		return p.good * (1 + curve*math.Pow(t-k, 3))
	case t < k+p.hold:
		return p.good
	}
	t -= k + p.hold
	return p.good * (1 + probe*t + beyond*t*t*t)
}

func (p *Pacer) burst() float64 {
	limit := p.limit * perMinute
	if p.told.Limit > 0 && (limit == 0 || float64(p.told.Limit) < limit) {
		limit = float64(p.told.Limit)
	}
	if limit == 0 {
		return max(p.good/4, 1) // a quarter of a second
	}
	return max(limit/burstShare, 1)
}

// filled is the bucket at now, and the rate that fills it.
func (p *Pacer) filled(now time.Time) (level, rate float64) {
	rate = p.Rate(now)
	if d := now.Sub(p.at).Seconds(); d > 0 && !p.at.IsZero() {
		return min(p.level+d*min(rate, 1e12), p.burst()), rate
	}
	return p.level, rate
}

// fill brings the bucket to now.
func (p *Pacer) fill(now time.Time) {
	p.level, _ = p.filled(now)
	p.at = later(p.at, now)
}

// Wait is how long until n may be sent; 0 if now. An amount above the burst
// passes when the bucket is full, and leaves a debt. It is at most a minute, as
// rates change.
func (p *Pacer) Wait(now time.Time, n int64) time.Duration {
	if !p.Paced() {
		return 0
	}
	level, rate := p.filled(now)
	lacks := min(float64(n), p.burst()) - level
	if lacks <= 1e-9 {
		return 0
	}
	if p.told.Limit > 0 && p.toldBy.After(now) {
		if back := p.toldBy.Sub(now); rate*back.Seconds() < lacks {
			return back + time.Millisecond
		}
	}
	if math.IsInf(rate, 1) {
		return 0
	}
	return min(max(time.Duration(lacks/max(rate, 1e-6)*float64(time.Second)), time.Microsecond), time.Minute)
}

// Take books n as sent.
func (p *Pacer) Take(now time.Time, n int64) {
	p.flowing(now)
	p.flow[0] += float64(n)
	p.sent += float64(n)
	if p.Paced() {
		p.fill(now)
		p.level -= float64(n)
	}
}

// Settle corrects what was taken by estimate, once the real amount is known.
func (p *Pacer) Settle(now time.Time, estimated, real int64) {
	d := float64(estimated - real)
	p.sent = max(p.sent-d, 0)
	if p.Paced() {
		p.fill(now)
		p.level = min(p.level+d, p.burst())
	}
}

// flowing moves the seconds of flow on.
func (p *Pacer) flowing(now time.Time) {
	if p.flowAt.IsZero() {
		p.flowAt, p.born = now, now
	}
	for n := 0; now.Sub(p.flowAt) >= time.Second; n++ {
		if n == len(p.flow) {
			p.flowAt = now
			break
		}
		copy(p.flow[1:], p.flow[:])
		copy(p.lost[1:], p.lost[:])
		p.flow[0], p.lost[0] = 0, 0
		p.flowAt = p.flowAt.Add(time.Second)
	}
}

// rateSent is what was sent a second of late.
func (p *Pacer) rateSent(now time.Time) float64 {
	p.flowing(now)
	sum, span := 0.0, now.Sub(p.flowAt).Seconds()
	for i, n := range p.flow {
		if sum += n; i > 0 {
			span++
		}
	}
	return sum / max(min(span, now.Sub(p.born).Seconds()), 1)
}

// Refused is a 429: one decrease an epoch, however many come. n is the amount
// that was refused and is given back; until is the end of the pause that the
// provider asked for, the zero time if it said none. What comes after a pause
// goes on below the rate that led to it.
func (p *Pacer) Refused(now time.Time, n int64, until time.Time) {
	p.sent = max(p.sent-float64(n), 0)
	rate := p.rateSent(now)
	if p.flow[0] >= float64(n) { // it was not let through
		p.flow[0] -= float64(n)
	}
	p.lost[0] += float64(n)
	if until.IsZero() && p.rare() {
		return
	}
	p.fill(now)
	if p.level = min(p.level, 0); !until.IsZero() {
		p.level = min(float64(n), p.burst()) // then it may come back
	}
	if !p.decreased.IsZero() && now.Sub(p.decreased) < epoch {
		p.cutAt = later(p.cutAt, until)
		return
	}
	before := p.good
	if p.good > 0 {
		rate = min(p.learnt(now), max(rate, p.cut/2))
	}
	p.good = max(justBelow*rate, idleRate/perMinute)
	p.hold = 0
	if math.Abs(p.good-before) < before/8 { // met where it was met before: no need to ask soon again
		p.hold = min(holdSends/p.good, holdMost)
	}
	p.cut, p.decreased, p.cutAt = decrease*p.good, now, later(now, until)
}

// rare says that so little is refused of late that going slower is not worth it.
func (p *Pacer) rare() bool {
	flow, lost := 0.0, 0.0
	for i := range p.flow {
		flow, lost = flow+p.flow[i], lost+p.lost[i]
	}
	return lost < tolerated*flow && lost*fewest < flow
}

// Hear takes what the provider's headers said.
func (p *Pacer) Hear(now time.Time, t Told) {
	if t.Limit <= 0 || t.Remaining < 0 {
		return
	}
	if t.Reset <= 0 && t.Remaining < t.Limit {
		t.Reset = time.Duration(float64(t.Limit-t.Remaining) / float64(t.Limit) * perMinute * float64(time.Second))
	}
	if t.Remaining > t.Limit/plenty {
		p.good = 0 // there is no need to guess
	}
	first := p.told.Limit == 0
	by := now.Add(t.Reset)
	switch {
	case t.Limit != p.told.Limit:
		p.span, p.edge = 0, by
	case by.Sub(p.edge).Seconds() > moves*p.span && now.Before(p.edge):
		p.edge, p.flows = by, true
	case !now.Before(p.edge):
		p.edge, p.flows = by, p.flows && t.Remaining == t.Limit
	}
	p.span = max(p.span, t.Reset.Seconds(), 1e-3)
	p.told, p.toldBy, p.sent = t, by, 0
	if first {
		p.level, p.at = min(p.burst(), float64(t.Remaining)), now
	}
	p.fill(now)
}
