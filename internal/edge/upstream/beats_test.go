package upstream

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Where processors are free nothing is late, however long calls take, and with
// no call there is no beat.
func TestBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lag
		for range 3 {
			a := l.Begin()
			time.Sleep(time.Minute)
			b := l.Begin()
			time.Sleep(time.Second)
			if l.Since(a) != 0 || l.Since(b) != 0 {
				t.Errorf("%v and %v late", l.Since(a), l.Since(b))
			}
			l.End()
			l.End()
			time.Sleep(time.Second)
			if l.beats.due.Load() != 0 {
				t.Error("it beats for nobody")
			}
		}
	})
}

// Where they are taken, a call knows it from its first moment on.
func TestBeatsAreLate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes every processor for half a second")
	}
	var l Lag
	mark := l.Begin()
	defer l.End()
	var busy sync.WaitGroup
	begun := time.Now()
	for range 8 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for time.Since(begun) < 500*time.Millisecond {
			}
		})
	}
	busy.Wait()
	if took, late := time.Since(begun), l.Since(mark); late < took/4 || late > 2*took {
		t.Errorf("late for %v of %v", late, took)
	}
}
