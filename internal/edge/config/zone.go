package config

import (
	"errors"
	"time"

	// Zones must be known on machines without zone files, such as empty
	// containers, and they are read while a file is checked.
	_ "time/tzdata"
)

// Zone is an IANA time zone, such as America/Los_Angeles. Empty is UTC.
type Zone string

func (z Zone) location() (*time.Location, error) {
	if z == "Local" {
		return nil, errors.New("the zone of this machine, whatever that is; write a name such as America/Los_Angeles")
	}
	l, err := time.LoadLocation(string(z))
	if err != nil {
		return nil, errors.New("not a time zone; write its IANA name, such as America/Los_Angeles or UTC")
	}
	return l, nil
}

// midnight is when the zone's day begins, after midnight UTC, by the offset
// that holds at now.
func (z Zone) midnight(now time.Time) time.Duration {
	const day = 24 * time.Hour
	return (day - z.offset(now)) % day
}

// offset is by how much the zone's clock is ahead of UTC at now.
func (z Zone) offset(now time.Time) time.Duration {
	l, err := z.location()
	if err != nil {
		return 0 // not in a checked configuration
	}
	_, offset := now.In(l).Zone()
	return time.Duration(offset) * time.Second
}

// holds is until when the offset at now is that of the zone; the zero time
// means for ever.
func (z Zone) holds(now time.Time) time.Time {
	l, err := z.location()
	if err != nil {
		return time.Time{}
	}
	_, end := now.In(l).ZoneBounds()
	return end
}

// PolicyHolds is until when PolicyAt gives what it gives at now: the next
// change to or from summer time at a provider or of a budget's calendar. The
// zero time means for ever.
func (c *Config) PolicyHolds(now time.Time) (until time.Time) {
	note := func(z Zone) {
		if end := z.holds(now); until.IsZero() || !end.IsZero() && end.Before(until) {
			until = end
		}
	}
	for _, p := range c.Providers {
		note(p.DayZone)
	}
	c.eachBudget(func(_, _ string, b *Budget) { note(b.Zone) })
	return until
}
