package upstream

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// beatEvery is how far apart the beats are.
const beatEvery = 10 * time.Millisecond

// beats are a timer that is due all the time while calls run. What it comes too
// late is time in which goroutines of this process did not get a processor when
// they should. The figures of the runtime need a second of many wake-ups to show
// as much; by then the calls that were first to be late have been judged. The
// zero value is ready. It is safe for concurrent use.
type beats struct {
	calls atomic.Int64
	late  atomic.Int64 // nanoseconds by which beats were late, all together
	due   atomic.Int64 // of the next one, in nanoseconds since began; 0 if there is none

	mu    sync.Mutex
	began time.Time
	timer *time.Timer
}

// Begin is called when a call begins, and returns the mark for Since. End must
// follow.
func (l *Lag) Begin() (mark time.Duration) {
	b := &l.beats
	if b.calls.Add(1) == 1 {
		b.mu.Lock()
		if b.due.Load() == 0 {
			b.armLocked()
		}
		b.mu.Unlock()
	}
	return b.behind()
}

// End is called when the call is over.
func (l *Lag) End() { l.beats.calls.Add(-1) }

// Since is for how much of the time since the mark this process was late.
func (l *Lag) Since(mark time.Duration) time.Duration { return max(l.beats.behind()-mark, 0) }

// behind is how late beats were, all together, the one that is due now included.
// Between two stores of beat it may count the last one twice, never not at all.
func (b *beats) behind() time.Duration {
	due, late := b.due.Load(), b.late.Load()
	if due == 0 {
		return time.Duration(late)
	}
	return time.Duration(late + max(int64(time.Since(b.began))-due, 0))
}

func (b *beats) armLocked() {
	if b.timer == nil {
		b.began = time.Now()
		b.timer = time.AfterFunc(1<<62, b.beat)
	}
	b.due.Store(int64(time.Since(b.began) + beatEvery))
	b.timer.Reset(beatEvery)
}

// beat runs in a goroutine that the timer has put before all others. It goes to
// the end of the queue first, where those are that the network has woken.
func (b *beats) beat() {
	runtime.Gosched()
	b.mu.Lock()
	defer b.mu.Unlock()
	late := int64(time.Since(b.began)) - b.due.Load()
	b.late.Add(max(late, 0))
	b.due.Store(0)
	if b.calls.Load() > 0 {
		b.armLocked()
	}
}
