package mock

import (
	"compress/gzip"
	"errors"
	"math"
	"net/http"
	"time"
)

// The ways in which a fault ends an answer early.
var (
	errCut     = errors.New("cut by a fault")
	errStalled = errors.New("stalled by a fault")
	errEnded   = errors.New("ended by a fault")
)

// output writes an answer's body, through gzip or byte by byte if a fault asks for it.
type output struct {
	w     http.ResponseWriter
	flush *http.ResponseController
	fault injection
	zip   *gzip.Writer
	sent  int // stream events
	buf   []byte
}

func newOutput(w http.ResponseWriter, fault injection) *output {
	o := &output{w: w, flush: http.NewResponseController(w), fault: fault}
	if fault.fault == Gzip {
		w.Header().Set("Content-Encoding", "gzip")
		o.zip = gzip.NewWriter(w)
	}
	return o
}

// write writes p; what is not flushed may still be buffered.
func (o *output) write(p []byte) error {
	switch o.fault.fault {
	case Gzip:
		_, err := o.zip.Write(p)
		return err
	case Bytewise:
		for i := range p {
			if _, err := o.w.Write(p[i : i+1]); err != nil {
				return err
			}
			if err := o.flush.Flush(); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := o.w.Write(p)
	return err
}

// send flushes everything written so far to the caller.
func (o *output) send() error {
	if o.zip != nil {
		if err := o.zip.Flush(); err != nil {
			return err
		}
	}
	return o.flush.Flush()
}

// end completes the body.
func (o *output) end() error {
	if o.zip != nil {
		return o.zip.Close()
	}
	return nil
}

// event writes one stream event, or does what the fault says at this place.
func (o *output) event(data []byte) error {
	here := o.sent == int(o.fault.arg)
	o.sent++
	b := o.buf[:0]
	switch o.fault.fault {
	case Cut, Stall:
		if here {
			if err := o.send(); err != nil {
				return err
			}
			if o.fault.fault == Cut {
				return errCut
			}
			return errStalled
		}
	case ErrorEvent:
		if here {
			b = append(b, "data: "...)
			b = appendError(b, "The server had an error while processing your request.", "server_error", "internal_error")
			if err := o.write(append(b, "\n\n"...)); err != nil {
				return err
			}
			return errEnded
		}
	case Malformed:
		if here {
			data = data[:len(data)/2]
		}
	case Comments:
		b = append(b, ": PROCESSING\n\n"...)
	}
	b = append(append(b, "data: "...), data...)
	if o.fault.fault == CRLF {
		b = append(b, "\r\n\r\n"...)
	} else {
		b = append(b, "\n\n"...)
	}
	o.buf = b
	return o.write(b)
}

// eventGap is the least time between events of a stream, in seconds: faster
// tokens share an event.
const eventGap = 0.010

// stream writes a streamed answer as its tokens come.
func (e *exchange) stream() outcome {
	begin := e.server.plain.now()
	if !e.wait(e.server.plain, begin+e.job.prefill) {
		return e.stopped()
	}
	ticks, start := e.server.plain, begin+e.job.prefill
	if !e.job.perMean {
		ticks = e.server.decode
		start = ticks.now()
	}
	a := &answer{call: e.call, job: e.job, fault: e.fault}
	object := "chat.completion.chunk"
	if e.call.route == completions {
		object = "text_completion"
	}
	a.head = a.appendHead(nil, object, time.Now())
	h := e.w.Header()
	h["Content-Type"] = []string{"text/event-stream; charset=utf-8"}
	h["Cache-Control"] = []string{"no-cache"}
	e.processed()
	out := newOutput(e.w, e.fault)
	e.w.WriteHeader(http.StatusOK)

	err := e.events(out, a, ticks, start)
	if err == nil && e.fault.fault != NoDone {
		err = out.event([]byte("[DONE]"))
	}
	return e.concluded(out, err)
}

// events writes the chunks. It returns errStopped if the caller or the server
// went away in between.
func (e *exchange) events(out *output, a *answer, ticks *clock, start float64) error {
	longest := e.job.longest
	step := e.job.decode / float64(max(1, longest-1))
	batch := 1
	if !e.server.settings.TokenByToken && step < eventGap {
		batch = int(math.Min(math.Ceil(eventGap/max(step, 1e-9)), float64(longest)))
	}
	var data []byte
	if e.call.route == chat {
		for choice := range e.job.outs {
			data = a.appendRole(data[:0], choice)
			if err := out.event(data); err != nil {
				return err
			}
		}
	}
	// The first token goes alone, so that its time is the time to the first
	// token; each later batch goes when its last token is ready.
	for from, to := 0, min(1, longest); from < longest; from, to = to, min(to+batch, longest) {
		if from > 0 && !e.wait(ticks, start+step*float64(to-1)) {
			return errStopped
		}
		for choice, total := range e.job.outs {
			if from >= total {
				continue
			}
			data = a.appendDelta(data[:0], choice, from, min(to, total))
			if err := out.event(data); err != nil {
				return err
			}
			if total <= to && total < longest { // the longest end in tail
				if err := e.finish(out, a, choice, nil); err != nil {
					return err
				}
			}
		}
		if err := out.send(); err != nil {
			return err
		}
	}
	if !e.wait(ticks, start+e.job.decode) {
		return errStopped
	}
	return e.tail(out, a)
}

// tail ends the choices that ran to the end and adds the usage.
func (e *exchange) tail(out *output, a *answer) error {
	last := 0
	for choice, total := range e.job.outs {
		if total == e.job.longest {
			last = choice
		}
	}
	for choice, total := range e.job.outs {
		if total < e.job.longest {
			continue
		}
		var work []byte
		if choice == last {
			work = appendWork(nil, time.Since(e.ticket.granted), e.ticket.granted.Sub(e.ticket.arrived))
		}
		if err := e.finish(out, a, choice, work); err != nil {
			return err
		}
	}
	if e.call.includeUsage {
		return out.event(a.appendUsageChunk(nil))
	}
	return nil
}

func (e *exchange) finish(out *output, a *answer, choice int, work []byte) error {
	if e.fault.fault == NoFinish {
		return nil
	}
	return out.event(a.appendFinish(nil, choice, work))
}
