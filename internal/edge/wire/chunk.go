package wire

import "bytes"

// Chunk is one JSON object of an answer, a whole body or the payload of one
// stream event, with the places of the few members that the gateway reads or
// changes. It refers to the bytes it was read from.
type Chunk struct {
	data []byte

	model     span // the value of model, if it is a string
	usage     span // the value of usage, if it is an object
	failure   span // the value of error, if it is not null
	errorNull span // the whole member "error":null with one of its commas
	noChoices bool // choices is an empty array
	isError   bool // the object itself is an error: "object":"error"
	finished  bool // there is a finish reason
	broken    bool // see Broken
}

// ReadChunk looks over the top level of data in one pass. It decodes nothing
// and never looks inside content or nested objects, so a "model" there is safe.
// Data that is not a JSON object gives a chunk with no members.
func ReadChunk(data []byte) *Chunk {
	c := &Chunk{data: data} // short enough to be inlined, so that it stays on the stack
	c.read()
	return c
}

func (c *Chunk) read() {
	c.finished = finished(c.data)
	m := membersOf(c.data)
	for m.next() {
		c.take(&m)
	}
	c.broken = m.broken()
}

// take notes a member.
func (c *Chunk) take(m *members) {
	first := c.data[m.value.from]
	switch string(m.name) {
	case "model":
		if first == '"' {
			c.model = m.value
		}
	case "usage":
		c.usage = span{}
		if first == '{' {
			c.usage = m.value
		}
	case "choices":
		c.noChoices = first == '[' && c.data[skipSpace(c.data, m.value.from+1)] == ']'
	case "error":
		c.failure, c.errorNull = m.value, span{}
		if first == 'n' {
			c.failure, c.errorNull = span{}, memberWithComma(c.data, m)
		}
	case "object":
		c.isError = string(m.value.of(c.data)) == `"error"`
	}
}

// memberWithComma is the span to cut so that the member disappears.
func memberWithComma(data []byte, m *members) span {
	if i := skipSpace(data, m.value.to); i < len(data) && data[i] == ',' {
		return span{m.at, skipSpace(data, i+1)}
	}
	if m.previous > 0 {
		return span{m.previous, m.value.to}
	}
	return span{m.at, m.value.to}
}

// Usage returns the token counts, and whether the chunk has them.
func (c *Chunk) Usage() (Usage, bool) {
	if c.usage.absent() {
		return Usage{}, false
	}
	return readUsageObject(c.usage.of(c.data))
}

// UsageOnly says whether the chunk exists only to report usage: a usage object
// and no choices. It is to be dropped unless the caller asked for it. A chunk
// without choices and without usage, as content filters send, is not one.
func (c *Chunk) UsageOnly() bool { return c.noChoices && !c.usage.absent() }

// Failure returns the error that a stream with status 200 carries, if the chunk
// is one. "error":null is not an error.
func (c *Chunk) Failure() (Error, bool) {
	if c.failure.absent() && !c.isError {
		return Error{}, false
	}
	return Normalize(0, "application/json", c.data), true
}

// Rewrite returns the chunk as the caller may see it: with the alias as its
// model, and without "error":null, which some SDKs take for an error. An alias of
// "" keeps the model. Everything else is byte for byte the same. If nothing
// changes it returns the data it was read from; else it writes over dst, which may
// be nil, and returns that.
func (c *Chunk) Rewrite(alias string, dst []byte) []byte {
	model, null := c.model, c.errorNull
	if alias == "" || !model.absent() && string(c.data[model.from+1:model.to-1]) == alias {
		model = span{}
	}
	switch {
	case model.absent() && null.absent():
		return c.data
	case model.absent():
		return append(append(dst[:0], c.data[:null.from]...), c.data[null.to:]...)
	}
	dst, at := dst[:0], 0
	if !null.absent() && null.from < model.from {
		dst, at = append(dst, c.data[:null.from]...), null.to
	}
	dst = appendQuoted(append(dst, c.data[at:model.from]...), alias)
	at = model.to
	if !null.absent() && null.from >= model.to {
		dst, at = append(dst, c.data[at:null.from]...), null.to
	}
	return append(dst, c.data[at:]...)
}

// ResponseModel returns body with the value of its top-level model replaced by
// the alias, everything else byte for byte the same.
func ResponseModel(body []byte, alias string) []byte {
	return ChunkModel(body, alias, nil)
}

// ChunkModel does the same for the payload of one stream event, writing over
// dst if there is something to change. It stops at the model, and most servers
// put it early; use ReadChunk and Rewrite to do more in one pass.
func ChunkModel(data []byte, alias string, dst []byte) []byte {
	for m := membersOf(data); m.next(); {
		if string(m.name) == "model" && data[m.value.from] == '"' {
			c := Chunk{data: data, model: m.value}
			return c.Rewrite(alias, dst)
		}
	}
	return data
}

// ReadUsage returns the token counts of a body or of a chunk, and whether it has
// any. In a stream the last one counts.
func ReadUsage(data []byte) (Usage, bool) {
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return Usage{}, false
	}
	return ReadChunk(data).Usage()
}

// ErrorInChunk returns the error that a stream with status 200 carries; see
// Chunk.Failure.
func ErrorInChunk(data []byte) (Error, bool) {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return Error{}, false
	}
	return ReadChunk(data).Failure()
}

// Finished says whether the chunk has a finish reason: the answer, or one of
// its choices, is complete.
func (c *Chunk) Finished() bool { return c.finished }

// finished looks for a finish reason at any depth. Text of the answer cannot
// imitate it, as quotes are escaped there.
func finished(data []byte) bool {
	for {
		i := bytes.Index(data, finishReason)
		if i < 0 {
			return false
		}
		data = data[i+len(finishReason):]
		for len(data) > 0 && (data[0] == ':' || data[0] == ' ' || data[0] == '\t' || data[0] == '\r' || data[0] == '\n') {
			data = data[1:]
		}
		if len(data) > 0 && data[0] == '"' {
			return true
		}
	}
}

var finishReason = []byte(`"finish_reason"`)
