package upstream

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// Response is a good answer that has begun. If Events is set it is read with
// Next, else with ReadAll; a stream call may get either, as some upstreams
// answer it with one body. It is for one goroutine; to interrupt a read, end the
// context of the call.
type Response struct {
	Status   int
	Header   http.Header // without the encoding, which is undone
	Events   bool
	Replayed bool // sent twice because a kept connection was stale

	Start     time.Time // of the call
	HeadersAt time.Time
	FirstByte time.Time // of the first event with content; of the headers when Events is not set

	provider string
	watch    *watch
	body     io.ReadCloser
	length   int64 // of the body, below zero when unknown

	events  *wire.EventReader
	held    []wire.Event // what came before the first event with content, and has not been returned yet
	first   wire.Event
	isFirst bool // first has not been returned yet
	opening bool // the limit of the first event runs
	sawDone bool
	ended   bool // the body was read to its end
	closed  bool
	err     error // final error of Next
}

// drainTime is how long Close waits for the end of a body after the last event,
// to be able to keep the connection.
const drainTime = 100 * time.Millisecond

// open checks the answer and, on a stream, waits for the first event.
func (r *Response) open(c *Client, call *Call) error {
	encoding := strings.ToLower(r.Header.Get("Content-Encoding"))
	switch encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		r.body, r.length = &gzipBody{body: r.body}, -1
		r.Header.Del("Content-Length")
	default:
		if r.Status/100 == 2 {
			return r.fail(badAnswer("content encoding %q", encoding))
		}
	}
	r.Header.Del("Content-Encoding")
	if r.Status/100 != 2 {
		return r.readError()
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	unclear := kind == "" || kind == "text/plain" // the content will tell
	switch {
	case r.length == 0:
		return r.fail(badAnswer("empty body"))
	case call.Stream && (kind == "text/event-stream" || unclear):
		r.Events = true
		return r.openEvents(c)
	case isJSON || unclear:
		return nil
	}
	return r.fail(badAnswer("content type %q", kind))
}

// readError turns an answer that is not a success into its failure.
func (r *Response) readError() error {
	r.watch.limit(HeaderTimeout, time.Since(r.watch.start)+errorBodyTime)
	body, _ := io.ReadAll(io.LimitReader(r.body, maxErrorBody)) // a part of it is better than none
	f := statusFailure(r.Status, r.Header, body, r.HeadersAt)
	f.Provider = r.provider
	return f
}

// openEvents waits for the first event that has content, a finish reason or an
// error. Events that only announce an answer are held until then: a caller who
// has seen them could not be given the answer of another attempt.
func (r *Response) openEvents(c *Client) error {
	r.events = wire.NewEventReader(r.body, c.p.MaxEvent)
	r.opening = true
	r.watch.limit(FirstTokenTimeout, c.p.FirstToken)
	var since time.Time // of the first held event
	size := 0
	for {
		ev, err := r.next()
		if err != nil {
			if err == io.EOF {
				r.ended = true
				if err = badAnswer("no event"); len(r.held) > 0 {
					err = io.ErrUnexpectedEOF
				}
			}
			return r.fail(err)
		}
		if f := streamFailure(ev); f != nil {
			return r.inside(f)
		}
		now := time.Now()
		if since.IsZero() {
			since = now
		}
		if size += len(ev.Raw); size <= holdBytes && now.Sub(since) < holdTime && !ev.Done && (wire.Preamble(ev.Data) || wire.Announces(ev.Name, ev.Data)) {
			r.held = append(r.held, hold(ev))
			continue
		}
		if ev.Name == nil && !ev.Done && wire.ReadChunk(ev.Data).Broken() {
			return r.fail(badAnswer("the first event is no JSON"))
		}
		r.opening = false
		r.FirstByte = now
		r.watch.idling()
		r.first, r.isFirst = ev, true
		return nil
	}
}

// Bounds of what is held. Some servers send empty chunks as a sign of life while
// a model thinks: their callers should hear it too.
const (
	holdBytes = 64 << 10
	holdTime  = 10 * time.Second
)

// hold copies an event, whose bytes are only lent.
func hold(ev wire.Event) wire.Event {
	b := slices.Concat(ev.Raw, ev.Name, ev.Data)
	raw, rest := b[:len(ev.Raw)], b[len(ev.Raw):]
	held := wire.Event{Raw: raw, Data: rest[len(ev.Name):]}
	if ev.Name != nil {
		held.Name = rest[:len(ev.Name)]
	}
	return held
}

// Next returns the next event; its views are valid until the following call.
// It returns io.EOF at the end mark or the clean end of the stream, and a
// *Failure otherwise; errors are final. Pings are left out like comments: the
// relay to the caller has its own, and none of them shows progress.
func (r *Response) Next() (wire.Event, error) {
	if r.err != nil {
		return wire.Event{}, r.err
	}
	ev, err := r.first, error(nil)
	if len(r.held) > 0 {
		ev, r.held = r.held[0], r.held[1:]
	} else if r.isFirst {
		r.first, r.isFirst = wire.Event{}, false
	} else if r.sawDone {
		err = io.EOF // what follows the mark is for nobody, nor is its failing
	} else if ev, err = r.next(); err == io.EOF {
		r.ended = true
	} else if err != nil {
		err = r.fail(err)
	}
	if err != nil {
		r.err = err
		return wire.Event{}, err
	}
	r.sawDone = ev.Done || len(ev.Name) > 0 && isLast(ev.Name)
	return ev, nil
}

// next reads one event under the limit that runs already or the idle limit.
func (r *Response) next() (wire.Event, error) {
	waiting := r.opening
	for {
		if !waiting && !r.events.Buffered() {
			r.watch.begin()
			waiting = true
		}
		ev, err := r.events.Next()
		if err == nil && isPing(ev) {
			continue
		}
		if waiting && !r.opening {
			r.watch.end()
		}
		return ev, err
	}
}

// isPing tells an event that shows no progress, named or not.
func isPing(ev wire.Event) bool {
	return string(ev.Name) == "ping" || len(ev.Data) < 32 && bytes.HasPrefix(ev.Data, []byte(`{"type":`)) && bytes.Contains(ev.Data, []byte(`"ping"`))
}

// isLast reports whether an event of this name ends a stream that has no [DONE].
func isLast(name []byte) bool {
	switch string(name) {
	case "message_stop", "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}

// Held is how many events before the first content Next has yet to return.
func (r *Response) Held() int { return len(r.held) }

// Buffered reports whether Next returns without waiting for the upstream, so
// that the relay may put off its flush.
func (r *Response) Buffered() bool {
	return r.isFirst || r.events != nil && r.events.Buffered()
}

// SawDone reports whether the end mark of the surface was returned by Next. A
// stream that ended without it, and without a finish reason, was cut.
func (r *Response) SawDone() bool { return r.sawDone }

// ReadAll returns the whole body, at most limit bytes, which must be one JSON
// object or array by its first and last character. The error is a *Failure.
func (r *Response) ReadAll(limit int) ([]byte, error) {
	if r.length > int64(limit) {
		return nil, r.fail(errTooLarge)
	}
	buf := make([]byte, 0, max(r.length, 512)+1) // one more, to see the end without growing
	for {
		n, err := r.body.Read(buf[len(buf):cap(buf)])
		if n > 0 && len(buf) == 0 {
			r.watch.idling()
		}
		buf = buf[:len(buf)+n]
		r.watch.end()
		switch {
		case len(buf) > limit:
			return nil, r.fail(errTooLarge)
		case err == io.EOF:
			r.ended = true
			if err := checkJSON(buf); err != nil {
				return nil, r.fail(err)
			}
			if f := errorFailure(buf); f != nil {
				return nil, r.inside(f)
			}
			return buf, nil
		case err != nil:
			return nil, r.fail(err)
		}
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		r.watch.begin()
	}
}

func checkJSON(body []byte) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return badAnswer("empty body")
	}
	first, last := body[0], body[len(body)-1]
	switch {
	case first != '{' && first != '[':
		return badAnswer("no JSON")
	case first == '{' && last != '}', first == '[' && last != ']':
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Close ends the call. A body that was not read to its end takes its connection
// with it, but for the few bytes that may follow the end mark.
func (r *Response) Close() {
	if r.closed {
		return
	}
	r.closed = true
	if r.sawDone && !r.ended {
		r.watch.limit(IdleTimeout, time.Since(r.watch.start)+drainTime)
		var rest [512]byte
		for range 16 {
			if _, err := r.body.Read(rest[:]); err != nil {
				break
			}
		}
	}
	r.watch.stop()
	r.body.Close()
	if r.events != nil {
		r.events.Release()
	}
}

// Limits returns what the headers say of the provider's limits, as of when they
// arrived.
func (r *Response) Limits() admit.Sample { return ReadLimits(r.Header, r.HeadersAt) }

// inside completes the failure that the content of a good status stands for.
func (r *Response) inside(f *Failure) *Failure {
	f.Provider, f.Header, f.Limits = r.provider, r.Header, r.Limits()
	return f
}

func (r *Response) fail(err error) *Failure {
	kind, err := kindOf(r.watch, err, true, true)
	return &Failure{Provider: r.provider, Kind: kind, Status: r.Status, Err: err, Retryable: kind.retryable(), Sent: true}
}

// gzipBody undoes the encoding of an upstream that compresses unasked. What was
// flushed can be read without waiting for more.
type gzipBody struct {
	body io.ReadCloser
	z    *gzip.Reader
}

func (g *gzipBody) Read(p []byte) (int, error) {
	if g.z == nil {
		z, err := gzip.NewReader(g.body)
		if err != nil {
			return 0, g.broken(err)
		}
		g.z = z
	}
	n, err := g.z.Read(p)
	return n, g.broken(err)
}

func (g *gzipBody) broken(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		return badAnswer("%v", err)
	}
	return err
}

func (g *gzipBody) Close() error { return g.body.Close() }
