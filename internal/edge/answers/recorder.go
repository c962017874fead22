package answers

import (
	"bytes"
	"slices"
	"time"
)

// DefaultMost is how many bytes of an answer are recorded when nothing is said.
const DefaultMost = 1 << 20

// Recorder collects what one caller is sent, and says in the end whether it may
// be given to others. A nil Recorder collects nothing, so that a relay need not
// ask whether its caller wants this. It is for one goroutine.
type Recorder struct {
	form   form
	most   int
	body   []byte
	whole  bool
	gaveUp bool
}

// NewRecorder returns the recorder of an answer on a surface, as it is named in
// metrics, of at most so many bytes; zero or less means DefaultMost. It is nil for
// surfaces whose answers are not kept.
func NewRecorder(surface string, most int) *Recorder {
	form, ok := formOf(surface)
	if !ok {
		return nil
	}
	if most <= 0 {
		most = DefaultMost
	}
	return &Recorder{form: form, most: most}
}

// Write takes a part of a stream, in the form that is sent: lines end in LF. The
// parts may be cut anywhere. It never fails; beyond the bound it frees what it has.
func (r *Recorder) Write(p []byte) (int, error) {
	switch {
	case r == nil || r.gaveUp:
	case r.whole || len(r.body)+len(p) > r.most:
		r.giveUp()
	default:
		r.body = append(r.body, p...)
	}
	return len(p), nil
}

// Whole takes an answer that is not a stream. It is for answers with status 200.
func (r *Recorder) Whole(body []byte) {
	switch {
	case r == nil || r.gaveUp:
	case r.whole || len(r.body) > 0 || len(body) > r.most:
		r.giveUp()
	default:
		r.body, r.whole = bytes.Clone(body), true
	}
}

func (r *Recorder) giveUp() { r.body, r.gaveUp = nil, true }

// Answer ends the recording, and returns what others may be given, stored now.
// Who gave it and its tokens are for the caller to fill in. It is false for what
// is not known to be whole and good:
//
//   - errors, also within a stream, and streams without their proper end, on chat
//     and completions the mark [DONE];
//   - answers that were cut or stopped, by length, by a filter or by a pause, and
//     refusals of the model;
//   - answers with calls of tools, which have effects when the caller runs them;
//   - answers without text, and whatever has parts that nobody here knows.
//
// Comments and pings of a stream are signs of life and left out.
func (r *Recorder) Answer(now time.Time) (*Answer, bool) {
	if r == nil || r.gaveUp || len(r.body) == 0 {
		return nil, false
	}
	body := r.body
	r.giveUp()
	if r.whole {
		if !r.form.goodWhole(body) {
			return nil, false
		}
		return &Answer{ContentType: "application/json", Body: body, Stored: now}, true
	}
	n, ends, ok := r.form.goodStream(body)
	if !ok {
		return nil, false
	}
	return &Answer{
		ContentType: "text/event-stream; charset=utf-8",
		Body:        slices.Clone(body[:n]), // the room to grow is given back
		Ends:        slices.Clone(ends),
		Stored:      now,
	}, true
}
