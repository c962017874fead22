package dialect

import "github.com/tidwall/gjson"

// at finds the open block of a place in the output.
func (r *respReader) at(part int) *respOpen {
	for i := range r.open {
		if b := &r.open[i]; b.out == r.frame.out && b.part == part {
			return b
		}
	}
	return nil
}

// isNew says that nothing was opened at this place or after it.
func (r *respReader) isNew(part int) bool {
	out := r.frame.out
	return out > r.lastOut || out == r.lastOut && part > r.lastPart
}

// start opens a block. In the neutral form only calls may be open together, so
// anything else closes what is open, and a call closes all but calls.
func (r *respReader) start(part int, e Event) (*respOpen, error) {
	r.begin(gjson.Result{})
	r.closeAll(func(b *respOpen) bool { return e.Block != ToolCall || b.kind != ToolCall })
	if len(r.open) >= respMaxOpen {
		return nil, malformed("", "the stream has more than %d calls open at once", respMaxOpen)
	}
	r.open = append(r.open, respOpen{out: r.frame.out, part: part, index: r.next, kind: e.Block})
	r.lastOut, r.lastPart = r.frame.out, part
	r.tools = r.tools || e.Block == ToolCall
	r.refused = r.refused || e.Block == Refusal
	e.Kind, e.Index = BlockBegin, r.next
	r.next++
	r.emit(e)
	return &r.open[len(r.open)-1], nil
}

// closeAll closes the blocks for which f is true.
func (r *respReader) closeAll(f func(*respOpen) bool) {
	kept := r.open[:0]
	for i := range r.open {
		if f(&r.open[i]) {
			r.emit(Event{Kind: BlockEnd, Index: r.open[i].index})
			continue
		}
		kept = append(kept, r.open[i])
	}
	r.open = kept
}

// block is the open block of a place. One that was not announced is opened.
func (r *respReader) block(part int, kind PartKind) (*respOpen, error) {
	if b := r.at(part); b != nil {
		if b.kind != kind {
			return nil, malformed("type", "the stream goes on with another kind of part in item %d", b.out)
		}
		return b, nil
	}
	if kind == ToolCall || !r.isNew(part) {
		return nil, respLost("a part", r.frame.out)
	}
	return r.start(part, Event{Block: kind})
}

func (r *respReader) delta(part int, kind PartKind, raw []byte) error {
	b, err := r.block(part, kind)
	if err != nil {
		return err
	}
	if len(raw) > 2 {
		b.said = true
		r.emit(Event{Kind: Delta, Index: b.index, Text: r.unquote(raw)})
	}
	return nil
}

// late takes the whole of a block at its end, if it was not told bit by bit.
func (r *respReader) late(part int, kind PartKind, raw []byte) error {
	if b := r.at(part); b == nil && !r.isNew(part) || b != nil && b.said || len(raw) <= 2 {
		return nil
	}
	return r.delta(part, kind, raw)
}

// lateText does the same for text that is decoded.
func (r *respReader) lateText(b *respOpen, text string) {
	if !b.said && text != "" {
		b.said = true
		r.emit(Event{Kind: Delta, Index: b.index, Text: []byte(text)})
	}
}

// summaryPart begins a part of a summary: a block at the first, a paragraph in
// it at the others.
func (r *respReader) summaryPart() error {
	b, err := r.block(0, Thinking)
	if err == nil && b.said {
		r.emit(Event{Kind: Delta, Index: b.index, Text: []byte(respParagraph)})
	}
	return err
}

// itemAdded begins an item. Messages begin with their parts, and reasoning
// when it is known to have words.
func (r *respReader) itemAdded(v gjson.Result) error {
	switch kind := v.Get("type").Str; kind {
	case "message", "reasoning":
		r.begin(gjson.Result{})
		return nil
	case "function_call":
		if !r.isNew(0) {
			return respLost("a call", r.frame.out)
		}
		_, err := r.start(0, Event{Block: ToolCall, ID: v.Get("call_id").String(), Name: v.Get("name").String()})
		return err
	default:
		return unsupported("item.type", "%q is not known in an answer", kind)
	}
}

func (r *respReader) partAdded(v gjson.Result) error {
	kind := Text
	switch t := v.Get("type").Str; t {
	case "output_text":
	case "refusal":
		kind = Refusal
	case "reasoning_text":
		return r.summaryPart()
	default:
		return unsupported("part.type", "%q is not known in an answer", t)
	}
	_, err := r.block(r.frame.content, kind)
	return err
}

func (r *respReader) partDone(v gjson.Result) error {
	b := r.at(r.frame.content)
	if b == nil || b.kind != Text && b.kind != Refusal {
		return nil // reasoning is closed with its item
	}
	r.lateText(b, respFirst(v.Get("text").Str, v.Get("refusal").Str))
	r.closeAll(func(o *respOpen) bool { return o == b })
	return nil
}

// itemDone ends an item, and says of it what was not said before.
func (r *respReader) itemDone(v gjson.Result) error {
	out := r.frame.out
	switch kind := v.Get("type").Str; kind {
	case "message":
		if out > r.lastOut {
			var err error
			v.Get("content").ForEach(func(i, v gjson.Result) bool {
				r.frame.content = int(i.Int())
				if err = r.partAdded(v); err == nil {
					err = r.partDone(v)
				}
				return err == nil
			})
			if err != nil {
				return err
			}
		}
	case "function_call":
		if out > r.lastOut {
			if err := r.itemAdded(v); err != nil {
				return err
			}
		}
		if b := r.at(0); b != nil {
			r.lateText(b, v.Get("arguments").Str)
		}
	case "reasoning":
		if err := r.reasoningDone(v); err != nil {
			return err
		}
	default:
		return unsupported("item.type", "%q is not known in an answer", kind)
	}
	r.closeAll(func(b *respOpen) bool { return b.out == out })
	return nil
}

// reasoningDone says how thinking is sealed, or all of it that only its
// provider can read.
func (r *respReader) reasoningDone(v gjson.Result) error {
	p, ok := respThinking(v)
	b := r.at(0)
	if b == nil {
		if !ok || !r.isNew(0) {
			return nil
		}
		var err error
		if b, err = r.start(0, Event{Block: p.Kind, Data: p.Data}); err != nil {
			return err
		}
	}
	if b.kind != Thinking {
		return nil
	}
	r.lateText(b, p.Text)
	if p.Signature != "" {
		r.emit(Event{Kind: Sign, Index: b.index, Text: []byte(p.Signature)})
	}
	return nil
}
