package sim

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// flat reads JSON objects, one a line, member by member.
type flat struct {
	lines *lines
	buf   bytes.Buffer
	dec   *jsontext.Decoder
	key   []byte
	text  []byte
}

func newFlat(l *lines) *flat { return &flat{lines: l, dec: jsontext.NewDecoder(&bytes.Buffer{})} }

// each calls f for every member of the object in the line, with the place of
// its value. Strings come without quotes and other values as they are; null
// is left out. It stops at the first error.
func (j *flat) each(line []byte, f func(name, text []byte, kind jsontext.Kind, at int) error) error {
	j.buf.Reset()
	j.buf.Write(line)
	j.dec.Reset(&j.buf)
	if t, err := j.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return j.bad(err)
	}
	for j.dec.PeekKind() != '}' {
		name, err := j.dec.ReadValue()
		if err != nil {
			return j.bad(err)
		}
		j.key = unquoted(j.key[:0], name)
		value, err := j.dec.ReadValue()
		if err != nil {
			return j.bad(err)
		}
		kind, at := value.Kind(), int(j.dec.InputOffset())-len(value)
		text := []byte(value)
		switch kind {
		case 'n':
			continue
		case '"':
			j.text = unquoted(j.text[:0], value)
			text = j.text
		}
		if err := f(j.key, text, kind, at); err != nil {
			return err
		}
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return j.bad(err)
	}
	if _, err := j.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return j.lines.fail(int(j.dec.InputOffset()), "text after the object")
	}
	return nil
}

func unquoted(b []byte, value jsontext.Value) []byte {
	if bytes.IndexByte(value, '\\') < 0 {
		return append(b, value[1:len(value)-1]...)
	}
	b, _ = jsontext.AppendUnquote(b, value) // the decoder has found it right
	return b
}

// bad places an error of the decoder in the line.
func (j *flat) bad(err error) error {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return j.lines.fail(int(e.ByteOffset), "JSON: %w", e.Err)
	}
	return j.lines.fail(int(j.dec.InputOffset()), "JSON: the object is cut off")
}

// has says that the object in the line has the member.
func (j *flat) has(line []byte, name string) bool {
	found := false
	_ = j.each(line, func(n, _ []byte, _ jsontext.Kind, _ int) error { // a fault shows when the line is read for good
		found = found || string(n) == name
		return nil
	})
	return found
}

// jsonRows reads JSON lines of the columns of the plain CSV.
type jsonRows struct {
	*flat
	*cells
}

func (r *jsonRows) next(a *Arrival) error {
	line, err := r.lines.next()
	if err != nil {
		return err
	}
	r.begin(a)
	seen := uint32(0)
	err = r.each(line, func(name, text []byte, kind jsontext.Kind, at int) error {
		i := r.format.find(name)
		if i < 0 {
			return r.lines.fail(at, "%w", r.format.unknown(name))
		}
		c := &r.format[i]
		if kind == '{' || kind == '[' {
			return r.lines.fail(at, "%s: %w", c.name, errNotSingle)
		}
		seen |= 1 << i
		switch {
		case len(text) > 0:
		case c.needed:
			return r.lines.fail(at, "%s is empty", c.name)
		default:
			return nil
		}
		if err := r.set(a, c.field, text); err != nil {
			return r.lines.fail(at, "%s: %w", c.name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if name := r.format.missing(seen); name != "" {
		return r.lines.fail(0, "%q is missing", name)
	}
	r.end(a)
	return nil
}
