package config

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Budget limits what may be spent, in dollars. It is a limit on a rate: of the
// amount in any time as long as the span, or in a span of the calendar. What is
// left out is the core's default.
type Budget struct {
	// Dollars in a minute. Default no limit. Each amount is above zero, with at most six decimals and to a billion.
	Minute Amount `yaml:"minute" jsonschema:"exclusiveMinimum=0"`
	// Dollars in an hour, not below minute. Default no limit.
	Hour Amount `yaml:"hour" jsonschema:"exclusiveMinimum=0"`
	// Dollars in a day, not below hour. Default no limit.
	Day Amount `yaml:"day" jsonschema:"exclusiveMinimum=0"`
	// Dollars in a month, not below day. Default no limit.
	Month Amount `yaml:"month" jsonschema:"exclusiveMinimum=0"`
	// Whether hours, days and months are those of the calendar. Default false: they are any 60 minutes, 24 hours and 30 days, so that nothing begins anew at once.
	Calendar bool `yaml:"calendar"`
	// Time zone of the calendar, as an IANA name such as Europe/Berlin. Only with calendar: true. Default UTC.
	Zone Zone `yaml:"zone"`
	// Share of a limit above which speculative work is refused and ladders step down. Default 80. Smaller saves earlier.
	Soft Percent `yaml:"soft" jsonschema:"minimum=1,maximum=100"`
	// Share of a limit above which each class is refused, so that the rest is kept for better ones.
	Hold Hold `yaml:"hold"`
	// How many times faster than evenly a limit of a day or month may be spent, seen over a 144th of it (ten minutes of a day), before spending is slowed, or off. Default 24. While alert tells that it is spent too fast, each minute has its share once 30% of that are gone. Smaller slows bursts sooner.
	Pace Count `yaml:"pace" jsonschema:"minimum=1,maximum=1000000"`
	// How many times faster than evenly it may be spent, seen over a minute, before an operator is told, or off. Default 8. Smaller tells sooner.
	Alert Count `yaml:"alert" jsonschema:"minimum=1,maximum=1000000"`
	// Larger limits until a time, for a day that is known to be dear. Default none.
	Raise Raise `yaml:"raise"`
}

// Hold is the share of a limit, in per cent, above which each class is refused.
type Hold struct {
	// Default 100.
	Interactive Percent `yaml:"interactive" jsonschema:"minimum=1,maximum=100"`
	// Default 100.
	Standard Percent `yaml:"standard" jsonschema:"minimum=1,maximum=100"`
	// Default 100.
	Batch Percent `yaml:"batch" jsonschema:"minimum=1,maximum=100"`
	// Default soft.
	Speculative Percent `yaml:"speculative" jsonschema:"minimum=1,maximum=100"`
}

// Raise replaces limits of a budget until a time.
type Raise struct {
	// Dollars in a minute. Default as it is.
	Minute Amount `yaml:"minute" jsonschema:"exclusiveMinimum=0"`
	// Dollars in an hour. Default as it is.
	Hour Amount `yaml:"hour" jsonschema:"exclusiveMinimum=0"`
	// Dollars in a day. Default as it is.
	Day Amount `yaml:"day" jsonschema:"exclusiveMinimum=0"`
	// Dollars in a month. Default as it is.
	Month Amount `yaml:"month" jsonschema:"exclusiveMinimum=0"`
	// When it ends, such as 2026-12-24T00:00:00Z. From then on it has no effect.
	Until Moment `yaml:"until" jsonschema:"required"`
}

// Budgets are those that each key, end user and session of a tenant has for
// itself.
type Budgets struct {
	// Of each key of the tenant, by itself. Default none.
	Key Budget `yaml:"key"`
	// Of each end user, as the caller names them. Default none.
	User Budget `yaml:"user"`
	// Of each session. Default none.
	Session Budget `yaml:"session"`
}

func (b *Budget) limits() [admit.NumSpans]Amount {
	return [admit.NumSpans]Amount{admit.Minute: b.Minute, admit.Hour: b.Hour, admit.Day: b.Day, admit.Month: b.Month}
}

func (r *Raise) limits() [admit.NumSpans]Amount {
	return [admit.NumSpans]Amount{admit.Minute: r.Minute, admit.Hour: r.Hour, admit.Day: r.Day, admit.Month: r.Month}
}

// none says that the budget limits nothing.
func (b *Budget) none() bool { return b.limits() == [admit.NumSpans]Amount{} }

func (b *Budget) check(d *document, path string) {
	if *b != (Budget{}) && b.none() {
		d.fail(path, "limits nothing; write minute, hour, day or month in dollars")
		return
	}
	limits := b.limits()
	checkSpans(d, path, limits)
	raised := false
	for s, most := range b.Raise.limits() {
		if most == 0 {
			continue
		}
		raised = true
		name := admit.Span(s).String()
		switch at := join(join(path, "raise"), name); {
		case limits[s] == 0:
			d.fail(at, "the budget has no limit for %s that could be raised", name)
		case most <= limits[s]:
			d.fail(at, "%v is not above the budget's own %s, which is %v", most, name, limits[s])
		default:
			limits[s] = most
		}
	}
	if raised {
		checkSpans(d, join(path, "raise"), limits)
	} else if b.Raise.Until != 0 {
		d.fail(join(path, "raise"), "raises nothing; write minute, hour, day or month in dollars")
	}
	at := join(path, "zone")
	if _, err := b.Zone.location(); err != nil {
		d.fail(at, "%s is %v", veil(d.quote(at, string(b.Zone))), err)
	} else if d.wrote(at) && !b.Calendar {
		d.fail(at, "only with calendar: true")
	}
}

// checkSpans wants a longer span not to have a smaller limit. A fault is placed
// at one of the two that was written at path.
func checkSpans(d *document, path string, limits [admit.NumSpans]Amount) {
	shorter := -1
	for s, most := range limits {
		if most == 0 {
			continue
		}
		if shorter >= 0 && most < limits[shorter] {
			long, short := admit.Span(s).String(), admit.Span(shorter).String()
			if d.wrote(join(path, long)) || d.wrote(join(path, short)) {
				d.failOneOf(path, long, short, "%s is %v and %s %v; %s must not be below %s", long, most, short, limits[shorter], long, short)
			}
		}
		shorter = s
	}
}

// policy is the budget in the core's words; Zone is the offset that holds at
// now.
func (b *Budget) policy(now time.Time) admit.Budget {
	p := admit.Budget{
		Calendar: b.Calendar,
		Zone:     b.Zone.offset(now),
		Soft:     int(b.Soft),
		Hold: [admit.NumClasses]int{
			admit.Interactive: int(b.Hold.Interactive),
			admit.Standard:    int(b.Hold.Standard),
			admit.Batch:       int(b.Hold.Batch),
			admit.Speculative: int(b.Hold.Speculative),
		},
		Pace:  int(b.Pace), // off is negative in both words
		Alert: int(b.Alert),
	}
	raised := b.Raise.limits()
	for s, most := range b.limits() {
		p.Limits[s], p.Raised.Limits[s] = int64(most), int64(raised[s])
	}
	if b.Raise.Until != 0 {
		p.Raised.Until = b.Raise.Until.Time()
	}
	return p
}
