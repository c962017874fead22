package sim

import (
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// logFormat is what counts of a line of the gateway's request log.
var logFormat = traceFormat{
	{"@timestamp", fieldEnd, true},
	{"message", fieldMessage, true},
	{"event.duration", fieldTook, false},
	{"http.request.body.bytes", fieldBytes, false},
	{"spillway.outcome", fieldOutcome, true},
	{"spillway.tenant", fieldTenant, false},
	{"spillway.model", fieldModel, false},
	{"spillway.class", fieldClass, false},
	{"spillway.stream", fieldStream, false},
	{"spillway.attempt", fieldAttempt, false},
	{"spillway.input_tokens", fieldInput, false},
	{"spillway.output_tokens", fieldOutput, false},
}

// logRows reads the gateway's request log. A line is written at the end of its
// request. Lines about anything else are passed over, and so are requests that
// were never offered to the core for being invalid, and the callers' own
// retries: simulated callers make theirs. What was not answered in full has
// guessed lengths.
type logRows struct {
	*flat
	*cells
	guess *guess
}

func newLogRows(j *flat, o *TraceOptions) *logRows {
	return &logRows{flat: j, cells: newCells(logFormat, o), guess: newGuess()}
}

// logLine is what a line says besides the arrival.
type logLine struct {
	end, took time.Duration
	bytes     int64
	request   bool
	retry     bool
	outcome   string
	seen      uint32
	fault     error // counts only if the line is of a request
}

func (r *logRows) next(a *Arrival) error {
	for {
		line, err := r.lines.next()
		if err != nil {
			return err
		}
		r.begin(a)
		var l logLine
		err = r.each(line, func(name, text []byte, kind jsontext.Kind, at int) error {
			if i := r.format.find(name); i >= 0 {
				l.seen |= 1 << i
				if err := r.member(a, &l, &r.format[i], text, kind); err != nil && l.fault == nil {
					l.fault = r.lines.fail(at, "%s: %w", name, err)
				}
			}
			return nil
		})
		switch {
		case err != nil && r.lines.open:
			return io.EOF // its writer did not finish it
		case err != nil:
			return err
		case !l.request || l.outcome == "invalid" || l.retry:
			continue
		case l.fault != nil:
			return l.fault
		}
		if name := r.format.missing(l.seen); name != "" {
			return r.lines.fail(0, "%q is missing", name)
		}
		r.lengths(a, &l)
		a.At = l.end - l.took
		return nil
	}
}

func (r *logRows) member(a *Arrival, l *logLine, c *traceColumn, text []byte, kind jsontext.Kind) (err error) {
	if kind == '{' || kind == '[' {
		return errNotSingle
	}
	switch c.field {
	case fieldEnd:
		l.end, err = stamp(text)
	case fieldTook:
		l.took, err = nanoseconds(text)
	case fieldMessage:
		l.request = string(text) == "request"
	case fieldOutcome:
		l.outcome, err = r.name("", text)
	case fieldBytes:
		l.bytes, _ = digits(text)
	case fieldAttempt:
		l.retry = string(text) != "0"
	default:
		return r.set(a, c.field, text)
	}
	return err
}

// lengths fills in what the log cannot know. Bytes are turned into tokens at
// four each, as the gateway does before it knows better.
func (r *logRows) lengths(a *Arrival, l *logLine) {
	if l.outcome == "answered" && a.Output > 0 {
		r.guess.learn(a)
		return
	}
	if a.Input == 0 {
		a.Input = min(l.bytes/4, maxTokens)
	}
	r.guess.fill(a)
}

// guess gives lengths to requests that were never answered: those of the last
// ones of the same tenant and model that were, in turn, so that their spread
// is kept as well as their mean.
type guess struct {
	by  map[guessKey]*recent
	all recent
}

type guessKey struct{ tenant, model string }

// recent is the lengths of the last answers.
type recent struct {
	list [16]struct{ input, output int64 }
	n    int // learnt, ever
	turn int
}

// What is guessed before anything was answered, in tokens.
const (
	firstInput  = 500
	firstOutput = 200
)

func newGuess() *guess { return &guess{by: map[guessKey]*recent{}} }

func (g *guess) learn(a *Arrival) {
	k := guessKey{a.Tenant, a.Model}
	r := g.by[k]
	if r == nil {
		if len(g.by) >= maxNames {
			clear(g.by)
		}
		r = &recent{}
		g.by[k] = r
	}
	r.learn(a)
	g.all.learn(a)
}

func (r *recent) learn(a *Arrival) {
	r.list[r.n%len(r.list)].input = a.Input
	r.list[r.n%len(r.list)].output = a.Output
	r.n++
}

// fill sets the input if it is not known, and the output to no less than what
// has been seen of it.
func (g *guess) fill(a *Arrival) {
	r := g.by[guessKey{a.Tenant, a.Model}]
	if r == nil {
		r = &g.all
	}
	input, output := int64(firstInput), int64(firstOutput)
	if n := min(r.n, len(r.list)); n > 0 {
		l := r.list[r.turn%n]
		r.turn++
		input, output = l.input, l.output
	}
	if a.Input == 0 {
		a.Input = input
	}
	a.Output = max(a.Output, output)
}
