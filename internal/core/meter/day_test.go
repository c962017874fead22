package meter

import (
	"testing"
	"time"
)

func TestDay(t *testing.T) {
	midnight := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC) // in California
	d := Day{Limit: 2400, Midnight: 8 * time.Hour}
	if !d.Fits(midnight, 2400, false) || d.Fits(midnight, 2401, true) {
		t.Error("an empty day has not all of its limit")
	}
	for h := range 6 { // 100 an hour for those who come first
		d.Add(midnight.Add(time.Duration(h)*time.Hour), 100, true)
	}
	now := midnight.Add(6 * time.Hour)
	if got := d.Used(now); got != 600 {
		t.Errorf("used %d", got)
	}
	if d.Fits(now, 1, false) {
		t.Error("what the first will need until midnight was given to the others")
	}
	if !d.Fits(now, 1800, true) {
		t.Error("the first may use what is left")
	}
	now = midnight.Add(18 * time.Hour) // they need less than was believed
	if !d.Fits(now, 1500, false) || d.Fits(now, 1700, false) {
		t.Error("what they did not use is not given on")
	}
	d.Add(now, 50, false)
	d.Add(now, -20, false)
	if got := d.Used(now); got != 630 {
		t.Errorf("used %d after a correction", got)
	}
	if got := d.Left(now); got != 6*time.Hour {
		t.Errorf("%v left", got)
	}
	next := midnight.Add(24 * time.Hour)
	if d.Used(next) != 0 || !d.Fits(next, 1700, false) || d.Fits(next, 1900, false) {
		t.Error("a new day begins empty, and remembers what the first took yesterday")
	}
	if d.Used(next.Add(-time.Hour)) != 0 {
		t.Error("a time that runs backwards brought yesterday back")
	}
	if (&Day{}).Fits(now, 1<<60, false) != true {
		t.Error("no limit refuses")
	}
}
