package wire

// What is counted of a body: the members that reach the model, by the name that
// they have at the top level in any of the dialects. Below them every string
// counts as text, except labels and media. In schemas and in the arguments of
// tool calls the names of members are shown to the model too and count as well.
//
// The bytes of a body, and not its parsed form, are what is measured: there is
// one way to count for every dialect, and it costs one pass.

// part is what a value under a name is to the model.
type part uint8

const (
	partProse  part = iota // strings are text, names are labels
	partSchema             // names are text too
	partMedium             // an object that holds a picture, a sound or a file
	partLabel              // not shown
)

// shown returns what a member of the top level is. The second result tells
// whether its elements are messages.
func shown(name string) (p part, chat bool) {
	switch name {
	case "messages", "contents", "input":
		return partProse, true
	case "prompt", "system", "instructions", "systemInstruction", "system_instruction", "query", "documents", "suffix":
		return partProse, false
	case "tools", "functions", "response_format", "text", "output_config", "output_format":
		return partSchema, false
	}
	return partLabel, false
}

// below returns what the value of a member is, given what it is within.
func below(in part, name string) part {
	switch {
	case in == partSchema, in == partLabel:
		return in
	case in == partMedium:
		return partMedium
	}
	switch name {
	case "role", "type", "id", "tool_call_id", "tool_use_id", "call_id", "detail", "format", "status", "cache_control",
		"media_type", "mime_type", "mimeType", "signature", "encrypted_content", "annotations", "citations":
		return partLabel
	case "image_url", "source", "input_audio", "file", "inline_data", "inlineData", "file_data", "fileData", "file_id", "file_url", "video_url", "audio_url":
		return partMedium
	case "args", "response", "input":
		return partSchema
	}
	return partProse
}

// Measure returns the features of a request to a chat endpoint in any dialect:
// chat completions, Anthropic messages, responses, Gemini contents. It is
// lenient: of a body that is not a JSON object it measures what it can follow.
func Measure(body []byte) Features {
	f := Features{ofRequests: 1}
	for m := membersOf(body); m.next(); {
		f.member(string(m.name), m.value.of(body))
	}
	return f
}

// member counts a member of the top level.
func (f *Features) member(name string, v []byte) {
	p, chat := shown(name)
	if p == partLabel {
		return
	}
	if name == "tools" || name == "functions" {
		f[ofTools] += uint32(min(countPrompts(v), 1<<20))
	}
	switch name {
	case "system", "instructions", "systemInstruction", "system_instruction":
		f[ofMessages]++
	}
	f.value(v, p, chat)
}

// keyword says whether a name is one of JSON schema or of the frame of a tool.
// They are not shown to every model as they are written, and what a member
// costs is learnt.
func keyword(name string) bool {
	switch name {
	case "type", "function", "name", "description", "parameters", "properties", "required", "enum", "items",
		"strict", "additionalProperties", "input_schema", "json_schema", "schema":
		return true
	}
	return false
}

// mostDeep is the deepest nesting that is told apart; below it the part stays.
const mostDeep = maxDepth + 1

// value counts one JSON value. It stops at the first thing it cannot follow.
func (f *Features) value(v []byte, top part, chat bool) {
	var within [mostDeep + 1]part
	within[0] = top
	depth, next := 0, top // next is what the value at hand is
	var name []byte
	low := false // the image at hand is wanted with little detail
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c == '"':
			end := skipString(v, i)
			if end < 0 {
				return
			}
			s := v[i+1 : end-1]
			i = end
			if colon := skipSpace(v, end); colon < len(v) && v[colon] == ':' {
				name, next, i = s, below(within[depth], string(s)), colon+1
				if within[depth] == partSchema {
					f[ofMembers]++
					if !keyword(string(s)) {
						f.text(s)
					}
				}
				continue
			}
			switch next {
			case partProse, partSchema:
				f.text(s)
			case partMedium:
				f.media(string(name), s, low || lowDetail(v[i:]))
			}
			if string(name) == "detail" {
				low = string(s) == "low"
			}
			name, next = nil, within[depth]
		case c == '{', c == '[':
			if depth == 1 && c == '{' && chat {
				f[ofMessages]++
			}
			depth = min(depth+1, mostDeep)
			within[depth], name = next, nil
			low = false
			i++
		case c == '}', c == ']':
			depth = max(depth-1, 0)
			name, next = nil, within[depth]
			i++
		case c == '-', c >= '0' && c <= '9':
			if next == partProse || next == partSchema {
				f[ofGiven]++
			}
			next = within[depth]
			i = skipLiteral(v, i)
		case c == 't', c == 'f', c == 'n': // true, false, null
			next = within[depth]
			i = skipLiteral(v, i)
		default:
			i++
		}
	}
}

// lowDetail says whether the members that follow in the same object ask for
// little detail: "detail" stands after "url" more often than before it.
func lowDetail(v []byte) bool {
	for range 4 {
		i := skipSpace(v, 0)
		if i >= len(v) || v[i] != ',' {
			return false
		}
		m := membersOf(v)
		m.pos, m.over = skipSpace(v, i+1), false
		if !m.next() {
			return false
		}
		if string(m.name) == "detail" {
			return string(m.value.of(v)) == `"low"`
		}
		v = v[m.pos:]
	}
	return false
}

// countPrompts returns how many prompts the prompt of a completion holds. An
// array of numbers is one prompt in tokens; any other array is one prompt each.
func countPrompts(v []byte) int64 {
	if v[0] != '[' {
		return 1
	}
	i := skipSpace(v, 1)
	if c := v[i]; c == '-' || c >= '0' && c <= '9' {
		return 1
	}
	var n int64
	for v[i] != ']' {
		if i = skipValue(v, i); i < 0 {
			break
		}
		n++
		if i = skipSpace(v, i); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return n
}
