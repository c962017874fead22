package dialect

import (
	"slices"
	"strings"
)

// writeChatAnswer makes a whole answer with one choice.
func writeChatAnswer(a *Answer) ([]byte, *Error) {
	var content, refusal, thinking strings.Builder
	hasText, calls := false, false
	for i, p := range a.Parts {
		switch p.Kind {
		case Text:
			content.WriteString(p.Text)
			hasText = true
		case Refusal:
			refusal.WriteString(p.Text)
		case Thinking:
			thinking.WriteString(p.Text)
		case ToolCall:
			calls = true
		case Redacted: // means nothing to a reader
		default:
			return nil, within(atIndex(unsupported("", "chat completions cannot answer with this"), i), "parts")
		}
	}
	b := chatAddString(append(make([]byte, 0, 512+content.Len()+thinking.Len()), '{'), "id", a.ID)
	b = chatAddString(b, "object", "chat.completion")
	b = chatAddString(chatAddInt(b, "created", a.Created), "model", a.Model)
	b = append(b, `,"choices":[{"index":0,"message":{"role":"assistant"`...)
	if hasText || !calls && refusal.Len() == 0 { // clients take it for a string where there is nothing else
		b = chatAddString(b, "content", content.String())
	} else {
		b = append(b, `,"content":null`...)
	}
	if refusal.Len() > 0 {
		b = chatAddString(b, "refusal", refusal.String())
	} else {
		b = append(b, `,"refusal":null`...)
	}
	if thinking.Len() > 0 {
		b = chatAddString(b, "reasoning_content", thinking.String())
	}
	if calls {
		b = chatCalls(b, a.Parts)
	}
	b = append(b, `},"logprobs":null`...)
	refused := slices.ContainsFunc(a.Parts, func(p Part) bool { return p.Kind == Refusal })
	b = append(chatAddString(b, "finish_reason", chatFinish(a.Stop, refused)), `}]`...)
	if a.Usage.Known {
		b = chatAddUsage(b, &a.Usage)
	}
	return append(b, '}'), nil
}

// chatAddUsage appends the member usage.
func chatAddUsage(b []byte, u *Usage) []byte {
	b = chatAddInt(append(chatKey(b, "usage"), '{'), "prompt_tokens", u.Input)
	b = chatAddInt(b, "completion_tokens", u.Output)
	b = chatAddInt(b, "total_tokens", u.Input+u.Output)
	b = chatAddInt(append(b, `,"prompt_tokens_details":{`...), "cached_tokens", u.Cached)
	if u.CacheWrite > 0 {
		b = chatAddInt(b, "cache_write_tokens", u.CacheWrite)
	}
	b = chatAddInt(append(b, `},"completion_tokens_details":{`...), "reasoning_tokens", u.Reasoning)
	return append(b, `}}`...)
}
