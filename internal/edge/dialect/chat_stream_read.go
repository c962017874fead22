package dialect

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// chatReader reads the chunks of one stream. It looks over each in one pass and
// decodes only what it passes on; all it needs to do so is kept between chunks,
// so that a delta costs no allocation.
//
// Tool calls stay open until text follows or the answer is finished, because
// nothing says that a call has come to its end and some providers mix their
// fragments. The proper end is [DONE], or a finish reason: not all send [DONE].
type chatReader struct {
	dec    jsontext.Decoder
	buf    bytes.Buffer
	data   []byte
	chunk  chatChunk
	form   sameForm // of the last chunk that said only text
	events []Event
	text   []byte // what the events of this chunk say

	id                    string // of the answer
	begun, finished, over bool
	refused, called       bool
	next                  int // index of the next block
	open                  []chatBlock
	closed                []int64 // indexes, as the provider counts, of calls that are closed
}

// chatMostCalls is how many tool calls one stream may have. They are looked for one
// by one, so that many of them would be slow.
const chatMostCalls = 1000

// chatBlock is an open block.
type chatBlock struct {
	kind   PartKind
	index  int
	number int64  // of a tool call, as the provider counts
	id     string // of a tool call
	said   bool   // it has arguments; kept by the writer
}

// chatChunk is what a chunk says, as raw JSON. Members that are absent or null
// are empty.
type chatChunk struct {
	id, model, created, usage, failure, object []byte

	content, refusal, thinking, reasoning, reason, matched []byte
	calls                                                  []chatFragment
	hasChoice                                              bool
}

// chatFragment is one element of tool_calls, as raw JSON.
type chatFragment struct{ index, id, name, arguments []byte }

func newChatReader() *chatReader { return new(chatReader) }

// Finished says whether [DONE] or a finish reason was read, and no error after it.
func (r *chatReader) Finished() bool { return r.finished }

// Read takes one chunk.
func (r *chatReader) Read(name, data []byte) ([]Event, error) {
	r.events, r.text = r.events[:0], r.text[:0]
	data = bytes.TrimSpace(data)
	if r.over || len(data) == 0 {
		return nil, nil
	}
	if string(data) == "[DONE]" {
		return r.done()
	}
	if string(name) == "ping" { // of a proxy: no chunk
		if r.begun {
			r.events = append(r.events, Event{Kind: Ping})
		}
		return r.events, nil
	}
	if err := r.scan(data); err != nil {
		return nil, err
	}
	c := &r.chunk
	if len(c.failure) > 0 || string(c.object) == `"error"` || string(name) == "error" {
		r.fault()
		return r.events, nil
	}
	if err := r.take(); err != nil {
		return nil, err
	}
	return r.events, nil
}

// done ends the stream.
func (r *chatReader) done() ([]Event, error) {
	if !r.begun {
		return nil, malformed("", "the stream ended before there was a choice")
	}
	if !r.finished {
		r.finish(StopUnknown, "")
	}
	r.over = true
	r.events = append(r.events, Event{Kind: End})
	return r.events, nil
}

// take turns the chunk into events.
func (r *chatReader) take() *Error {
	c := &r.chunk
	if !c.hasChoice && len(c.usage) == 0 {
		return nil // such as the verdict of a filter on the prompt
	}
	if !r.begun {
		r.begun = true
		created, _ := strconv.ParseInt(string(c.created), 10, 64)
		r.id = string(r.unquote(c.id))
		r.events = append(r.events, Event{Kind: Begin, ID: r.id, Model: string(r.unquote(c.model)), Created: created})
	}
	thinking := c.thinking
	if len(thinking) <= len(`""`) {
		thinking = c.reasoning
	}
	for _, s := range [...]struct {
		kind PartKind
		raw  []byte
		name string
	}{{Thinking, thinking, "reasoning_content"}, {Text, c.content, "content"}, {Refusal, c.refusal, "refusal"}} {
		if len(s.raw) > 0 && s.raw[0] != '"' {
			return malformed("choices[0].delta."+s.name, "must be a string")
		}
		if len(s.raw) <= len(`""`) {
			continue
		}
		if err := r.say(s.kind, s.raw); err != nil {
			return err
		}
	}
	for i := range c.calls {
		if err := r.call(&c.calls[i]); err != nil {
			return within(within(atIndex(err, i), "tool_calls"), "choices[0].delta")
		}
	}
	if len(c.reason) > len(`""`) && !r.finished {
		reason, matched := r.unquote(c.reason), ""
		if len(c.matched) > 0 && c.matched[0] == '"' {
			matched = string(r.unquote(c.matched))
		}
		r.finish(chatStop(string(reason), matched, r.called, r.refused))
	}
	if len(c.usage) > 0 {
		if u := chatUsage(gjson.ParseBytes(c.usage)); u.Known {
			r.events = append(r.events, Event{Kind: Used, Usage: u})
		}
	}
	return nil
}

// say adds to the block of a kind, which it opens if another is open.
func (r *chatReader) say(kind PartKind, raw []byte) *Error {
	if r.finished {
		return malformed("choices[0].delta", "the answer goes on after its finish reason")
	}
	if len(r.open) == 0 || r.open[0].kind != kind {
		r.close()
		r.begin(chatBlock{kind: kind}, "")
	}
	r.refused = r.refused || kind == Refusal
	r.events = append(r.events, Event{Kind: Delta, Index: r.open[0].index, Block: kind, Text: r.unquote(raw)})
	return nil
}

// call adds a fragment to its call. One without an index belongs to the call of
// its id, or to the last. One of a known index is a new call nevertheless if both
// its name and its id are new: some providers give all calls the index 0, while
// others give each fragment of a call another id.
func (r *chatReader) call(f *chatFragment) *Error {
	if r.finished {
		return malformed("", "the answer goes on after its finish reason")
	}
	id, name, text := r.unquote(f.id), r.unquote(f.name), r.unquote(f.arguments)
	number, err := int64(-1), error(nil)
	if len(f.index) > 0 {
		if number, err = strconv.ParseInt(string(f.index), 10, 64); err != nil || number < 0 {
			return malformed("index", "must be a count")
		}
	}
	at := -1
	for i := len(r.open) - 1; i >= 0 && at < 0; i-- {
		b := &r.open[i]
		fits := b.number == number
		if number < 0 {
			fits = len(id) == 0 || b.id == string(id)
		}
		if b.kind == ToolCall && fits {
			at = i
		}
	}
	if at >= 0 && len(id) > 0 && len(name) > 0 && r.open[at].id != string(id) {
		at = -1
	}
	if at < 0 {
		if len(name) == 0 {
			if number >= 0 && slices.Contains(r.closed, number) {
				return malformed("index", "the call was over: text followed it")
			}
			return malformed("function.name", "the call names no function")
		}
		if len(r.open) > 0 && r.open[0].kind != ToolCall {
			r.close()
		}
		if len(r.open)+len(r.closed) >= chatMostCalls {
			return unsupported("", "more than %d tool calls in one answer", chatMostCalls)
		}
		if number < 0 {
			number = int64(r.next)
		}
		b := chatBlock{kind: ToolCall, number: number, id: string(id)}
		if b.id == "" {
			b.id = chatCallID(r.id, r.next)
		}
		r.begin(b, string(name))
		r.called, at = true, len(r.open)-1
	}
	if len(text) > 0 {
		r.events = append(r.events, Event{Kind: Delta, Index: r.open[at].index, Block: ToolCall, Text: text})
	}
	return nil
}

func (r *chatReader) begin(b chatBlock, name string) {
	b.index = r.next
	r.next++
	r.open = append(r.open, b)
	r.events = append(r.events, Event{Kind: BlockBegin, Index: b.index, Block: b.kind, ID: b.id, Name: name})
}

// close ends all open blocks.
func (r *chatReader) close() {
	for _, b := range r.open {
		if b.kind == ToolCall {
			r.closed = append(r.closed, b.number)
		}
		r.events = append(r.events, Event{Kind: BlockEnd, Index: b.index, Block: b.kind})
	}
	r.open = r.open[:0]
}

func (r *chatReader) finish(stop StopReason, sequence string) {
	r.close()
	r.finished = true
	r.events = append(r.events, Event{Kind: Finish, Stop: stop, Sequence: sequence})
}

// fault ends the stream with the provider's error.
func (r *chatReader) fault() {
	c := &r.chunk
	body := c.failure
	if len(body) == 0 {
		body = r.data
	}
	code, message := chatFault(gjson.ParseBytes(body))
	r.over, r.finished = true, false
	r.text = append(r.text, message...)
	r.events = append(r.events, Event{Kind: Fault, Code: code, Text: r.text})
}

// unquote decodes a string into the reader's own memory. Anything else is empty.
func (r *chatReader) unquote(raw []byte) []byte {
	if len(raw) <= len(`""`) || raw[0] != '"' {
		return nil
	}
	from := len(r.text)
	r.text, _ = jsontext.AppendUnquote(r.text, raw) // replaces what is not UTF-8
	return r.text[from:len(r.text):len(r.text)]
}
