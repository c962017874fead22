package mock

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// message words an answer of Anthropic's messages.
type message struct {
	*answer
	first int // the index of the block that is streamed, behind what was thought
}

// parseMessages reads a request for messages.
func (c *call) parseMessages(root gjson.Result) error {
	var p prompt
	p.bytes = len(messageText(root.Get("system")))
	list := root.Get("messages")
	if !list.IsArray() {
		return errors.New("messages: Field required")
	}
	list.ForEach(func(_, m gjson.Result) bool {
		content := m.Get("content")
		result := content.IsArray() && content.Get(`#(type=="tool_result")`).Exists()
		p.say(m.Get("role").Str == "user", messageText(content), result)
		return true
	})
	root.Get("tools").ForEach(func(_, t gjson.Result) bool {
		p.tools = append(p.tools, offer{t.Get("name").Str, t.Get("input_schema")})
		return true
	})
	choice := root.Get("tool_choice")
	switch choice.Get("type").Str {
	case "any":
		p.required = true
	case "tool":
		p.named = choice.Get("name").Str
	case "none":
		p.none = true
	}
	c.inputTokens = tokens(p.bytes)
	c.choose(p)
	return nil
}

// stop is the stop_reason as JSON.
func (m *message) stop() string {
	switch {
	case m.fault.fault == NoFinish:
		return "null"
	case m.call.toolName != "":
		return `"tool_use"`
	case m.job.capped[0]:
		return `"max_tokens"`
	}
	return `"end_turn"`
}

func (m *message) appendHead(dst []byte) []byte {
	dst = appendHex(append(dst, `{"id":"msg_`...), m.job.id)
	dst = append(dst, `","type":"message","role":"assistant","model":`...)
	return append(gjson.AppendJSONString(dst, m.call.model), `,"content":[`...)
}

func (m *message) appendUsage(dst []byte, out int) []byte {
	dst = strconv.AppendInt(append(dst, `"usage":{"input_tokens":`...), int64(m.call.inputTokens), 10)
	dst = append(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":`...)
	return append(strconv.AppendInt(dst, int64(out), 10), `,"service_tier":"standard"}`...)
}

// appendToolUse appends a tool_use block up to its input.
func (m *message) appendToolUse(dst []byte) []byte {
	dst = m.appendCallID(append(dst, `{"type":"tool_use","id":"`...), "toolu_")
	dst = gjson.AppendJSONString(append(dst, `","name":`...), m.call.toolName)
	return append(dst, `,"input":`...)
}

// appendMoreUse appends call i of those in parallel with the first, up to its
// input.
func (m *message) appendMoreUse(dst []byte, i int) []byte {
	dst = m.appendMoreID(append(dst, `{"type":"tool_use","id":"`...), "toolu_", 0, i)
	dst = gjson.AppendJSONString(append(dst, `","name":`...), m.call.more[i].name)
	return append(dst, `,"input":`...)
}

// signature is what the thoughts of a model are signed with.
func signature(model string) string { return "mock." + model + "." }

func (m *message) appendSignature(dst []byte) []byte {
	return gjson.AppendJSONString(dst, signature(m.call.model)+string(appendHex(nil, m.job.id)))
}

func (m *message) whole(dst []byte, _ time.Time, work []byte) []byte {
	dst = m.appendHead(dst)
	if m.call.thinks {
		dst = gjson.AppendJSONString(append(dst, `{"type":"thinking","thinking":`...), thought)
		dst = append(m.appendSignature(append(dst, `,"signature":`...)), "},"...)
	}
	if m.call.toolName != "" {
		dst = append(append(m.appendToolUse(dst), m.call.toolArgs...), '}')
		for i, c := range m.call.more {
			dst = append(append(m.appendMoreUse(append(dst, ','), i), c.args...), '}')
		}
	} else {
		dst = append(m.appendText(append(dst, `{"type":"text","text":"`...), 0, 0, m.job.outs[0]), `"}`...)
	}
	dst = append(append(append(dst, `],"stop_reason":`...), m.stop()...), `,"stop_sequence":null,`...)
	dst = append(m.appendUsage(dst, m.job.outs[0]), ',')
	return append(append(dst, work...), '}')
}

func (m *message) begin(out *output) error {
	b := m.appendHead(append(m.buf[:0], `{"type":"message_start","message":`...))
	b = m.appendUsage(append(b, `],"stop_reason":null,"stop_sequence":null,`...), 1)
	if err := out.event("message_start", append(b, "}}"...)); err != nil {
		return err
	}
	if m.call.thinks {
		err := m.block(out, 0, func(dst []byte) []byte { return append(dst, `{"type":"thinking","thinking":"","signature":""}`...) },
			func(dst []byte) []byte {
				return append(gjson.AppendJSONString(append(dst, `{"type":"thinking_delta","thinking":`...), thought), '}')
			},
			func(dst []byte) []byte {
				return append(m.appendSignature(append(dst, `{"type":"signature_delta","signature":`...)), '}')
			})
		if err != nil {
			return err
		}
		m.first = 1
	}
	b = m.appendIndex(b[:0], "content_block_start", m.first)
	b = append(b, `,"content_block":`...)
	if m.call.toolName != "" {
		b = append(m.appendToolUse(b), "{}}}"...)
	} else {
		b = append(b, `{"type":"text","text":""}}`...)
	}
	m.buf = b
	if err := out.event("content_block_start", b); err != nil {
		return err
	}
	return out.event("ping", []byte(`{"type":"ping"}`))
}

// appendIndex appends an event of a block up to its index.
func (m *message) appendIndex(dst []byte, event string, index int) []byte {
	dst = append(append(append(dst, `{"type":"`...), event...), `","index":`...)
	return strconv.AppendInt(dst, int64(index), 10)
}

// block writes a block that comes at once: how it begins, and its deltas.
func (m *message) block(out *output, index int, begin func([]byte) []byte, deltas ...func([]byte) []byte) error {
	b := begin(append(m.appendIndex(m.buf[:0], "content_block_start", index), `,"content_block":`...))
	if err := out.event("content_block_start", append(b, '}')); err != nil {
		return err
	}
	for _, delta := range deltas {
		b = delta(append(m.appendIndex(b[:0], "content_block_delta", index), `,"delta":`...))
		if err := out.event("content_block_delta", append(b, '}')); err != nil {
			return err
		}
	}
	m.buf = append(m.appendIndex(b[:0], "content_block_stop", index), '}')
	return out.event("content_block_stop", m.buf)
}

func (m *message) delta(out *output, _, from, to int) error {
	b := append(m.appendIndex(m.buf[:0], "content_block_delta", m.first), `,"delta":`...)
	if m.call.toolName != "" {
		b = gjson.AppendJSONString(append(b, `{"type":"input_json_delta","partial_json":`...), m.args(from, to))
		b = append(b, "}}"...)
	} else {
		b = append(m.appendText(append(b, `{"type":"text_delta","text":"`...), 0, from, to), `"}}`...)
	}
	m.buf = b
	return out.event("content_block_delta", b)
}

func (m *message) end(out *output, _ int, work []byte) error {
	m.buf = append(m.appendIndex(m.buf[:0], "content_block_stop", m.first), '}')
	if err := out.event("content_block_stop", m.buf); err != nil {
		return err
	}
	for i, c := range m.call.more {
		err := m.block(out, m.first+1+i, func(dst []byte) []byte { return append(m.appendMoreUse(dst, i), "{}}"...) },
			func(dst []byte) []byte {
				return append(gjson.AppendJSONString(append(dst, `{"type":"input_json_delta","partial_json":`...), c.args), '}')
			})
		if err != nil {
			return err
		}
	}
	if m.fault.fault != NoFinish {
		b := append(append(m.buf[:0], `{"type":"message_delta","delta":{"stop_reason":`...), m.stop()...)
		b = append(m.appendUsage(append(b, `,"stop_sequence":null},`...), m.job.outs[0]), ',')
		m.buf = append(append(b, work...), '}')
		if err := out.event("message_delta", m.buf); err != nil {
			return err
		}
	}
	if m.fault.fault == NoDone {
		return nil
	}
	return out.event("message_stop", []byte(`{"type":"message_stop"}`))
}

// appendAnthropicError appends an error as Anthropic words it, by status.
func appendAnthropicError(dst []byte, status int, message, code, id string) []byte {
	kind := "api_error"
	switch status {
	case 400:
		kind = "invalid_request_error"
	case 401:
		kind = "authentication_error"
	case 402:
		kind = "billing_error"
	case 403:
		kind = "permission_error"
	case 404:
		kind = "not_found_error"
	case 413:
		kind = "request_too_large"
	case 429:
		kind = "rate_limit_error"
	case 504:
		kind = "timeout_error"
	case 529:
		kind = "overloaded_error"
	}
	switch code {
	case "context_length_exceeded":
		message = "prompt is too long: 210000 tokens > 200000 maximum"
	case "overloaded":
		message = "Overloaded"
	case "insufficient_quota":
		message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
	}
	dst = append(append(append(dst, `{"type":"error","error":{"type":"`...), kind...), `","message":`...)
	dst = append(gjson.AppendJSONString(dst, strings.ToValidUTF8(message, "")), '}')
	if id != "" {
		dst = gjson.AppendJSONString(append(dst, `,"request_id":`...), id)
	}
	return append(dst, '}')
}
