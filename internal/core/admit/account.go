package admit

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// account is what one payer of one scope has spent, and what its running
// requests hold of its budget. An amount is held from the admission of a
// request to its end; what the request really cost is then spent, once.
type account struct {
	scope        Scope
	tenant, name string
	budget       *Budget
	limits       []limit
	held         int64 // by requests that have not ended
	holders      int
	last, calls  meter.Purse // spent in the last minute, and by how many requests
	level        uint8       // of the ladder, by what is spent
	alarm        Alarm

	newer, older *account // in its table, by last use
}

// limit is one span of a budget, or the pace that goes with it.
type limit struct {
	purse meter.Purse
	span  Span
	pace  bool
}

// Alarm is how serious the state of an account is.
type Alarm uint8

const (
	Calm      Alarm = iota
	Fast            // it is spent much faster than its budget lasts
	Soft            // the soft threshold is passed
	Exhausted       // requests are refused
	NumAlarms = iota
)

var alarmNames = [NumAlarms]string{"calm", "fast", "soft", "exhausted"}

func (a Alarm) String() string { return alarmNames[a] }

const (
	paceParts  = 1440 // of a span is what its pace is seen over
	alertCalls = 3    // fewer requests in a minute are no loop
	alertShare = 100  // an alert needs this part of a limit spent
	calmer     = 95   // per cent of a mark below which it is passed no more
)

func newAccount(s Scope, tenant, name string, b *Budget) *account {
	a := &account{scope: s, tenant: tenant, name: name}
	a.last.Set(meter.Rolling, time.Minute, 0)
	a.calls.Set(meter.Rolling, time.Minute, 0)
	a.configure(b)
	return a
}

// configured brings an account in line with its budget; nil if that limits nothing.
func configured(a *account, s Scope, tenant, name string, b *Budget) *account {
	switch {
	case b.None():
		return nil
	case a == nil:
		return newAccount(s, tenant, name, b)
	}
	a.configure(b)
	return a
}

// configure keeps what was counted, in every span that stays.
func (a *account) configure(b *Budget) {
	if a.budget == b {
		return
	}
	a.budget = b
	old := a.limits
	a.limits = nil
	add := func(span Span, pace bool) {
		l := limit{span: span, pace: pace}
		for _, o := range old {
			if o.span == span && o.pace == pace {
				l = o
			}
		}
		cycle, length := meter.Rolling, span.Length()
		if pace {
			length /= paceParts
		} else if b.Calendar {
			cycle = [NumSpans]meter.Cycle{meter.Rolling, meter.Hourly, meter.Daily, meter.Monthly}[span]
		}
		l.purse.Set(cycle, length, b.Zone)
		a.limits = append(a.limits, l)
	}
	for span := range Span(NumSpans) {
		if b.Limits[span] == 0 && b.Raised.Limits[span] == 0 {
			continue
		}
		add(span, false)
		if span >= Day && b.Pace > 0 {
			add(span, true)
		}
	}
}

// most is the limit that is in force; 0 if there is none at the moment.
func (a *account) most(now time.Time, l *limit) int64 {
	most := a.budget.Limits[l.span]
	if raised := a.budget.Raised.Limits[l.span]; raised > 0 && now.Before(a.budget.Raised.Until) {
		most = raised
	}
	if l.pace {
		most = share(most, int64(a.budget.Pace), paceParts)
	}
	return most
}

// share is a part of an amount, without overflow.
func share(n, part, of int64) int64 { return n/of*part + n%of*part/of }

// over finds a limit that has no room for amount by a request of the class: a
// budget before a pace. A budget of which nothing is taken has room for any
// request: else one that is smaller than every request would be none at all.
func (a *account) over(now time.Time, class Class, amount int64) (budget, pace *limit) {
	for i := range a.limits {
		l := &a.limits[i]
		most := a.most(now, l)
		used := l.purse.Sum(now) + a.held
		if most == 0 || used == 0 {
			continue
		}
		if l.pace {
			if used+amount > most && pace == nil {
				pace = l
			}
			continue
		}
		hold := int64(a.budget.Hold[class])
		if class == Speculative && a.alarm >= Fast {
			hold = 0
		}
		if used+amount > share(most, min(hold, 100), 100) {
			return l, nil
		}
	}
	return nil, pace
}

// room is how long until a limit has room for amount.
func (a *account) room(now time.Time, l *limit, amount int64) time.Duration {
	return l.purse.Free(now, max(a.most(now, l)-a.held-amount, 0))
}

// take holds an amount for a request.
func (a *account) take(now time.Time, amount int64) {
	a.held += amount
	a.holders++
}

// settle ends a hold and books what was spent.
func (a *account) settle(now time.Time, amount, spent int64) {
	a.held -= amount
	a.holders--
	a.spend(now, now, spent)
}

// spend books what was spent at a time.
func (a *account) spend(now, at time.Time, n int64) {
	if n <= 0 {
		return
	}
	for i := range a.limits {
		a.limits[i].purse.Put(now, at, n)
	}
	a.last.Put(now, at, n)
	a.calls.Put(now, at, 1)
}

// burn is how many times faster than evenly the limit of a span is being spent,
// by the last minute.
func (a *account) burn(now time.Time, l *limit, most int64) float64 {
	if most == 0 {
		return 0
	}
	return float64(a.last.Sum(now)) * l.span.Length().Minutes() / float64(most)
}

// lasts is how long what is left of a limit lasts at the rate of the last
// minute; math.MaxInt64 if nothing is being spent.
func (a *account) lasts(now time.Time, l *limit, most int64) time.Duration {
	rate := float64(a.last.Sum(now)) / 60
	left := float64(max(most-l.purse.Sum(now)-a.held, 0))
	if rate == 0 || left/rate > math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(left / rate * float64(time.Second))
}

// judge says how serious it is, and which level of the ladder that asks for.
// The levels divide what lies between the soft threshold and the limit. A
// threshold is passed no more only some way below it, so that nothing flaps.
func (a *account) judge(now time.Time) (alarm Alarm, level uint8, worst *limit) {
	b := a.budget
	for i := range a.limits {
		l := &a.limits[i]
		most := a.most(now, l)
		if l.pace || most == 0 {
			continue
		}
		used := l.purse.Sum(now) + a.held
		mark := func(percent int, passed bool) bool {
			m := share(most, int64(percent), 100)
			if passed {
				m = share(m, calmer, 100)
			}
			return used >= max(m, 1)
		}
		x, steps := Calm, uint8(0)
		for i := range NumLevels - 1 {
			at := b.Soft + (100-b.Soft)*i/(NumLevels-1)
			if mark(at, int(a.level) > i) {
				steps = uint8(i + 1)
			}
		}
		factor := float64(b.Alert)
		if a.alarm == Fast {
			factor /= 2
		}
		switch {
		case mark(100, a.alarm == Exhausted):
			x = Exhausted
		case steps > 0:
			x = Soft
		case b.Alert > 0 && l.span >= Hour && (a.alarm == Fast || a.calls.Sum(now) >= alertCalls) && used >= most/alertShare && a.burn(now, l, most) >= factor:
			x, steps = Fast, 1
		}
		if x > alarm || worst == nil {
			alarm, worst = x, l
		}
		level = max(level, steps)
	}
	return alarm, level, worst
}
