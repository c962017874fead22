package dialect

import "testing"

// The same split of tokens is the same usage, whatever a dialect counts in or
// out.
func TestUsageIsOne(t *testing.T) { // B104
	want := Usage{Known: true, Input: 1000, Cached: 900, Output: 50}
	for name, tt := range map[string]struct {
		d    Dialect
		body string
	}{
		"chat":      {Chat(), `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":900}}}`},
		"messages":  {Messages(), `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":100,"cache_read_input_tokens":900,"output_tokens":50}}`},
		"responses": {Responses(), `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[]}]}],"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":900},"output_tokens":50}}`},
		"gemini":    {Gemini(), `{"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":900,"candidatesTokenCount":50}}`},
	} {
		a, err := tt.d.ReadAnswer([]byte(tt.body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a.Usage != want {
			t.Errorf("%s: %+v, want %+v", name, a.Usage, want)
		}
	}
}
