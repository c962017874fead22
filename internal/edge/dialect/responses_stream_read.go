package dialect

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// respMaxOpen bounds the blocks that a stream has open at one time.
const respMaxOpen = 256

// respReader reads one stream. It keeps the open blocks, never their text.
type respReader struct {
	dec    jsontext.Decoder
	buf    bytes.Buffer
	frame  respFrame
	events []Event
	text   []byte

	begun, over       bool
	tools, refused    bool
	open              []respOpen
	next              int // index of the next block
	lastOut, lastPart int // the last block that was opened
}

// respOpen is a block that is open.
type respOpen struct {
	out, part int // output_index; content_index of a part of a message, else 0
	index     int
	kind      PartKind
	said      bool // there was a delta
}

// respFrame is the raw values of one event's members.
type respFrame struct {
	kind, delta, text, part, item, response []byte
	code, message, failure                  []byte
	out, content                            int
}

// Finished implements Reader. A failure is a proper end too: it was told.
func (r *respReader) Finished() bool { return r.over }

func (r *respReader) Read(name, data []byte) ([]Event, error) {
	r.events, r.text = r.events[:0], r.text[:0]
	if r.over || string(data) == "[DONE]" {
		return nil, nil
	}
	if err := r.split(data); err != nil {
		return nil, err
	}
	f := &r.frame
	if len(f.kind) > 2 {
		name = f.kind[1 : len(f.kind)-1]
	}
	if len(name) == 0 && len(f.failure) > 0 && f.failure[0] == '{' {
		name = []byte("error")
	}
	if len(name) == 0 {
		return nil, malformed("type", "an event of the stream has no type")
	}
	if err := r.take(name); err != nil {
		return nil, err
	}
	return r.events, nil
}

// split finds the members of an event in one pass that decodes none of them.
func (r *respReader) split(data []byte) error {
	f := &r.frame
	*f = respFrame{}
	data = respMend(data)
	r.buf = *bytes.NewBuffer(data)
	r.dec.Reset(&r.buf, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	defer func() { r.buf = bytes.Buffer{} }() // do not keep the data alive
	if r.dec.PeekKind() != '{' {
		return malformed("", "an event of the stream is not a JSON object")
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return malformed("", "an event of the stream is not valid JSON: %v", err)
	}
	for r.dec.PeekKind() != '}' {
		raw, err := r.dec.ReadValue()
		if err != nil {
			return malformed("", "an event of the stream is not valid JSON: %v", err)
		}
		end := r.dec.InputOffset()
		name := data[end-int64(len(raw)) : end]
		if raw, err = r.dec.ReadValue(); err != nil {
			return malformed("", "an event of the stream is not valid JSON: %v", err)
		}
		end = r.dec.InputOffset()
		f.member(name, data[end-int64(len(raw)):end])
	}
	return nil
}

func (f *respFrame) member(name, v []byte) {
	isText := v[0] == '"'
	switch string(name) {
	case `"type"`:
		if isText {
			f.kind = v
		}
	case `"delta"`:
		if isText {
			f.delta = v
		}
	case `"text"`, `"refusal"`, `"arguments"`:
		if isText {
			f.text = v
		}
	case `"output_index"`:
		f.out = respIndex(v)
	case `"content_index"`:
		f.content = respIndex(v)
	case `"part"`:
		f.part = v
	case `"item"`:
		f.item = v
	case `"response"`:
		f.response = v
	case `"code"`:
		f.code = v
	case `"message"`:
		f.message = v
	case `"error"`:
		f.failure = v
	}
}

// respIndex reads an index; one that is none is taken for the first.
func respIndex(v []byte) int {
	n := 0
	for _, c := range v {
		if c < '0' || c > '9' || n > 1<<24 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// take turns one event into neutral ones.
func (r *respReader) take(name []byte) error {
	f := &r.frame
	switch string(name) {
	case "response.output_text.delta":
		return r.delta(f.content, Text, f.delta)
	case "response.function_call_arguments.delta":
		return r.delta(0, ToolCall, f.delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return r.delta(0, Thinking, f.delta)
	case "response.refusal.delta":
		return r.delta(f.content, Refusal, f.delta)
	case "response.created", "response.queued", "response.in_progress":
		r.begin(gjson.ParseBytes(f.response))
	case "response.output_item.added":
		return r.itemAdded(gjson.ParseBytes(f.item))
	case "response.output_item.done":
		return r.itemDone(gjson.ParseBytes(f.item))
	case "response.content_part.added":
		return r.partAdded(gjson.ParseBytes(f.part))
	case "response.content_part.done":
		return r.partDone(gjson.ParseBytes(f.part))
	case "response.output_text.done":
		return r.late(f.content, Text, f.text)
	case "response.refusal.done":
		return r.late(f.content, Refusal, f.text)
	case "response.function_call_arguments.done":
		return r.late(0, ToolCall, f.text)
	case "response.reasoning_summary_text.done", "response.reasoning_text.done":
		return r.late(0, Thinking, f.text)
	case "response.reasoning_summary_part.added":
		return r.summaryPart()
	case "response.completed", "response.incomplete":
		return r.end(gjson.ParseBytes(f.response))
	case "response.failed", "response.cancelled":
		failure := gjson.ParseBytes(f.response).Get("error")
		r.fault(failure.Get("code").String(), failure.Get("message").String())
	case "error":
		if len(f.failure) > 0 && f.failure[0] == '{' { // the older form, of an error alone
			failure := gjson.ParseBytes(f.failure)
			r.fault(respFirst(failure.Get("code").String(), failure.Get("type").String()), failure.Get("message").String())
			return nil
		}
		r.fault(gjson.ParseBytes(f.code).String(), gjson.ParseBytes(f.message).String())
	case "keepalive", "ping":
		r.emit(Event{Kind: Ping})
	}
	return nil // others, such as annotations, say nothing that is kept
}

func respFirst(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (r *respReader) emit(e Event) { r.events = append(r.events, e) }

func (r *respReader) begin(v gjson.Result) {
	if r.begun {
		return
	}
	r.begun = true
	r.emit(Event{Kind: Begin, ID: v.Get("id").String(), Model: v.Get("model").String(), Created: v.Get("created_at").Int(), Usage: respUsage(v.Get("usage"))})
}

// fault ends the stream. A word that is not known is the server's fault.
func (r *respReader) fault(code, message string) {
	r.over = true
	kind := "server_error"
	switch code {
	case "rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "429":
		kind = "rate_limit"
	case "server_is_overloaded", "slow_down", "overloaded", "overloaded_error", "service_unavailable_error", "503":
		kind = "overloaded"
	case "invalid_prompt", "invalid_request_error", "context_length_exceeded", "bio_policy", "misalignment_policy_violation", "400":
		kind = "invalid_request"
	default:
		if bytes.Contains([]byte(code), []byte("image")) && code != "image_generation_error" {
			kind = "invalid_request"
		}
	}
	r.emit(Event{Kind: Fault, Code: kind, Text: []byte(message)})
}

// unquote gives the text of a JSON string, out of the data itself if it has no
// escapes.
func (r *respReader) unquote(v []byte) []byte {
	if len(v) < 2 {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	start := len(r.text)
	r.text, _ = jsontext.AppendUnquote(r.text, v)
	return r.text[start:]
}

// end closes what is open and says why the answer stopped.
func (r *respReader) end(v gjson.Result) error {
	r.begin(v)
	if r.next == 0 { // a provider that streams nothing but the whole
		i := 0
		var err error
		v.Get("output").ForEach(func(_, item gjson.Result) bool {
			r.frame.out = i
			err = r.itemDone(item)
			i++
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	r.closeAll(func(*respOpen) bool { return true })
	status := v.Get("status").Str
	if status == "" {
		status = string(bytes.TrimPrefix(r.name(), []byte("response.")))
	}
	stop := respStop(status, v.Get("incomplete_details.reason").Str, nil)
	if stop == StopEnd && r.tools {
		stop = StopTool
	} else if stop == StopEnd && r.refused {
		stop = StopRefusal
	}
	r.emit(Event{Kind: Finish, Stop: stop})
	if u := respUsage(v.Get("usage")); u.Known {
		r.emit(Event{Kind: Used, Usage: u})
	}
	r.emit(Event{Kind: End})
	r.over = true
	return nil
}

func (r *respReader) name() []byte {
	if k := r.frame.kind; len(k) > 2 {
		return k[1 : len(k)-1]
	}
	return nil
}

func respLost(kind string, out int) *Error {
	return malformed("output_index", "the stream goes on with %s of item %s, which is closed", kind, strconv.Itoa(out))
}
