package sim

import (
	"errors"
	"io"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// dumpRows reads a dump of the flight recorder: JSON lines with at and kind,
// of which the offers have a request and the finishes an outcome. Lengths of
// answers are those of the finish; what has none in the dump has a guessed
// one. Attempts after the first are passed over: simulated callers make
// theirs.
type dumpRows struct {
	lines *lines
	cells *cells
	guess *guess
	held  []offer // in the order of the dump, from first on
	first int
	at    map[admit.ID]int // place in the order of the dump of those held
	total int              // ever taken from held
	atEnd bool
}

// maxHeld bounds the offers that wait for their finish.
const maxHeld = logWindow

type offer struct {
	Arrival
	id       admit.ID
	answered bool
}

// dumpLine is the part of a line that counts.
type dumpLine struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	ID      admit.ID  `json:"id"`
	Request *struct {
		ID        admit.ID
		Tenant    string
		Model     string
		Class     string
		Attempt   int
		Input     int64
		MaxOutput int64
		Stream    bool
		Arrived   time.Time
		Deadline  time.Time
	} `json:"request"`
	Outcome *struct {
		OK     bool
		Input  int64
		Output int64
	} `json:"outcome"`
}

func newDumpRows(l *lines, o *TraceOptions) *dumpRows {
	return &dumpRows{lines: l, cells: newCells(nil, o), guess: newGuess(), at: map[admit.ID]int{}}
}

func (r *dumpRows) next(a *Arrival) error {
	for !r.atEnd && len(r.held)-r.first < maxHeld {
		err := r.read()
		if errors.Is(err, io.EOF) {
			r.atEnd = true
			break
		}
		if err != nil {
			return err
		}
	}
	if r.first == len(r.held) {
		return io.EOF
	}
	o := &r.held[r.first]
	delete(r.at, o.id)
	*a = o.Arrival
	if o.answered {
		r.guess.learn(a)
	} else {
		r.guess.fill(a)
	}
	r.pop()
	return nil
}

func (r *dumpRows) pop() {
	r.first++
	r.total++
	if r.first >= maxHeld {
		r.held = append(r.held[:0], r.held[r.first:]...)
		r.first = 0
	}
}

// read takes in one line.
func (r *dumpRows) read() error {
	line, err := r.lines.next()
	if err != nil {
		return err
	}
	var l dumpLine
	if err := json.Unmarshal(line, &l); err != nil {
		if r.lines.open {
			return io.EOF // its writer did not finish it
		}
		return r.lines.fail(0, "%w", err)
	}
	switch l.Kind {
	case "offer":
		if l.Request == nil {
			return r.lines.fail(0, "an offer without its request")
		}
		return r.offer(&l)
	case "finish":
		if l.Outcome == nil {
			return r.lines.fail(0, "a finish without its outcome")
		}
		r.finish(&l)
	}
	return nil
}

func (r *dumpRows) offer(l *dumpLine) error {
	q := l.Request
	if q.Attempt > 0 {
		return nil
	}
	o := offer{Arrival: r.cells.blank, id: q.ID}
	var ok bool
	if o.Class, ok = admit.ParseClass(q.Class); !ok {
		return r.lines.fail(0, "unknown class %.80q", q.Class)
	}
	if q.Input < 0 || q.Input > maxTokens || q.MaxOutput < 0 {
		return r.lines.fail(0, "%d and %d tokens: from 0 to %d", q.Input, q.MaxOutput, maxTokens)
	}
	arrived := q.Arrived
	if arrived.IsZero() {
		arrived = l.At
	}
	if y := arrived.Year(); y < 2002 || y > 2190 {
		return r.lines.fail(0, "the year %d is not from 2002 to 2190", y)
	}
	o.At = time.Duration(arrived.UnixNano())
	if !q.Deadline.IsZero() {
		o.Deadline = max(q.Deadline.Sub(arrived), 1)
	}
	for _, name := range []struct {
		text string
		to   *string
	}{{q.Tenant, &o.Tenant}, {q.Model, &o.Model}} {
		if name.text == "" {
			continue
		}
		var err error
		if *name.to, err = r.cells.name("", []byte(name.text)); err != nil {
			return r.lines.fail(0, "%w", err)
		}
	}
	o.Input, o.Stream = q.Input, q.Stream
	r.at[q.ID] = r.total + len(r.held) - r.first
	r.held = append(r.held, o)
	return nil
}

func (r *dumpRows) finish(l *dumpLine) {
	place, ok := r.at[l.ID]
	if !ok {
		return // offered before the dump begins, or passed over
	}
	o, u := &r.held[r.first+place-r.total], l.Outcome
	if u.Input > 0 && u.Input <= maxTokens {
		o.Input = u.Input
	}
	o.Output = max(o.Output, min(u.Output, maxTokens))
	o.answered = u.OK && u.Output > 0
}
