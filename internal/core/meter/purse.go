package meter

import "time"

// purseSlots is how finely a Purse keeps time: an amount leaves a rolling span
// up to a sixtieth of it late, never early.
const purseSlots = 60

// Cycle is what a period of the calendar is.
type Cycle uint8

const (
	Rolling Cycle = iota // no calendar: the time before now
	Hourly
	Daily
	Monthly
)

// Purse adds up what was spent in a span of time: a rolling one, or a period
// of the calendar. It takes an amount once and forgets it with its time; what
// is only planned is its owner's to add. The zero value must be set with Set.
type Purse struct {
	cycle Cycle
	span  time.Duration
	zone  time.Duration // local time less UTC, of a calendar

	sum int64

	slots *[purseSlots + 1]int64 // of a rolling span; nil until something was spent
	head  int64                  // number of the running slot
	turns int64                  // when it ends, Unix nanoseconds

	from, until time.Time // when the running period begins and ends
	period      int64     // that sum is of: when it begins by its own clock, Unix seconds
}

// Set says what is counted; what was counted stays as long as the kind of the
// span does.
func (p *Purse) Set(c Cycle, span, zone time.Duration) {
	if p.cycle != c || p.span != span {
		*p = Purse{cycle: c, span: span}
	}
	if p.zone != zone {
		p.zone, p.until = zone, p.from // the period is looked at again
	}
}

// Add counts n at now.
func (p *Purse) Add(now time.Time, n int64) { p.Put(now, now, n) }

// Put counts n that was spent at a time before now, as far as that still counts.
func (p *Purse) Put(now, at time.Time, n int64) {
	p.advance(now)
	if n == 0 {
		return
	}
	if p.cycle != Rolling {
		if !at.Before(p.from) {
			p.sum += n
		}
		return
	}
	if p.slots == nil {
		p.slots = new([purseSlots + 1]int64)
		p.begin(p.slot(now))
	}
	nr := p.head
	if at.Before(now) {
		if nr = min(p.slot(at), p.head); p.head-nr > purseSlots {
			return
		}
	}
	p.slots[index(nr)] += n
	p.sum += n
}

// Sum is what was spent in the span until now.
func (p *Purse) Sum(now time.Time) int64 {
	p.advance(now)
	return p.sum
}

// Free is how long until no more than rest of what was spent counts.
func (p *Purse) Free(now time.Time, rest int64) time.Duration {
	p.advance(now)
	if p.sum <= rest {
		return 0
	}
	if p.cycle != Rolling {
		return p.until.Sub(now)
	}
	left := p.sum
	for nr := p.head - purseSlots; nr <= p.head; nr++ {
		if left -= p.slots[index(nr)]; left <= rest {
			return p.start(nr + purseSlots + 1).Sub(now)
		}
	}
	return p.span
}

// Left is how long the period lasts from now; of a rolling span all of it.
func (p *Purse) Left(now time.Time) time.Duration {
	if p.cycle == Rolling {
		return p.span
	}
	p.advance(now)
	return p.until.Sub(now)
}

func index(nr int64) int64 {
	i := nr % (purseSlots + 1)
	if i < 0 {
		i += purseSlots + 1
	}
	return i
}

func (p *Purse) slot(t time.Time) int64 {
	width := int64(p.span) / purseSlots
	nr := t.UnixNano() / width
	if t.UnixNano() < 0 {
		nr--
	}
	return nr
}

func (p *Purse) start(nr int64) time.Time {
	return time.Unix(0, nr*(int64(p.span)/purseSlots))
}

func (p *Purse) advance(now time.Time) {
	if p.cycle != Rolling {
		if now.Before(p.until) && !now.Before(p.from) {
			return
		}
		p.turn(now)
		return
	}
	if p.slots == nil || now.UnixNano() < p.turns { // also when time runs backwards
		return
	}
	nr := p.slot(now)
	if nr-p.head > purseSlots {
		*p.slots, p.sum = [purseSlots + 1]int64{}, 0
	} else {
		for i := p.head + 1; i <= nr; i++ {
			p.sum -= p.slots[index(i)]
			p.slots[index(i)] = 0
		}
	}
	p.begin(nr)
}

func (p *Purse) begin(slot int64) {
	p.head, p.turns = slot, (slot+1)*(int64(p.span)/purseSlots)
}

// turn finds the period of now, and begins it if it is a later one.
func (p *Purse) turn(now time.Time) {
	local := now.Add(p.zone).UTC()
	y, m, d := local.Date()
	var from, until time.Time
	switch p.cycle {
	case Hourly:
		from = time.Date(y, m, d, local.Hour(), 0, 0, 0, time.UTC)
		until = from.Add(time.Hour)
	case Daily:
		from = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
		until = time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
	default:
		from = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
		until = time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
	}
	// Which period it is, is known by its name and not by when it begins: that is
	// another time after the zone has changed, and the sum still that of the period.
	// If time or zone run back, what was spent stays until a later one.
	if period := from.Unix(); period > p.period {
		p.sum, p.period = 0, period
	}
	p.from, p.until = from.Add(-p.zone), until.Add(-p.zone)
}
