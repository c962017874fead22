package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// Why a caller stopped before its answer was complete; the causes of its context.
var (
	errLate    = errors.New("the deadline passed")
	errLeft    = errors.New("the caller left")
	errTimeout = errors.New("the attempt timed out")
	errDrained = errors.New("the rest of the answer did not come")
)

// drainTime is how long a caller that has its answer waits for the end of the connection's data, to keep the
// connection.
const drainTime = 100 * time.Millisecond

// caller lives one arrival: attempts, pauses and the end.
type caller struct {
	tenant    Tenant
	make      maker
	transport http.RoundTripper
	plan      *plan
	arrival   arrival
	intended  time.Time
	deadline  time.Time // zero = none

	cancel context.CancelCauseFunc
	timer  *time.Timer // the deadline's; stopped when a first token meets it
	result result
}

// live returns what became of the caller. ctx ends when the run does.
func (c *caller) live(ctx context.Context) result {
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	c.result.tenant = c.arrival.tenant
	if c.tenant.Deadline > 0 {
		c.deadline = c.intended.Add(c.tenant.Deadline)
		c.timer = time.AfterFunc(time.Until(c.deadline), func() { c.cancel(errLate) })
		defer c.timer.Stop()
	}
	if c.arrival.leave > 0 {
		defer time.AfterFunc(time.Until(c.intended.Add(c.arrival.leave)), func() { c.cancel(errLeft) }).Stop()
	}
	c.result.outcome = c.attempts(ctx)
	return c.result
}

// attempts makes attempts until one is final.
func (c *caller) attempts(ctx context.Context) outcome {
	body := c.make.body(c.arrival)
	for retries := 0; ; retries++ {
		if ctx.Err() != nil {
			return c.stopped(ctx)
		}
		if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
			return late // the timer is about to say so
		}
		status, header, o := c.attempt(ctx, body, retries)
		c.result.statuses = append(c.result.statuses, status)
		if ctx.Err() != nil || status == http.StatusOK || retries >= c.plan.Retries || !mayRetry(status, header) {
			return o
		}
		now := time.Now()
		pause := retryDelay(header, retries, now, c.jitter(retries))
		if !c.deadline.IsZero() && !now.Add(pause).Before(c.deadline) {
			return o // the next attempt would start too late; the caller has heard the last word
		}
		if !sleep(ctx, pause) {
			return c.stopped(ctx)
		}
	}
}

// attempt sends the request once. status is 0 if there was no answer.
func (c *caller) attempt(ctx context.Context, body []byte, retries int) (status int, h http.Header, o outcome) {
	began := time.Now()
	var remaining time.Duration
	if !c.deadline.IsZero() {
		remaining = max(time.Millisecond, c.deadline.Sub(began))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	headersBy := func() bool { return true }
	if c.plan.Timeout > 0 {
		headersBy = time.AfterFunc(c.plan.Timeout, func() { cancel(errTimeout) }).Stop
	}
	resp, err := c.transport.RoundTrip(c.make.request(ctx, body, retries, remaining))
	if !headersBy() && err == nil {
		resp.Body.Close()
		err = errTimeout
	}
	if err != nil {
		return 0, nil, c.failed(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, resp.Header, c.notOK(ctx, resp, began)
	}
	return resp.StatusCode, resp.Header, c.ok(ctx, resp)
}

// ok reads an answer with status 200.
func (c *caller) ok(ctx context.Context, resp *http.Response) outcome {
	a := answer{queue: queueTime(resp.Header)}
	byFirst := c.tenant.byFirstToken(c.plan.DeadlineOf)
	var err error
	if c.tenant.Stream {
		a.service, err = readStream(resp, func() error {
			a.first = max(1, time.Since(c.intended))
			if byFirst && c.timer != nil && !c.timer.Stop() {
				return errLate
			}
			return nil
		})
	} else {
		a.service, err = readWhole(resp)
	}
	if err != nil {
		return c.failed(ctx, err)
	}
	a.total = time.Since(c.intended)
	c.result.answered, c.result.answer = true, a
	if c.tenant.Stream {
		// Nothing can change the outcome any more. Read to the end, or the connection is lost.
		defer time.AfterFunc(drainTime, func() { c.cancel(errDrained) }).Stop()
		io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	}
	took := a.total
	if byFirst && a.first > 0 {
		took = a.first
	}
	if c.tenant.Deadline > 0 && took > c.tenant.Deadline {
		return late
	}
	return onTime
}

// notOK reads an answer with any other status.
func (c *caller) notOK(ctx context.Context, resp *http.Response, began time.Time) outcome {
	c.result.message = refusalText(resp)
	switch {
	case ctx.Err() != nil:
		return c.stopped(ctx)
	case isRefusal(resp.StatusCode):
		c.result.refusals = append(c.result.refusals, time.Since(began))
		return refused
	case resp.StatusCode == http.StatusGatewayTimeout && c.tenant.Deadline > 0:
		return late
	}
	return failed
}

// failed names the outcome of an attempt that ended in err.
func (c *caller) failed(ctx context.Context, err error) outcome {
	if ctx.Err() != nil {
		return c.stopped(ctx)
	}
	if errors.Is(err, errLate) {
		return late
	}
	c.result.message = errorMessage(err)
	return failed
}

// stopped names the outcome of a caller, or an attempt, whose context has ended.
func (c *caller) stopped(ctx context.Context) outcome {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errLate):
		return late
	case errors.Is(cause, errLeft):
		return left
	default:
		c.result.message = cause.Error()
		return failed
	}
}

// jitter draws from numbers that belong to this caller alone, so that a run can be repeated.
func (c *caller) jitter(retries int) float64 {
	return rand.New(rand.NewPCG(c.plan.Seed^uint64(retries+1)<<48, c.arrival.n)).Float64()
}

// sleep reports whether the pause went by before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errorMessage leaves out the local address, which differs with every connection.
func errorMessage(err error) string {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return fmt.Sprintf("%s: %v", op.Op, op.Err)
	}
	return clip(err.Error())
}
