package sim

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// lines reads a text line by line and knows where it is.
type lines struct {
	name  string
	r     *bufio.Reader
	n     int    // number of the line last read, from 1
	line  []byte // the line last read
	long  []byte // room for a line longer than the reader's own
	again bool   // next gives the same line once more
	open  bool   // the line last read ended with the text, not with a newline
}

// Bounds of one line, in bytes: of numbers, and of JSON, where the policy of
// ten thousand tenants takes 2 MB.
const (
	maxLine     = 64 << 10
	maxJSONLine = 64 << 20
)

// newLines reads r, which may be compressed with gzip.
func newLines(name string, r io.Reader) (*lines, error) {
	b := bufio.NewReaderSize(r, maxLine)
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%s: decompress: %w", name, err)
		}
		b = bufio.NewReaderSize(z, maxLine)
	}
	if bom, _ := b.Peek(3); string(bom) == "\xef\xbb\xbf" {
		_, _ = b.Discard(len(bom)) // peeked: it is there
	}
	return &lines{name: name, r: b}, nil
}

// next gives the next line that is neither empty nor a comment, without its
// end, valid until the next call. At the end comes io.EOF.
func (l *lines) next() ([]byte, error) {
	if l.again {
		l.again = false
		return l.line, nil
	}
	for {
		l.n++
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if i := bytes.IndexByte(line, 0); i >= 0 {
			return nil, l.fail(i, "a NUL byte: not a text, or a damaged one")
		}
		l.line = line
		return line, nil
	}
}

func (l *lines) read() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		limit := maxLine
		if line[0] == '{' {
			limit = maxJSONLine
		}
		line, err = l.readLong(line, limit)
		if len(line) > limit {
			return nil, l.fail(limit, "a line of more than %d bytes", limit)
		}
	}
	switch {
	case err == nil:
		l.open = false
		line = line[:len(line)-1]
	case errors.Is(err, io.EOF) && len(line) > 0:
		l.open = true
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, fmt.Errorf("%s:%d: read: %w", l.name, l.n, err)
	}
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// readLong reads the rest of a line that begins with part, until it is over
// the limit.
func (l *lines) readLong(part []byte, limit int) (line []byte, err error) {
	l.long = append(l.long[:0], part...)
	for {
		part, err = l.r.ReadSlice('\n')
		l.long = append(l.long, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(l.long) > limit {
			return l.long, err
		}
	}
}

// fail is an error at a byte of the line last read, counted from 0.
func (l *lines) fail(at int, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %w", l.name, l.n, at+1, fmt.Errorf(format, args...))
}
