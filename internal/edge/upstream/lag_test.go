package upstream

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

var lagBounds = []float64{math.Inf(-1), 0, 0.001, 0.01, 0.02, 0.05, math.Inf(1)} // buckets: below 0, to 1, 10, 20, 50 ms, above

// The figures are of what came between two readings, not of all time.
func TestLagDifference(t *testing.T) {
	var l Lag
	t0 := time.Unix(1000, 0)
	ms := time.Millisecond
	at := func(after time.Duration, counts ...uint64) (time.Duration, bool) {
		l.add(t0.Add(after), counts, lagBounds)
		return time.Duration(l.p90.Load()), l.full.Load()
	}
	for _, tt := range []struct {
		name   string
		at     time.Duration
		counts []uint64
		p90    time.Duration
		full   bool
	}{
		{"the first reading has nothing to compare with", 0, []uint64{0, 1000, 0, 0, 0, 500}, 0, false},
		{"nine of ten are fast", 100 * ms, []uint64{0, 1090, 10, 0, 0, 500}, ms, false},
		{"one in four is late", 200 * ms, []uint64{0, 1120, 20, 0, 20, 500}, 50 * ms, true},        // since 0: 120, 20, 0, 20
		{"and not forgotten at once", 1000 * ms, []uint64{0, 1400, 20, 0, 20, 500}, ms, true},      // since 0: 400, 20, 0, 20
		{"but after a second", 2000 * ms, []uint64{0, 1800, 20, 0, 20, 500}, ms, false},            // since 1000: 400
		{"two late ones are an accident", 2100 * ms, []uint64{0, 1810, 20, 0, 20, 502}, ms, false}, // since 1000: 410, 0, 0, 0, 2
		{"nothing happened", 60_000 * ms, []uint64{0, 1810, 20, 0, 20, 502}, 0, false},             // since 2100
		{"no upper end", 60_100 * ms, []uint64{0, 1810, 20, 0, 20, 505}, 50 * ms, true},
	} {
		p90, full := at(tt.at, tt.counts...)
		if p90 != tt.p90 || full != tt.full {
			t.Errorf("%s: p90 %v, saturated %v; want %v, %v", tt.name, p90, full, tt.p90, tt.full)
		}
	}
	l.next.Store(t0.UnixNano() + 1) // no reading of the real one
	if d := l.Delay(t0); d >= 0 {
		t.Errorf("saturated: a delay of %v is told", d)
	}
	l.full.Store(false)
	if d := l.Delay(t0); d != 4*50*ms || l.P90(t0) != 50*ms || l.Saturated(t0) {
		t.Errorf("a delay of %v, want four wake-ups of 50 ms", d)
	}
}

// The histogram is read again when a tenth of a second has passed.
func TestLagIsReadSeldom(t *testing.T) {
	var l Lag
	t0 := time.Now()
	l.Delay(t0)
	first := l.next.Load()
	l.Delay(t0.Add(lagEvery - 1))
	if l.next.Load() != first {
		t.Error("read again too soon")
	}
	l.Delay(t0.Add(lagEvery))
	if l.next.Load() == first {
		t.Error("not read again")
	}
	l.Delay(t0.Add(-time.Hour)) // the clock was set back
	if l.next.Load() >= first {
		t.Error("not read again before the clock is where it was")
	}
	l.Delay(t0)
	if n := testing.AllocsPerRun(100, func() { l.Delay(t0) }); n != 0 {
		t.Errorf("%v allocations on the usual way", n)
	}
}

// A process whose goroutines wait for processors is seen to be saturated.
func TestLagNoticesSaturation(t *testing.T) {
	if testing.Short() {
		t.Skip("burns all processors for up to some seconds")
	}
	var l Lag
	var stop atomic.Bool
	done := make(chan struct{})
	n := 12 * runtime.GOMAXPROCS(0)
	for range n {
		go func() {
			for !stop.Load() { // until the scheduler gives the processor to another one
			}
			done <- struct{}{}
		}()
	}
	defer func() {
		stop.Store(true)
		for range n {
			<-done
		}
	}()
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); ; {
		now := <-tick.C
		if l.Saturated(now) && l.Delay(now) < 0 {
			return
		}
		if now.After(deadline) {
			t.Skipf("twelve busy goroutines to a processor do not saturate it here: p90 %v", l.P90(now))
		}
	}
}

func BenchmarkLag(b *testing.B) {
	b.Run("Delay", func(b *testing.B) {
		var l Lag
		now := time.Now()
		b.ReportAllocs()
		for b.Loop() {
			l.Delay(now)
		}
	})
	b.Run("reading", func(b *testing.B) {
		var l Lag
		now := time.Now()
		b.ReportAllocs()
		for b.Loop() {
			now = now.Add(lagEvery)
			l.Delay(now)
		}
	})
}
