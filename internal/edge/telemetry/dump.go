package telemetry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// The lines of a dump are the Event with names in place of the numbers of
// classes, verdicts and stages: the names are stable, the numbers are not. A
// field of an outer struct takes the place of the one with the same name in
// the struct it embeds.
type (
	eventLine struct {
		At       time.Time      `json:"at"`
		Kind     string         `json:"kind"`
		ID       admit.ID       `json:"id,omitempty"`
		Request  *requestLine   `json:"request,omitempty"`
		Outcome  *admit.Outcome `json:"outcome,omitempty"`
		Decision *decisionLine  `json:"decision,omitempty"`
		Policy   *admit.Policy  `json:"policy,omitempty"`
		Seed     *Seed          `json:"seed,omitempty"`
		Lost     uint64         `json:"lost,omitempty"`
		Observed *observeLine   `json:"observed,omitempty"`
		Deposits []depositLine  `json:"deposits,omitempty"`
	}
	depositLine struct {
		admit.Deposit
		Scope string
	}
	observeLine struct {
		Deployment string
		Key        int
		Sample     admit.Sample
	}
	requestLine struct {
		admit.Request
		Class string
	}
	decisionLine struct {
		admit.Decision
		Verdict string
		Stage   string
	}
)

// maxDumpLine bounds what a DumpReader holds at once; the line of a policy with
// ten thousand tenants has about 2 MB.
const maxDumpLine = 64 << 20

// Dump writes the events, oldest first, one JSON object a line. If there were
// older ones, their number comes first, as a Lost, and the policy in force at
// the oldest kept, as a Configure, both at its time.
func (r *Recorder) Dump(w io.Writer) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	n := uint64(len(r.ring))
	first := r.total - min(r.total, n)
	if first > 0 {
		lost := Event{At: r.ring[first%n].At, Kind: EventLost, Lost: first}
		if err := enc.Encode(lost.line()); err != nil {
			return fmt.Errorf("dump flight recorder: %w", err)
		}
	}
	if r.base != nil {
		base := Event{At: r.ring[first%n].At, Kind: EventConfigure, Policy: r.base}
		if err := enc.Encode(base.line()); err != nil {
			return fmt.Errorf("dump flight recorder: %w", err)
		}
	}
	for i := first; i < r.total; i++ {
		if err := enc.Encode(r.ring[i%n].line()); err != nil {
			return fmt.Errorf("dump flight recorder: %w", err)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("dump flight recorder: %w", err)
	}
	return nil
}

func (e *Event) line() *eventLine {
	l := &eventLine{At: e.At, Kind: e.Kind.String(), ID: e.ID, Policy: e.Policy, Lost: e.Lost}
	switch e.Kind {
	case EventStart:
		l.Seed = &e.Seed
	case EventOffer:
		l.Request = &requestLine{Request: e.Request, Class: e.Request.Class.String()}
	case EventFinish:
		l.Outcome = &e.Outcome
	case EventObserve:
		l.Observed = &observeLine{e.Deployment, e.Key, e.Sample}
	case EventRestore:
		for _, d := range e.Deposits {
			l.Deposits = append(l.Deposits, depositLine{d, d.Scope.String()})
		}
	case EventDecision:
		l.Decision = &decisionLine{Decision: e.Decision, Verdict: e.Decision.Verdict.String(), Stage: e.Decision.Stage.String()}
	}
	return l
}

// ErrCut is in the error of DumpReader.Next for a last line that was not
// written to its end. All events before it are whole.
var ErrCut = errors.New("the last line is cut off")

// DumpReader reads what a Recorder dumped or streamed, event by event.
type DumpReader struct {
	scanner *bufio.Scanner
	line    int
}

// NewDumpReader reads from r.
func NewDumpReader(r io.Reader) *DumpReader {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxDumpLine)
	return &DumpReader{scanner: s}
}

// Next is the next event; io.EOF after the last. Other errors name the line.
func (d *DumpReader) Next() (Event, error) {
	for d.scanner.Scan() {
		d.line++
		if len(bytes.TrimSpace(d.scanner.Bytes())) == 0 {
			continue
		}
		var l eventLine
		if err := json.Unmarshal(d.scanner.Bytes(), &l); err != nil {
			at := d.line
			if !d.scanner.Scan() {
				err = fmt.Errorf("%w: %w", ErrCut, err)
			}
			return Event{}, fmt.Errorf("read dump, line %d: %w", at, err)
		}
		e, err := l.event()
		if err != nil {
			return Event{}, fmt.Errorf("read dump, line %d: %w", d.line, err)
		}
		return e, nil
	}
	if err := d.scanner.Err(); err != nil {
		return Event{}, fmt.Errorf("read dump, line %d: %w", d.line+1, err)
	}
	return Event{}, io.EOF
}

func (l *eventLine) event() (Event, error) {
	e := Event{At: l.At, ID: l.ID, Policy: l.Policy, Lost: l.Lost}
	var ok bool
	if e.Kind, ok = byName[EventKind](l.Kind, int(endOfKinds)); !ok || e.Kind == 0 {
		return e, fmt.Errorf("unknown kind %q", l.Kind)
	}
	switch e.Kind {
	case EventStart:
		if l.Seed == nil {
			return e, errors.New("a start without its seed")
		}
		e.Seed = *l.Seed
	case EventOffer:
		if l.Request == nil {
			return e, errors.New("an offer without its request")
		}
		e.Request = l.Request.Request
		if e.Request.Class, ok = admit.ParseClass(l.Request.Class); !ok {
			return e, fmt.Errorf("unknown class %q", l.Request.Class)
		}
	case EventFinish:
		if l.Outcome == nil {
			return e, errors.New("a finish without its outcome")
		}
		e.Outcome = *l.Outcome
	case EventObserve:
		if l.Observed == nil {
			return e, errors.New("an observe without what was observed")
		}
		e.Deployment, e.Key, e.Sample = l.Observed.Deployment, l.Observed.Key, l.Observed.Sample
	case EventRestore:
		for _, d := range l.Deposits {
			if d.Deposit.Scope, ok = byName[admit.Scope](d.Scope, admit.NumScopes); !ok {
				return e, fmt.Errorf("unknown scope %q", d.Scope)
			}
			e.Deposits = append(e.Deposits, d.Deposit)
		}
	case EventConfigure:
		if l.Policy == nil {
			return e, errors.New("a configure without its policy")
		}
	case EventDecision:
		if l.Decision == nil {
			return e, errors.New("a decision line without its decision")
		}
		e.Decision = l.Decision.Decision
		if e.Decision.Verdict, ok = byName[admit.Verdict](l.Decision.Verdict, admit.NumVerdicts); !ok {
			return e, fmt.Errorf("unknown verdict %q", l.Decision.Verdict)
		}
		if e.Decision.Stage, ok = byName[admit.Stage](l.Decision.Stage, admit.NumStages); !ok {
			return e, fmt.Errorf("unknown stage %q", l.Decision.Stage)
		}
	}
	return e, nil
}

// byName finds the value of a closed set of n that has the name.
func byName[T interface {
	~uint8
	fmt.Stringer
}](name string, n int) (T, bool) {
	for v := range n {
		if T(v).String() == name {
			return T(v), true
		}
	}
	return 0, false
}
