package wire

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// span is a half-open range of bytes in a body; the zero span means absent.
type span struct{ from, to int }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }
func (s span) absent() bool       { return s.to == 0 }

// edit replaces a span of a body. An empty span inserts.
type edit struct {
	span
	with string
}

// appendEdited appends body to dst with the edits applied. The edits must be in
// order and must not overlap.
func appendEdited(dst, body []byte, edits ...edit) []byte {
	at := 0
	for _, e := range edits {
		dst = append(dst, body[at:e.from]...)
		dst = append(dst, e.with...)
		at = e.to
	}
	return append(dst, body[at:]...)
}

// members walks the members of one JSON object without decoding values. It is
// lenient: it finds what is there and stops at the first thing it cannot follow,
// because an upstream's malformed answer must still be relayed.
type members struct {
	data []byte
	pos  int  // where the next member is looked for
	over bool // the walk is over: at the closing brace or at something that is not JSON

	name     []byte // decoded name, without quotes
	at       int    // where the quoted name starts
	value    span   // the raw value
	previous int    // end of the value before; 0 for the first member
}

// membersOf starts a walk over the object in data. Anything else has no members.
func membersOf(data []byte) members {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return members{data: data, pos: len(data), over: true}
	}
	return members{data: data, pos: i + 1}
}

// next moves to the next member and says whether there is one.
func (m *members) next() bool {
	if m.over {
		return false
	}
	b := m.data
	i := skipSpace(b, m.pos)
	if i < len(b) && b[i] == ',' && m.value.to != 0 {
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		m.over = true
		return false
	}
	end := skipString(b, i)
	if end < 0 {
		m.over = true
		return false
	}
	colon := skipSpace(b, end)
	if colon >= len(b) || b[colon] != ':' {
		m.over = true
		return false
	}
	from := skipSpace(b, colon+1)
	to := skipValue(b, from)
	if to < 0 {
		m.over = true
		return false
	}
	m.previous, m.at, m.name = m.value.to, i, b[i+1:end-1]
	if bytes.IndexByte(m.name, '\\') >= 0 {
		m.name, _ = jsontext.AppendUnquote(nil, b[i:end])
	}
	m.value, m.pos = span{from, to}, to
	return true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at b[i], or -1.
func skipString(b []byte, i int) int {
	start := i + 1
	for j := start; ; {
		n := bytes.IndexByte(b[j:], '"')
		if n < 0 {
			return -1
		}
		j += n
		back := j
		for back > start && b[back-1] == '\\' {
			back--
		}
		j++
		if (j-1-back)%2 == 0 {
			return j
		}
	}
}

// skipValue returns the index after the value that starts at b[i], or -1 if it
// does not end. It balances brackets without telling their kinds apart.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
	default:
		if end := skipLiteral(b, i); end > i {
			return end
		}
		return -1
	}
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := skipString(b, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// skipLiteral returns the index after a number, true, false or null.
func skipLiteral(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', ' ', '\n', '\t', '\r', '"', '{', '[':
			return i
		}
		i++
	}
	return i
}

// appendQuoted appends s as a JSON string. Model names rarely need escapes, and
// this runs once a chunk.
func appendQuoted(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			dst, _ = jsontext.AppendQuote(dst, s)
			return dst
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
