package admit

import "time"

// Span is the time over which a budget is counted.
type Span uint8

const (
	Minute Span = iota
	Hour
	Day
	Month
	NumSpans = iota
)

var spanNames = [NumSpans]string{"minute", "hour", "day", "month"}

func (s Span) String() string { return spanNames[s] }

// Length is the time of a span; a month is 30 days where it follows no calendar.
func (s Span) Length() time.Duration {
	return [NumSpans]time.Duration{time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour}[s]
}

// Scope is whose spending an account holds.
type Scope uint8

const (
	ScopeAll     Scope = iota // all tenants together
	ScopeTenant               // one tenant
	ScopeModel                // one tenant for one model
	ScopeKey                  // one key of a tenant
	ScopeUser                 // one end user of a tenant
	ScopeSession              // one session of a tenant
	NumScopes    = iota
)

var scopeNames = [NumScopes]string{"all", "tenant", "model", "key", "user", "session"}

func (s Scope) String() string { return scopeNames[s] }

// Budget limits what one account may spend, in micro-dollars. It is a limit on
// a rate: of the amount in any time as long as the span, or in a span of the
// calendar. The zero value limits nothing.
type Budget struct {
	// Limits by span; 0 means none.
	Limits [NumSpans]int64
	// Calendar makes hours, days and months begin with those of Zone, instead
	// of being the time before now.
	Calendar bool
	Zone     time.Duration // of the local clock before UTC, now
	// Soft is the per cent of a limit above which speculative requests are
	// refused and the ladder steps down. Default 80. Smaller saves earlier.
	Soft int
	// Hold is the per cent of a limit above which each class is refused.
	// Default Soft for speculative, 100 for the others. Nothing passes 100.
	Hold [NumClasses]int
	// Pace is how many times faster than evenly the limit of a day or a month
	// may be spent, seen over a 144th of it: ten minutes of a day, five hours of
	// a month. What is faster is slowed: in a runaway, which is an alarm, when
	// 30 % of what it allows at once are gone. Default 24, a sixth of the limit
	// at once; negative means no such bound.
	Pace int
	// Alert is how many times faster than evenly it may be spent, seen over a
	// minute, before an operator is told. Default 8; negative means never.
	Alert int
	// Raised replaces limits until a time.
	Raised Override
}

// Override replaces limits of a budget for a while.
type Override struct {
	Limits [NumSpans]int64 // 0 leaves a limit as it is
	Until  time.Time
}

// None says that the budget limits nothing, now or later.
func (b *Budget) None() bool {
	return b.Limits == [NumSpans]int64{} && b.Raised.Limits == [NumSpans]int64{}
}

// Budgets are those of one tenant.
type Budgets struct {
	All    Budget            // of all its spending
	Models map[string]Budget // by model; "" holds for each model not named, on its own
	Key    Budget            // of each key
	User   Budget            // of each end user
	// Session is that of each session.
	Session Budget
}

const (
	softDefault  = 80
	paceDefault  = 24
	alertDefault = 8
)

func (b *Budget) defaults() {
	setDefault(&b.Soft, softDefault)
	setDefault(&b.Pace, paceDefault)
	setDefault(&b.Alert, alertDefault)
	for class := range b.Hold {
		most := 100
		if Class(class) == Speculative {
			most = b.Soft
		}
		setDefault(&b.Hold[class], most)
	}
}

func (b *Budgets) defaults() {
	for _, x := range []*Budget{&b.All, &b.Key, &b.User, &b.Session} {
		x.defaults()
	}
	for name, x := range b.Models {
		x.defaults()
		b.Models[name] = x
	}
}
