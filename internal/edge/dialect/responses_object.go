package dialect

import (
	"strconv"
	"strings"
)

// respHead is what every response object of one answer has.
type respHead struct {
	id      string // resp_…
	base    string // of the ids of items: id without what is before it
	model   string
	created int64
}

// newRespHead makes the ids. The provider's id is kept where it is of this form.
func newRespHead(id, model string, created int64) respHead {
	if strings.HasPrefix(id, "resp_") && respWord(id) == id {
		return respHead{id: id, base: id[len("resp_"):], model: model, created: created}
	}
	base := respWord(id)
	if base == "" {
		base = "0"
	}
	return respHead{id: "resp_" + base, base: base, model: model, created: created}
}

// respWord keeps the characters that ids are made of.
func respWord(id string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c
		}
		return -1
	}, id[:min(len(id), 128)])
}

// item is the id of the item at a place in the output.
func (h *respHead) item(prefix string, n int) string {
	return prefix + h.base + "_" + strconv.Itoa(n)
}

// respState is what changes of a response object.
type respState struct {
	status string // in_progress, completed, incomplete, failed
	reason string // of incomplete
	code   string // of failed
	text   string // of failed
	usage  Usage
}

// respEnd is how a stop is told. A refusal without words is told as what a
// content filter cut, and a paused turn or a full context as what a cap of
// tokens did: there is more to come, or there would be.
func respEnd(stop StopReason, refusal bool) (status, reason string) {
	switch stop {
	case StopLength, StopContext, StopPause:
		return "incomplete", "max_output_tokens"
	case StopFilter:
		return "incomplete", "content_filter"
	case StopRefusal:
		if !refusal {
			return "incomplete", "content_filter"
		}
	}
	return "completed", ""
}

// append writes the response object. The members that repeat a request have
// their defaults: the request was of another dialect when it was answered.
func (h *respHead) append(dst []byte, s *respState, output func([]byte) []byte) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, h.id...)
	dst = append(dst, `","object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, h.created, 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, s.status...)
	dst = append(dst, `","background":false,"error":`...)
	if s.code == "" {
		dst = append(dst, `null`...)
	} else {
		dst = respQuote(append(dst, `{"code":`...), s.code)
		dst = respQuote(append(dst, `,"message":`...), s.text)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"incomplete_details":`...)
	if s.reason == "" {
		dst = append(dst, `null`...)
	} else {
		dst = append(append(append(dst, `{"reason":"`...), s.reason...), `"}`...)
	}
	dst = append(dst, `,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":`...)
	dst = respQuote(dst, h.model)
	dst = append(dst, `,"output":[`...)
	if output != nil {
		dst = output(dst)
	}
	dst = append(dst, `],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,`+
		`"reasoning":{"effort":null,"summary":null},"safety_identifier":null,"service_tier":"default",`+
		`"store":false,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],`+
		`"top_logprobs":0,"top_p":null,"truncation":"disabled","usage":`...)
	dst = s.usage.appendResponses(dst)
	return append(dst, `,"user":null,"metadata":{},"access_programs":null}`...)
}

func (u *Usage) appendResponses(dst []byte) []byte {
	if !u.Known {
		return append(dst, `null`...)
	}
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), u.Input, 10)
	dst = strconv.AppendInt(append(dst, `,"input_tokens_details":{"cached_tokens":`...), u.Cached, 10)
	dst = strconv.AppendInt(append(dst, `,"cache_write_tokens":`...), u.CacheWrite, 10)
	dst = strconv.AppendInt(append(dst, `},"output_tokens":`...), u.Output, 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens_details":{"reasoning_tokens":`...), u.Reasoning, 10)
	dst = strconv.AppendInt(append(dst, `},"total_tokens":`...), u.Input+u.Output, 10)
	return append(dst, '}')
}
