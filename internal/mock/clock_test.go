package mock

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

func TestClockStretchesWaitsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now())
		defer c.stop()
		t0 := time.Now()
		go func() {
			time.Sleep(400 * time.Millisecond)
			c.setPace(0.5) // 0.6 work seconds are left: 1.2 s
			time.Sleep(200 * time.Millisecond)
			c.setShare(0.5) // 0.5 are left at a quarter: 2 s
		}()
		if !c.wait(newWaiter(), 1, nil, nil) {
			t.Fatal("stopped")
		}
		near(t, "the wait", time.Since(t0).Seconds(), 0.4+0.2+2, 1e-6)
	})
}

func TestClockStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now())
		defer c.stop()
		gone := make(chan struct{})
		go func() {
			time.Sleep(time.Second)
			close(gone)
		}()
		w := newWaiter()
		if c.wait(w, 5, gone, nil) {
			t.Error("a wait whose caller left was reached")
		}
		if len(c.waits) != 0 || w.index != -1 {
			t.Error("the place in the heap was not given back")
		}
		if c.wait(w, 0.5, gone, nil) {
			t.Error("a target already passed was reached although the caller had left")
		}
		if !c.wait(w, 2, nil, nil) {
			t.Error("the waiter cannot be used again")
		}
	})
}

// Random waits under random changes of speed end when a naive sum of small
// steps says.
func TestClockAgainstSmallSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 7))
		const steps, step = 2000, time.Millisecond
		pace := make([]float64, steps) // in force during each step
		targets := make([]float64, 50)
		for i := range pace {
			pace[i] = 1
			if i > 0 {
				pace[i] = pace[i-1]
			}
			if rng.IntN(50) == 0 {
				pace[i] = 0.1 + 2*rng.Float64()
			}
		}
		for i := range targets {
			targets[i] = rng.Float64() * 0.1 * steps * step.Seconds()
		}
		naive := func(target float64) float64 {
			work := 0.0
			for i := range pace {
				if next := work + pace[i]*step.Seconds(); next >= target {
					return (time.Duration(i) * step).Seconds() + (target-work)/pace[i]
				} else {
					work = next
				}
			}
			return -1
		}
		c := newClock(time.Now())
		defer c.stop()
		t0 := time.Now()
		within(len(targets)+1, func(i int) {
			if i == len(targets) {
				for k := range pace {
					c.setPace(pace[k])
					time.Sleep(step)
				}
				return
			}
			c.wait(newWaiter(), targets[i], nil, nil)
			near(t, "a wait", time.Since(t0).Seconds(), naive(targets[i]), 1e-6)
		})
	})
}
