package wire

import (
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"strings"
)

// Trace is the place of a request in a trace, as W3C Trace Context tells it.
type Trace struct {
	ID      string // 32 hexadecimal digits in lower case, not all zero
	Parent  uint64 // the span that called, never zero
	Sampled bool   // the caller keeps its part of the trace
	State   string // tracestate as it came; empty if there was none that may be passed on
}

const (
	traceparentHeader = "Traceparent"
	tracestateHeader  = "Tracestate"

	traceparentSize = 2 + 1 + 32 + 1 + 16 + 1 + 2
	maxTracestate   = 512 // bytes; the least that everybody must pass on
	sampledFlag     = 1
)

// ReadTrace reads the trace context of a request. ok is false where there is
// none, or one that the standard says to ignore as a whole. A version after the
// known one is read as far as it is alike.
func ReadTrace(h http.Header) (t Trace, ok bool) {
	values := h[traceparentHeader]
	if len(values) != 1 {
		return Trace{}, false
	}
	s := values[0]
	if len(s) < traceparentSize || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return Trace{}, false
	}
	version, id, parent, flags := s[:2], s[3:35], s[36:52], s[53:55]
	if !lowerHex(version) || version == "ff" || !lowerHex(id) || strings.Trim(id, "0") == "" || !lowerHex(parent) || !lowerHex(flags) {
		return Trace{}, false
	}
	if len(s) > traceparentSize && (version == "00" || s[traceparentSize] != '-') {
		return Trace{}, false
	}
	t = Trace{ID: id, Parent: number(parent), Sampled: number(flags)&sampledFlag != 0, State: tracestate(h[tracestateHeader])}
	return t, t.Parent != 0
}

// tracestate joins the lines of the header. What is in it belongs to others, and
// is passed on whole or not at all.
func tracestate(lines []string) string {
	s := strings.Join(lines, ",")
	if len(s) > maxTracestate || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
		return ""
	}
	return s
}

// Write puts the trace context into the headers of a call, in place of what is
// there.
func (t Trace) Write(h http.Header) {
	b := make([]byte, 0, traceparentSize)
	b = append(append(append(b, "00-"...), t.ID...), '-')
	var parent [8]byte
	binary.BigEndian.PutUint64(parent[:], t.Parent)
	b = hex.AppendEncode(b, parent[:])
	if t.Sampled {
		b = append(b, "-01"...)
	} else {
		b = append(b, "-00"...)
	}
	DropTrace(h)
	h[traceparentHeader] = []string{string(b)}
	if t.State != "" {
		h[tracestateHeader] = []string{t.State}
	}
}

// DropTrace takes the trace context out of h.
func DropTrace(h http.Header) {
	delete(h, traceparentHeader)
	delete(h, tracestateHeader)
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// number is the value of at most 16 digits that lowerHex takes.
func number(s string) (n uint64) {
	for i := range len(s) {
		d := s[i] - '0'
		if s[i] >= 'a' {
			d = s[i] - 'a' + 10
		}
		n = n<<4 | uint64(d)
	}
	return n
}
