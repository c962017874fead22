package dialect

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// geminiReader reads a stream of alt=sse. Every event is a response with a part
// of the answer; there is no last event but that with a finishReason, and with
// it the answer ends. Without one a stream that stops cannot be told from one
// that was cut, so it counts as cut.
type geminiReader struct {
	begun, ended bool
	block        int // index of the open block, or of the next
	open         bool
	kind         PartKind // of the open block
	called       bool
	usage        Usage
	ids          geminiIDs
	events       []Event
	text         []byte
}

func (gemini) NewReader() Reader { return &geminiReader{} }

func (r *geminiReader) Finished() bool { return r.ended }

func (r *geminiReader) Read(_, data []byte) ([]Event, error) {
	r.events, r.text = r.events[:0], r.text[:0]
	if len(data) == 0 {
		return nil, nil
	}
	v, err := geminiParse(data, false)
	if err != nil {
		return nil, err
	}
	c := readGeminiChunk(v)
	if r.ended {
		if c.parts.Get("#").Int() > 0 {
			return nil, malformed("candidates", "the answer goes on after its finishReason")
		}
		return nil, nil
	}
	if c.fault.Kind == Fault {
		r.ended = true
		return append(r.events, c.fault), nil
	}
	if c.more {
		return nil, unsupported("candidates[1]", "only one candidate can be translated")
	}
	if c.usage.Known {
		r.usage = c.usage
	}
	if !r.begun {
		r.begun = true
		r.ids.answer = c.id
		r.add(Event{Kind: Begin, ID: c.id, Model: c.model, Created: c.created, Usage: r.usage})
	}
	if c.parts.Exists() {
		if err := geminiElements(c.parts, func(_ int, v gjson.Result) *Error { return r.part(v) }); err != nil {
			return nil, geminiAt(err, "candidates[0].content.parts")
		}
	}
	if c.finish == "" && c.blocked == "" {
		if c.usage.Known && len(r.events) == 0 {
			r.add(Event{Kind: Used, Usage: r.usage})
		}
		return r.events, nil
	}
	r.close()
	r.ended = true
	stop, ok := geminiStop(c.finish, r.called)
	if !ok {
		r.add(Event{Kind: Fault, Code: "server_error", Text: []byte(c.failure())})
		return r.events, nil
	}
	if c.blocked != "" {
		stop = StopFilter
	}
	r.add(Event{Kind: Finish, Stop: stop})
	if r.usage.Known {
		r.add(Event{Kind: Used, Usage: r.usage})
	}
	r.add(Event{Kind: End})
	return r.events, nil
}

func (r *geminiReader) add(e Event) { r.events = append(r.events, e) }

// part reads one part. Those of plain text, nearly all, take a short way.
func (r *geminiReader) part(v gjson.Result) *Error {
	var text gjson.Result
	plain, thought, signed := true, false, false
	v.ForEach(func(name, v gjson.Result) bool {
		switch {
		case name.Str == "text" && v.Type == gjson.String && !text.Exists():
			text = v
		case name.Str == "thought" && v.IsBool():
			thought = v.Bool()
		case name.Str == "thoughtSignature":
			signed = true
		default:
			plain = false
		}
		return true
	})
	if plain && text.Exists() && !(thought && signed) { // the signature of a text is of no use later
		kind := Text
		if thought {
			kind = Thinking
		}
		if text.Str != "" {
			r.say(kind, text.Str)
		}
		return nil
	}
	p, err := readGeminiSaid(v)
	if err != nil {
		return err
	}
	switch {
	case p.Call != nil:
		r.call(&p)
	case p.Thought:
		r.thought(&p)
	case p.Text != nil && *p.Text != "":
		r.say(Text, *p.Text)
	}
	return nil
}

// say adds text to a block of a kind, and opens one if need be.
func (r *geminiReader) say(kind PartKind, text string) {
	if !r.open || r.kind != kind {
		r.start(Event{Block: kind})
	}
	r.add(Event{Kind: Delta, Index: r.block, Text: r.keep(text)})
}

func (r *geminiReader) thought(p *geminiPart) {
	signature, redacted := geminiTake(p.Signature, geminiMark)
	if redacted {
		r.start(Event{Block: Redacted, Data: signature})
		r.close()
		return
	}
	if p.Text != nil && *p.Text != "" {
		r.say(Thinking, *p.Text)
	}
	if signature != "" {
		r.sign(signature)
	}
}

// sign signs the open block of thinking, or an empty one, and ends it.
func (r *geminiReader) sign(signature string) {
	if !r.open || r.kind != Thinking {
		r.start(Event{Block: Thinking})
	}
	r.add(Event{Kind: Sign, Index: r.block, Text: r.keep(signature)})
	r.close()
}

// call gives a function call, which always comes whole.
func (r *geminiReader) call(p *geminiPart) {
	r.close()
	if signature, _ := geminiTake(p.Signature, geminiNext); signature != "" {
		r.sign(signature)
	}
	r.called = true
	r.start(Event{Block: ToolCall, ID: r.ids.next(p.Call), Name: p.Call.Name})
	r.add(Event{Kind: Delta, Index: r.block, Text: r.keep(string(p.Call.Args))})
	r.close()
}

func (r *geminiReader) start(e Event) {
	r.close()
	r.open, r.kind = true, e.Block
	e.Kind, e.Index = BlockBegin, r.block
	r.add(e)
}

func (r *geminiReader) close() {
	if r.open {
		r.add(Event{Kind: BlockEnd, Index: r.block})
		r.open = false
		r.block++
	}
}

// keep copies text into the buffer of this event. What earlier parts kept stays
// where it was if the buffer grows.
func (r *geminiReader) keep(text string) []byte {
	from := len(r.text)
	r.text = append(r.text, text...)
	return r.text[from:len(r.text):len(r.text)]
}

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
		if len(signature) > len(geminiNext) && signature[:len(geminiNext)] == geminiNext {
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
