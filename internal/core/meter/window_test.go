package meter

import (
	"math/rand/v2"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const s = time.Second

// step is one request to a Window.
type step struct {
	at   time.Duration
	n    int64
	fits bool
	wait time.Duration
}

func walk(t *testing.T, w *Window, steps []step) {
	t.Helper()
	for _, x := range steps {
		now := t0.Add(x.at)
		if got := w.Wait(now, x.n); got != x.wait {
			t.Errorf("at %v, wait for %d is %v, want %v", x.at, x.n, got, x.wait)
		}
		if got := w.Fits(now, x.n); got != x.fits {
			t.Errorf("at %v, %d fits: %v, want %v", x.at, x.n, got, x.fits)
		}
		if x.fits {
			w.Reserve(now, x.n)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int64
		steps []step
	}{
		{"fills and moves", 10, []step{
			{0, 6, true, 0},
			{10 * s, 4, true, 0},
			{20 * s, 1, false, 40 * s}, // the first six leave at 60 s
			{20 * s, 7, false, 50 * s}, // seven need the four as well
			{59 * s, 1, false, 1 * s},
			{60 * s, 6, true, 0},
			{60 * s, 1, false, 10 * s},
		}},
		{"no limit", 0, []step{{0, 1 << 60, true, 0}, {0, 1 << 60, true, 0}}},
		{"negative means no limit", -5, []step{{0, 1 << 60, true, 0}}},
		{"larger than the limit is taken as the limit (B114)", 100, []step{
			{0, 1024, true, 0},
			{1 * s, 1, false, 59 * s},
			{60 * s, 1024, true, 0}, // when it is empty again
		}},
		{"larger than the limit waits until it is empty", 100, []step{
			{0, 1, true, 0},
			{10 * s, 1024, false, 50 * s},
		}},
		{"nothing always fits", 10, []step{{0, 10, true, 0}, {0, 0, true, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) { walk(t, NewWindow(tt.limit, time.Minute), tt.steps) })
	}
}

// TestWindowHourly: 30 an hour, and an answer of 150: the next is refused
// until the hour is over (B099).
func TestWindowHourly(t *testing.T) {
	w := NewWindow(30, time.Hour)
	r := w.Reserve(t0, 20)
	w.Settle(t0.Add(5*s), &r, 150)
	if w.Fits(t0.Add(6*s), 1) || w.Used(t0.Add(6*s)) != 150 {
		t.Errorf("%d used, another fits: %v", w.Used(t0.Add(6*s)), w.Fits(t0.Add(6*s), 1))
	}
	if !w.Fits(t0.Add(time.Hour), 1) {
		t.Error("refused after the hour")
	}
}

// TestWindowEven: 186 a minute, 31 every ten seconds for five minutes: none is
// refused (B101).
func TestWindowEven(t *testing.T) {
	w := NewWindow(186, time.Minute)
	for i := range 31 {
		now := t0.Add(time.Duration(i) * 10 * s)
		if !w.Fits(now, 31) {
			t.Fatalf("refused at %v with %d used", now.Sub(t0), w.Used(now))
		}
		w.Reserve(now, 31)
	}
}

// TestWindowNeverExceeds: whatever is asked, no span of a minute lets more
// than the limit through (B101), and what is refused would not have fitted by
// more than the grain.
func TestWindowNeverExceeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		limit := rng.Int64N(200) + 1
		w := NewWindow(limit, time.Minute)
		type taken struct {
			at time.Time
			n  int64
		}
		var log []taken
		sumSince := func(now time.Time, span time.Duration) (sum int64) {
			for _, x := range log {
				if now.Sub(x.at) < span {
					sum += x.n
				}
			}
			return sum
		}
		now := t0
		for range 500 {
			now = now.Add(time.Duration(rng.ExpFloat64() * float64(s)))
			n := rng.Int64N(limit) + 1
			exact := sumSince(now, time.Minute)
			switch fits := w.Fits(now, n); {
			case fits:
				w.Reserve(now, n)
				log = append(log, taken{now, n})
				if exact+n > limit {
					t.Fatalf("%d+%d in a minute, limit %d", exact, n, limit)
				}
			case sumSince(now, time.Minute+time.Minute/grain)+n <= limit:
				t.Fatalf("%d refused with %d of %d used", n, exact, limit)
			}
		}
		if len(w.entries) > 2*grain {
			t.Errorf("%d entries kept", len(w.entries))
		}
	}
}

func TestWindowSettle(t *testing.T) {
	for _, tt := range []struct {
		name     string
		at       time.Duration
		used     int64
		want     int64 // used at the same time
		reserved int64
	}{
		{"less", 1 * s, 3, 3, 10},
		{"more", 1 * s, 15, 15, 10},
		{"as estimated", 1 * s, 10, 10, 10},
		{"nothing", 1 * s, 0, 0, 10},
		{"less, after it left the window", 61 * s, 3, 0, 10},
		{"more, after it left: the rest counts from now", 61 * s, 15, 5, 10},
		{"clamped at the limit, really more (B112)", 1 * s, 150, 150, 175},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWindow(100, time.Minute)
			r := w.Reserve(t0, tt.reserved)
			for range 2 { // twice changes nothing more
				w.Settle(t0.Add(tt.at), &r, tt.used)
				if got := w.Used(t0.Add(tt.at)); got != tt.want {
					t.Errorf("%d used, want %d", got, tt.want)
				}
			}
		})
	}
	w := NewWindow(100, time.Minute)
	var none Reservation
	w.Settle(t0, &none, 50)
	if w.Used(t0) != 0 {
		t.Error("nothing reserved was settled")
	}
}

// TestWindowReload: a changed limit keeps what was counted (B181, B182).
// A reservation that shrinks keeps its place in time, and is settled later as
// any other; what has left the window is not touched.
func TestWindowShrink(t *testing.T) {
	w := NewWindow(100, 60*s)
	r := w.Reserve(t0, 80)
	w.Reserve(t0.Add(10*s), 10)
	for _, n := range []int64{90, 80, 30} {
		w.Shrink(t0.Add(20*s), &r, n)
	}
	if got := w.Used(t0.Add(20 * s)); got != 40 {
		t.Errorf("%d used after shrinking to 30, want 40", got)
	}
	if got := w.Wait(t0.Add(20*s), 80); got < 40*s || got > 41*s {
		t.Errorf("80 fit after %v, want when the first has left", got)
	}
	w.Settle(t0.Add(30*s), &r, 50)
	if got := w.Used(t0.Add(30 * s)); got != 60 {
		t.Errorf("%d used after settling with 50, want 60", got)
	}
	w.Shrink(t0.Add(30*s), &r, 1)
	old := w.Reserve(t0.Add(40*s), 20)
	w.Shrink(t0.Add(200*s), &old, 5)
	if w.Settle(t0.Add(200*s), &old, 25); w.Used(t0.Add(200*s)) != 5 {
		t.Errorf("%d used, want what exceeds the 20 that have left", w.Used(t0.Add(200*s)))
	}
}

func TestWindowReload(t *testing.T) {
	w := NewWindow(10, time.Minute)
	w.Reserve(t0, 10)
	for range 5 {
		w.SetLimit(10)
	}
	walk(t, w, []step{{1 * s, 1, false, 59 * s}})
	w.SetLimit(5)
	walk(t, w, []step{{2 * s, 1, false, 58 * s}})
	w.SetLimit(12)
	walk(t, w, []step{{3 * s, 2, true, 0}, {3 * s, 1, false, 57 * s}})
}

// TestWindowBack: time that runs backwards is no time passed (B193).
func TestWindowBack(t *testing.T) {
	w := NewWindow(10, time.Minute)
	r := w.Reserve(t0, 4)
	back := t0.Add(-time.Hour)
	if !w.Fits(back, 6) || w.Fits(back, 7) || w.Used(back) != 4 {
		t.Errorf("%d used an hour ago", w.Used(back))
	}
	w.Reserve(back, 6)
	if got := w.Wait(back, 1); got <= 0 {
		t.Errorf("wait %v", got)
	}
	w.Settle(back, &r, 2)
	if w.Used(back) != 8 || w.Empty(back) < 0 {
		t.Errorf("%d used, empty in %v", w.Used(back), w.Empty(back))
	}
	if got := w.Empty(t0); got != time.Minute {
		t.Errorf("empty in %v: the clock's jump counted", got)
	}
	if w.Used(t0.Add(time.Minute)) != 0 {
		t.Error("kept for longer than a minute")
	}
}
