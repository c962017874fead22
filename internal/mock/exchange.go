package mock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// errStopped means that the caller, or the server as a whole, went away.
var errStopped = errors.New("stopped")

// outcome is how a request that had a slot ended.
type outcome uint8

const (
	broken outcome = iota // the connection must not end cleanly
	lost                  // the caller had gone
	done
)

// exchange is one inference request on its way through the server.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	at     endpoint
	call   call
	job    *job
	fault  injection
	gone   <-chan struct{} // closed when the caller leaves; nil if nobody looks
	ticket *ticket
	waiter *waiter
}

// serve runs the exchange: the faults that need no slot, the queue, the work.
func (e *exchange) serve() {
	if e.fault.fault != NoFault {
		e.server.slots.faulted()
	}
	if e.refuse() {
		return
	}
	if !e.server.settings.IgnoreDisconnect {
		e.gone = e.r.Context().Done()
	}
	t, g := e.server.slots.acquire(e.gone, e.server.closed)
	switch g {
	case refused:
		set(e.w.Header(), "Retry-After", e.server.settings.RetryAfter)
		e.at.dialect.writeError(e.w, 429, fmt.Sprintf("All %d slots are busy and the queue of %d is full.", e.server.settings.Slots, *e.server.settings.Queue),
			"rate_limit_error", "rate_limit_exceeded")
		return
	case left:
		panic(http.ErrAbortHandler)
	}
	e.ticket = t
	if e.work() == broken {
		panic(http.ErrAbortHandler)
	}
}

// refuse answers with a fault that takes no slot, if there is one.
func (e *exchange) refuse() bool {
	if status := e.fault.status(); status != 0 {
		e.fault.headers(e.w.Header(), e.at.dialect)
		entry := faultTable[e.fault.fault]
		message := entry.message
		if message == "" {
			message = "A simulated fault: " + e.fault.fault.String() + "."
		}
		e.at.dialect.writeError(e.w, status, message, entry.kind, entry.code)
		return true
	}
	switch e.fault.fault {
	case Reset, Outage:
		reset(e.w)
	case Silence:
		e.hang(e.r.Context().Done())
		panic(http.ErrAbortHandler)
	case HTML:
		e.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = e.w.Write([]byte("<!doctype html><title>Busy</title><h1>service overloaded</h1>\n")) // a caller that left is no matter
	case Empty:
		e.w.Header().Set("Content-Length", "0")
	default:
		return false
	}
	return true
}

// work holds the slot for as long as the answer takes, and gives it back.
func (e *exchange) work() (o outcome) {
	var leftAt atomic.Pointer[time.Time]
	stop := context.AfterFunc(e.r.Context(), func() { leftAt.Store(new(time.Now())) })
	defer func() {
		stop()
		var wasted time.Time // since when
		if o != done {
			wasted = e.ticket.granted
		} else if at := leftAt.Load(); at != nil {
			wasted = latest(*at, e.ticket.granted)
		}
		e.server.slots.release(o == done, wasted)
	}()
	e.waiter = newWaiter()
	switch e.fault.fault {
	case Late:
		e.job.prefill += e.fault.arg
	case Slow, Brownout:
		e.job.prefill *= e.fault.arg
		e.job.decode *= e.fault.arg
	}
	if e.call.stream {
		return e.stream()
	}
	return e.whole()
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// form is how the answer is worded.
func (e *exchange) form() form {
	return (&answer{call: e.call, job: e.job, fault: e.fault, azure: e.at.dialect == azure}).form()
}

// brokenMessage is what an error event says.
const brokenMessage = "The server had an error while processing your request."

// whole writes an answer that is not a stream.
func (e *exchange) whole() outcome {
	first, rest := e.job.prefill, e.job.decode
	if e.job.perMean {
		first, rest = first+rest, 0
	}
	if !e.wait(e.server.plain, e.server.plain.now()+first) {
		return e.stopped()
	}
	if rest > 0 && !e.wait(e.server.decode, e.server.decode.now()+rest) {
		return e.stopped()
	}
	now := time.Now()
	work := appendWork(nil, now.Sub(e.ticket.granted), e.ticket.granted.Sub(e.ticket.arrived))
	body := e.form().whole(make([]byte, 0, 1024), now, work)
	e.w.Header()["Content-Type"] = []string{"application/json"}
	e.processed()
	switch e.fault.fault {
	case ErrorEvent:
		body = e.at.dialect.appendError(nil, 500, brokenMessage, "server_error", "internal_error", "", "")
	case Malformed:
		body = body[:len(body)/2]
	}
	out := newOutput(e.w, e.fault, e.at)
	if e.fault.fault != Gzip {
		e.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	var err error
	switch e.fault.fault {
	case Cut, Stall:
		if err = out.write(body[:len(body)/2]); err == nil {
			err = out.send()
		}
		if err == nil && e.fault.fault == Cut {
			err = errCut
		} else if err == nil {
			err = errStalled
		}
	default:
		err = out.write(body)
	}
	return e.concluded(out, err)
}

// concluded turns the way an answer ended into an outcome.
func (e *exchange) concluded(out *output, err error) outcome {
	if err == nil || errors.Is(err, errEnded) {
		err = out.end()
	}
	switch {
	case err == nil:
		return done
	case errors.Is(err, errCut):
		return broken
	case errors.Is(err, errStalled):
		e.hang(e.r.Context().Done())
		return broken
	case errors.Is(err, errStopped):
		return e.stopped()
	case e.server.settings.IgnoreDisconnect:
		return done // the write failed, which such a server does not notice
	}
	return lost
}

// stopped tells a caller that left from a server that was closed.
func (e *exchange) stopped() outcome {
	if e.r.Context().Err() != nil {
		return lost
	}
	return broken
}

// wait waits for a target on a clock; false if the caller or the server went away.
func (e *exchange) wait(c *clock, target float64) bool {
	return c.wait(e.waiter, target, e.gone, e.server.closed)
}

// patience bounds a silence whose caller never leaves.
const patience = 10 * time.Minute

// hang keeps silent until the caller leaves.
func (e *exchange) hang(gone <-chan struct{}) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-gone:
	case <-e.server.closed:
	case <-timer.C:
	}
}

// processed sets the header that says how long the server had the request.
func (e *exchange) processed() {
	ms := time.Since(e.ticket.arrived).Milliseconds()
	e.at.dialect.processed(e.w.Header(), ms)
}
