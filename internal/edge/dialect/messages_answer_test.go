package dialect

import (
	"reflect"
	"testing"
)

func TestMessagesReadAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       Answer
	}{
		{"text", `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi","citations":null}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2,"service_tier":"standard"}}`,
			Answer{ID: "msg_1", Model: "m", Parts: []Part{{Text: "hi"}}, Stop: StopEnd, Usage: Usage{Known: true, Input: 3, Output: 2}}},
		{"what was cached is part of the input", `{"content":[],"usage":{"output_tokens":9,"input_tokens":3,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens_details":{"thinking_tokens":5}}}`,
			Answer{Usage: Usage{Known: true, Input: 123, Cached: 100, CacheWrite: 20, Output: 9, Reasoning: 5}}},
		{"counts that make no sense", `{"content":[],"usage":{"output_tokens":-9,"input_tokens":1e300,"cache_read_input_tokens":null,"output_tokens_details":{"thinking_tokens":5}}}`,
			Answer{Usage: Usage{Known: true, Input: messagesMaxCount}}},
		{"no usage", `{"content":[]}`, Answer{}},
		{"blocks", `{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"toolu_1","name":"t","input":{"a":1}},{"type":"tool_use","id":"toolu_2","name":"t"}],"stop_reason":"tool_use"}`,
			Answer{Stop: StopTool, Parts: []Part{{Kind: Thinking, Text: "hm", Signature: "s"}, {Kind: Redacted, Data: "d"},
				{Kind: ToolCall, ID: "toolu_1", Name: "t", Arguments: Raw(`{"a":1}`)}, {Kind: ToolCall, ID: "toolu_2", Name: "t", Arguments: Raw(`{}`)}}}},
		{"blocks of server tools, and unknown members", `{"new":1,"content":[{"type":"server_tool_use","id":"a"},{"type":"web_search_tool_result"},{"type":"text","text":"x","new":{}},1]}`,
			Answer{Parts: []Part{{Text: "x"}}}},
		{"max_tokens", `{"content":[],"stop_reason":"max_tokens"}`, Answer{Stop: StopLength}},
		{"stop_sequence", `{"content":[],"stop_reason":"stop_sequence","stop_sequence":"END"}`, Answer{Stop: StopSequence, Sequence: "END"}},
		{"pause_turn", `{"content":[],"stop_reason":"pause_turn"}`, Answer{Stop: StopPause}},
		{"refusal", `{"content":[],"stop_reason":"refusal"}`, Answer{Stop: StopRefusal}},
		{"context", `{"content":[],"stop_reason":"model_context_window_exceeded"}`, Answer{Stop: StopContext}},
		{"a reason to come", `{"content":[],"stop_reason":"new"}`, Answer{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Messages().ReadAnswer([]byte(tt.body))
			if err != nil || !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("%v\ngot  %+v\nwant %+v", err, got, tt.want)
			}
		})
	}
	for _, body := range []string{``, `{`, `[]`, `"a"`, `{}`, `{"content":"a"}`, `{"type":"error","error":{"type":"api_error","message":"m"}}`} {
		if got, err := Messages().ReadAnswer([]byte(body)); err == nil {
			t.Errorf("%s: got %+v", body, got)
		}
	}
}

func TestMessagesWriteAnswer(t *testing.T) {
	const head, zero = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[`, `"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}`
	call := Part{Kind: ToolCall, ID: "call_1", Name: "t", Arguments: Raw(`{"a": 1, "a": 2}`)}
	for _, tt := range []struct {
		name string
		a    Answer
		want string // after head
	}{
		{"nothing", Answer{}, `],"stop_reason":"end_turn","stop_sequence":null,` + zero},
		{"text", Answer{Parts: []Part{{Text: "a\xff<"}}, Stop: StopSequence, Sequence: "END", Usage: Usage{Known: true, Input: 123, Cached: 100, CacheWrite: 20, Output: 9, Reasoning: 5}},
			`{"type":"text","text":"a�<"}],"stop_reason":"stop_sequence","stop_sequence":"END","usage":{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":9,"output_tokens_details":{"thinking_tokens":5}}}`},
		{"thinking", Answer{Parts: []Part{{Kind: Thinking, Text: "a"}, {Kind: Thinking, Signature: "s"}, {Kind: Redacted, Data: "d"}}, Stop: StopLength},
			`{"type":"thinking","thinking":"a","signature":""},{"type":"thinking","thinking":"","signature":"s"},{"type":"redacted_thinking","data":"d"}],"stop_reason":"max_tokens","stop_sequence":null,` + zero},
		{"a call, though the provider says end", Answer{Parts: []Part{call}, Stop: StopEnd}, `{"type":"tool_use","id":"call_1","name":"t","input":{"a":1,"a":2}}],"stop_reason":"tool_use","stop_sequence":null,` + zero},
		{"calls without arguments and ids", Answer{Parts: []Part{{Kind: ToolCall, Name: "t"}, {Kind: ToolCall, ID: "a.b", Name: "t", Arguments: Raw("null")}}, Stop: StopTool},
			`{"type":"tool_use","id":"toolu_msg_1_0","name":"t","input":{}},{"type":"tool_use","id":"spw_a_2eb","name":"t","input":{}}],"stop_reason":"tool_use","stop_sequence":null,` + zero},
		{"a call that was cut off", Answer{Parts: []Part{{Text: "a"}, {Kind: ToolCall, Name: "t", Arguments: Raw(`{"a`)}}, Stop: StopLength}, `{"type":"text","text":"a"}],"stop_reason":"max_tokens","stop_sequence":null,` + zero},
		{"a refusal", Answer{Parts: []Part{{Kind: Refusal, Text: "no"}}, Stop: StopEnd}, `{"type":"text","text":"no"}],"stop_reason":"refusal","stop_sequence":null,` + zero},
		{"a filter", Answer{Stop: StopFilter}, `],"stop_reason":"refusal","stop_sequence":null,` + zero},
		{"a pause", Answer{Stop: StopPause}, `],"stop_reason":"pause_turn","stop_sequence":null,` + zero},
		{"the context", Answer{Stop: StopContext}, `],"stop_reason":"model_context_window_exceeded","stop_sequence":null,` + zero},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.ID, tt.a.Model = "msg_1", "m"
			got, err := Messages().WriteAnswer(&tt.a)
			if err != nil || string(got) != head+tt.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, got, head+tt.want)
			}
		})
	}
	for _, p := range []Part{{Kind: ToolCall, Arguments: Raw(`{"a`)}, {Kind: Image}} {
		if got, err := Messages().WriteAnswer(&Answer{Parts: []Part{p}}); err == nil {
			t.Errorf("%+v: got %s", p, got)
		}
	}
}

func TestMessagesAnswerRoundTrip(t *testing.T) {
	want := &Answer{ID: "msg_1", Model: "m", Stop: StopTool, Usage: Usage{Known: true, Input: 50, Cached: 10, CacheWrite: 5, Output: 7, Reasoning: 3}, Parts: []Part{
		{Kind: Thinking, Text: "hm", Signature: "s"}, {Kind: Redacted, Data: "d"}, {Text: "a\n"}, {Kind: ToolCall, ID: "toolu_1", Name: "t", Arguments: Raw(`{"a":[1]}`)},
	}}
	body, err := Messages().WriteAnswer(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Messages().ReadAnswer(body); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
}
