package dialect

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// geminiStreamWriter writes a stream of alt=sse. A function call goes out when
// it is whole, and the reason of the end with the usage, at the end.
type geminiStreamWriter struct {
	model, id string
	tail      []byte // the end of every event
	kinds     []PartKind
	calls     []geminiOpenCall
	next      string // signature for the call that follows
	stop      StopReason
	usage     Usage
}

type geminiOpenCall struct {
	index    int
	id, name string
	args     []byte
}

func (gemini) NewWriter(o WriterOptions) Writer {
	return &geminiStreamWriter{model: o.Model, id: o.ID}
}

func (w *geminiStreamWriter) Write(dst []byte, e *Event) []byte {
	if e.Usage.Known {
		w.usage = e.Usage
	}
	switch e.Kind {
	case Begin:
		if w.id == "" {
			w.id = e.ID
		}
		if w.model == "" {
			w.model = e.Model
		}
		w.tail = w.appendTail(nil)
	case Ping: // not a comment: some clients know only data
		return w.part(dst, func(dst []byte) []byte { return append(dst, `"text":""`...) })
	case BlockBegin:
		return w.begin(dst, e)
	case Delta:
		return w.delta(dst, e)
	case Sign:
		signature := string(e.Text)
		shown := geminiShow(signature)
		if strings.HasPrefix(signature, geminiNext) {
			w.next = shown
			return dst
		}
		return w.part(dst, func(dst []byte) []byte {
			dst = append(dst, `"text":"","thought":true,"thoughtSignature":`...)
			dst, _ = jsontext.AppendQuote(dst, shown)
			return dst
		})
	case BlockEnd:
		return w.end(dst, e)
	case Finish:
		w.stop = e.Stop
	case End:
		return w.last(dst)
	case Fault:
		return w.fault(dst, e)
	}
	return dst
}

func (w *geminiStreamWriter) kind(index int) PartKind {
	if index >= 0 && index < len(w.kinds) {
		return w.kinds[index]
	}
	return Text
}

// geminiBlocks bounds the blocks whose kinds are kept.
const geminiBlocks = 1 << 16

func (w *geminiStreamWriter) begin(dst []byte, e *Event) []byte {
	for e.Index >= len(w.kinds) && e.Index < geminiBlocks {
		w.kinds = append(w.kinds, Text)
	}
	if e.Index >= 0 && e.Index < len(w.kinds) {
		w.kinds[e.Index] = e.Block
	}
	switch e.Block {
	case ToolCall:
		w.calls = append(w.calls, geminiOpenCall{index: e.Index, id: e.ID, name: e.Name})
	case Redacted:
		p, _ := geminiSay(&Part{Kind: Redacted, Data: e.Data})
		return w.part(dst, func(dst []byte) []byte {
			dst = append(dst, `"text":"","thought":true,"thoughtSignature":`...)
			dst, _ = jsontext.AppendQuote(dst, p.Signature)
			return dst
		})
	}
	return dst
}

func (w *geminiStreamWriter) delta(dst []byte, e *Event) []byte {
	for i := range w.calls {
		if w.calls[i].index == e.Index {
			w.calls[i].args = append(w.calls[i].args, e.Text...)
			return dst
		}
	}
	if len(e.Text) == 0 {
		return dst
	}
	dst = append(append(dst, geminiHead...), `"text":`...)
	dst, _ = jsontext.AppendQuote(dst, e.Text)
	if w.kind(e.Index) == Thinking {
		dst = append(dst, `,"thought":true`...)
	}
	return w.close(dst)
}

func (w *geminiStreamWriter) end(dst []byte, e *Event) []byte {
	for i := range w.calls {
		c := w.calls[i]
		if c.index != e.Index {
			continue
		}
		w.calls = append(w.calls[:i], w.calls[i+1:]...)
		return w.part(dst, func(dst []byte) []byte {
			dst = append(dst, `"functionCall":{"id":`...)
			dst, _ = jsontext.AppendQuote(dst, c.id)
			dst = append(dst, `,"name":`...)
			dst, _ = jsontext.AppendQuote(dst, c.name)
			dst = append(dst, `,"args":`...)
			dst = append(append(dst, geminiArgs(c.args)...), '}')
			if w.next != "" {
				dst = append(dst, `,"thoughtSignature":`...)
				dst, _ = jsontext.AppendQuote(dst, w.next)
				w.next = ""
			}
			return dst
		})
	}
	return dst
}

// geminiArgs are the arguments of a call as an object on one line; those that
// are none, as of an answer that was cut, become an empty one.
func geminiArgs(args []byte) []byte {
	v := jsontext.Value(args)
	if v.Kind() != '{' || v.Compact(geminiJSON) != nil {
		return []byte("{}")
	}
	return v
}

const geminiHead = `data: {"candidates":[{"content":{"parts":[{`

// part writes an event with one part.
func (w *geminiStreamWriter) part(dst []byte, body func(dst []byte) []byte) []byte {
	return w.close(body(append(dst, geminiHead...)))
}

func (w *geminiStreamWriter) close(dst []byte) []byte {
	dst = append(dst, `}],"role":"model"},"index":0}]`...)
	return append(append(dst, w.tail...), "}\n\n"...)
}

func (w *geminiStreamWriter) appendTail(dst []byte) []byte {
	if w.model != "" {
		dst = append(dst, `,"modelVersion":`...)
		dst, _ = jsontext.AppendQuote(dst, w.model)
	}
	if w.id != "" {
		dst = append(dst, `,"responseId":`...)
		dst, _ = jsontext.AppendQuote(dst, w.id)
	}
	return dst
}

func (w *geminiStreamWriter) last(dst []byte) []byte {
	dst = append(dst, `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"`...)
	dst = append(append(dst, geminiFinish(w.stop)...), `","index":0}]`...)
	if u := makeGeminiUsage(w.usage); u != nil {
		dst = strconv.AppendInt(append(dst, `,"usageMetadata":{"promptTokenCount":`...), u.Prompt, 10)
		dst = strconv.AppendInt(append(dst, `,"cachedContentTokenCount":`...), u.Cached, 10)
		dst = strconv.AppendInt(append(dst, `,"candidatesTokenCount":`...), u.Candidates, 10)
		dst = strconv.AppendInt(append(dst, `,"thoughtsTokenCount":`...), u.Thoughts, 10)
		dst = append(strconv.AppendInt(append(dst, `,"totalTokenCount":`...), u.Total, 10), '}')
	}
	return append(append(dst, w.tail...), "}\n\n"...)
}

func (w *geminiStreamWriter) fault(dst []byte, e *Event) []byte {
	code, status := 500, "INTERNAL"
	switch e.Code {
	case "overloaded":
		code, status = 503, "UNAVAILABLE"
	case "rate_limit":
		code, status = 429, "RESOURCE_EXHAUSTED"
	case "invalid_request":
		code, status = 400, "INVALID_ARGUMENT"
	}
	dst = strconv.AppendInt(append(dst, `data: {"error":{"code":`...), int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst, _ = jsontext.AppendQuote(dst, e.Text)
	return append(append(append(dst, `,"status":"`...), status...), "\"}}\n\n"...)
}
