package mock

import (
	"errors"
	"strconv"
	"time"

	"github.com/tidwall/gjson"
)

// response words an answer of OpenAI's responses.
type response struct {
	*answer
	sequence int
	created  time.Time
}

// parseResponses reads a request for responses.
func (c *call) parseResponses(root gjson.Result) error {
	var p prompt
	p.bytes = len(root.Get("instructions").Str)
	switch input := root.Get("input"); {
	case input.Type == gjson.String:
		p.say(true, input.Str, false)
	case input.IsArray():
		input.ForEach(func(_, item gjson.Result) bool {
			switch item.Get("type").Str {
			case "function_call_output":
				p.say(false, messageText(item.Get("output")), true)
			case "", "message":
				p.say(item.Get("role").Str == "user", messageText(item.Get("content")), false)
			}
			return true
		})
	default:
		return errors.New("input is missing")
	}
	root.Get("tools").ForEach(func(_, t gjson.Result) bool {
		if t.Get("type").Str == "function" {
			p.tools = append(p.tools, offer{t.Get("name").Str, t.Get("parameters")})
		}
		return true
	})
	choice := root.Get("tool_choice")
	p.required, p.none, p.named = choice.Str == "required", choice.Str == "none", choice.Get("name").Str
	c.maxTokens = int(root.Get("max_output_tokens").Int())
	c.inputTokens = tokens(p.bytes)
	c.choose(p)
	return nil
}

// appendResponse appends the response object in one state, with its output and
// usage if it is at its end.
func (r *response) appendResponse(dst []byte, status string) []byte {
	over := status != "in_progress"
	dst = appendHex(append(dst, `{"id":"resp_`...), r.job.id)
	dst = strconv.AppendInt(append(dst, `","object":"response","created_at":`...), r.created.Unix(), 10)
	dst = append(append(append(dst, `,"status":"`...), status...), `","error":null,"incomplete_details":`...)
	if status == "incomplete" {
		dst = append(dst, `{"reason":"max_output_tokens"}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = gjson.AppendJSONString(append(dst, `,"instructions":null,"metadata":{},"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"model":`...), r.call.model)
	dst = append(dst, `,"output":[`...)
	if over {
		dst = r.appendItem(dst, "completed")
	}
	dst = append(dst, `],"usage":`...)
	if !over {
		return append(dst, "null}"...)
	}
	in, out := int64(r.call.inputTokens), int64(r.job.outs[0])
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), in, 10)
	dst = strconv.AppendInt(append(dst, `,"input_tokens_details":{"cached_tokens":0},"output_tokens":`...), out, 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":`...), in+out, 10)
	return append(dst, "}}"...)
}

// appendItem appends the one item of the output, empty while it is in progress.
func (r *response) appendItem(dst []byte, status string) []byte {
	if r.call.toolName != "" {
		dst = r.appendItemID(append(dst, `{"id":"`...))
		dst = append(append(append(dst, `","type":"function_call","status":"`...), status...), `","call_id":"`...)
		dst = gjson.AppendJSONString(append(r.appendCallID(dst, "call_"), `","name":`...), r.call.toolName)
		args := ""
		if status == "completed" {
			args = r.call.toolArgs
		}
		return append(gjson.AppendJSONString(append(dst, `,"arguments":`...), args), '}')
	}
	dst = r.appendItemID(append(dst, `{"id":"`...))
	dst = append(append(append(dst, `","type":"message","status":"`...), status...), `","role":"assistant","content":[`...)
	if status == "completed" {
		dst = r.appendPart(dst, true)
	}
	return append(dst, "]}"...)
}

func (r *response) appendItemID(dst []byte) []byte {
	prefix := "msg_"
	if r.call.toolName != "" {
		prefix = "fc_"
	}
	return appendHex(append(dst, prefix...), r.job.id)
}

func (r *response) appendPart(dst []byte, filled bool) []byte {
	dst = append(dst, `{"type":"output_text","annotations":[],"logprobs":[],"text":"`...)
	if filled {
		dst = r.appendText(dst, 0, 0, r.job.outs[0])
	}
	return append(dst, `"}`...)
}

// last is the state at the end.
func (r *response) last() string {
	if r.job.capped[0] {
		return "incomplete"
	}
	return "completed"
}

func (r *response) whole(dst []byte, created time.Time, work []byte) []byte {
	r.created = created
	dst = r.appendResponse(dst, r.last())
	return append(append(append(dst[:len(dst)-1], ','), work...), '}')
}

// send writes an event whose data goes on with body.
func (r *response) send(out *output, name string, body func(dst []byte) []byte) error {
	b := append(append(append(r.buf[:0], `{"type":"`...), name...), `","sequence_number":`...)
	b = append(strconv.AppendInt(b, int64(r.sequence), 10), ',')
	r.sequence++
	r.buf = append(body(b), '}')
	return out.event(name, r.buf)
}

// place appends the members that say where in the output an event belongs.
func (r *response) place(dst []byte) []byte {
	dst = append(r.appendItemID(append(dst, `"item_id":"`...)), `","output_index":0`...)
	if r.call.toolName == "" {
		dst = append(dst, `,"content_index":0`...)
	}
	return dst
}

func (r *response) begin(out *output) error {
	r.created = time.Now()
	for _, name := range [...]string{"response.created", "response.in_progress"} {
		if err := r.send(out, name, func(dst []byte) []byte {
			return r.appendResponse(append(dst, `"response":`...), "in_progress")
		}); err != nil {
			return err
		}
	}
	if err := r.send(out, "response.output_item.added", func(dst []byte) []byte {
		return r.appendItem(append(dst, `"output_index":0,"item":`...), "in_progress")
	}); err != nil || r.call.toolName != "" {
		return err
	}
	return r.send(out, "response.content_part.added", func(dst []byte) []byte {
		return r.appendPart(append(r.place(dst), `,"part":`...), false)
	})
}

func (r *response) delta(out *output, _, from, to int) error {
	if r.call.toolName != "" {
		return r.send(out, "response.function_call_arguments.delta", func(dst []byte) []byte {
			return gjson.AppendJSONString(append(r.place(dst), `,"delta":`...), r.args(from, to))
		})
	}
	return r.send(out, "response.output_text.delta", func(dst []byte) []byte {
		dst = append(r.place(dst), `,"logprobs":[],"delta":"`...)
		return append(r.appendText(dst, 0, from, to), '"')
	})
}

func (r *response) end(out *output, _ int, work []byte) (err error) {
	send := func(name string, body func(dst []byte) []byte) {
		if err == nil {
			err = r.send(out, name, body)
		}
	}
	if r.call.toolName != "" {
		send("response.function_call_arguments.done", func(dst []byte) []byte {
			return gjson.AppendJSONString(append(r.place(dst), `,"arguments":`...), r.call.toolArgs)
		})
	} else {
		send("response.output_text.done", func(dst []byte) []byte {
			dst = append(r.place(dst), `,"logprobs":[],"text":"`...)
			return append(r.appendText(dst, 0, 0, r.job.outs[0]), '"')
		})
		send("response.content_part.done", func(dst []byte) []byte {
			return r.appendPart(append(r.place(dst), `,"part":`...), true)
		})
	}
	send("response.output_item.done", func(dst []byte) []byte {
		return r.appendItem(append(dst, `"output_index":0,"item":`...), "completed")
	})
	if f := r.fault.fault; f != NoFinish && f != NoDone {
		send("response."+r.last(), func(dst []byte) []byte {
			dst = append(r.appendResponse(append(dst, `"response":`...), r.last()), ',')
			return append(dst, work...)
		})
	}
	return err
}

// appendResponseFault appends the event of an error within a stream.
func appendResponseFault(dst []byte, message, code string) []byte {
	dst = gjson.AppendJSONString(append(dst, `{"type":"error","code":`...), code)
	dst = gjson.AppendJSONString(append(dst, `,"message":`...), message)
	return append(dst, `,"param":null,"sequence_number":0}`...)
}
