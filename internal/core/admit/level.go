package admit

import (
	"math"
	"time"
)

// level is how far down the ladder one class of a model has gone. It goes down
// by the predicted wait of what comes. It goes up again only when for a while
// the wait was small and what is asked for would have fit one level higher:
// otherwise the relief that the ladder gives would be taken for its end, and
// levels would flap. Callers who ask again when they are answered ask more of a
// faster model than they will of their own: so after a long quiet time it goes
// up on trial, and back at once if the pressure comes back, each time after
// twice as long.
type level struct {
	at       uint8
	since    time.Time                // of the last change
	seen     time.Time                // of the last pressure
	quiet    time.Time                // since when the pressure is small; zero if it is not
	calm     time.Time                // since when what is asked for would fit besides; zero if it would not
	trying   bool                     // the last change was a trial
	trial    time.Duration            // how long it must be quiet before the next; 0 is the shortest
	pressed  time.Time                // when another model was last needed
	pressure float64                  // smoothed: the predicted wait over what it may be at most
	asked    ask                      // as degraded as the level is
	above    ask                      // and as the level above would have it; nothing at level 0
	held     [NumLevels]time.Duration // time spent at each level
	counted  time.Time                // until when held is
}

const (
	levelTau    = 5 * time.Second // the pressure is smoothed over
	levelClimb  = time.Second     // between two steps down the ladder
	pressure    = 2.0             // no more is believed at once
	fits        = 0.95            // of the slots may be asked for when a level is left
	levelTrial  = 8               // times Stay it must be quiet before a level is left on trial
	levelTrials = time.Hour       // at most, after trials that failed
)

// eager is what each class's thresholds are of those of interactive requests,
// in per cent: lower classes step down earlier.
var eager = [NumClasses]int{Interactive: 100, Standard: 80, Batch: 60, Speculative: 40}

// idle is the level after a time in which nobody of the class has asked: it has
// been calm.
func (l *level) idle(now time.Time, p *LadderPolicy) uint8 {
	if l.at == 0 || l.seen.IsZero() || p.Stay <= 0 {
		return l.at
	}
	return l.at - uint8(min(int64(now.Sub(l.seen)/p.Stay), int64(l.at)))
}

// go on to another level.
func (l *level) step(now time.Time, to uint8) {
	l.calm, l.quiet = time.Time{}, time.Time{}
	switch {
	case to > l.at:
		l.asked, l.above = ask{}, l.asked
	case to < l.at:
		l.asked, l.above = l.above, ask{}
		l.calm, l.quiet = now, now // it may still be
	}
	l.at, l.since = to, now
}

// press takes the pressure x at now; load is what the class, one level higher,
// and those before it would ask for, over all slots. It says whether the level
// has changed.
func (l *level) press(now time.Time, x, load float64, class Class, p *LadderPolicy) bool {
	x = min(x, pressure)
	l.count(now)
	if at := l.idle(now, p); at < l.at {
		l.step(now, at)
		l.pressure, l.seen = x, now
		return true
	}
	if dt := now.Sub(l.seen); l.seen.IsZero() {
		l.pressure, l.since = x, now
	} else if dt > 0 {
		l.pressure = x + (l.pressure-x)*math.Exp(-dt.Seconds()/levelTau.Seconds())
	}
	l.seen = now
	up := func(i int) float64 { return float64(p.Up[i]*eager[class]) / 1e4 }
	low := l.at > 0 && l.pressure < up(int(l.at)-1)*float64(p.Down)/100
	since(&l.quiet, now, low)
	since(&l.calm, now, low && load < fits)
	if l.trying && now.Sub(l.since) >= p.Hold {
		l.trying, l.trial = false, 0 // it can be lived with
	}
	if l.at < NumLevels-1 && now.Sub(l.since) >= levelClimb {
		from := up(int(l.at))
		if l.trying {
			from *= float64(p.Down) / 100
		}
		if l.pressure >= from {
			if l.trying {
				l.trial = min(2*max(l.trial, levelTrial*p.Stay), levelTrials)
			}
			l.trying = false
			l.step(now, l.at+1)
			return true
		}
	}
	long := func(t time.Time, d time.Duration) bool { return !t.IsZero() && now.Sub(latest(t, l.since)) >= d }
	switch {
	case long(l.calm, p.Stay):
		l.trying, l.trial = false, 0
	case long(l.quiet, max(l.trial, levelTrial*p.Stay)):
		l.trying = true
	default:
		return false
	}
	l.step(now, l.at-1)
	return true
}

// since keeps the time since when something is so; zero if it is not.
func since(t *time.Time, now time.Time, so bool) {
	if !so {
		*t = time.Time{}
	} else if t.IsZero() {
		*t = now
	}
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
		c.ask(now, r, home, m, l.at, &l.asked)
		if l.at > 0 {
			c.ask(now, r, home, m, l.at-1, &l.above)
		}
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
	if l.at > 0 {
		load = home.load(now, r.Class)
	}
	was := l.at
	if l.press(now, x, load, r.Class, &home.policy.Ladder) {
		c.changed(Change{At: now, Level: &Stepping{Model: home.policy.Name, Class: r.Class, From: was, To: l.at, Pressure: l.pressure, Load: load}})
	}
	if l.at > uint8(RungModel) || home.slots == 0 || p.pool != home && !p.stayed || p.verdict == Reject && overloaded(p.stage) {
		l.pressed = now
	}
}

// overloaded says that a refusal by the stage is for want of slots.
func overloaded(s Stage) bool {
	return s == StageShed || s == StageWait || s == StageBound || s == StageCapacity
}

// Stepping is a change of level of one class of a model.
type Stepping struct {
	Model    string
	Class    Class
	From, To uint8
	Pressure float64 // the predicted wait over what it may be at most, smoothed
	Load     float64 // what better classes ask for, and this one would a level higher, over all slots
}
