package meter

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestPurseRolls(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	var p Purse
	p.Set(Rolling, time.Minute, 0)
	p.Add(at(0), 5)
	p.Add(at(30), 7)
	for _, x := range []struct {
		s    int
		want int64
		why  string
	}{
		{30, 12, "both are within a minute"},
		{59, 12, "still"},
		{60, 12, "the slot of the first second is only now a minute old"},
		{61, 7, "the first has left"},
		{91, 0, "and the second"},
	} {
		if got := p.Sum(at(x.s)); got != x.want {
			t.Errorf("after %d s: %d, want %d: %s", x.s, got, x.want, x.why)
		}
	}
	p.Add(at(100), 4)
	p.Add(at(110), 6)
	if got := p.Free(at(110), 6); got != 51*time.Second {
		t.Errorf("the first has gone in %v, want 51s: when the second it was spent in is a minute old", got)
	}
	if got := p.Free(at(110), 10); got != 0 {
		t.Errorf("all of it may stay, but free in %v", got)
	}
	if p.Add(at(90), 1); p.Sum(at(110)) != 11 {
		t.Error("a time that runs backwards loses what was spent")
	}
	if p.Sum(at(10_000)) != 0 {
		t.Error("after a long time something is left")
	}
}

func TestPurseRemembersWhatWasRestored(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var p Purse
	p.Set(Rolling, time.Hour, 0)
	p.Put(t0, t0.Add(-50*time.Minute), 9)
	p.Put(t0, t0.Add(-2*time.Hour), 100) // has left long ago
	p.Put(t0, t0.Add(time.Hour), 1)      // a clock ahead of ours: counted as now
	if got := p.Sum(t0); got != 10 {
		t.Errorf("sum %d, want 10", got)
	}
	if got := p.Sum(t0.Add(12 * time.Minute)); got != 1 {
		t.Errorf("twelve minutes later %d, want 1: the nine are more than an hour old", got)
	}
}

func TestPurseOfTheCalendar(t *testing.T) {
	const berlin = time.Hour
	var day, month Purse
	day.Set(Daily, 24*time.Hour, berlin)
	month.Set(Monthly, 30*24*time.Hour, berlin)
	evening := time.Date(2026, 1, 31, 22, 59, 0, 0, time.UTC) // 23:59 there
	day.Add(evening, 5)
	month.Add(evening, 5)
	if got := day.Free(evening, 0); got != time.Minute {
		t.Errorf("the day ends in %v, want a minute", got)
	}
	midnight := evening.Add(time.Minute)
	if d, m := day.Sum(midnight), month.Sum(midnight); d != 0 || m != 0 {
		t.Errorf("in February %d of the day and %d of the month are left", d, m)
	}
	day.Add(midnight.Add(time.Hour), 3)
	month.Add(midnight.Add(time.Hour), 3)
	if got := month.Sum(midnight.Add(27 * 24 * time.Hour)); got != 3 {
		t.Errorf("late in February %d, want 3", got)
	}
	if got := month.Sum(midnight.Add(28 * 24 * time.Hour)); got != 0 {
		t.Errorf("in March %d, want 0: February has 28 days", got)
	}

	// Summer time begins: the zone changes within the day, which loses nothing.
	morning := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)
	day.Add(morning, 8)
	day.Set(Daily, 24*time.Hour, 2*berlin)
	if got := day.Sum(morning.Add(time.Hour)); got != 8 {
		t.Errorf("after the change of the clock %d, want 8", got)
	}
	if got := day.Sum(time.Date(2026, 3, 29, 22, 0, 0, 0, time.UTC)); got != 0 {
		t.Errorf("at the midnight of summer time %d, want 0", got)
	}
}

// A list of all amounts, which a Purse must agree with up to its grain.
func TestPurseAgainstList(t *testing.T) {
	type spent struct {
		at time.Time
		n  int64
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		span := []time.Duration{time.Minute, time.Hour, 24 * time.Hour}[rng.IntN(3)]
		grain := span / purseSlots
		var p Purse
		var list []spent
		p.Set(Rolling, span, 0)
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 300 {
			now = now.Add(time.Duration(rng.Int64N(int64(span / 20))))
			n := rng.Int64N(100)
			p.Add(now, n)
			list = append(list, spent{now, n})
			var least, most int64
			for _, s := range list {
				if age := now.Sub(s.at); age < span {
					least += s.n
					most += s.n
				} else if age < span+grain {
					most += s.n
				}
			}
			if got := p.Sum(now); got < least || got > most {
				t.Fatalf("sum %d, want %d to %d", got, least, most)
			}
			rest := rng.Int64N(p.Sum(now) + 1)
			free := p.Free(now, rest)
			if q := p; free > 0 && q.slots != nil {
				slots := *q.slots
				q.slots = &slots
				if q.Sum(now.Add(free)) > rest {
					t.Fatalf("after %v more than %d is left", free, rest)
				}
			}
		}
	}
}

func BenchmarkPurse(b *testing.B) {
	var p Purse
	p.Set(Rolling, 24*time.Hour, 0)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		p.Add(now, 3)
		p.Sum(now)
	}
}

// The end of summer time, a zone that is set anew and a wall clock that was
// wrong: the period begins at another time, and what was spent in it stays.
func TestPurseOfAnotherZone(t *testing.T) { // B193
	noon := time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC)
	spent := func(zone time.Duration) *Purse {
		var p Purse
		p.Set(Daily, 24*time.Hour, zone)
		p.Add(noon, 5)
		return &p
	}
	for _, tt := range []struct {
		name      string
		was, zone time.Duration
		want      int64
		left      time.Duration
	}{
		{"summer time ends", 2 * time.Hour, time.Hour, 5, 11 * time.Hour},
		{"summer time begins", time.Hour, 2 * time.Hour, 5, 10 * time.Hour},
		{"the clock was two seconds ahead", 0, -2 * time.Second, 5, 12*time.Hour + 2*time.Second},
		{"the clock was an hour behind", 0, time.Hour, 5, 11 * time.Hour},
		{"the machine slept past midnight", 0, 13 * time.Hour, 0, 23 * time.Hour},
		{"and for days", 0, 60 * time.Hour, 0, 24 * time.Hour},
		{"the clock was set to the day before", 0, -13 * time.Hour, 5, time.Hour},
	} {
		p := spent(tt.was)
		p.Set(Daily, 24*time.Hour, tt.zone)
		if got, left := p.Sum(noon), p.Left(noon); got != tt.want || left != tt.left {
			t.Errorf("%s: %d and %v left, want %d and %v", tt.name, got, left, tt.want, tt.left)
		}
	}
	p := spent(0)
	p.Set(Daily, 24*time.Hour, -13*time.Hour) // yesterday again
	p.Add(noon, 2)
	if got := p.Sum(noon.Add(2 * time.Hour)); got != 7 { // and today for the second time
		t.Errorf("today, come to twice: %d, want 7", got)
	}
	if got := p.Sum(noon.Add(26 * time.Hour)); got != 0 {
		t.Errorf("tomorrow: %d", got)
	}
}
