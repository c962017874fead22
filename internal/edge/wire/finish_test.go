package wire

import "testing"

func TestFinishOf(t *testing.T) {
	for _, x := range []struct {
		surface Surface
		data    string
		want    string
	}{
		{ChatCompletions, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "stop"},
		{ChatCompletions, `{"choices":[{"index":0,"message":{"content":"x"},"finish_reason" : "length"}]}`, "length"},
		{ChatCompletions, `{"choices":[{"finish_reason":null},{"finish_reason":"tool_calls"}]}`, "tool_calls"},
		{ChatCompletions, `{"choices":[{"delta":{"content":"x"},"finish_reason":null}]}`, ""},
		{Completions, `{"choices":[{"text":"x","finish_reason":"content_filter"}]}`, "content_filter"},
		{ChatCompletions, `{"choices":[{"finish_reason":"insufficient_system_resource"}]}`, "insufficient_system_resource"},
		{ChatCompletions, `{"choices":[{"finish_reason":"sto`, ""},
		{Messages, `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}`, "end_turn"},
		{Messages, `{"type":"message","stop_reason":"tool_use","content":[]}`, "tool_use"},
		{Messages, `{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, "refusal"},
		{Messages, `{"type":"message_start","message":{"stop_reason":null}}`, ""},
		{Responses, `{"type":"response.completed","response":{"status":"completed","incomplete_details":null}}`, "completed"},
		{Responses, `{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`, "max_output_tokens"},
		{Embeddings, `{"object":"list","data":[]}`, ""},
		{Messages, ``, ""},
	} {
		if got := x.surface.FinishOf([]byte(x.data)); got != x.want {
			t.Errorf("%v %s: %q, want %q", x.surface, x.data, got, x.want)
		}
	}
}
