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
	at    endpoint
	sent  int // stream events
	buf   []byte
}

func newOutput(w http.ResponseWriter, fault injection, at endpoint) *output {
	o := &output{w: w, flush: http.NewResponseController(w), fault: fault, at: at}
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
	if o.at.array && o.sent > 0 {
		if err := o.write([]byte("]")); err != nil {
			return err
		}
	}
	if o.zip != nil {
		return o.zip.Close()
	}
	return nil
}

// event writes one stream event, or does what the fault says at this place. Its
// name is empty where events have none.
func (o *output) event(name string, data []byte) error {
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
			name, data := o.broken()
			if err := o.write(o.frame(b, name, data)); err != nil {
				return err
			}
			return errEnded
		}
	case Malformed:
		if here {
			data = data[:len(data)/2]
		}
	case Comments:
		if o.at.array {
			break
		}
		b = append(b, ": PROCESSING\n\n"...)
	}
	o.buf = o.frame(b, name, data)
	return o.write(o.buf)
}

// frame appends an event as it stands on the wire.
func (o *output) frame(dst []byte, name string, data []byte) []byte {
	if o.at.array {
		return append(append(dst, "[,"[min(o.sent-1, 1)]), data...)
	}
	line := "\n"
	if o.fault.fault == CRLF || o.at.dialect == google {
		line = "\r\n"
	}
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), line...)
	}
	dst = append(append(dst, "data: "...), data...)
	return append(append(dst, line...), line...)
}

// broken is the event of an error within a stream.
func (o *output) broken() (name string, data []byte) {
	switch o.at.route {
	case messages:
		return "error", appendAnthropicError(nil, 529, "Overloaded", "overloaded", "")
	case responses:
		return "error", appendResponseFault(nil, brokenMessage, "server_error")
	}
	return "", o.at.dialect.appendError(nil, 500, brokenMessage, "server_error", "internal_error", "", "")
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
	h := e.w.Header()
	h["Content-Type"] = []string{"text/event-stream; charset=utf-8"}
	if e.at.array {
		h["Content-Type"] = []string{"application/json; charset=utf-8"}
	}
	h["Cache-Control"] = []string{"no-cache"}
	e.processed()
	out := newOutput(e.w, e.fault, e.at)
	e.w.WriteHeader(http.StatusOK)

	return e.concluded(out, e.events(out, e.form(), ticks, start))
}

// events writes the chunks. It returns errStopped if the caller or the server
// went away in between.
func (e *exchange) events(out *output, f form, ticks *clock, start float64) error {
	longest := e.job.longest
	step := e.job.decode / float64(max(1, longest-1))
	batch := 1
	if !e.server.settings.TokenByToken && step < eventGap {
		batch = int(math.Min(math.Ceil(eventGap/max(step, 1e-9)), float64(longest)))
	}
	if err := f.begin(out); err != nil {
		return err
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
			if err := f.delta(out, choice, from, min(to, total)); err != nil {
				return err
			}
			if total <= to && total < longest { // the longest end in tail
				if err := f.end(out, choice, nil); err != nil {
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
	return e.tail(out, f)
}

// tail ends the choices that ran to the end, and with the last of them the stream.
func (e *exchange) tail(out *output, f form) error {
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
		if err := f.end(out, choice, work); err != nil {
			return err
		}
	}
	return nil
}
