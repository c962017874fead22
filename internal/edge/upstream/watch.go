package upstream

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// watch limits the waits of one call with one timer. It ends the call by
// cancelling its context with a *timeout as the cause.
//
// Only time spent waiting for the upstream counts: while the caller is busy with
// an event no idle limit runs. A wait costs one reading of the clock and two
// atomic stores; the timer is not touched but finds out, when it fires, that
// the wait it was set for is over and what the next limit is. Times are
// durations since the start.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	start  time.Time
	idle   time.Duration
	total  time.Duration

	kind  atomic.Int32 // what is reported when until passes
	until atomic.Int64 // end of the current wait; noWait or stopped
}

const (
	noWait  = 0
	stopped = -1
)

// timeout is the cause of a context that a watch has cancelled.
type timeout struct {
	kind  Kind
	after time.Duration
}

func (t *timeout) Error() string { return fmt.Sprintf("%v after %v", t.kind, t.after) }

func newWatch(parent context.Context, start time.Time, idle, total time.Duration) *watch {
	w := &watch{start: start, idle: idle, total: total}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	// Set first, then armed: the function uses w.timer.
	w.timer = time.AfterFunc(1<<62, w.fire)
	return w
}

// limit starts a wait that fails with kind when at has passed; zero or less is
// no limit. It is for the few waits that are not between two events.
func (w *watch) limit(kind Kind, at time.Duration) {
	w.kind.Store(int32(kind))
	w.until.Store(int64(max(at, noWait)))
	w.arm(time.Since(w.start))
}

// begin starts an idle wait.
func (w *watch) begin() {
	if w.idle > 0 {
		w.until.Store(int64(time.Since(w.start) + w.idle))
	}
}

// end ends the current wait.
func (w *watch) end() { w.until.Store(noWait) }

// idling makes the idle limit the one that begin starts.
func (w *watch) idling() {
	w.end()
	w.kind.Store(int32(IdleTimeout))
	w.arm(time.Since(w.start))
}

func (w *watch) stop() {
	w.until.Store(stopped)
	w.timer.Stop()
	w.cancel(context.Canceled)
}

func (w *watch) fire() {
	now := time.Since(w.start)
	until := time.Duration(w.until.Load())
	switch {
	case until == stopped:
	case w.total > 0 && now >= w.total:
		w.cancel(&timeout{TotalTimeout, w.total})
	case until > 0 && now >= until:
		kind, after := Kind(w.kind.Load()), until
		if kind == IdleTimeout {
			after = w.idle
		}
		w.cancel(&timeout{kind, after})
	default:
		w.arm(now)
	}
}

// arm sets the timer to the next limit. Outside a wait that is the earliest end
// of an idle wait that begins now, so it is never later than a wait's end.
func (w *watch) arm(now time.Duration) {
	next := time.Duration(w.until.Load())
	if next == noWait && w.idle > 0 {
		next = now + w.idle
	}
	if w.total > 0 && (next == noWait || w.total < next) {
		next = w.total
	}
	if next > 0 {
		w.timer.Reset(max(next-now, 0))
	}
}
