package dialect

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// messagesReader reads one stream. Events of unknown types are passed over, as
// the API asks of its clients, and so are blocks and deltas of unknown types,
// and citations.
type messagesReader struct {
	dec    jsontext.Decoder
	buf    bytes.Buffer
	data   []byte // of the event in hand
	text   []byte // of the delta in hand
	events []Event

	form     sameForm  // of the last delta
	formStep EventKind // what it was
	formAt   int       // the provider's index of its block

	begun, stopped, over, finished bool
	usage                          Usage
	open                           []messagesOpen
	next                           int // index of the next block
}

// messagesOpen is a block that has begun and not ended.
type messagesOpen struct {
	at      int    // the provider's index
	index   int    // ours, which counts without a gap; -1: the block is left out
	initial []byte // arguments that came with its beginning, until others come
}

var messagesErrorName = []byte("error")

// messagesMostOpen bounds the blocks that may be open together. The API opens
// one at a time.
const messagesMostOpen = 256

func (messages) NewReader() Reader { return &messagesReader{} }

// Finished says that the message has stopped. After an error it has not.
func (r *messagesReader) Finished() bool { return r.finished }

// Read takes one event. Its type is that of the data, or else the event's name.
func (r *messagesReader) Read(name, data []byte) ([]Event, error) {
	r.events = r.events[:0]
	if r.over {
		return nil, nil
	}
	if text := r.form.text(data); text != nil {
		if i := r.opened(r.formAt); i >= 0 {
			r.say(i, r.formStep, text)
			return r.events, nil
		}
	}
	r.data = data
	var e messagesRawEvent
	if !r.take(data, &e) {
		return nil, malformed("", "the event is not a JSON object")
	}
	switch {
	case len(e.kind) > 0:
		name = e.kind
	case len(e.failure) > 0 && e.failure[0] == '{': // of a server between, in the shape of another API
		name = messagesErrorName
	}
	var err *Error
	switch string(name) {
	case "content_block_delta":
		err = r.delta(&e)
	case "content_block_start":
		err = r.start(&e)
	case "content_block_stop":
		err = r.stop(&e)
	case "message_start":
		err = r.begin(gjson.ParseBytes(e.message))
	case "message_delta":
		err = r.messageDelta(&e)
	case "message_stop":
		err = r.end()
	case "ping":
		if r.begun {
			r.add(Event{Kind: Ping})
		}
	case "error":
		f := gjson.ParseBytes(e.failure)
		r.add(Event{Kind: Fault, Code: messagesFault(f.Get("type").Str), Text: []byte(f.Get("message").String())})
		r.over = true
	}
	if err != nil {
		r.over = true
		return nil, err
	}
	return r.events, nil
}

func (r *messagesReader) add(e Event) { r.events = append(r.events, e) }

// messagesRawEvent is one event with its members as they stand in the data.
type messagesRawEvent struct {
	kind                                         []byte // without its quotes
	index, delta, message, block, usage, failure []byte
}

// take finds the members of an event. The whole of data is checked to be JSON.
func (r *messagesReader) take(data []byte, e *messagesRawEvent) bool {
	return r.members(data, func(name, v []byte) {
		switch string(name) {
		case "type":
			e.kind = messagesBare(v)
		case "index":
			e.index = v
		case "delta":
			e.delta = v
		case "message":
			e.message = v
		case "content_block":
			e.block = v
		case "usage":
			e.usage = v
		case "error":
			e.failure = v
		}
	})
}

// members walks through an object without an allocation, and says whether it is
// one. Names and values are parts of data.
func (r *messagesReader) members(data []byte, take func(name, v []byte)) bool {
	r.buf = *bytes.NewBuffer(data)
	r.dec.Reset(&r.buf, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := r.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for r.dec.PeekKind() != '}' {
		name, err := r.dec.ReadValue()
		if err != nil {
			return false
		}
		end := r.dec.InputOffset()
		name = data[end-int64(len(name)) : end]
		v, err := r.dec.ReadValue()
		if err != nil {
			return false
		}
		end = r.dec.InputOffset()
		take(messagesBare(name), data[end-int64(len(v)):end])
	}
	_, err := r.dec.ReadToken()
	return err == nil
}

// messagesBare is a string without its quotes. Words of the API need no escapes.
func messagesBare(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	return v[1 : len(v)-1]
}

// find is the open block that an event speaks of.
func (r *messagesReader) find(e *messagesRawEvent) (int, *Error) {
	at, ok := messagesIndex(e.index)
	if !ok {
		return 0, malformed("index", "the event has none")
	}
	if i := r.opened(at); i >= 0 {
		return i, nil
	}
	return 0, malformed("index", "no block %d is open", at)
}

// opened is the place of an open block, by the provider's index, or -1.
func (r *messagesReader) opened(at int) int {
	for i := range r.open {
		if r.open[i].at == at {
			return i
		}
	}
	return -1
}

func messagesIndex(v []byte) (n int, ok bool) {
	if len(v) == 0 || len(v) > 6 {
		return 0, false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// delta reads what is added to a block.
func (r *messagesReader) delta(e *messagesRawEvent) *Error {
	i, err := r.find(e)
	if err != nil || r.open[i].index < 0 {
		return err
	}
	var kind, text, thinking, partial, signature []byte
	if !r.members(e.delta, func(name, v []byte) {
		switch string(name) {
		case "type":
			kind = messagesBare(v)
		case "text":
			text = v
		case "thinking":
			thinking = v
		case "partial_json":
			partial = v
		case "signature":
			signature = v
		}
	}) {
		return malformed("delta", "the event has none")
	}
	step := Delta
	switch string(kind) {
	case "text_delta":
	case "thinking_delta":
		text = thinking
	case "input_json_delta":
		text = partial
	case "signature_delta":
		text, step = signature, Sign
	default: // citations_delta, and those to come
		return nil
	}
	if messagesBare(text) == nil {
		return malformed("delta", "the event has no text in it")
	}
	if len(e.kind) > 0 {
		r.form.keep(r.data, text)
		r.formStep, r.formAt = step, r.open[i].at
	}
	r.say(i, step, text)
	return nil
}

// say adds a piece of text, or of what stands for it, to an open block.
func (r *messagesReader) say(i int, step EventKind, text []byte) {
	r.text, _ = jsontext.AppendUnquote(r.text[:0], text)
	if len(r.text) == 0 || r.open[i].index < 0 {
		return
	}
	r.open[i].initial = nil
	r.add(Event{Kind: step, Index: r.open[i].index, Text: r.text})
}

// begin reads message_start.
func (r *messagesReader) begin(v gjson.Result) *Error {
	if r.begun {
		return malformed("", "a second message starts in the stream")
	}
	r.begun = true
	messagesTake(&r.usage, v.Get("usage"))
	r.add(Event{Kind: Begin, ID: v.Get("id").Str, Model: v.Get("model").Str, Usage: r.usage})
	return nil
}

// start reads the beginning of a block.
func (r *messagesReader) start(e *messagesRawEvent) *Error {
	at, ok := messagesIndex(e.index)
	switch {
	case !r.begun || r.stopped:
		return malformed("", "a block starts outside of the message")
	case !ok:
		return malformed("index", "the event has none")
	case len(r.open) == messagesMostOpen:
		return malformed("", "more than %d blocks are open together", messagesMostOpen)
	}
	if _, err := r.find(e); err == nil {
		return malformed("index", "block %d is open already", at)
	}
	p, known := messagesReadPart(gjson.ParseBytes(e.block))
	if !known {
		r.open = append(r.open, messagesOpen{at: at, index: -1})
		return nil
	}
	o := messagesOpen{at: at, index: r.next}
	r.next++
	r.add(Event{Kind: BlockBegin, Index: o.index, Block: p.Kind, ID: p.ID, Name: p.Name, Data: p.Data})
	switch {
	case p.Kind == ToolCall && len(p.Arguments) > len("{}"):
		// Servers that do not stream arguments send them here, some beside deltas.
		o.initial = p.Arguments
	case p.Text != "":
		r.add(Event{Kind: Delta, Index: o.index, Text: []byte(p.Text)})
	}
	if p.Signature != "" {
		r.add(Event{Kind: Sign, Index: o.index, Text: []byte(p.Signature)})
	}
	r.open = append(r.open, o)
	return nil
}

// stop reads the end of a block. What the end of the message has ended already
// needs no other.
func (r *messagesReader) stop(e *messagesRawEvent) *Error {
	if r.stopped {
		return nil
	}
	i, err := r.find(e)
	if err != nil {
		return err
	}
	r.close(r.open[i])
	r.open = append(r.open[:i], r.open[i+1:]...)
	return nil
}

func (r *messagesReader) close(o messagesOpen) {
	if o.index < 0 {
		return
	}
	if o.initial != nil {
		r.add(Event{Kind: Delta, Index: o.index, Text: o.initial})
	}
	r.add(Event{Kind: BlockEnd, Index: o.index})
}

// messageDelta reads why the message stopped, and the usage up to now, which
// replaces what was told before.
func (r *messagesReader) messageDelta(e *messagesRawEvent) *Error {
	if !r.begun {
		return malformed("", "the message goes on before its start")
	}
	v := gjson.ParseBytes(e.delta)
	if reason := v.Get("stop_reason").Str; reason != "" && !r.stopped {
		r.finish(messagesStop(reason), v.Get("stop_sequence").Str)
	}
	if u := gjson.ParseBytes(e.usage); u.IsObject() {
		messagesTake(&r.usage, u)
		r.add(Event{Kind: Used, Usage: r.usage})
	}
	return nil
}

// finish ends the blocks that are still open, and says why the message stopped.
func (r *messagesReader) finish(stop StopReason, sequence string) {
	for _, o := range r.open {
		r.close(o)
	}
	r.open, r.stopped = nil, true
	r.add(Event{Kind: Finish, Stop: stop, Sequence: sequence})
}

// end reads message_stop.
func (r *messagesReader) end() *Error {
	if !r.begun {
		return malformed("", "the message stops before its start")
	}
	if !r.stopped {
		r.finish(StopUnknown, "")
	}
	r.add(Event{Kind: End})
	r.over, r.finished = true, true
	return nil
}
