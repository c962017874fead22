package admit

import (
	"container/list"
	"math"
	"slices"
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
	held         int64 // by requests that have not ended: what they probably cost at most
	bound        int64 // and what they cost at most by the bounds of their answers
	least        int64 // the smallest limit in force; 0 if there is none
	holders      int
	last, calls  meter.Purse // spent in the last minute, and by how many requests
	level        uint8       // of the ladder, by what is spent
	alarm        Alarm
	raised       time.Time // until when other limits are in force; zero if none are
	slack        int64     // may be added before any limit must be looked at
	restored     bool      // it knows what was spent before it was there

	place *list.Element // in its table, by last use; nil if it stands in none
}

// limit is one span of a budget, or the pace that goes with it, with the
// figures that follow from it.
type limit struct {
	purse meter.Purse
	span  Span
	pace  bool

	figures
}

// figures are what a limit means while it is in force.
type figures struct {
	most  int64             // 0 if there is none at the moment
	holds [NumClasses]int64 // above which each class is refused
	marks [NumLevels]int64  // where the levels of the ladder begin; the last is the limit itself
	fast  int64             // spent in a minute, to be told of; 0 never
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
	paceParts  = 144 // of a span is what its pace is seen over
	paceBurst  = 30  // per cent of what it allows at once pass even in a runaway
	alertCalls = 3   // fewer requests in a minute are no loop
	alertShare = 100 // an alert needs this part of a limit spent
	calmer     = 20  // a mark is passed no more below it by this part of it
)

func newAccount(now time.Time, s Scope, tenant, name string, b *Budget) *account {
	a := &account{scope: s, tenant: tenant, name: name}
	a.last.Set(meter.Rolling, time.Minute, 0)
	a.calls.Set(meter.Rolling, time.Minute, 0)
	a.configure(now, b)
	return a
}

// configured brings an account in line with its budget; nil if that limits nothing.
func configured(now time.Time, a *account, s Scope, tenant, name string, b *Budget) *account {
	switch {
	case b.None():
		return nil
	case a == nil:
		return newAccount(now, s, tenant, name, b)
	}
	a.configure(now, b)
	return a
}

// configure keeps what was counted, in every span that stays.
func (a *account) configure(now time.Time, b *Budget) {
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
	a.figure(now)
}

// figure works out what the limits in force mean.
func (a *account) figure(now time.Time) {
	b := a.budget
	a.raised, a.slack, a.least = time.Time{}, 0, 0
	for i := range a.limits {
		l := &a.limits[i]
		l.most = b.Limits[l.span]
		if now.Before(b.Raised.Until) {
			a.raised = b.Raised.Until
			if raised := b.Raised.Limits[l.span]; raised > 0 {
				l.most = raised
			}
		}
		if !l.pace && l.most > 0 && (a.least == 0 || l.most < a.least) {
			a.least = l.most
		}
		hold := b.Hold
		if l.pace {
			hold = [NumClasses]int{100, 100, 100, 100}
			l.most = share(l.most, int64(b.Pace), paceParts)
		}
		for class := range l.holds {
			l.holds[class] = share(l.most, int64(min(hold[class], 100)), 100)
		}
		for i := range l.marks {
			l.marks[i] = max(share(l.most, int64(b.Soft+(100-b.Soft)*i/(NumLevels-1)), 100), 1)
		}
		l.fast = 0
		if b.Alert > 0 && l.span >= Hour && !l.pace {
			l.fast = max(share(l.most, int64(b.Alert), int64(l.span.Length()/time.Minute)), 1)
		}
	}
}

// current sees to it that an override ends.
func (a *account) current(now time.Time) {
	if a.outdated(now) {
		a.figure(now)
	}
}

func (a *account) outdated(now time.Time) bool { return !a.raised.IsZero() && !now.Before(a.raised) }

// asWas gives what takes back whatever looking at an account at now changes.
func (a *account) asWas(now time.Time) func() {
	alarm, level, slack, raised, least := a.alarm, a.level, a.slack, a.raised, a.least
	var list []figures
	if a.outdated(now) {
		for i := range a.limits {
			list = append(list, a.limits[i].figures)
		}
	}
	return func() {
		a.alarm, a.level, a.slack, a.raised, a.least = alarm, level, slack, raised, least
		for i := range list {
			a.limits[i].figures = list[i]
		}
	}
}

// share is a part of an amount, without overflow.
func share(n, part, of int64) int64 { return n/of*part + n%of*part/of }

// over finds a limit that has no room for amount by a request of the class: a
// budget before a pace. A budget of which nothing is taken has room for any
// request: else one that is smaller than every request would be none at all.
// While others run nothing may pass that could cost more than is left, as all of
// them may turn out long: the short ones end first, and what runs when a budget
// is nearly spent are the long ones. When nobody runs what it probably costs
// decides, so that nothing is kept from the last to come.
func (a *account) over(now time.Time, class Class, amount charge) (budget, pace *limit) {
	if a.current(now); amount.most < a.slack {
		return nil, nil
	}
	next := a.bound + amount.most
	if a.holders == 0 {
		next = amount.likely
	}
	for i := range a.limits {
		l := &a.limits[i]
		spent := l.purse.Sum(now)
		used := spent + a.held
		if l.most == 0 || used == 0 {
			continue
		}
		most := l.holds[class]
		switch {
		case l.pace:
			if pace == nil && (used+amount.likely > l.most || a.hurries(now, l, used, amount.likely)) {
				pace = l
			}
			continue
		case class == Speculative && a.alarm >= Fast:
			most = 0
		}
		if spent+next > most {
			return l, nil
		}
	}
	return nil, pace
}

// hurries says that a request comes in the midst of a runaway: an alarm says so,
// a good part of what the pace allows at once is gone, and the last minute has had
// its share of it: a tenth of it for a day's budget, whose pace is over ten minutes.
func (a *account) hurries(now time.Time, l *limit, used, amount int64) bool {
	minute := a.last.Sum(now) + a.held
	return a.alarm == Fast && used > share(l.most, paceBurst, 100) && minute > 0 && minute+amount > l.minute()
}

// minute is what the pace allows in one, once the burst is gone.
func (l *limit) minute() int64 { return share(l.most, paceParts, int64(l.span.Length()/time.Minute)) }

// room is how long until a limit has room for amount.
func (a *account) room(now time.Time, l *limit, amount charge) time.Duration {
	if l.pace {
		wait := l.purse.Free(now, max(l.most-a.held-amount.likely, 0))
		if wait == 0 {
			wait = a.last.Free(now, max(l.minute()-a.held-amount.likely, 0))
		}
		return wait
	}
	return l.purse.Free(now, max(l.most-a.bound-amount.most, 0))
}

// take holds an amount for a request.
func (a *account) take(now time.Time, amount charge) {
	a.held += amount.likely
	a.bound += amount.most
	a.holders++
	a.slack -= amount.most
}

// settle ends a hold and books what was spent.
func (a *account) settle(now time.Time, amount charge, spent int64) {
	a.held -= amount.likely
	a.bound -= amount.most
	a.holders--
	a.spend(now, now, spent)
}

// spend books what was spent at a time.
func (a *account) spend(now, at time.Time, n int64) {
	if n <= 0 {
		return
	}
	a.slack -= n
	for i := range a.limits {
		a.limits[i].purse.Put(now, at, n)
	}
	a.last.Put(now, at, n)
	a.calls.Put(now, at, 1)
}

// lasts is how long what is left of a limit lasts at the rate of the last
// minute; math.MaxInt64 if nothing is being spent.
func (a *account) lasts(now time.Time, l *limit) time.Duration {
	rate := float64(a.last.Sum(now)) / 60
	left := float64(max(l.most-l.purse.Sum(now)-a.held, 0))
	if rate == 0 || left/rate > math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(left / rate * float64(time.Second))
}

// judge says how serious it is, and which level of the ladder that asks for.
// The levels divide what lies between the soft threshold and the limit. A
// threshold is passed no more only some way below it, so that nothing flaps.
func (a *account) judge(now time.Time) (alarm Alarm, level uint8, worst *limit) {
	a.current(now)
	minute := a.last.Sum(now)
	a.slack = math.MaxInt64
	for i := range a.limits {
		l := &a.limits[i]
		if l.most == 0 {
			continue
		}
		used := l.purse.Sum(now) + a.held
		if a.slack = min(a.slack, slices.Min(l.holds[:])-used-(a.bound-a.held)); l.pace {
			continue
		}
		a.slack = min(a.slack, l.marks[0]-used)
		if l.fast > 0 {
			a.slack = min(a.slack, l.fast-minute)
		}
		x, steps := Calm, uint8(0)
		if used >= l.marks[0]-l.marks[0]/calmer {
			for i, mark := range l.marks {
				passed := a.alarm == Exhausted
				if i < NumLevels-1 {
					passed = int(a.level) > i && a.alarm >= Soft // an alarm that comes before asks for a level, too
				}
				if passed {
					mark -= mark / calmer
				}
				if used < mark {
					break
				}
				x, steps = Soft, uint8(i+1)
			}
			if steps == NumLevels {
				x, steps = Exhausted, NumLevels-1
			}
		}
		if x == Calm && l.fast > 0 && used >= l.most/alertShare {
			begins := minute >= l.fast && a.calls.Sum(now) >= alertCalls
			if begins || a.alarm == Fast && minute >= l.fast/2 { // a loop that is slowed is still one
				x, steps = Fast, 1
			}
		}
		if x > alarm || worst == nil {
			alarm, worst = x, l
		}
		level = max(level, steps)
	}
	if alarm != Calm || level > 0 {
		a.slack = 0
	}
	return alarm, level, worst
}
