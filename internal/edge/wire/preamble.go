package wire

import "bytes"

// Announces says whether a named event shows nothing of an answer yet, as the
// streams of messages and of responses begin.
func Announces(name, data []byte) bool {
	switch string(name) {
	case "message_start", "response.created", "response.queued", "response.in_progress", "response.content_part.added":
		return true
	case "content_block_start":
		return !bytes.Contains(data, []byte(`"tool_use"`))
	case "response.output_item.added":
		return !bytes.Contains(data, []byte(`"function_call"`))
	}
	return false
}

// Preamble says whether a chunk shows nothing of an answer: only a role, empty
// deltas, or an empty list of choices, as servers send before the first token.
// As long as nothing else came the request can be tried again elsewhere. What
// cannot be read for certain is no preamble.
func Preamble(data []byte) bool {
	c := ReadChunk(data)
	if c.finished || !c.usage.absent() || !c.failure.absent() || c.isError || c.Broken() {
		return false
	}
	choices := false
	for m := membersOf(data); m.next(); {
		if string(m.name) == "choices" {
			if choices = bareChoices(m.value.of(data)); !choices {
				return false
			}
		}
	}
	return choices
}

// bareChoices says whether no element of the array has content.
func bareChoices(list []byte) bool {
	if list[0] != '[' {
		return false
	}
	for i := skipSpace(list, 1); list[i] != ']'; {
		to := skipValue(list, i)
		if to < 0 || list[i] != '{' {
			return false
		}
		for m := membersOf(list[i:to]); m.next(); {
			switch value := m.value.of(m.data); string(m.name) {
			case "text":
				if !isEmpty(value) {
					return false
				}
			case "delta":
				if !bareDelta(value) {
					return false
				}
			case "message": // a whole answer as an event
				return false
			}
		}
		if i = skipSpace(list, to); i < len(list) && list[i] == ',' {
			i = skipSpace(list, i+1)
		}
		if i >= len(list) {
			return false
		}
	}
	return true
}

// bareDelta says whether the delta has nothing but a role. A member that is not
// known, such as the text of a model's reasoning, is content as any other.
func bareDelta(delta []byte) bool {
	if delta[0] != '{' {
		return isEmpty(delta)
	}
	for m := membersOf(delta); m.next(); {
		if string(m.name) != "role" && !isEmpty(m.value.of(delta)) {
			return false
		}
	}
	return true
}

func isEmpty(value []byte) bool {
	if value[0] == '[' || value[0] == '{' {
		return skipSpace(value, 1) == len(value)-1
	}
	return bytes.Equal(value, []byte(`""`)) || bytes.Equal(value, []byte("null"))
}

// Broken says whether the data begins as an object and does not end as one: a
// piece of the answer is lost, and what a client makes of it is anybody's guess.
func (c *Chunk) Broken() bool { return c.broken }

// broken says, when the walk is over, whether it did not come to the end of an
// object that had begun.
func (m *members) broken() bool {
	b := m.data
	if i := skipSpace(b, 0); i >= len(b) || b[i] != '{' {
		return false
	}
	i := skipSpace(b, m.pos)
	return i >= len(b) || b[i] != '}' || skipSpace(b, i+1) != len(b)
}
