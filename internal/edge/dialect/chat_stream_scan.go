package dialect

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// scan looks over one chunk and notes where its members are.
func (r *chatReader) scan(data []byte) *Error {
	calls := r.chunk.calls[:0]
	r.data, r.chunk = data, chatChunk{calls: calls}
	if text := r.form.text(data); text != nil && r.begun {
		r.chunk.hasChoice, r.chunk.content = true, text
		return nil
	}
	r.buf = *bytes.NewBuffer(data)
	r.dec.Reset(&r.buf, chatLenient...)
	if r.dec.PeekKind() != '{' {
		return malformed("", "a chunk must be a JSON object")
	}
	c := &r.chunk
	err := r.object(func(name []byte) error {
		switch string(name) {
		case "id":
			return r.value(&c.id)
		case "model":
			return r.value(&c.model)
		case "created":
			return r.value(&c.created)
		case "object":
			return r.value(&c.object)
		case "usage":
			return r.value(&c.usage)
		case "error":
			return r.value(&c.failure)
		case "choices":
			return r.array(r.choice)
		}
		return r.dec.SkipValue()
	})
	if err == nil && len(bytes.TrimSpace(data[r.dec.InputOffset():])) > 0 {
		return malformed("", "the chunk goes on after the JSON object")
	}
	if err == nil && c.saysText() {
		r.form.keep(data, c.content)
	}
	return chatScanned(err)
}

// saysText says that the chunk holds a piece of text and nothing else that counts.
func (c *chatChunk) saysText() bool {
	return len(c.content) > 0 && c.content[0] == '"' && string(c.object) != `"error"` && len(c.calls) == 0 &&
		len(c.usage)+len(c.failure)+len(c.refusal)+len(c.thinking)+len(c.reasoning)+len(c.reason)+len(c.matched) == 0
}

func chatScanned(err error) *Error {
	switch err := err.(type) {
	case nil:
		return nil
	case *Error:
		return err
	}
	return chatSyntax(err)
}

// choice notes one choice. Only the first was asked for.
func (r *chatReader) choice() error {
	c := &r.chunk
	var index []byte
	c.hasChoice = true
	err := r.object(func(name []byte) error {
		switch string(name) {
		case "index":
			return r.value(&index)
		case "delta":
			return r.object(r.delta)
		case "finish_reason":
			return r.value(&c.reason)
		case "stop_reason", "matched_stop":
			return r.value(&c.matched)
		}
		return r.dec.SkipValue()
	})
	if err == nil && len(index) > 0 && string(index) != "0" {
		return unsupported("choices", "one choice was asked for")
	}
	return err
}

func (r *chatReader) delta(name []byte) error {
	c := &r.chunk
	switch string(name) {
	case "content":
		return r.value(&c.content)
	case "refusal":
		return r.value(&c.refusal)
	case "reasoning_content":
		return r.value(&c.thinking)
	case "reasoning":
		return r.value(&c.reasoning)
	case "tool_calls":
		return r.array(r.fragment)
	case "function_call":
		var v []byte
		if err := r.value(&v); err != nil || len(v) == 0 {
			return err
		}
		return unsupported("choices[0].delta.function_call", "functions were not asked for")
	}
	return r.dec.SkipValue()
}

func (r *chatReader) fragment() error {
	c := &r.chunk
	c.calls = append(c.calls, chatFragment{})
	f := &c.calls[len(c.calls)-1]
	return r.object(func(name []byte) error {
		switch string(name) {
		case "index":
			return r.value(&f.index)
		case "id":
			return r.value(&f.id)
		case "function":
			return r.object(func(name []byte) error {
				switch string(name) {
				case "name":
					return r.value(&f.name)
				case "arguments":
					return r.value(&f.arguments)
				}
				return r.dec.SkipValue()
			})
		}
		return r.dec.SkipValue()
	})
}

// object reads an object and calls member at the value of each. Null has none.
func (r *chatReader) object(member func(name []byte) error) error {
	switch r.dec.PeekKind() {
	case 'n':
		return r.dec.SkipValue()
	case '{':
	default:
		return r.unexpected("an object")
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for r.dec.PeekKind() != '}' {
		raw, err := r.dec.ReadValue()
		if err != nil {
			return err
		}
		// A name with an escape is none of those that are looked for.
		if err := member(raw[1 : len(raw)-1]); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// array reads an array and calls item at each element. Null has none.
func (r *chatReader) array(item func() error) error {
	switch r.dec.PeekKind() {
	case 'n':
		return r.dec.SkipValue()
	case '[':
	default:
		return r.unexpected("an array")
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for r.dec.PeekKind() != ']' {
		if err := item(); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// unexpected is the error for a value of another kind, if it is JSON at all.
func (r *chatReader) unexpected(want string) error {
	path := string(r.dec.StackPointer())
	if err := r.dec.SkipValue(); err != nil {
		return err
	}
	return malformed("", "there must be %s at %s", want, path)
}

// value notes a value, unless it is null.
func (r *chatReader) value(to *[]byte) error {
	v, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	*to = nil
	if v.Kind() != 'n' {
		end := r.dec.InputOffset()
		*to = r.data[end-int64(len(v)) : end]
	}
	return nil
}

// chatFault reads an error object, or a text in its place.
func chatFault(v gjson.Result) (code, message string) {
	message = v.Get("message").Str
	if v.Type == gjson.String {
		message = v.Str
	}
	if message == "" {
		message = "the provider failed and did not say why"
	}
	for _, name := range []string{"code", "type", "status"} {
		switch v.Get(name).String() {
		case "rate_limit_exceeded", "rate_limit_error", "rate_limit", "slow_down", "insufficient_quota", "429":
			return "rate_limit", message
		case "overloaded_error", "overloaded", "server_is_overloaded", "service_unavailable", "service_unavailable_error", "503", "529":
			return "overloaded", message
		case "invalid_request_error", "invalid_request", "BadRequestError", "context_length_exceeded", "400", "413", "422":
			return "invalid_request", message
		}
	}
	return "server_error", message
}
