package store

import (
	"sort"
	"time"
)

// date is a day of the calendar.
type date struct {
	year  int
	month time.Month
	day   int
}

func dayOf(t time.Time) date {
	y, m, d := t.Date()
	return date{y, m, d}
}

func (d date) next() date { return dayOf(time.Date(d.year, d.month, d.day+1, 12, 0, 0, 0, time.UTC)) }

func (d date) before(e date) bool {
	if d.year != e.year {
		return d.year < e.year
	}
	if d.month != e.month {
		return d.month < e.month
	}
	return d.day < e.day
}

// begins is the first second of a day in a zone. It is searched for, because a
// day need not begin at midnight: where clocks go forward then, there is none.
func (d date) begins(zone *time.Location) time.Time {
	const span = 48 * 60 * 60
	start := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Unix() - span/2
	i := sort.Search(span, func(i int) bool { return !dayOf(time.Unix(start+int64(i), 0).In(zone)).before(d) })
	return time.Unix(start+int64(i), 0).UTC()
}

// DayStart is the first second of a day of the calendar in a zone.
func DayStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	return dayOf(time.Date(year, month, day, 12, 0, 0, 0, time.UTC)).begins(zone)
}
