package answers

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// object reads a JSON object strictly: a member that is named twice may mean one
// thing here and another to the caller.
func object(data []byte) (gjson.Result, bool) {
	if v := jsontext.Value(data); !v.IsValid() || v.Kind() != '{' {
		return gjson.Result{}, false
	}
	return gjson.ParseBytes(data), true
}

// goodWhole says whether a body is an answer that may be given again.
func (f form) goodWhole(body []byte) bool {
	o, ok := object(body)
	if !ok || failed(o) {
		return false
	}
	switch f {
	case chat, completions:
		return goodChoices(f, o.Get("choices"))
	case embeddings:
		return each(o.Get("data"), func(e gjson.Result) bool { return !empty(e.Get("embedding")) })
	case responses:
		return goodResponse(o)
	case messages:
		return goodMessage(o)
	}
	return false
}

// failed says whether an object is or holds an error.
func failed(o gjson.Result) bool {
	return !empty(o.Get("error")) || o.Get("object").Str == "error" || o.Get("type").Str == "error"
}

// empty says whether a value says nothing.
func empty(v gjson.Result) bool {
	switch v.Type {
	case gjson.Null, gjson.False:
		return true
	case gjson.String:
		return v.Str == ""
	case gjson.JSON:
		none := true
		v.ForEach(func(_, _ gjson.Result) bool { none = false; return false })
		return none
	}
	return false
}

// each says whether v is an array with elements that are all good.
func each(v gjson.Result, good func(gjson.Result) bool) bool {
	ok := v.IsArray() && !empty(v)
	if ok {
		v.ForEach(func(_, e gjson.Result) bool { ok = good(e); return ok })
	}
	return ok
}

func goodChoices(f form, choices gjson.Result) bool {
	return each(choices, func(c gjson.Result) bool {
		text, ok := !empty(c.Get("text")), true
		if f == chat {
			text, ok = said(c.Get("message"))
		}
		return ok && text && c.Get("finish_reason").Str == "stop"
	})
}

// said looks over a message of chat, or a part of one: whether it has text, and
// whether it is free of all else that matters, as calls, sound and refusals.
func said(message gjson.Result) (text, ok bool) {
	ok = message.IsObject()
	message.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "role", "name":
		case "content":
			text = v.Type == gjson.String && v.Str != ""
			ok = text || empty(v) // parts may be of any kind
		case "reasoning", "reasoning_content", "reasoning_details", "annotations": // no effects, no text
		default:
			ok = empty(v)
		}
		return ok
	})
	return text, ok
}

// goodMessage is goodWhole of messages.
func goodMessage(m gjson.Result) bool {
	text := false
	ok := m.Get("type").Str == "message" && goodStop(m.Get("stop_reason")) && each(m.Get("content"), func(b gjson.Result) bool {
		text = text || !empty(b.Get("text"))
		return goodBlock(b)
	})
	return ok && text
}

func goodStop(reason gjson.Result) bool {
	return reason.Str == "end_turn" || reason.Str == "stop_sequence"
}

func goodBlock(b gjson.Result) bool {
	switch b.Get("type").Str {
	case "text", "thinking", "redacted_thinking":
		return true
	}
	return false
}

// goodResponse is goodWhole of responses, and of the object that ends a stream.
func goodResponse(r gjson.Result) bool {
	if r.Get("status").Str != "completed" || failed(r) || !empty(r.Get("incomplete_details")) {
		return false
	}
	text := false
	ok := each(r.Get("output"), func(item gjson.Result) bool {
		switch item.Get("type").Str {
		case "reasoning":
			return true
		case "message":
			status := item.Get("status")
			return (empty(status) || status.Str == "completed") && each(item.Get("content"), func(p gjson.Result) bool {
				text = text || !empty(p.Get("text"))
				return p.Get("type").Str == "output_text"
			})
		}
		return false
	})
	return ok && text
}
