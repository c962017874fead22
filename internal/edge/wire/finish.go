package wire

import "bytes"

// Finish is why an answer ended, the same for all surfaces.
type Finish string

// The reasons. FinishNone means that nothing was said.
const (
	FinishNone   Finish = ""
	FinishStop   Finish = "stop"           // it was complete
	FinishLength Finish = "length"         // it met a limit of tokens
	FinishTools  Finish = "tool_calls"     // the caller is to run tools
	FinishFilter Finish = "content_filter" // a filter cut it
	FinishRefuse Finish = "refusal"        // the model would not answer
	FinishOther  Finish = "other"
)

var finishWords = map[string]Finish{
	"stop": FinishStop, "end_turn": FinishStop, "stop_sequence": FinishStop, "completed": FinishStop,
	"length": FinishLength, "max_tokens": FinishLength, "max_output_tokens": FinishLength, "model_context_window_exceeded": FinishLength,
	"tool_calls": FinishTools, "function_call": FinishTools, "tool_use": FinishTools,
	"content_filter": FinishFilter, "refusal": FinishRefuse,
}

func finishWord(quoted []byte) Finish {
	if len(quoted) < 2 {
		return FinishNone
	}
	if f, ok := finishWords[string(quoted[1:len(quoted)-1])]; ok {
		return f
	}
	return FinishOther
}

// FinishOf is why an answer ended, as a whole answer of the surface or one event
// of its stream says. It is for events that may say so: those of a chunk that
// is finished, message_delta, and the last of responses.
func (s Surface) FinishOf(data []byte) Finish {
	all := span{0, len(data)}
	text := func(at span) Finish { return finishWord(stringAt(data, at).of(data)) }
	switch {
	case s.Anthropic():
		if f := text(memberOf(data, all, "stop_reason")); f != FinishNone {
			return f
		}
		return text(memberOf(data, memberOf(data, all, "delta"), "stop_reason"))
	case s == Responses:
		if inner := memberOf(data, all, "response"); !inner.absent() {
			all = inner
		}
		if f := text(memberOf(data, memberOf(data, all, "incomplete_details"), "reason")); f != FinishNone {
			return f
		}
		return text(memberOf(data, all, "status"))
	case s == Embeddings:
		return FinishNone
	}
	for {
		i := bytes.Index(data, finishReason)
		if i < 0 {
			return FinishNone
		}
		data = bytes.TrimLeft(data[i+len(finishReason):], ": \t\r\n")
		if len(data) == 0 || data[0] != '"' {
			continue
		}
		if end := bytes.IndexByte(data[1:], '"'); end >= 0 {
			return finishWord(data[:end+2])
		}
	}
}
