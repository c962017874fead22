package meter

import "time"

// Day counts a quantity by calendar days, and keeps a part of a limit for
// those who come first: what they will need in the rest of the day, as far as
// their use until now tells. The zero value is ready; days begin at midnight UTC.
type Day struct {
	Limit    int64         // 0: none
	Midnight time.Duration // when a day begins, after midnight UTC

	day         int64 // number of the running day
	used, first int64 // by all; by those who come first
	yesterday   int64 // by those who come first, in the whole day before
}

const dayLong = 24 * time.Hour

// Add counts n at now; n may be negative, to correct an estimate of the same day.
func (d *Day) Add(now time.Time, n int64, first bool) {
	d.advance(now)
	d.used = max(d.used+n, 0)
	if first {
		d.first = max(d.first+n, 0)
	}
}

// Used is the amount of the running day.
func (d *Day) Used(now time.Time) int64 {
	d.advance(now)
	return d.used
}

// Fits says whether n more fit, for those who come first or for the others.
func (d *Day) Fits(now time.Time, n int64, first bool) bool {
	if d.Limit <= 0 {
		return true
	}
	d.advance(now)
	left := d.Limit - d.used
	if !first {
		left -= d.kept(now)
	}
	return n <= left
}

// kept is what those who come first will need until midnight: their mean use
// of today and yesterday, for the time that is left.
func (d *Day) kept(now time.Time) int64 {
	gone := max(dayLong-d.Left(now), time.Hour) // one call in the first minute is no forecast
	amount, over := float64(d.first), gone
	if d.yesterday > 0 {
		amount, over = amount+float64(d.yesterday), gone+dayLong
	}
	return int64(amount * d.Left(now).Seconds() / over.Seconds())
}

// Left is the time until the next day begins.
func (d *Day) Left(now time.Time) time.Duration {
	start := time.Unix(0, 0).Add(time.Duration(d.number(now))*dayLong + d.Midnight)
	return start.Add(dayLong).Sub(now)
}

func (d *Day) number(now time.Time) int64 {
	s := now.Add(-d.Midnight).Unix()
	n := s / int64(dayLong/time.Second)
	if s < 0 {
		n--
	}
	return n
}

func (d *Day) advance(now time.Time) {
	n := d.number(now)
	switch {
	case n <= d.day: // also when time runs backwards
		return
	case n == d.day+1:
		d.yesterday = d.first
	default:
		d.yesterday = 0
	}
	d.day, d.used, d.first = n, 0, 0
}
