package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func chatAnswered(choice string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[` + choice + `]}`
}

func TestChatReadAnswer(t *testing.T) {
	said := func(message, reason string) string {
		return chatAnswered(`{"index":0,"message":` + message + `,"logprobs":null,"finish_reason":` + reason + `}`)
	}
	answer := func(stop StopReason, parts ...Part) Answer {
		return Answer{ID: "chatcmpl-1", Model: "m", Created: 1700000000, Parts: parts, Stop: stop}
	}
	text := Part{Kind: Text, Text: "hi"}
	call := Part{Kind: ToolCall, ID: "c", Name: "f", Arguments: Raw(`{"a":1}`)}
	const called = `{"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`
	sequence := answer(StopSequence, text)
	sequence.Sequence = "END"
	for _, tt := range []struct {
		name, body string
		want       Answer
	}{
		{"text", said(`{"role":"assistant","content":"hi","refusal":null,"annotations":[]}`, `"stop"`), answer(StopEnd, text)},
		{"array", said(`{"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}`, `"stop"`), answer(StopEnd, text)},
		{"empty", said(`{"content":""}`, `"stop"`), answer(StopEnd)},
		{"length", said(`{"content":"hi"}`, `"length"`), answer(StopLength, text)},
		{"filter", said(`{"content":"hi"}`, `"content_filter"`), answer(StopFilter, text)},
		{"not told", said(`{"content":"hi"}`, `null`), answer(StopUnknown, text)},
		{"of a server", said(`{"content":"hi"}`, `"abort"`), answer(StopUnknown, text)},
		{"refusal", said(`{"content":null,"refusal":"no"}`, `"stop"`), answer(StopRefusal, Part{Kind: Refusal, Text: "no"})},
		{"calls", said(called, `"tool_calls"`), answer(StopTool, call)},
		{"calls that were demanded", said(called, `"stop"`), answer(StopTool, call)},
		{"old reason", said(called, `"function_call"`), answer(StopTool, call)},
		{"arguments as an object", said(strings.Replace(called, `"{\"a\":1}"`, `{"a":1}`, 1), `"tool_calls"`), answer(StopTool, call)},
		{"no arguments, no id", said(`{"tool_calls":[{"function":{"name":"f","arguments":null}}]}`, `"tool_calls"`),
			answer(StopTool, Part{Kind: ToolCall, ID: "call_chatcmpl10", Name: "f", Arguments: Raw(`{}`)})},
		{"a call that was cut", said(`{"content":"hi","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"d","function":{"name":"f","arguments":"{\"a\":"}}]}`, `"length"`),
			answer(StopLength, text, call)},
		{"thinking", said(`{"content":"hi","reasoning_content":"t"}`, `"stop"`), answer(StopEnd, Part{Kind: Thinking, Text: "t"}, text)},
		{"thinking under its new name", said(`{"content":"hi","reasoning":"t"}`, `"stop"`), answer(StopEnd, Part{Kind: Thinking, Text: "t"}, text)},
		{"thinking under both", said(`{"content":"hi","reasoning_content":"t","reasoning":"t"}`, `"stop"`), answer(StopEnd, Part{Kind: Thinking, Text: "t"}, text)},
		{"stop sequence", chatAnswered(`{"index":0,"message":{"content":"hi"},"finish_reason":"stop","stop_reason":"END"}`), sequence},
		{"stop token", chatAnswered(`{"index":0,"message":{"content":"hi"},"finish_reason":"stop","stop_reason":128009}`), answer(StopEnd, text)},
		{"duplicates, bad UTF-8", `{"id":"x","id":"chatcmpl-1","created":1700000000,"model":"m","choices":[{"message":{"content":"h` + "\xff" + `"},"finish_reason":"stop"}],"error":null}`,
			answer(StopEnd, Part{Kind: Text, Text: "h\uFFFD"})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Chat().ReadAnswer([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got  %s\nwant %s", asChatJSON(got), asChatJSON(tt.want))
			}
		})
	}
}

func TestChatReadAnswerRefuses(t *testing.T) {
	message := func(members string) string {
		return chatAnswered(`{"index":0,"message":{` + members + `},"finish_reason":"stop"}`)
	}
	for _, tt := range []struct {
		name, body, field string
		unsupported       bool
	}{
		{"empty", ``, "", false},
		{"text", `Bad gateway`, "", false},
		{"error", `{"error":{"message":"no"}}`, "error", false},
		{"no choices", `{"id":"x"}`, "choices", false},
		{"choices empty", chatAnswered(``), "choices", false},
		{"two choices", chatAnswered(`{"message":{}},{"message":{}}`), "choices[1]", true},
		{"another choice", chatAnswered(`{"index":1,"message":{}}`), "choices[0]", true},
		{"no message", chatAnswered(`{"text":"hi"}`), "choices[0].message", false},
		{"content number", message(`"content":1`), "choices[0].message.content", false},
		{"image", message(`"content":[{"type":"image_url"}]`), "choices[0].message.content[0].type", true},
		{"old call", message(`"function_call":{"name":"f"}`), "choices[0].message.function_call", true},
		{"custom call", message(`"tool_calls":[{"type":"custom"}]`), "choices[0].message.tool_calls[0].type", true},
		{"call without name", message(`"tool_calls":[{"function":{}}]`), "choices[0].message.tool_calls[0].function.name", false},
		{"arguments", message(`"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":"}}]`), "choices[0].message.tool_calls[0].function.arguments", false},
		{"too deep", message(`"x":` + strings.Repeat("[", 1_000_000)), "choices[0].message.x" + strings.Repeat("[0]", 8), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Chat().ReadAnswer([]byte(tt.body))
			if err == nil {
				t.Fatalf("accepted as %s", asChatJSON(a))
			}
			refusedChat(t, err, tt.field, tt.unsupported)
		})
	}
}

func TestChatWriteAnswer(t *testing.T) {
	a := &Answer{
		ID: "chatcmpl-1", Model: "m", Created: 5, Stop: StopTool,
		Parts: []Part{{Kind: Thinking, Text: "t", Signature: "s"}, {Kind: Redacted, Data: "d"}, {Kind: Text, Text: "a"}, {Kind: Text, Text: "ü"},
			{Kind: ToolCall, ID: "c", Name: "f", Arguments: Raw(`{"a": 1}`)}},
		Usage: Usage{Known: true, Input: 10, Cached: 4, CacheWrite: 2, Output: 5, Reasoning: 3},
	}
	got, err := Chat().WriteAnswer(a)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"chatcmpl-1","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"aü","refusal":null,"reasoning_content":"t",` +
		`"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],` +
		`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":3}}}`
	sameChatJSON(t, string(got), want)
	back, err := Chat().ReadAnswer(got)
	if err != nil {
		t.Fatal(err)
	}
	if back.Usage != a.Usage || back.Stop != a.Stop {
		t.Errorf("read back as %s", asChatJSON(back))
	}

	if _, err := Chat().WriteAnswer(&Answer{Parts: []Part{{Kind: Image}}}); err == nil {
		t.Error("an image was written")
	} else {
		refusedChat(t, err, "parts[0]", true)
	}
}

func TestChatFinishReason(t *testing.T) {
	for _, tt := range []struct {
		stop  StopReason
		parts []Part
		want  string
	}{
		{StopUnknown, nil, "stop"}, {StopEnd, nil, "stop"}, {StopSequence, nil, "stop"},
		{StopLength, nil, "length"}, {StopPause, nil, "length"}, {StopContext, nil, "length"},
		{StopTool, nil, "tool_calls"}, {StopFilter, nil, "content_filter"},
		{StopRefusal, nil, "content_filter"}, {StopRefusal, []Part{{Kind: Refusal, Text: "no"}}, "stop"},
	} {
		b, err := Chat().WriteAnswer(&Answer{Stop: tt.stop, Parts: tt.parts})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Choices []struct {
				Reason string `json:"finish_reason"`
			}
			Usage any
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if got.Choices[0].Reason != tt.want || got.Usage != nil {
			t.Errorf("stop %d: %s, want %s", tt.stop, b, tt.want)
		}
	}
}

func TestChatUsage(t *testing.T) {
	for _, tt := range []struct {
		name, usage string
		want        Usage
	}{
		{"null", `null`, Usage{}},
		{"plain", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`, Usage{Known: true, Input: 10, Output: 5}},
		{"details", `{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}`, Usage{Known: true, Input: 10, Cached: 4, Output: 5, Reasoning: 3}},
		{"null details", `{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":null}`, Usage{Known: true, Input: 10, Output: 5}},
		{"of DeepSeek", `{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":8}`, Usage{Known: true, Input: 10, Cached: 8, Output: 5}},
		{"of xAI, reasoning beside the output", `{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`, Usage{Known: true, Input: 32, Output: 103, Reasoning: 94}},
		{"half", `{"prompt_tokens":10}`, Usage{}},
		{"texts", `{"prompt_tokens":"10","completion_tokens":"5"}`, Usage{}},
		{"parts above the whole", `{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":9,"cache_write_tokens":9},"completion_tokens_details":{"reasoning_tokens":9}}`, Usage{Known: true, Input: 1, Cached: 1, Output: 1, Reasoning: 1}},
		{"negative and huge", `{"prompt_tokens":-1,"completion_tokens":1e300}`, Usage{Known: true, Output: 1 << 40}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Chat().ReadAnswer([]byte(`{"choices":[{"message":{}}],"usage":` + tt.usage + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if a.Usage != tt.want {
				t.Errorf("got %+v, want %+v", a.Usage, tt.want)
			}
		})
	}
}
