package dialect

import "strconv"

// open begins a block. Texts and refusals that follow one another are parts of
// one message, which stays open until something else comes. Only calls may be
// open together: what else was left open ends here.
func (w *respWriter) open(dst []byte, e *Event) []byte {
	for i := 0; i < len(w.blocks); {
		if b := &w.blocks[i]; b.kind != ToolCall || e.Block != ToolCall {
			dst = w.closeBlock(dst, b, "completed")
			continue
		}
		i++
	}
	b := respBlock{index: e.Index, kind: e.Block, id: e.ID, name: e.Name}
	switch e.Block {
	case Text, Refusal:
		w.refusal = w.refusal || e.Block == Refusal
		if w.message < 0 {
			dst = w.openMessage(dst)
		}
		b.item, b.part = w.message, w.items[w.message].parts
		w.items[w.message].parts++
		w.blocks = append(w.blocks, b)
		dst = w.place(w.event(dst, "response.content_part.added"), &b, "content_index")
		return respDone(b.appendContent(append(dst, `,"part":`...)))
	case ToolCall:
		dst = w.closeMessage(dst, "completed")
		b.item = w.newItem("fc_")
		if b.id == "" { // a provider may give none; results must name one
			b.id = w.head.item("call_", b.item)
		}
		w.blocks = append(w.blocks, b)
		dst = w.added(dst, b.item)
		return respDone(w.appendCall(dst, &b, "in_progress"))
	case Thinking:
		dst = w.closeMessage(dst, "completed")
		b.item = w.newItem("rs_")
		w.blocks = append(w.blocks, b)
		dst = w.added(dst, b.item)
		dst = respDone(w.appendReasoning(dst, &b, false))
		dst = w.place(w.event(dst, "response.reasoning_summary_part.added"), &b, "summary_index")
		return respDone(append(dst, `,"part":{"type":"summary_text","text":""}`...))
	case Redacted:
		dst = w.closeMessage(dst, "completed")
		b.item = w.newItem("rs_")
		b.sealed = []byte(e.Data)
		w.blocks = append(w.blocks, b)
		dst = w.added(dst, b.item)
		return respDone(w.appendReasoning(dst, &b, false))
	}
	return dst
}

func (w *respWriter) newItem(prefix string) int {
	n := len(w.items)
	w.items = append(w.items, respItem{id: w.head.item(prefix, n)})
	return n
}

func (w *respWriter) openMessage(dst []byte) []byte {
	w.message = w.newItem("msg_")
	dst = w.added(dst, w.message)
	return respDone(w.appendMessage(dst, w.message, "in_progress"))
}

func (w *respWriter) closeMessage(dst []byte, status string) []byte {
	if w.message < 0 {
		return dst
	}
	n := w.message
	w.message = -1
	w.items[n].raw = w.appendMessage(make([]byte, 0, len(w.items[n].raw)+128), n, status)
	return w.itemDone(dst, n)
}

// closeAll ends what is open. The status is that of a message which is the last
// item, and of what was cut in its middle.
func (w *respWriter) closeAll(dst []byte, status string) []byte {
	for len(w.blocks) > 0 {
		dst = w.closeBlock(dst, &w.blocks[0], status)
	}
	return w.closeMessage(dst, status)
}

// delta writes more of a block. This runs for every few characters of an
// answer: it allocates nothing but room for the text.
func (w *respWriter) delta(dst []byte, b *respBlock, text []byte) []byte {
	name, index := "", "content_index"
	switch b.kind {
	case Text:
		name = "response.output_text.delta"
	case Refusal:
		name = "response.refusal.delta"
	case ToolCall:
		name, index = "response.function_call_arguments.delta", ""
	case Thinking:
		name, index = "response.reasoning_summary_text.delta", "summary_index"
	default:
		return dst
	}
	start := len(b.text)
	b.text = respEscape(b.text, text)
	dst = w.place(w.event(dst, name), b, index)
	dst = append(append(append(dst, `,"delta":"`...), b.text[start:]...), '"')
	if b.kind == Text {
		dst = append(dst, `,"logprobs":[]`...)
	}
	return respDone(dst)
}

// closeBlock ends a block, and its item if that is all of it.
func (w *respWriter) closeBlock(dst []byte, b *respBlock, status string) []byte {
	item := &w.items[b.item]
	switch b.kind {
	case Text:
		dst = w.place(w.event(dst, "response.output_text.done"), b, "content_index")
		dst = respDone(append(b.appendText(append(dst, `,"text":`...)), `,"logprobs":[]`...))
	case Refusal:
		dst = w.place(w.event(dst, "response.refusal.done"), b, "content_index")
		dst = respDone(b.appendText(append(dst, `,"refusal":`...)))
	case ToolCall:
		dst = w.place(w.event(dst, "response.function_call_arguments.done"), b, "")
		dst = respQuote(append(dst, `,"name":`...), b.name)
		dst = respDone(b.appendArguments(append(dst, `,"arguments":`...), status))
		item.raw = w.appendCall(nil, b, status)
		dst = w.itemDone(dst, b.item)
	case Thinking:
		dst = w.place(w.event(dst, "response.reasoning_summary_text.done"), b, "summary_index")
		dst = respDone(b.appendText(append(dst, `,"text":`...)))
		dst = w.place(w.event(dst, "response.reasoning_summary_part.done"), b, "summary_index")
		dst = b.appendText(append(dst, `,"part":{"type":"summary_text","text":`...))
		dst = respDone(append(dst, '}'))
		item.raw = w.appendReasoning(nil, b, true)
		dst = w.itemDone(dst, b.item)
	case Redacted:
		item.raw = w.appendReasoning(nil, b, true)
		dst = w.itemDone(dst, b.item)
	}
	if b.kind == Text || b.kind == Refusal {
		dst = w.place(w.event(dst, "response.content_part.done"), b, "content_index")
		dst = respDone(b.appendContent(append(dst, `,"part":`...)))
		if len(item.raw) > 0 {
			item.raw = append(item.raw, ',')
		}
		item.raw = b.appendContent(item.raw)
	}
	for i := range w.blocks {
		if &w.blocks[i] == b {
			w.blocks = append(w.blocks[:i], w.blocks[i+1:]...)
			break
		}
	}
	return dst
}

// place says where in the output an event belongs; index is the name of the
// second index, if it has one.
func (w *respWriter) place(dst []byte, b *respBlock, index string) []byte {
	dst = append(append(dst, `,"item_id":"`...), w.items[b.item].id...)
	dst = strconv.AppendInt(append(dst, `","output_index":`...), int64(b.item), 10)
	if index != "" {
		dst = append(append(append(dst, `,"`...), index...), `":`...)
		dst = strconv.AppendInt(dst, int64(b.part), 10) // 0 for summaries
	}
	return dst
}

func (w *respWriter) added(dst []byte, n int) []byte {
	dst = append(w.event(dst, "response.output_item.added"), `,"output_index":`...)
	return append(strconv.AppendInt(dst, int64(n), 10), `,"item":`...)
}

func (w *respWriter) itemDone(dst []byte, n int) []byte {
	dst = append(w.event(dst, "response.output_item.done"), `,"output_index":`...)
	dst = append(strconv.AppendInt(dst, int64(n), 10), `,"item":`...)
	return respDone(append(dst, w.items[n].raw...))
}

// appendMessage writes the open message, with the parts that are finished.
func (w *respWriter) appendMessage(dst []byte, n int, status string) []byte {
	dst = append(append(dst, `{"type":"message","id":"`...), w.items[n].id...)
	dst = append(append(dst, `","status":"`...), status...)
	dst = append(append(dst, `","role":"assistant","content":[`...), w.items[n].raw...)
	return append(dst, `]}`...)
}

func (w *respWriter) appendCall(dst []byte, b *respBlock, status string) []byte {
	dst = append(append(dst, `{"type":"function_call","id":"`...), w.items[b.item].id...)
	dst = append(append(dst, `","status":"`...), status...)
	dst = respQuote(append(dst, `","call_id":`...), b.id)
	dst = respQuote(append(dst, `,"name":`...), b.name)
	return append(b.appendArguments(append(dst, `,"arguments":`...), status), '}')
}

// appendReasoning writes a reasoning item; at its end it has what was thought.
func (w *respWriter) appendReasoning(dst []byte, b *respBlock, end bool) []byte {
	dst = append(append(dst, `{"type":"reasoning","id":"`...), w.items[b.item].id...)
	dst = append(dst, `","summary":[`...)
	if end && b.kind == Thinking {
		dst = append(b.appendText(append(dst, `{"type":"summary_text","text":`...)), '}')
	}
	dst = append(dst, ']')
	if len(b.sealed) > 0 {
		dst = respQuote(append(dst, `,"encrypted_content":`...), respShow(string(b.sealed)))
	}
	return append(dst, '}')
}

// appendContent writes a part of a message.
func (b *respBlock) appendContent(dst []byte) []byte {
	if b.kind == Refusal {
		return append(b.appendText(append(dst, `{"type":"refusal","refusal":`...)), '}')
	}
	dst = append(dst, `{"type":"output_text","annotations":[],"logprobs":[],"text":`...)
	return append(b.appendText(dst), '}')
}

func (b *respBlock) appendText(dst []byte) []byte {
	return append(append(append(dst, '"'), b.text...), '"')
}

// appendArguments writes the arguments of a call. A call that is whole and
// named none has an empty object, as clients parse it.
func (b *respBlock) appendArguments(dst []byte, status string) []byte {
	if len(b.text) == 0 && status == "completed" {
		return append(dst, `"{}"`...)
	}
	return b.appendText(dst)
}
