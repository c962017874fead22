package mock

import (
	"container/heap"
	"math"
	"sync"
	"time"
)

// clock counts work instead of time: in one second it advances by
// pace times share. Everything that runs on it is stretched at once when one of
// them changes, and however many requests wait, it holds one timer. Safe for concurrent use.
type clock struct {
	mu    sync.Mutex
	pace  float64 // the server's speed, above 0; 1 is full speed
	share float64 // the part of it that one of the running requests gets, in (0,1]
	work  float64 // work seconds done at the instant at
	at    time.Time
	waits waits
	timer *time.Timer // runs for the earliest wait
}

// slack is how close to its target a wait counts as reached: far below a
// timer's precision, far above the rounding of work.
const slack = 1e-8

func newClock(now time.Time) *clock {
	return &clock{pace: 1, share: 1, at: now}
}

// now is the work done so far, in seconds.
func (c *clock) now() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advanceLocked()
	return c.work
}

// setPace and setShare change the speed from now on.
func (c *clock) setPace(pace float64)   { c.change(&c.pace, pace) }
func (c *clock) setShare(share float64) { c.change(&c.share, share) }

func (c *clock) change(factor *float64, value float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *factor == value {
		return
	}
	c.advanceLocked()
	*factor = value
	c.armLocked()
}

// wait returns true once the clock has reached target, and false as soon as one
// of the stop channels is closed. w is the caller's own, used by one wait at a time.
func (c *clock) wait(w *waiter, target float64, gone, closed <-chan struct{}) bool {
	c.mu.Lock()
	c.advanceLocked()
	if target <= c.work+slack {
		c.mu.Unlock()
		select {
		case <-gone:
			return false
		case <-closed:
			return false
		default:
			return true
		}
	}
	w.target = target
	heap.Push(&c.waits, w)
	if w.index == 0 {
		c.armLocked()
	}
	c.mu.Unlock()

	select {
	case <-w.reached:
		return true
	case <-gone:
	case <-closed:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.index < 0 { // reached in the same moment: leave the channel empty
		<-w.reached
	} else {
		heap.Remove(&c.waits, w.index)
	}
	return false
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *clock) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advanceLocked()
	for len(c.waits) > 0 && c.waits[0].target <= c.work+slack {
		w := heap.Pop(&c.waits).(*waiter)
		w.reached <- struct{}{}
	}
	c.armLocked()
}

func (c *clock) advanceLocked() {
	now := time.Now()
	if d := now.Sub(c.at); d > 0 {
		c.work += d.Seconds() * c.pace * c.share
		c.at = now
	}
}

func (c *clock) armLocked() {
	if len(c.waits) == 0 {
		return // a timer still running finds nothing to do
	}
	// At most an hour, so that the conversion never overflows: fire arms again.
	left := math.Min((c.waits[0].target-c.work)/(c.pace*c.share), 3600)
	d := time.Duration(math.Ceil(left * 1e9))
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.fire)
	} else {
		c.timer.Reset(d)
	}
}

// waiter is one place in a clock's heap.
type waiter struct {
	target  float64
	index   int // in the heap; -1 outside
	reached chan struct{}
}

func newWaiter() *waiter {
	return &waiter{index: -1, reached: make(chan struct{}, 1)}
}

// waits is a heap by target.
type waits []*waiter

func (h waits) Len() int           { return len(h) }
func (h waits) Less(i, j int) bool { return h[i].target < h[j].target }
func (h waits) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *waits) Push(x any) {
	w := x.(*waiter)
	w.index = len(*h)
	*h = append(*h, w)
}
func (h *waits) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.index = -1
	return w
}
