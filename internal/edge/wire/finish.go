package wire

import "bytes"

// FinishOf is why an answer ended, as a whole answer of the surface or one event
// of its stream says. It is for events that may say so: those of a chunk that
// is finished, message_delta, and the last of responses. It is the provider's
// own word, of which there are many; "" if the data says nothing.
func (s Surface) FinishOf(data []byte) string {
	all := span{0, len(data)}
	text := func(at span) string { return inside(stringAt(data, at).of(data)) }
	switch {
	case s.Anthropic():
		if f := text(memberOf(data, all, "stop_reason")); f != "" {
			return f
		}
		return text(memberOf(data, memberOf(data, all, "delta"), "stop_reason"))
	case s == Responses:
		if inner := memberOf(data, all, "response"); !inner.absent() {
			all = inner
		}
		if f := text(memberOf(data, memberOf(data, all, "incomplete_details"), "reason")); f != "" {
			return f
		}
		return text(memberOf(data, all, "status"))
	case s == Embeddings:
		return ""
	}
	for {
		i := bytes.Index(data, finishReason)
		if i < 0 {
			return ""
		}
		data = bytes.TrimLeft(data[i+len(finishReason):], ": \t\r\n")
		if len(data) == 0 || data[0] != '"' {
			continue
		}
		if end := bytes.IndexByte(data[1:], '"'); end >= 0 {
			return inside(data[:end+2])
		}
	}
}

// inside is the text between quotes.
func inside(quoted []byte) string {
	if len(quoted) < 2 {
		return ""
	}
	return string(quoted[1 : len(quoted)-1])
}
