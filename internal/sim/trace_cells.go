package sim

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// field is what a column or a member of a trace means.
type field uint8

const (
	fieldIgnored field = iota
	fieldSeconds       // the arrival, in seconds
	fieldStamp         // the arrival, as a date and time in UTC
	fieldTenant
	fieldClient // a tenant that has only a number
	fieldModel
	fieldClass
	fieldInput
	fieldOutput
	fieldDeadline
	fieldStream
	fieldMaxOutput
	fieldEnd  // from here on in the gateway's own log
	fieldTook // in nanoseconds
	fieldMessage
	fieldOutcome
	fieldBytes
	fieldAttempt
)

// traceColumn is a name in a format.
type traceColumn struct {
	name   string
	field  field
	needed bool
}

type traceFormat []traceColumn

var (
	azureFormat = traceFormat{
		{"TIMESTAMP", fieldStamp, true},
		{"ContextTokens", fieldInput, true},
		{"GeneratedTokens", fieldOutput, true},
	}
	vtcFormat = traceFormat{
		{"req_id", fieldIgnored, false},
		{"client", fieldClient, true},
		{"t_s", fieldSeconds, true},
		{"input_tokens", fieldInput, true},
		{"output_tokens", fieldOutput, true},
	}
	plainFormat = traceFormat{
		{"t", fieldSeconds, true},
		{"tenant", fieldTenant, false},
		{"model", fieldModel, false},
		{"class", fieldClass, false},
		{"input", fieldInput, true},
		{"output", fieldOutput, true},
		{"deadline", fieldDeadline, false},
		{"stream", fieldStream, false},
		{"max_output", fieldMaxOutput, false},
	}
)

// find is the place of a name in the format, or -1.
func (f traceFormat) find(name []byte) int {
	return slices.IndexFunc(f, func(c traceColumn) bool { return c.name == string(name) })
}

// unknown says what is wrong with a name, and what may have been meant.
func (f traceFormat) unknown(name []byte) error {
	best, least := "", len(name)/2+1
	all := make([]string, len(f))
	for i, c := range f {
		all[i] = c.name
		if d := edits(strings.ToLower(string(name)), c.name); d < least {
			best, least = c.name, d
		}
	}
	if best != "" {
		return fmt.Errorf("unknown column %.80q, did you mean %q?", name, best)
	}
	return fmt.Errorf("unknown column %.80q; known are %s", name, strings.Join(all, ", "))
}

// edits is how many letters to insert, drop or change to make a of b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// missing is a needed column that is not among the ones seen, a bit each, or "".
func (f traceFormat) missing(seen uint32) string {
	for i, c := range f {
		if c.needed && seen&(1<<i) == 0 {
			return c.name
		}
	}
	return ""
}

// cells makes values of the text in a row.
type cells struct {
	format traceFormat
	blank  Arrival // what a row is before anything is read
	prefix string  // of numbered clients
	names  map[string]string
	cap    int64 // max_output of the present row
}

func newCells(f traceFormat, o *TraceOptions) *cells {
	c := &cells{format: f, blank: Arrival{Model: o.Model, Class: o.Class}, names: map[string]string{}}
	if o.Tenant != "" {
		c.prefix = o.Tenant + "-"
	}
	return c
}

func (c *cells) begin(a *Arrival) {
	*a = c.blank
	c.cap = 0
}

// end is called when all cells of a row are set.
func (c *cells) end(a *Arrival) {
	if c.cap > 0 {
		a.Output = min(a.Output, c.cap)
	}
}

// Bounds of what a trace may say.
const (
	maxTokens  = 100_000_000
	maxSeconds = 7_000_000_000 // the year 2191
	dated      = 1_000_000_000 * time.Second
	maxNames   = 1 << 16 // kept, so that a name is allocated once
	maxName    = 256     // bytes
)

var errNotSingle = errors.New("not a single value")

func (c *cells) set(a *Arrival, f field, text []byte) (err error) {
	switch f {
	case fieldSeconds:
		a.At, err = seconds(text)
	case fieldStamp:
		a.At, err = stamp(text)
	case fieldTenant:
		a.Tenant, err = c.name("", text)
	case fieldClient:
		a.Tenant, err = c.name(c.prefix, text)
	case fieldModel:
		a.Model, err = c.name("", text)
	case fieldClass:
		var ok bool
		if a.Class, ok = admit.ParseClass(string(text)); !ok {
			return fmt.Errorf("%.80q is no class: interactive, standard, batch, speculative", text)
		}
	case fieldInput:
		a.Input, err = tokens(text)
	case fieldOutput:
		a.Output, err = tokens(text)
	case fieldMaxOutput:
		c.cap, err = tokens(text)
	case fieldDeadline:
		a.Deadline, err = seconds(text)
	case fieldStream:
		switch strings.ToLower(string(text)) {
		case "true", "1":
			a.Stream = true
		case "false", "0":
			a.Stream = false
		default:
			return fmt.Errorf("%.80q is neither true nor false", text)
		}
	}
	return err
}

// name gives the text as a string that is shared by all rows with the same.
func (c *cells) name(prefix string, text []byte) (string, error) {
	if s, ok := c.names[string(text)]; ok {
		return s, nil
	}
	switch {
	case len(text) > maxName:
		return "", fmt.Errorf("a name of %d bytes: at most %d", len(text), maxName)
	case !utf8.Valid(text):
		return "", fmt.Errorf("%q is not UTF-8", text)
	case bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }):
		return "", fmt.Errorf("control character in %q", text)
	}
	if len(c.names) >= maxNames {
		clear(c.names)
	}
	s := prefix + string(text)
	c.names[s[len(prefix):]] = s
	return s, nil
}
