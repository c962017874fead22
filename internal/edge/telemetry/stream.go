package telemetry

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
)

const (
	// streamEvents may wait for the file: about 7 MB.
	streamEvents = 16_384
	// StreamLimit is how many bytes a Stream writes at most.
	StreamLimit = 4 << 30
)

// stream takes events from the recorder without making it wait.
type stream struct {
	events chan Event
	lost   uint64 // not written, and not yet said so
	done   chan struct{}
}

// Stream writes every event from now on to w, as lines of a dump, until Close
// or until limit bytes are written; an event and its decisions are not taken
// apart. It never waits for w: what w is too slow for is lost, and the lines
// say so as a Lost. Losses, errors and the end at the limit are logged.
func (r *Recorder) Stream(w io.Writer, limit int64, log *slog.Logger) {
	r.out = &stream{events: make(chan Event, streamEvents), done: make(chan struct{})}
	go r.out.write(w, limit, log)
}

// Close ends the Stream, if there is one, when all it holds is written.
func (r *Recorder) Close() {
	if r.out == nil {
		return
	}
	if r.out.lost > 0 {
		r.out.events <- Event{Kind: EventLost, Lost: r.out.lost}
	}
	close(r.out.events)
	<-r.out.done
	r.out = nil
}

func (s *stream) send(e *Event) {
	if s.lost > 0 {
		select {
		case s.events <- Event{At: e.At, Kind: EventLost, Lost: s.lost}:
			s.lost = 0
		default:
		}
	}
	if s.lost == 0 {
		select {
		case s.events <- *e:
			return
		default:
		}
	}
	s.lost++
}

func (s *stream) write(w io.Writer, limit int64, log *slog.Logger) {
	defer close(s.done)
	counted := &counter{w: w}
	b := bufio.NewWriter(counted)
	enc := json.NewEncoder(b)
	for e := range s.events {
		if counted.n >= limit && e.Kind != EventDecision {
			log.Error("the recording has reached its limit and ends here", "bytes", counted.n)
			break
		}
		if e.Kind == EventLost {
			log.Error("the recording fell behind and lost events: what follows cannot be replayed", "lost", e.Lost)
		}
		err := enc.Encode(e.line())
		if err == nil && len(s.events) == 0 {
			err = b.Flush()
		}
		if err != nil {
			break // the writer keeps its error for the end
		}
	}
	if err := b.Flush(); err != nil {
		log.Error("the recording failed and is not complete", "error", err.Error())
	}
	for range s.events { // until Close
	}
}

// counter counts the bytes that went to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
