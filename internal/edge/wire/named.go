package wire

// Named reads the events of one stream of a surface whose events have names:
// messages and responses. Only the few events that hold a model, a usage, an
// error or the end are looked into; those that carry text are passed by, however
// long they are. It is for one goroutine.
type Named struct {
	Surface Surface
	usage   Usage // so far: of messages it comes in parts
}

// NamedEvent is what one event holds beside its text.
type NamedEvent struct {
	data     []byte
	model    span // a string
	Usage    Usage
	Failed   bool // it is an error
	Finished bool // the answer is complete
}

// Read looks into one event.
func (n *Named) Read(name, data []byte) (e NamedEvent) {
	e.data = data
	if n.Surface == Responses {
		n.response(name, &e)
	} else {
		n.message(name, &e)
	}
	return e
}

func (n *Named) message(name []byte, e *NamedEvent) {
	switch string(name) {
	case "message_start":
		inner := memberOf(e.data, span{0, len(e.data)}, "message")
		e.model = stringAt(e.data, memberOf(e.data, inner, "model"))
		n.count(e, memberOf(e.data, inner, "usage"))
	case "message_delta":
		n.count(e, memberOf(e.data, span{0, len(e.data)}, "usage"))
	case "message_stop":
		e.Finished = true
	case "error":
		e.Failed = true
	}
}

// count takes the counts of an event. They are totals so far, and what one
// event leaves out holds from those before.
func (n *Named) count(e *NamedEvent, at span) {
	if at.absent() || e.data[at.from] != '{' {
		return
	}
	n.usage = n.usage.with(at.of(e.data))
	e.Usage = n.usage
}

func (n *Named) response(name []byte, e *NamedEvent) {
	switch string(name) {
	case "response.completed", "response.incomplete":
		e.Finished = true
	case "response.failed", "error":
		e.Failed = true
		return
	case "response.created", "response.in_progress", "response.queued":
	default:
		return
	}
	inner := memberOf(e.data, span{0, len(e.data)}, "response")
	e.model = stringAt(e.data, memberOf(e.data, inner, "model"))
	if at := memberOf(e.data, inner, "usage"); !at.absent() && e.data[at.from] == '{' {
		e.Usage, _ = readUsageObject(at.of(e.data))
	}
}

// Rewrite returns the event as the caller may see it, with the alias as its
// model, written over dst if there is something to change.
func (e *NamedEvent) Rewrite(alias string, dst []byte) []byte {
	if e.model.absent() { // nearly all of a stream
		return e.data
	}
	c := Chunk{data: e.data, model: e.model}
	return c.Rewrite(alias, dst)
}

// AnswerUsage returns the token counts of a whole answer on the surface.
func (s Surface) AnswerUsage(body []byte) (Usage, bool) {
	if !s.Anthropic() {
		return ReadUsage(body)
	}
	at := memberOf(body, span{0, len(body)}, "usage")
	if at.absent() || body[at.from] != '{' {
		return Usage{}, false
	}
	u := Usage{}.with(at.of(body))
	return u, u.Known
}

// with takes counts in Anthropic's words, in which the input is told without
// what was read from the cache or written to it. What is not told stays, and so
// does the input if what is told of it is nothing at all, as some servers write
// at the end of a stream.
func (u Usage) with(object []byte) Usage {
	fresh, read, written := u.Input-u.Cached-u.CacheWrite, u.Cached, u.CacheWrite
	told, sum := false, int64(0)
	for m := membersOf(object); m.next(); {
		v := m.value.of(object)
		n := readCount(v)
		to := (*int64)(nil)
		switch string(m.name) {
		case "input_tokens":
			to = &fresh
		case "cache_read_input_tokens":
			to = &read
		case "cache_creation_input_tokens":
			to = &written
		case "output_tokens":
			if n >= 0 {
				u.Output, u.Known = n, true
			}
		case "output_tokens_details":
			u.Reasoning = readDetail(v, "thinking_tokens")
		}
		if to != nil && n >= 0 {
			*to, told, sum = n, true, sum+n
		}
	}
	if told && (sum > 0 || u.Input == 0) {
		u.Input, u.Cached, u.CacheWrite, u.Known = fresh+read+written, read, written, true
	}
	return u.within()
}

// memberOf is the value of a member of the object at a span; absent if there is
// no such object or member.
func memberOf(data []byte, at span, name string) span {
	if at.absent() || len(data) == 0 {
		return span{}
	}
	object := at.of(data)
	for m := membersOf(object); m.next(); {
		if string(m.name) == name {
			return span{at.from + m.value.from, at.from + m.value.to}
		}
	}
	return span{}
}

// stringAt is the span itself if it holds a string.
func stringAt(data []byte, at span) span {
	if at.absent() || data[at.from] != '"' {
		return span{}
	}
	return at
}

// Ping is a sign of life between two events, in the form of the surface; none
// where the surface has no harmless one.
func (s Surface) Ping() []byte {
	if s == Messages {
		return []byte("event: ping\ndata: {\"type\":\"ping\"}\n\n")
	}
	return nil
}
