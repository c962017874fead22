package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// DefaultMaxEvent is the byte budget of one event when none is given: 32 MiB.
const DefaultMaxEvent = 32 << 20

// ErrEventTooLarge says that one event is over the byte budget of its reader.
// The stream cannot be continued after it.
var ErrEventTooLarge = errors.New("event is over the size limit")

// Event is one server-sent event that carries data. The slices are views into
// the reader's buffer and are valid until the next call of Next.
type Event struct {
	Raw  []byte // the event as it is to be relayed: LF line ends, closed by an empty line
	Name []byte // value of the event field, nil when there is none
	Data []byte // the data lines joined by LF, without their field name
	Done bool   // the data is the [DONE] mark of the OpenAI surface
}

// EventReader cuts a stream into events. It accepts LF, CRLF and CR as line
// ends, also mixed and split over reads, and yields only what every client
// survives: a leading byte order mark, comments, retry fields, unknown fields
// and blocks without data are dropped.
//
// An event that is already in the form to relay is not copied. Otherwise it is
// rewritten in place, which always fits because dropping and LF only shrink it.
// The buffer is pooled, starts at 2 KiB and grows only while a large event
// needs it. An EventReader is not safe for concurrent use.
type EventReader struct {
	r   io.Reader
	max int
	err error // what the last read ended with

	buf   *eventBuffer
	start int // first byte of the event being assembled
	write int // end of its kept, normalised lines
	pos   int // start of the next line to parse; write <= pos
	scan  int // pos <= scan: no line end before it
	end   int // end of the bytes read

	began  bool // the place of a byte order mark has been passed
	skipLF bool // the last line ended in CR; an LF that follows belongs to it

	name, data extent // relative to start; data is the only data line when dataLines is 1
	dataLines  int
	hasData    bool   // some data line is not blank
	joined     []byte // joined data of events with several data lines

	ahead   Event // parsed by Buffered, not yet returned
	isAhead bool
}

type extent struct{ from, to int }

// NewEventReader returns a reader of the events in r. maxEvent is the largest
// event in bytes, without its closing line ends; zero or less means
// DefaultMaxEvent. Reading r stops at the first error Next returns.
func NewEventReader(r io.Reader, maxEvent int) *EventReader {
	if maxEvent <= 0 {
		maxEvent = DefaultMaxEvent
	}
	return &EventReader{r: r, max: maxEvent, buf: getEventBuffer(0)}
}

// Next returns the next event with data. It returns io.EOF only when the
// stream ended between two events, io.ErrUnexpectedEOF when it ended inside
// one, ErrEventTooLarge, or the error of the underlying reader. A last event
// without its closing empty line is accepted when it is [DONE] or complete
// JSON. Errors are final, and release the buffer.
func (r *EventReader) Next() (Event, error) {
	if r.isAhead {
		r.isAhead = false
		return r.ahead, nil
	}
	for {
		if r.buf == nil {
			return Event{}, r.err
		}
		ev, ok, err := r.parse()
		if ok {
			return ev, nil
		}
		if err == nil && r.err != nil {
			if err = r.err; err == io.EOF && !r.atBoundary() {
				if ev, ok := r.last(); ok {
					return ev, nil
				}
				err = io.ErrUnexpectedEOF
			}
		}
		if err != nil {
			r.Release()
			r.err = err
			return Event{}, err
		}
		r.fill()
	}
}

// Buffered reports whether Next returns an event without reading. A relay that
// flushes only when it is false writes coalesced events with one call.
func (r *EventReader) Buffered() bool {
	if r.isAhead {
		return true
	}
	if r.buf == nil {
		return false
	}
	r.ahead, r.isAhead, _ = r.parse() // an error is found again by Next
	return r.isAhead
}

// Release gives the buffer back. The views of earlier events are void after it
// and Next returns io.ErrClosedPipe, or the final error it returned before.
func (r *EventReader) Release() {
	if r.buf == nil {
		return
	}
	putEventBuffer(r.buf)
	r.buf, r.joined, r.isAhead = nil, nil, false
	if r.err == nil {
		r.err = io.ErrClosedPipe
	}
}

// parse consumes complete lines until an event is whole. ok is false when the
// buffered bytes hold no further complete event.
func (r *EventReader) parse() (ev Event, ok bool, err error) {
	b := r.buf.b
	if !r.began && !r.passMark() {
		return Event{}, false, nil
	}
	for {
		if r.skipLF && r.pos < r.end {
			r.skipLF = false
			if b[r.pos] == '\n' {
				r.pos++
				r.scan = max(r.scan, r.pos)
			}
		}
		eol := lineEnd(b[r.scan:r.end])
		if eol < 0 {
			r.scan = r.end
			if r.tooLarge(r.end) {
				return Event{}, false, ErrEventTooLarge
			}
			return Event{}, false, nil
		}
		eol += r.scan
		from := r.pos
		if r.tooLarge(eol) {
			return Event{}, false, ErrEventTooLarge
		}
		r.pos = eol + 1
		r.scan = r.pos
		r.skipLF = b[eol] == '\r'
		if from == eol { // the empty line that closes an event
			if r.hasData {
				return r.finish(), true, nil
			}
			r.reset()
			continue
		}
		r.keep(from, eol)
	}
}

// tooLarge reports whether the event is over the limit with the line, or part
// of a line, that ends at to. An empty line adds nothing.
func (r *EventReader) tooLarge(to int) bool {
	return to > r.pos && r.write-r.start+to-r.pos > r.max
}

// passMark skips a byte order mark. It is false while too few bytes are there
// to tell.
func (r *EventReader) passMark() bool {
	const mark = "\xef\xbb\xbf"
	head := r.buf.b[r.pos:r.end]
	if len(head) < len(mark) && r.err == nil && string(head) == mark[:len(head)] {
		return false
	}
	r.began = true
	if bytes.HasPrefix(head, []byte(mark)) {
		r.pos += len(mark)
	}
	r.reset()
	return true
}

// reset starts a new event at the next line.
func (r *EventReader) reset() {
	r.start, r.write = r.pos, r.pos
	r.scan = max(r.scan, r.pos)
	r.name, r.data, r.dataLines, r.hasData = extent{-1, -1}, extent{}, 0, false
}

// keep appends the line in [from, to) to the event if it is of a kind to relay.
func (r *EventReader) keep(from, to int) {
	b := r.buf.b
	field, value := splitField(b[from:to])
	if field == fieldOther {
		if r.write == r.start { // nothing kept yet: the event begins after it
			r.start, r.write = r.pos, r.pos
		}
		return
	}
	if r.write != from {
		copy(b[r.write:], b[from:to])
	}
	at := extent{r.write - r.start + value, r.write - r.start + to - from}
	r.write += to - from
	b[r.write] = '\n' // at most where the line end was
	r.write++
	switch field {
	case fieldEvent:
		r.name = at
	case fieldData:
		r.data = at
		r.dataLines++
		r.hasData = r.hasData || !blank(b[r.start+at.from:r.start+at.to])
	}
}

// finish returns the assembled event; the caller has seen its empty line, so
// there is a byte left to close it with.
func (r *EventReader) finish() Event {
	b := r.buf.b
	b[r.write] = '\n'
	r.write++
	raw := b[r.start:r.write:r.write]
	ev := Event{Raw: raw}
	if r.name.from >= 0 {
		ev.Name = raw[r.name.from:r.name.to:r.name.to]
	}
	if r.dataLines == 1 {
		ev.Data = raw[r.data.from:r.data.to:r.data.to]
		ev.Done = string(ev.Data) == "[DONE]"
	} else {
		ev.Data = r.join(raw)
	}
	r.reset()
	return ev
}

// join collects the data lines of raw. It appends behind the data of earlier
// events, which may still be in use; fill starts over.
func (r *EventReader) join(raw []byte) []byte {
	from := len(r.joined)
	first := true
	for len(raw) > 1 {
		n := bytes.IndexByte(raw, '\n')
		if field, value := splitField(raw[:n]); field == fieldData {
			if !first {
				r.joined = append(r.joined, '\n')
			}
			first = false
			r.joined = append(r.joined, raw[value:n]...)
		}
		raw = raw[n+1:]
	}
	return r.joined[from:len(r.joined):len(r.joined)]
}

// last closes the event that the end of the stream left open and returns it if
// it is whole all the same: a cut cannot leave [DONE] or valid JSON behind.
func (r *EventReader) last() (Event, bool) {
	r.makeRoom()
	r.end += copy(r.buf.b[r.end:], "\n\n")
	ev, ok, _ := r.parse()
	return ev, ok && (ev.Done || completeJSON(ev.Data))
}

// atBoundary reports whether no event has begun. A comment is not an event.
func (r *EventReader) atBoundary() bool {
	return r.write == r.start && (r.pos == r.end || r.buf.b[r.pos] == ':')
}

// completeJSON reports whether data is a whole JSON value whose end shows: of a
// cut number or word one cannot tell.
func completeJSON(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && (data[0] == '{' || data[0] == '[') && json.Valid(data)
}
