package wire

import (
	"bytes"
	"hash/maphash"
)

// What stands in the place of what is left out.
const (
	noteImage   = "[image left out]"
	noteFile    = "[file left out]"
	noteResult  = "[tool result left out]"
	noteThought = "[thinking left out]"
)

// longResult is the length of a result of a tool, in bytes of JSON, from which
// on it may be left out by itself: some five hundred tokens.
const longResult = 2048

// medium is how a part that holds a picture or a file is replaced, by its type.
var media = map[Surface]map[string]note{
	ChatCompletions: {
		"image_url": noteOf("text", noteImage), "video_url": noteOf("text", noteFile), "input_audio": noteOf("text", noteFile),
		"audio_url": noteOf("text", noteFile), "file": noteOf("text", noteFile),
	},
	Messages: {"image": noteOf("text", noteImage), "document": noteOf("text", noteFile)},
	Responses: {
		"input_image": noteOf("input_text", noteImage), "input_file": noteOf("input_text", noteFile), "input_audio": noteOf("input_text", noteFile),
	},
}

// note is JSON that stands in the place of what is left out, and what is counted
// of it.
type note struct {
	with     string
	features Features
}

func noteOf(kind, text string) note {
	return measured(`{"type":"` + kind + `","text":"` + text + `"}`)
}

func measured(json string) note {
	n := note{with: json}
	n.features.value([]byte(json), partProse, false)
	return n
}

var (
	resultNote  = measured(`"` + noteResult + `"`)
	thoughtNote = noteOf("text", noteThought)
	noNote      note
)

// shifted is a span of a value as one of the body, given where the value begins.
func shifted(base int, at span) span { return span{base + at.from, base + at.to} }

// cut adds a cut of an item; less is what is no longer counted.
func (r *outliner) cut(kind cutKind, n int, at span, with *note, less *Features) {
	if len(r.cuts) == mostItems {
		r.over = true
		return
	}
	c := cut{span: at, with: with.with, change: with.features, item: n, within: -1, kind: kind}
	c.change.less(less)
	r.cuts = append(r.cuts, c)
}

// value returns what is counted of the value at a span.
func (r *outliner) value(at span) (f Features) {
	f.value(at.of(r.body), partProse, false)
	return f
}

// id adds the id of a call or of a result.
func (r *outliner) id(to []uint64, v []byte) []uint64 {
	return append(to, maphash.Bytes(r.hashing, unquoted(v)))
}

// said says whether a value is there.
func said(v []byte) bool { return v[0] != 'n' && !isEmpty(v) }

// chat reads a message of chat completions.
func (r *outliner) chat(it *item, n int) {
	raw := it.of(r.body)
	var content span
	thinks := false
	r.pieces = r.pieces[:0]
	for m := membersOf(raw); m.next(); {
		v := m.value.of(raw)
		p := piece{span: shifted(it.from, span{m.at, m.value.to})}
		switch string(m.name) {
		case "role":
			it.role = roleOf(unquoted(v))
		case "content":
			content = shifted(it.from, m.value)
		case "tool_calls":
			for l := elementsOf(raw, m.value); l.next(); {
				r.call = r.id(r.call, stringMember(raw, l.value, "id"))
			}
		case "function_call":
			it.calls = it.calls || said(v)
		case "tool_call_id":
			if said(v) {
				r.result = r.id(r.result, v)
			}
		case "reasoning_content", "reasoning", "reasoning_details":
			p.gone = said(v)
			thinks = thinks || p.gone
		}
		r.pieces = append(r.pieces, p)
	}
	if thinks && it.role == roleAssistant {
		r.Thinking = true
		r.cutPieces(n, &noNote)
	}
	switch it.role {
	case roleTool:
		it.results = true
		r.longResult(n, content)
	case roleUser:
		r.parts(n, content, -1)
	}
}

func roleOf(name []byte) role {
	switch string(name) {
	case "system", "developer":
		return roleSystem
	case "user":
		return roleUser
	case "assistant":
		return roleAssistant
	case "tool", "function":
		return roleTool
	}
	return roleOther
}

// cutPieces cuts the pieces that are gone. If that is all of them, a note stands
// in their place.
func (r *outliner) cutPieces(n int, all *note) {
	for i := 0; ; {
		at, from, to := removal(r.pieces, i)
		if at.absent() {
			return
		}
		var less Features
		for _, p := range r.pieces[from:to] {
			f := r.value(p.span) // of a member, its name tells what it is
			less.add(&f)
		}
		with := &noNote
		if to-from == len(r.pieces) {
			with = all
		}
		r.cut(cutThought, n, at, with, &less)
		i = to
	}
}

// parts looks for pictures and files among the parts of a content, which is
// inside of a cut or of none.
func (r *outliner) parts(n int, content span, inside int) {
	for l := elementsOf(r.body, content); l.next(); {
		r.medium(n, l.value, stringMember(r.body, l.value, "type"), inside)
	}
}

// medium takes a part if it is a picture or a file.
func (r *outliner) medium(n int, at span, kind []byte, inside int) {
	if with, ok := media[r.surface][string(unquoted(kind))]; ok {
		less := r.value(at)
		r.cut(cutMedium, n, at, &with, &less)
		r.cuts[len(r.cuts)-1].within = inside
	}
}

// longResult takes the content of a result of a tool.
func (r *outliner) longResult(n int, content span) {
	inside := -1
	if content.to-content.from >= longResult {
		inside = len(r.cuts)
		r.long = append(r.long, inside)
		less := r.value(content)
		r.cut(cutResult, n, content, &resultNote, &less)
	}
	r.parts(n, content, inside)
}

// message reads a message of Anthropic's.
func (r *outliner) message(it *item, n int) {
	raw := it.of(r.body)
	var content span
	for m := membersOf(raw); m.next(); {
		switch string(m.name) {
		case "role":
			it.role = roleOf(unquoted(m.value.of(raw)))
		case "content":
			content = shifted(it.from, m.value)
		}
	}
	thinks := false
	r.pieces = r.pieces[:0]
	for l := elementsOf(r.body, content); l.next(); {
		p := piece{span: l.value}
		p.gone = r.block(it, n, l.value)
		thinks = thinks || p.gone
		r.pieces = append(r.pieces, p)
	}
	if thinks {
		r.Thinking = true
		r.cutPieces(n, &thoughtNote)
	}
}

// block reads a block of a message of Anthropic's, and says whether it is
// thoughts.
func (r *outliner) block(it *item, n int, at span) bool {
	raw := at.of(r.body)
	var kind, id, of []byte
	var content span
	for m := membersOf(raw); m.next(); {
		v := m.value.of(raw)
		switch string(m.name) {
		case "type":
			kind = v
		case "id":
			id = v
		case "tool_use_id":
			of = v
		case "content":
			content = shifted(at.from, m.value)
		}
	}
	switch string(unquoted(kind)) {
	case "tool_use":
		r.call = r.id(r.call, id)
	case "tool_result":
		r.result = r.id(r.result, of)
		r.longResult(n, content)
	case "thinking", "redacted_thinking":
		return it.role == roleAssistant
	case "compaction": // the API's summary of what it no longer reads
		it.kept = true
	default:
		if it.role != roleAssistant {
			r.medium(n, at, kind, -1)
		}
	}
	return false
}

// response reads an item of responses.
func (r *outliner) response(it *item, n int) {
	raw := it.of(r.body)
	var kind, role, id []byte
	var content, output span
	r.pieces = r.pieces[:0]
	for m := membersOf(raw); m.next(); {
		v := m.value.of(raw)
		p := piece{span: shifted(it.from, span{m.at, m.value.to})}
		switch string(m.name) {
		case "type":
			kind = unquoted(v)
		case "role":
			role = unquoted(v)
		case "content":
			content = shifted(it.from, m.value)
		case "output":
			output = shifted(it.from, m.value)
		case "call_id", "approval_request_id":
			id = v
		case "id":
			p.gone = said(v)
			if id == nil {
				id = v
			}
		}
		r.pieces = append(r.pieces, p)
	}
	hasID := false
	switch string(kind) {
	case "", "message":
		it.role = roleOf(role)
		hasID = it.role == roleAssistant
		if it.role == roleUser {
			r.parts(n, content, -1)
		}
	case "reasoning":
		r.Thinking, it.thought, r.thinks = true, true, len(r.turns)-1
		r.thoughts++
	case "item_reference":
		r.sealed = true // it may be one of thoughts, or one that is not accepted without
	case "compaction": // the API's summary of what is gone
		it.kept = true
	case "function_call", "custom_tool_call":
		hasID = true
		r.call = r.id(r.call, id)
	case "function_call_output", "custom_tool_call_output":
		r.longResult(n, output)
		r.result = r.id(r.result, id)
	case "mcp_approval_request":
		r.call = r.id(r.call, id)
	case "mcp_approval_response":
		r.result = r.id(r.result, id)
	default:
		switch {
		case bytes.HasSuffix(kind, []byte("_call_output")):
			r.result = r.id(r.result, id)
		case bytes.HasSuffix(kind, []byte("_call")) && memberOf(raw, span{0, len(raw)}, "call_id").to > 0:
			r.call = r.id(r.call, id)
		}
	}
	// An item that is known by its id is not accepted without the thoughts that
	// led to it; one without an id is.
	if hasID && r.thinks == len(r.turns)-1 {
		r.cutPieces(n, &noNote)
	}
}

// stringMember is a member of the object at a span, as it stands there.
func stringMember(data []byte, at span, name string) []byte {
	if v := memberOf(data, at, name); !v.absent() {
		return v.of(data)
	}
	return nil
}
