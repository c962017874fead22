package dialect

import "github.com/tidwall/gjson"

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
		var err error
		c.parts.ForEach(func(_, v gjson.Result) bool {
			if v.Get("functionCall").Exists() || v.Get("text").Str != "" {
				err = malformed("candidates", "the answer goes on after its finishReason")
			}
			return err == nil
		})
		return nil, err
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
		if err := eachItem(c.parts, func(_ int, v gjson.Result) *Error { return r.part(v) }); err != nil {
			return nil, within(err, "candidates[0].content.parts")
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
	if plain && text.Exists() && !(thought && signed) { // a text's signature need not come back
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
