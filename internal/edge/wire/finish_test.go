package wire

import "testing"

func TestFinishOf(t *testing.T) {
	for _, x := range []struct {
		surface Surface
		data    string
		want    Finish
	}{
		{ChatCompletions, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, FinishStop},
		{ChatCompletions, `{"choices":[{"index":0,"message":{"content":"x"},"finish_reason" : "length"}]}`, FinishLength},
		{ChatCompletions, `{"choices":[{"finish_reason":null},{"finish_reason":"tool_calls"}]}`, FinishTools},
		{ChatCompletions, `{"choices":[{"delta":{"content":"x"},"finish_reason":null}]}`, FinishNone},
		{Completions, `{"choices":[{"text":"x","finish_reason":"content_filter"}]}`, FinishFilter},
		{ChatCompletions, `{"choices":[{"finish_reason":"insufficient_system_resource"}]}`, FinishOther},
		{ChatCompletions, `{"choices":[{"finish_reason":"sto`, FinishNone},
		{Messages, `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}`, FinishStop},
		{Messages, `{"type":"message","stop_reason":"tool_use","content":[]}`, FinishTools},
		{Messages, `{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, FinishRefuse},
		{Messages, `{"type":"message_start","message":{"stop_reason":null}}`, FinishNone},
		{Responses, `{"type":"response.completed","response":{"status":"completed","incomplete_details":null}}`, FinishStop},
		{Responses, `{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`, FinishLength},
		{Embeddings, `{"object":"list","data":[]}`, FinishNone},
		{Messages, ``, FinishNone},
	} {
		if got := x.surface.FinishOf([]byte(x.data)); got != x.want {
			t.Errorf("%v %s: %q, want %q", x.surface, x.data, got, x.want)
		}
	}
}
