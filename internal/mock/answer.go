package mock

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// answer builds the JSON of one request's answer, whole or in chunks.
type answer struct {
	call  call
	job   *job
	fault injection
	head  []byte // what every chunk of a stream begins with, up to the choices
	buf   []byte // of the event under way
	azure bool   // the answer tells what filters found
}

// appendID appends the id of the answer.
func (a *answer) appendID(dst []byte) []byte {
	prefix := "chatcmpl-"
	if a.call.route == completions {
		prefix = "cmpl-"
	}
	dst = append(dst, prefix...)
	return appendHex(dst, a.job.id)
}

func appendHex(dst []byte, x uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[x>>shift&15])
	}
	return dst
}

// appendHead appends the answer up to and including the bracket of its choices.
func (a *answer) appendHead(dst []byte, object string, created time.Time) []byte {
	dst = append(dst, `{"id":"`...)
	dst = a.appendID(dst)
	dst = append(append(append(dst, `","object":"`...), object...), `","created":`...)
	dst = strconv.AppendInt(dst, created.Unix(), 10)
	dst = append(dst, `,"model":`...)
	dst = gjson.AppendJSONString(dst, a.call.model)
	if a.call.route == chat {
		dst = append(dst, `,"service_tier":"default"`...)
	}
	return append(dst, `,"system_fingerprint":"fp_mock","choices":[`...)
}

// finish is a choice's finish_reason as JSON.
func (a *answer) finish(choice int) string {
	switch {
	case a.fault.fault == NoFinish:
		return "null"
	case a.call.toolName != "":
		return `"tool_calls"`
	case a.job.capped[choice]:
		return `"length"`
	}
	return `"stop"`
}

// appendText appends tokens of a choice, and the padding of a Big fault before the first.
func (a *answer) appendText(dst []byte, choice, from, to int) []byte {
	if from == 0 && a.fault.fault == Big {
		dst = append(dst, strings.Repeat("x", int(a.fault.arg))...)
	}
	return a.job.appendText(dst, choice, from, to)
}

// appendLogprobs appends the logprobs of tokens [from,to) of a choice, or null.
func (a *answer) appendLogprobs(dst []byte, choice, from, to int) []byte {
	switch {
	case !a.call.logprobs || a.call.toolName != "":
		return append(dst, "null"...)
	case a.call.route == chat:
		return a.job.appendChatLogprobs(dst, a.call.topLogprobs, choice, from, to)
	}
	return a.job.appendLegacyLogprobs(dst, choice, from, to)
}

// thought is what a model says that it thought.
const thought = "The caller wants an answer, so I look for one."

// appendMore appends the tool calls in parallel with the first, as list items of
// which a comma comes first.
func (a *answer) appendMore(dst []byte, choice int) []byte {
	for i, c := range a.call.more {
		dst = strconv.AppendInt(append(dst, `,{"index":`...), int64(i+1), 10)
		dst = a.appendMoreID(append(dst, `,"id":"`...), "call_", choice, i)
		dst = gjson.AppendJSONString(append(dst, `","type":"function","function":{"name":`...), c.name)
		dst = append(gjson.AppendJSONString(append(dst, `,"arguments":`...), c.args), "}}"...)
	}
	return dst
}

// appendMoreID appends the id of call i of those in parallel with the first.
func (a *answer) appendMoreID(dst []byte, prefix string, choice, i int) []byte {
	return strconv.AppendInt(append(appendHex(append(dst, prefix...), a.job.id+uint64(choice)), 'p'), int64(i+1), 10)
}

// appendToolCall appends a tool call with the given arguments; only the first
// delta of a stream names the call.
func (a *answer) appendToolCall(dst []byte, choice int, named bool, args string) []byte {
	dst = append(dst, `[{"index":0,`...)
	if named {
		dst = append(dst, `"id":"call_`...)
		dst = appendHex(dst, a.job.id+uint64(choice))
		dst = append(dst, `","type":"function",`...)
	}
	dst = append(dst, `"function":{`...)
	if named {
		dst = append(dst, `"name":`...)
		dst = append(gjson.AppendJSONString(dst, a.call.toolName), ',')
	}
	dst = append(dst, `"arguments":`...)
	return append(gjson.AppendJSONString(dst, args), `}}]`...)
}

// appendUsage appends the usage object.
func (a *answer) appendUsage(dst []byte) []byte {
	in, out := a.call.inputTokens, a.job.outputTokens()
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), int64(in), 10)
	if a.call.route != embeddings {
		dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), int64(out), 10)
	}
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), int64(in+out), 10)
	if a.call.route == chat {
		dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},`+
			`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,`+
			`"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}`...)
	}
	return append(dst, '}')
}

// appendWork appends the member in which the answer carries its own times.
func appendWork(dst []byte, service, queued time.Duration) []byte {
	dst = append(dst, `"mock":{"service_s":`...)
	dst = strconv.AppendFloat(dst, service.Seconds(), 'f', 4, 64)
	dst = append(dst, `,"queue_s":`...)
	dst = strconv.AppendFloat(dst, queued.Seconds(), 'f', 4, 64)
	return append(dst, '}')
}

func (a *answer) whole(dst []byte, created time.Time, work []byte) []byte {
	if a.call.route == embeddings {
		dst = a.appendEmbeddings(dst)
	} else {
		object := "chat.completion"
		if a.call.route == completions {
			object = "text_completion"
		}
		dst = a.appendHead(dst, object, created)
		for choice := range a.job.outs {
			if choice > 0 {
				dst = append(dst, ',')
			}
			dst = a.appendChoice(dst, choice)
		}
		dst = append(dst, ']')
	}
	dst = a.appendUsage(append(dst, `,"usage":`...))
	if a.azure && a.call.route == chat {
		dst = append(append(dst, ','), promptFilter...)
	}
	return append(append(append(dst, ','), work...), '}')
}

// promptFilter is what Azure says of a prompt, also in a chunk before all others.
const promptFilter = `"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]`

func (a *answer) begin(out *output) error {
	object := "chat.completion.chunk"
	if a.call.route == completions {
		object = "text_completion"
	}
	a.head = a.appendHead(nil, object, time.Now())
	if a.call.route != chat {
		return nil
	}
	if a.azure {
		if err := out.event("", []byte(`{"choices":[],"created":0,"id":"","model":"","object":"",`+promptFilter+`}`)); err != nil {
			return err
		}
	}
	for choice := range a.job.outs {
		if a.call.thinks {
			a.buf = gjson.AppendJSONString(append(a.openChunk(a.buf[:0], choice), `"delta":{"role":"assistant","content":null,"reasoning_content":`...), thought)
			a.buf = a.closeChunk(append(a.buf, `},"logprobs":null,"finish_reason":null}]`...))
			if err := out.event("", a.buf); err != nil {
				return err
			}
		}
		a.buf = a.appendRole(a.buf[:0], choice)
		if err := out.event("", a.buf); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) delta(out *output, choice, from, to int) error {
	a.buf = a.appendDelta(a.buf[:0], choice, from, to)
	return out.event("", a.buf)
}

func (a *answer) end(out *output, choice int, work []byte) error {
	if len(a.call.more) > 0 {
		b := append(a.openChunk(nil, choice), `"delta":{"tool_calls":[`...)
		at := len(b)
		b = a.appendMore(b, choice)
		b = append(b[:at], b[at+1:]...) // no comma before the first
		if err := out.event("", a.closeChunk(append(b, `]},"logprobs":null,"finish_reason":null}]`...))); err != nil {
			return err
		}
	}
	if a.fault.fault != NoFinish {
		if err := out.event("", a.appendFinish(nil, choice, work)); err != nil {
			return err
		}
	}
	if len(work) == 0 {
		return nil
	}
	if a.call.includeUsage {
		if err := out.event("", a.appendUsageChunk(nil)); err != nil {
			return err
		}
	}
	if a.fault.fault == NoDone {
		return nil
	}
	return out.event("", []byte("[DONE]"))
}

// appendChoice appends one whole choice.
func (a *answer) appendChoice(dst []byte, choice int) []byte {
	out := a.job.outs[choice]
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(choice), 10)
	switch {
	case a.call.route == completions:
		dst = append(a.appendText(append(dst, `,"text":"`...), choice, 0, out), '"')
	case a.call.toolName != "":
		dst = a.appendThought(append(dst, `,"message":{"role":"assistant",`...))
		dst = a.appendToolCall(append(dst, `"content":null,"refusal":null,"tool_calls":`...), choice, true, a.call.toolArgs)
		dst = append(a.appendMore(dst[:len(dst)-1], choice), "]}"...)
	default:
		dst = a.appendThought(append(dst, `,"message":{"role":"assistant",`...))
		dst = a.appendText(append(dst, `"content":"`...), choice, 0, out)
		dst = append(dst, `","refusal":null,"annotations":[]}`...)
	}
	dst = a.appendLogprobs(append(dst, `,"logprobs":`...), choice, 0, out)
	return append(append(append(dst, `,"finish_reason":`...), a.finish(choice)...), '}')
}

// appendThought appends the member with thoughts, if there are any.
func (a *answer) appendThought(dst []byte) []byte {
	if !a.call.thinks {
		return dst
	}
	return append(gjson.AppendJSONString(append(dst, `"reasoning_content":`...), thought), ',')
}

// appendEmbeddings appends the answer of the embeddings route up to its data.
func (a *answer) appendEmbeddings(dst []byte) []byte {
	dst = gjson.AppendJSONString(append(dst, `{"object":"list","model":`...), a.call.model)
	dst = append(dst, `,"data":[`...)
	var raw []byte
	for i := range a.call.inputs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"object":"embedding","index":`...), int64(i), 10)
		dst = append(dst, `,"embedding":`...)
		vector := a.job.vector(a.call.dimensions)
		if a.call.base64 {
			raw = raw[:0]
			for _, x := range vector {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
			}
			dst = append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"')
		} else {
			for k, x := range vector {
				dst = append(dst, "[,"[min(k, 1)])
				dst = strconv.AppendFloat(dst, float64(x), 'g', -1, 32)
			}
			dst = append(dst, ']')
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendDelta appends a chunk with tokens [from,to) of one choice.
func (a *answer) appendDelta(dst []byte, choice, from, to int) []byte {
	dst = a.openChunk(dst, choice)
	switch {
	case a.call.route == completions:
		dst = append(a.appendText(append(dst, `"text":"`...), choice, from, to), '"')
	case a.call.toolName != "":
		dst = append(a.appendToolCall(append(dst, `"delta":{"tool_calls":`...), choice, false, a.args(from, to)), '}')
	default:
		dst = append(a.appendText(append(dst, `"delta":{"content":"`...), choice, from, to), `"}`...)
	}
	dst = a.appendLogprobs(append(dst, `,"logprobs":`...), choice, from, to)
	return a.closeChunk(append(dst, `,"finish_reason":null}]`...))
}

// appendRole appends the chunk that opens a choice.
func (a *answer) appendRole(dst []byte, choice int) []byte {
	dst = a.openChunk(dst, choice)
	if a.call.toolName != "" {
		dst = append(dst, `"delta":{"role":"assistant","content":null,"tool_calls":`...)
		dst = append(a.appendToolCall(dst, choice, true, ""), '}')
	} else {
		dst = append(dst, `"delta":{"role":"assistant","content":"","refusal":null}`...)
	}
	return a.closeChunk(append(dst, `,"logprobs":null,"finish_reason":null}]`...))
}

// appendFinish appends the chunk that ends a choice; the last of them carries
// the work member.
func (a *answer) appendFinish(dst []byte, choice int, work []byte) []byte {
	dst = a.openChunk(dst, choice)
	if a.call.route == chat {
		dst = append(dst, `"delta":{}`...)
	} else {
		dst = append(dst, `"text":""`...)
	}
	dst = append(append(append(dst, `,"logprobs":null,"finish_reason":`...), a.finish(choice)...), "}]"...)
	if len(work) > 0 {
		dst = append(append(dst, ','), work...)
	}
	return a.closeChunk(dst)
}

// appendUsageChunk appends the chunk that ends a stream whose caller asked for usage.
func (a *answer) appendUsageChunk(dst []byte) []byte {
	dst = append(append(dst, a.head...), `],"usage":`...)
	return append(a.appendUsage(dst), '}')
}

func (a *answer) openChunk(dst []byte, choice int) []byte {
	dst = append(append(dst, a.head...), `{"index":`...)
	return append(strconv.AppendInt(dst, int64(choice), 10), ',')
}

func (a *answer) closeChunk(dst []byte) []byte {
	if a.call.includeUsage {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, '}')
}
