package dialect

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// messagesWriter writes one stream. Clients dispatch on the event's name, and
// some know only one block at a time: of blocks that are open together, the
// later ones are held back until those before them have ended.
//
// The reason to stop and the usage come in one event, message_delta, so both are
// kept until the end of the stream.
type messagesWriter struct {
	WriterOptions
	id    string // of the message, as it was written
	begun bool
	over  bool

	blocks []messagesHeld // open or held back, in order; the first is being written
	next   int            // the index of the next block that is written

	calls, refused bool
	stop           StopReason
	sequence       string
	usage          Usage
}

// messagesHeld is a block of the neutral stream that is not written to its end.
type messagesHeld struct {
	index     int // in the neutral stream
	kind      PartKind
	id, name  string
	data      string
	text      []byte // held back
	signature []byte // held back
	ended     bool
}

func (messages) NewWriter(o WriterOptions) Writer { return &messagesWriter{WriterOptions: o} }

// Write appends what e is in this dialect. Nothing follows an End or a Fault.
func (w *messagesWriter) Write(dst []byte, e *Event) []byte {
	if w.over {
		return dst
	}
	switch e.Kind {
	case Ping:
		return append(dst, "event: ping\ndata: {\"type\":\"ping\"}\n\n"...)
	case Fault:
		w.over = true
		dst = append(dst, `event: error`+"\n"+`data: {"type":"error","error":{"type":"`...)
		dst = append(dst, messagesFaultWord(e.Code)...)
		dst = messagesQuote(append(dst, `","message":`...), e.Text)
		return append(dst, "}}\n\n"...)
	case Begin:
		if !w.begun {
			dst = w.begin(dst, e)
		}
		return dst
	}
	if !w.begun {
		dst = w.begin(dst, &Event{})
	}
	switch e.Kind {
	case BlockBegin:
		w.blocks = append(w.blocks, messagesHeld{index: e.Index, kind: e.Block, id: e.ID, name: e.Name, data: e.Data})
		if len(w.blocks) == 1 {
			dst = w.start(dst)
		}
	case Delta, Sign:
		dst = w.delta(dst, e)
	case BlockEnd:
		if i := w.find(e.Index); i >= 0 {
			w.blocks[i].ended = true
			dst = w.advance(dst)
		}
	case Finish:
		w.stop, w.sequence = e.Stop, e.Sequence
		dst = w.closeAll(dst)
	case Used:
		w.usage = e.Usage
	case End:
		w.over = true
		dst = w.end(w.closeAll(dst))
	}
	return dst
}

// begin writes message_start. The input is told here if the provider told it
// first, and is 0 else; message_delta has the whole usage in any case.
func (w *messagesWriter) begin(dst []byte, e *Event) []byte {
	w.begun, w.usage = true, e.Usage
	if w.id = e.ID; w.ID != "" && (len(w.id) < 4 || w.id[:4] != "msg_") {
		w.id = w.ID
	}
	model := w.Model
	if model == "" {
		model = e.Model
	}
	dst = append(dst, `event: message_start`+"\n"+`data: {"type":"message_start","message":{"id":`...)
	dst = messagesQuote(dst, w.id)
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	dst = messagesQuote(dst, model)
	dst = append(dst, `,"content":[],"stop_reason":null,"stop_sequence":null,"usage":`...)
	return append(messagesJSON(dst, messagesUsage(w.usage)), "}}\n\n"...)
}

// start writes the beginning of the first block.
func (w *messagesWriter) start(dst []byte) []byte {
	b := &w.blocks[0]
	dst = append(dst, `event: content_block_start`+"\n"+`data: {"type":"content_block_start","index":`...)
	dst = strconv.AppendInt(dst, int64(w.next), 10)
	dst = append(dst, `,"content_block":`...)
	switch b.kind {
	case ToolCall:
		w.calls = true
		dst = messagesQuote(append(dst, `{"type":"tool_use","id":`...), messagesCallID(b.id, w.id, w.next))
		dst = messagesQuote(append(dst, `,"name":`...), b.name)
		dst = append(dst, `,"input":{}}`...)
	case Thinking:
		dst = append(dst, `{"type":"thinking","thinking":"","signature":""}`...)
	case Redacted:
		dst = messagesQuote(append(dst, `{"type":"redacted_thinking","data":`...), b.data)
		dst = append(dst, '}')
	default:
		w.refused = w.refused || b.kind == Refusal
		dst = append(dst, `{"type":"text","text":""}`...)
	}
	return append(dst, "}\n\n"...)
}

func (w *messagesWriter) find(index int) int {
	for i := range w.blocks {
		if w.blocks[i].index == index && !w.blocks[i].ended {
			return i
		}
	}
	return -1
}

// delta writes what is added to the first block, and holds back the rest.
func (w *messagesWriter) delta(dst []byte, e *Event) []byte {
	switch i := w.find(e.Index); {
	case i < 0 || len(e.Text) == 0:
		return dst
	case i == 0 && e.Kind == Sign:
		return w.add(dst, `{"type":"signature_delta","signature":`, e.Text)
	case i == 0:
		return w.addText(dst, e.Text)
	case e.Kind == Sign:
		w.blocks[i].signature = append(w.blocks[i].signature, e.Text...)
	default:
		w.blocks[i].text = append(w.blocks[i].text, e.Text...)
	}
	return dst
}

// addText writes a delta by the kind of the first block.
func (w *messagesWriter) addText(dst, text []byte) []byte {
	switch w.blocks[0].kind {
	case ToolCall:
		return w.add(dst, `{"type":"input_json_delta","partial_json":`, text)
	case Thinking:
		return w.add(dst, `{"type":"thinking_delta","thinking":`, text)
	case Redacted:
		return dst
	}
	return w.add(dst, `{"type":"text_delta","text":`, text)
}

func (w *messagesWriter) add(dst []byte, delta string, text []byte) []byte {
	dst = append(dst, `event: content_block_delta`+"\n"+`data: {"type":"content_block_delta","index":`...)
	dst = strconv.AppendInt(dst, int64(w.next), 10)
	dst = append(append(dst, `,"delta":`...), delta...)
	return append(messagesQuote(dst, text), "}}\n\n"...)
}

// advance writes the end of blocks that have ended, and what was held back of
// those behind them.
func (w *messagesWriter) advance(dst []byte) []byte {
	for len(w.blocks) > 0 && w.blocks[0].ended {
		dst = append(dst, `event: content_block_stop`+"\n"+`data: {"type":"content_block_stop","index":`...)
		dst = append(strconv.AppendInt(dst, int64(w.next), 10), "}\n\n"...)
		w.next++
		w.blocks = w.blocks[:copy(w.blocks, w.blocks[1:])]
		if len(w.blocks) == 0 {
			break
		}
		dst = w.start(dst)
		b := &w.blocks[0]
		if len(b.text) > 0 {
			dst = w.addText(dst, b.text)
		}
		if len(b.signature) > 0 {
			dst = w.add(dst, `{"type":"signature_delta","signature":`, b.signature)
		}
		b.text, b.signature = nil, nil
	}
	return dst
}

func (w *messagesWriter) closeAll(dst []byte) []byte {
	for i := range w.blocks {
		w.blocks[i].ended = true
	}
	return w.advance(dst)
}

// end writes message_delta, with all that the stream has used, and message_stop.
func (w *messagesWriter) end(dst []byte) []byte {
	dst = append(dst, `event: message_delta`+"\n"+`data: {"type":"message_delta","delta":{"stop_reason":"`...)
	dst = append(dst, messagesStopWord(w.stop, w.calls, w.refused)...)
	dst = append(dst, `","stop_sequence":`...)
	if w.sequence == "" {
		dst = append(dst, "null"...)
	} else {
		dst = messagesQuote(dst, w.sequence)
	}
	dst = messagesJSON(append(dst, `},"usage":`...), messagesUsage(w.usage))
	return append(dst, "}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

// messagesQuote appends a JSON string. Bytes that are no UTF-8 become U+FFFD.
func messagesQuote[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// messagesJSON appends counts, which can always be written.
func messagesJSON(dst []byte, c messagesCounts) []byte {
	b, _ := json.Marshal(c)
	return append(dst, b...)
}
