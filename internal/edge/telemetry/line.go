package telemetry

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// line is one JSON object in the making. Keys are constants of this package and
// need no escaping; values that are empty are left out. A handler of slog would
// do the same in seven times the time, which counts at every request.
type line []byte

func (l *line) key(k string) {
	sep := byte(',')
	if len(*l) == 0 {
		sep = '{'
	}
	*l = append(*l, sep, '"')
	*l = append(*l, k...)
	*l = append(*l, '"', ':')
}

func (l *line) time(k string, t time.Time) {
	l.key(k)
	*l = append(*l, '"')
	*l = t.AppendFormat(*l, time.RFC3339Nano)
	*l = append(*l, '"')
}

// text cuts v off at maxText bytes.
func (l *line) text(k, v string) {
	if v == "" {
		return
	}
	l.key(k)
	*l = append(*l, '"')
	l.inside(v)
	*l = append(*l, '"')
}

// list writes names, with commas between them, as one text.
func (l *line) list(k string, names []string) {
	if len(names) == 0 {
		return
	}
	l.key(k)
	*l = append(*l, '"')
	for i, v := range names {
		if i > 0 {
			*l = append(*l, ',')
		}
		l.inside(v)
	}
	*l = append(*l, '"')
}

// inside writes what stands between the quotes of a text.
func (l *line) inside(v string) {
	v = clip(v, maxText)
	if !plain(v) {
		quoted, _ := json.Marshal(strings.Map(visible, v)) // a string always has a form; bad UTF-8 is replaced
		*l = append(*l, quoted[1:len(quoted)-1]...)
		return
	}
	*l = append(*l, v...)
}

func (l *line) number(k string, v int64) {
	if v != 0 {
		l.key(k)
		*l = strconv.AppendInt(*l, v, 10)
	}
}

// span writes the ID of a span as 16 digits.
func (l *line) span(k string, id uint64) {
	if id != 0 {
		l.key(k)
		*l = append(*l, '"')
		*l = hex.AppendEncode(*l, spanBytes(id))
		*l = append(*l, '"')
	}
}

func (l *line) mark(k string, v bool) {
	if v {
		l.key(k)
		*l = append(*l, "true"...)
	}
}

func (l *line) end() { *l = append(*l, '}', '\n') }

// visible replaces the control characters that JSON leaves as they are, which a
// terminal would obey.
func visible(r rune) rune {
	if r >= 0x7f && r < 0xa0 {
		return utf8.RuneError
	}
	return r
}

// plain says that s stands in JSON as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
