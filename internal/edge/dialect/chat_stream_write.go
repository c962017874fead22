package dialect

import "strings"

// chatWriter makes the chunks of one stream as OpenAI does: all carry the same id,
// time and model, finish_reason is null but in one, and usage, if it was asked
// for, is null but in the last, which has no choice. A ping is a comment without a
// blank line, as some clients take that for an event.
type chatWriter struct {
	o          WriterOptions
	head, tail []byte // around a delta
	open       []chatBlock
	calls      int64 // tool calls so far
	refused    bool
	usage      Usage
	begun      bool
	over       bool
}

func newChatWriter(o WriterOptions) *chatWriter { return &chatWriter{o: o} }

// Write appends the chunks for one event.
func (w *chatWriter) Write(dst []byte, e *Event) []byte {
	if w.over {
		return dst
	}
	switch e.Kind {
	case Begin:
		w.begin(e)
		w.note(e)
		return append(append(append(dst, w.head...), `{"role":"assistant","content":"","refusal":null}`...), w.tail...)
	case Ping:
		return append(dst, ": ping\n"...)
	case Fault:
		w.over = true
		return chatAddFault(dst, e)
	}
	if !w.begun { // nothing can be said without an id
		return dst
	}
	switch e.Kind {
	case BlockBegin:
		return w.block(dst, e)
	case Delta:
		return w.delta(dst, e)
	case BlockEnd:
		return w.end(dst, e)
	case Finish:
		dst = append(append(dst, w.head...), `{},"logprobs":null,"finish_reason":"`...)
		dst = append(append(dst, chatFinish(e.Stop, w.refused)...), `"}]`...)
		if w.o.Usage {
			dst = append(dst, `,"usage":null`...)
		}
		return append(dst, "}\n\n"...)
	case Used:
		w.note(e)
	case End:
		w.over = true
		if w.o.Usage && w.usage.Known {
			dst = append(append(dst, w.head[:len(w.head)-len(chatChoice)]...), `"choices":[]`...)
			dst = append(chatAddUsage(dst, &w.usage), "}\n\n"...)
		}
		return append(dst, "data: [DONE]\n\n"...)
	}
	return dst
}

const chatChoice = `"choices":[{"index":0,"delta":`

// begin makes what all chunks have in common.
func (w *chatWriter) begin(e *Event) {
	id, model, created := e.ID, w.o.Model, w.o.Created
	if w.o.ID != "" && !strings.HasPrefix(id, "chatcmpl-") {
		id = w.o.ID
	}
	if model == "" {
		model = e.Model
	}
	if created == 0 {
		created = e.Created
	}
	b := chatAddString(append(w.head[:0], `data: {`...), "id", id)
	b = chatAddString(b, "object", "chat.completion.chunk")
	b = chatAddString(chatAddInt(b, "created", created), "model", model)
	w.head = append(append(b, ','), chatChoice...)
	w.tail = append(w.tail[:0], `,"logprobs":null,"finish_reason":null}]`...)
	if w.o.Usage {
		w.tail = append(w.tail, `,"usage":null`...)
	}
	w.tail = append(w.tail, "}\n\n"...)
	w.begun = true
}

func (w *chatWriter) note(e *Event) {
	if e.Usage.Known {
		w.usage = e.Usage
	}
}

func (w *chatWriter) block(dst []byte, e *Event) []byte {
	w.refused = w.refused || e.Block == Refusal
	b := chatBlock{kind: e.Block, index: e.Index, number: -1}
	if e.Block != ToolCall {
		w.open = append(w.open, b)
		return dst
	}
	b.number = w.calls
	w.calls++
	w.open = append(w.open, b)
	dst = chatAddInt(append(append(dst, w.head...), `{"tool_calls":[{`...), "index", b.number)
	dst = append(chatAddString(dst, "id", e.ID), `,"type":"function","function":{`...)
	dst = append(chatAddString(dst, "name", e.Name), `,"arguments":""}}]}`...)
	return append(dst, w.tail...)
}

func (w *chatWriter) find(index int) int {
	for i := len(w.open) - 1; i >= 0; i-- {
		if w.open[i].index == index {
			return i
		}
	}
	return -1
}

func (w *chatWriter) delta(dst []byte, e *Event) []byte {
	i := w.find(e.Index)
	if i < 0 || len(e.Text) == 0 {
		return dst
	}
	b := &w.open[i]
	switch b.kind {
	case Text:
		dst = append(append(dst, w.head...), `{"content":`...)
	case Thinking:
		dst = append(append(dst, w.head...), `{"reasoning_content":`...)
	case Refusal:
		dst = append(append(dst, w.head...), `{"refusal":`...)
	case ToolCall:
		b.said = true
		return w.arguments(dst, b.number, e.Text)
	default:
		return dst
	}
	return append(append(chatQuote(dst, e.Text), '}'), w.tail...)
}

func (w *chatWriter) arguments(dst []byte, number int64, text []byte) []byte {
	dst = chatAddInt(append(append(dst, w.head...), `{"tool_calls":[{`...), "index", number)
	dst = chatQuote(append(dst, `,"function":{"arguments":`...), text)
	return append(append(dst, `}}]}`...), w.tail...)
}

// end closes a block. Clients parse the arguments of a call, so there must be
// some.
func (w *chatWriter) end(dst []byte, e *Event) []byte {
	i := w.find(e.Index)
	if i < 0 {
		return dst
	}
	b := w.open[i]
	w.open = append(w.open[:i], w.open[i+1:]...)
	if b.kind == ToolCall && !b.said {
		dst = w.arguments(dst, b.number, []byte("{}"))
	}
	return dst
}

// chatAddFault appends the error as a chunk in the words of the OpenAI API.
func chatAddFault(dst []byte, e *Event) []byte {
	kind, code := "server_error", "upstream_error"
	switch e.Code {
	case "overloaded":
		kind, code = "service_unavailable_error", "service_unavailable"
	case "rate_limit":
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	case "invalid_request":
		kind, code = "invalid_request_error", "invalid_request"
	}
	dst = append(dst, `data: {"error":{"message":`...)
	dst = chatAddString(chatQuote(dst, e.Text), "type", kind)
	dst = chatAddString(append(dst, `,"param":null`...), "code", code)
	return append(dst, "}}\n\n"...)
}
