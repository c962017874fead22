package admit

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// level is how far down the ladder one class of a model has gone. It goes down
// by the predicted wait of what comes. It goes up again only when the wait is
// small and what is asked for, undegraded, would fit: otherwise the relief that
// the ladder gives would be taken for its end, and levels would flap.
type level struct {
	at       uint8
	since    time.Time // of the last change
	seen     time.Time // of the last pressure
	pressure float64   // smoothed: the predicted wait over what it may be at most
	asked    meter.Rate
	held     [NumLevels]time.Duration // time spent at each level
	counted  time.Time                // until when held is
}

const (
	levelTau   = 5 * time.Second // the pressure is smoothed over
	levelClimb = time.Second     // between two steps down the ladder
	pressure   = 2.0             // no more is believed at once
	fits       = 0.95            // of the slots may be asked for when a level is left
)

// eager is what each class's thresholds are of those of interactive requests,
// in per cent: lower classes step down earlier.
var eager = [NumClasses]int{Interactive: 100, Standard: 80, Batch: 60, Speculative: 40}

// press takes the pressure x at now; load is what the class and those before
// it ask for, over all slots. It says whether the level has changed.
func (l *level) press(now time.Time, x, load float64, class Class, p *LadderPolicy) bool {
	x = min(x, pressure)
	if dt := now.Sub(l.seen); l.seen.IsZero() {
		l.pressure, l.since = x, now
	} else if dt > 0 {
		l.pressure = x + (l.pressure-x)*math.Exp(-dt.Seconds()/levelTau.Seconds())
	}
	l.seen = now
	l.count(now)
	up := func(i int) float64 { return float64(p.Up[i]*eager[class]) / 1e4 }
	switch {
	case l.at < NumLevels-1 && l.pressure >= up(int(l.at)) && now.Sub(l.since) >= levelClimb:
		l.at++
	case l.at > 0 && l.pressure < up(int(l.at)-1)*float64(p.Down)/100 && load < fits && now.Sub(l.since) >= p.Stay:
		l.at--
	default:
		return false
	}
	l.since = now
	return true
}

// count books the time at the present level.
func (l *level) count(now time.Time) {
	if !l.counted.IsZero() && now.After(l.counted) {
		l.held[l.at] += now.Sub(l.counted)
	}
	l.counted = now
}

// press tells the levels of the model that a request asked for how hard it is
// to serve it there, whatever has become of it.
func (c *Controller) press(now time.Time, r *Request, p *plan) {
	home, t := p.home, p.tenant
	if home == nil || t == nil || p.deadline.IsZero() || len(home.rungs) == 0 || c.policy.Observe {
		return
	}
	m := c.memberOf(now, home, t)
	l := &home.levels[r.Class]
	if r.Attempt == 0 {
		l.asked.Add(now, home.service.Estimate(&m.known, r.Input, r.MaxOutput).Raw.Seconds())
	}
	x := 0.0
	if home.current(now); home.slots == 0 {
		x = pressure
	} else if home.waiting() > 0 || !home.room(now) {
		high := home.policy.Queue.High
		if high == 0 {
			high = c.patience(now, r.Class, p)
		}
		x = float64(home.wait(now, m.laneOf(r.Class))) / float64(max(high, time.Millisecond))
	}
	load := 0.0
	for class := range r.Class + 1 {
		load += home.levels[class].asked.PerSecond(now)
	}
	load *= home.service.Factor() / home.size()
	was := l.at
	if l.press(now, x, load, r.Class, &home.policy.Ladder) {
		c.changed(Change{At: now, Level: &Stepping{Model: home.policy.Name, Class: r.Class, From: was, To: l.at, Pressure: l.pressure, Load: load}})
	}
	moved := p.stage == StageLadder || p.pool != home && !p.stayed
	if l.at > 0 || home.slots == 0 || moved || p.verdict == Reject {
		home.pressed = now
	}
}

// Stepping is a change of level of one class of a model.
type Stepping struct {
	Model    string
	Class    Class
	From, To uint8
	Pressure float64 // the predicted wait over what it may be at most, smoothed
	Load     float64 // what is asked for, over all slots
}
