package answers

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// event is one event of a stream; slices of the recorded bytes.
type event struct{ name, data []byte }

var done = []byte("[DONE]")

// goodStream says whether the recorded events are an answer that may be given
// again. It moves the events that belong to it together: they are body[:n].
func (f form) goodStream(body []byte) (n int, ends []int32, ok bool) {
	var judge judge
	switch f {
	case chat, completions:
		judge = &choicesJudge{form: f}
	case responses:
		judge = &responseJudge{}
	case messages:
		judge = &messageJudge{}
	default:
		return 0, nil, false
	}
	for at := 0; at < len(body); {
		if body[at] == ':' { // a comment between two events
			line := bytes.IndexByte(body[at:], '\n')
			if line < 0 {
				return 0, nil, false
			}
			at += line + 1
			continue
		}
		e, size, ok := cut(body[at:])
		if !ok {
			return 0, nil, false
		}
		if string(e.name) != "ping" {
			if !judge.see(e) {
				return 0, nil, false
			}
			n += copy(body[n:], body[at:at+size])
			ends = append(ends, int32(n))
		}
		at += size
	}
	return n, ends, judge.whole()
}

// cut reads the event at the beginning of stream, with the empty line that ends
// it. It knows what the gateway sends: lines that end in LF, a name, an id and
// data; all else is not ok.
func cut(stream []byte) (e event, size int, ok bool) {
	for {
		line := bytes.IndexByte(stream[size:], '\n')
		if line < 0 {
			return event{}, 0, false
		}
		l := stream[size : size+line]
		size += line + 1
		if len(l) == 0 {
			return e, size, true
		}
		field, value, _ := bytes.Cut(l, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch {
		case bytes.IndexByte(l, '\r') >= 0:
			return event{}, 0, false
		case string(field) == "event" && e.name == nil:
			e.name = value
		case string(field) == "data" && e.data == nil:
			e.data = value
		case string(field) == "data":
			e.data = append(append(bytes.Clone(e.data), '\n'), value...)
		case string(field) == "id":
		default:
			return event{}, 0, false
		}
	}
}

// judge sees the events of one stream in their order. It is false as soon as the
// answer cannot be a good one; whole says in the end that nothing is missing.
type judge interface {
	see(e event) bool
	whole() bool
}

// choicesJudge is for chat and completions. Every choice that begins must have
// text and stop by itself, and the mark of the end must be there: usage that was
// asked for comes after the last choice.
type choicesJudge struct {
	form    form
	choices map[int64]*choice
	ended   bool
}

type choice struct{ text, stopped bool }

func (j *choicesJudge) see(e event) bool {
	if j.ended || len(e.name) > 0 {
		return false
	}
	if bytes.Equal(e.data, done) {
		j.ended = true
		return true
	}
	o, ok := object(e.data)
	choices := o.Get("choices")
	if !ok || failed(o) || !choices.IsArray() {
		return false
	}
	return empty(choices) || each(choices, j.part)
}

// part sees what one chunk adds to a choice.
func (j *choicesJudge) part(c gjson.Result) bool {
	at := c.Get("index").Int()
	has := j.choices[at]
	if has == nil {
		if j.choices == nil {
			j.choices = map[int64]*choice{}
		}
		has = new(choice)
		j.choices[at] = has
	}
	text, ok := !empty(c.Get("text")), true
	if delta := c.Get("delta"); j.form == chat && delta.Exists() {
		text, ok = said(delta)
	}
	has.text = has.text || text
	if reason := c.Get("finish_reason"); !empty(reason) {
		ok = ok && reason.Str == "stop"
		has.stopped = true
	}
	return ok
}

func (j *choicesJudge) whole() bool {
	for _, c := range j.choices {
		if !c.text || !c.stopped {
			return false
		}
	}
	return j.ended && len(j.choices) > 0
}

// messageJudge is for messages. Every kind of event and block is known, and
// message_stop is the last.
type messageJudge struct{ began, text, stopped, ended bool }

func (j *messageJudge) see(e event) bool {
	o, ok := object(e.data)
	kind := o.Get("type").Str
	if !ok || j.ended || kind != string(e.name) || j.began == (kind == "message_start") {
		return false
	}
	switch kind {
	case "message_start":
		j.began = true
	case "content_block_start":
		b := o.Get("content_block")
		j.text = j.text || !empty(b.Get("text"))
		return goodBlock(b)
	case "content_block_delta":
		d := o.Get("delta")
		j.text = j.text || !empty(d.Get("text"))
		switch d.Get("type").Str {
		case "text_delta", "thinking_delta", "signature_delta", "citations_delta":
		default:
			return false
		}
	case "content_block_stop":
	case "message_delta":
		reason := o.Get("delta.stop_reason")
		j.stopped = j.stopped || goodStop(reason)
		return empty(reason) || goodStop(reason)
	case "message_stop":
		j.ended = true
	default:
		return false
	}
	return true
}

func (j *messageJudge) whole() bool { return j.ended && j.stopped && j.text }

// responseJudge is for responses. The event that ends a stream repeats the whole
// answer, so that those before it need not be understood. Some servers send the
// mark [DONE] after it.
type responseJudge struct{ completed, ended bool }

func (j *responseJudge) see(e event) bool {
	if j.completed && !j.ended && len(e.name) == 0 && bytes.Equal(e.data, done) {
		j.ended = true
		return true
	}
	o, ok := object(e.data)
	kind := o.Get("type").Str
	if !ok || j.completed || kind != string(e.name) {
		return false
	}
	switch kind {
	case "error", "response.failed", "response.incomplete":
		return false
	case "response.completed":
		j.completed = true
		return goodResponse(o.Get("response"))
	}
	return true
}

func (j *responseJudge) whole() bool { return j.completed }
