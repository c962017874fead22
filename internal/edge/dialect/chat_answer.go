package dialect

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

func readChatAnswer(body []byte) (*Answer, *Error) {
	root, err := parseChat(body, chatLenient...)
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	var choice gjson.Result
	err = eachMember(root, func(name string, v gjson.Result) *Error {
		switch name {
		case "id":
			a.ID = v.Str
		case "model":
			a.Model = v.Str
		case "created":
			a.Created = v.Int()
		case "usage":
			a.Usage = chatUsage(v)
		case "error":
			return malformed("", "an error, not an answer")
		case "choices":
			return eachItem(v, func(i int, v gjson.Result) *Error {
				if choice = v; i > 0 || v.Get("index").Int() != 0 {
					return unsupported("", "one choice was asked for")
				}
				return nil
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !choice.Exists():
		return nil, malformed("choices", "there is no choice")
	}
	if err := a.chatChoice(choice); err != nil {
		return nil, within(atIndex(err, 0), "choices")
	}
	return a, nil
}

func (a *Answer) chatChoice(v gjson.Result) *Error {
	var message, calls gjson.Result
	reason, matched := "", ""
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "message":
			message = v
		case "finish_reason":
			return readString(v, &reason)
		case "stop_reason", "matched_stop": // of vLLM and SGLang; a token's number is of no use
			matched = v.Str
		}
		return nil
	})
	if err != nil {
		return err
	}
	var content, refusal, thinking, other string
	err = eachMember(message, func(name string, v gjson.Result) *Error {
		switch name {
		case "content":
			return chatText(v, &content)
		case "refusal":
			return readString(v, &refusal)
		case "reasoning_content":
			return readString(v, &thinking)
		case "reasoning":
			return readString(v, &other)
		case "tool_calls":
			calls = v
		case "function_call":
			return unsupported("", "functions were not asked for")
		}
		return nil
	})
	if err != nil {
		return within(err, "message")
	}
	if thinking == "" {
		thinking = other
	}
	for _, p := range []Part{{Kind: Thinking, Text: thinking}, {Kind: Text, Text: content}, {Kind: Refusal, Text: refusal}} {
		if p.Text != "" {
			a.Parts = append(a.Parts, p)
		}
	}
	called := false
	if calls.Exists() {
		before := len(a.Parts)
		if err := a.chatToolCalls(calls, reason == "length"); err != nil {
			return within(within(err, "tool_calls"), "message")
		}
		called = len(a.Parts) > before
	}
	a.Stop, a.Sequence = chatStop(reason, matched, called, refusal != "")
	return nil
}

// chatText takes a string, or an array of texts.
func chatText(v gjson.Result, to *string) *Error {
	if v.Type == gjson.String {
		*to = v.Str
		return nil
	}
	var all strings.Builder
	err := eachItem(v, func(_ int, v gjson.Result) *Error {
		kind, text := v.Get("type"), v.Get("text")
		if kind.Str != "text" || text.Type != gjson.String {
			return unsupported("type", "only text can be passed on")
		}
		all.WriteString(text.Str)
		return nil
	})
	*to = all.String()
	return err
}

// chatToolCalls reads the calls. One whose arguments were cut by the cap of output
// tokens is left out: they can be neither run nor, in most dialects, written.
func (a *Answer) chatToolCalls(v gjson.Result, cut bool) *Error {
	return eachItem(v, func(i int, v gjson.Result) *Error {
		p := Part{Kind: ToolCall, ID: v.Get("id").Str}
		if kind := v.Get("type").Str; kind != "" && kind != "function" {
			return unsupported("type", "only calls of type function can be passed on")
		}
		if err := chatCalledLeniently(v.Get("function"), &p); err != nil {
			if cut && err.Field == "arguments" {
				return nil
			}
			return within(err, "function")
		}
		if p.ID == "" {
			p.ID = chatCallID(a.ID, i)
		}
		a.Parts = append(a.Parts, p)
		return nil
	})
}

// chatCalledLeniently reads a function and its arguments, which some providers
// give as an object and not as its text.
func chatCalledLeniently(v gjson.Result, p *Part) *Error {
	p.Name = v.Get("name").Str
	arguments := v.Get("arguments")
	text := arguments.Str
	if arguments.IsObject() {
		text = arguments.Raw
	}
	switch {
	case p.Name == "":
		return malformed("name", "the call names no function")
	case strings.TrimSpace(text) == "" && arguments.Type != gjson.Number:
		text = "{}"
	case !isChatObject(text):
		return malformed("arguments", "not the text of a JSON object")
	}
	p.Arguments = Raw(text)
	return nil
}

// chatCallID makes an id for a call that a provider left without one. It differs
// between the answers of a conversation and fits the 40 bytes that OpenAI allows.
func chatCallID(answer string, i int) string {
	kept := make([]byte, 0, len(answer))
	for _, c := range []byte(answer) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			kept = append(kept, c)
		}
	}
	return "call_" + string(kept[max(0, len(kept)-24):]) + strconv.Itoa(i)
}

// chatStop says why the model stopped. Some providers say stop where there are
// calls, and OpenAI says it where the call was demanded.
func chatStop(reason, matched string, called, refused bool) (StopReason, string) {
	switch reason {
	case "stop":
		switch {
		case called:
			return StopTool, ""
		case refused:
			return StopRefusal, ""
		case matched != "":
			return StopSequence, matched
		}
		return StopEnd, ""
	case "length":
		return StopLength, ""
	case "tool_calls", "function_call":
		return StopTool, ""
	case "content_filter":
		return StopFilter, ""
	}
	return StopUnknown, ""
}

// chatFinish is the finish reason for a stop. OpenAI says stop where the model
// refused in a refusal; a refusal in no words is closest to its filter. What is
// cut short for any reason is length, and what is not told is stop: clients take
// an answer without a reason for one that was cut.
func chatFinish(s StopReason, refused bool) string {
	switch s {
	case StopLength, StopContext, StopPause:
		return "length"
	case StopTool:
		return "tool_calls"
	case StopFilter:
		return "content_filter"
	case StopRefusal:
		if !refused {
			return "content_filter"
		}
	}
	return "stop"
}

// chatUsage reads the counts. Cached is part of prompt_tokens here, too.
func chatUsage(v gjson.Result) Usage {
	input, output := v.Get("prompt_tokens"), v.Get("completion_tokens")
	if input.Type != gjson.Number || output.Type != gjson.Number {
		return Usage{}
	}
	u := Usage{Known: true, Input: chatCount(input), Output: chatCount(output)}
	cached := v.Get("prompt_tokens_details.cached_tokens")
	if !cached.Exists() {
		cached = v.Get("prompt_cache_hit_tokens") // of DeepSeek
	}
	// A part cannot exceed the whole, whatever the provider says.
	u.Cached = min(chatCount(cached), u.Input)
	u.CacheWrite = min(chatCount(v.Get("prompt_tokens_details.cache_write_tokens")), u.Input-u.Cached)
	u.reasoned(chatCount(v.Get("completion_tokens_details.reasoning_tokens")), chatCount(v.Get("total_tokens")))
	return u
}

// chatCount reads a count of tokens, within what adds up without overflow.
func chatCount(v gjson.Result) int64 {
	return int64(min(max(v.Num, 0), 1<<40))
}
