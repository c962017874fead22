package wire

import "testing"

func TestReadUsage(t *testing.T) {
	tests := []struct {
		name, data string
		want       Usage // Known = found
	}{
		{"B021 with choices and cached", `{"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":287,"completion_tokens":8,"total_tokens":295,"prompt_tokens_details":{"cached_tokens":256}}}`,
			Usage{Input: 287, Output: 8, Cached: 256, Known: true}},
		{"B022 beside the finish reason", `{"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`,
			Usage{Input: 5, Output: 2, Known: true}},
		{"B024 null", `{"choices":[],"usage":null}`, Usage{}},
		{"B030 no usage", `{"choices":[],"prompt_filter_results":[]}`, Usage{}},
		{"B105 words of responses", `{"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}`,
			Usage{Input: 10, Output: 3, Cached: 4, Reasoning: 2, Known: true}},
		{"B110 reasoning is inside output", `{"usage":{"prompt_tokens":1,"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":100,"audio_tokens":0}}}`,
			Usage{Input: 1, Output: 100, Reasoning: 100, Known: true}},
		{"B104 written to the cache", `{"usage":{"prompt_tokens":100,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}`,
			Usage{Input: 100, Output: 2, Cached: 60, CacheWrite: 30, Known: true}},
		{"cache of DeepSeek", `{"usage":{"prompt_tokens":100,"completion_tokens":2,"total_tokens":102,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}`,
			Usage{Input: 100, Output: 2, Cached: 64, Known: true}},
		{"reasoning beside the output, as xAI counts", `{"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}}`,
			Usage{Input: 32, Output: 103, Reasoning: 94, Known: true}},
		{"embedding", `{"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}}`, Usage{Input: 8, Known: true}},
		{"total instead of output", `{"usage":{"prompt_tokens":8,"total_tokens":11}}`, Usage{Input: 8, Output: 3, Known: true}},
		{"incomplete", `{"usage":{"prompt_tokens":8}}`, Usage{}},
		{"only output", `{"usage":{"completion_tokens":8}}`, Usage{}},
		{"empty", `{"usage":{}}`, Usage{}},
		{"null counts", `{"usage":{"prompt_tokens":null,"completion_tokens":null,"total_tokens":null}}`, Usage{}},
		{"negative", `{"usage":{"prompt_tokens":-1,"completion_tokens":2}}`, Usage{}},
		{"text", `{"usage":{"prompt_tokens":"1","completion_tokens":2}}`, Usage{}},
		{"written as floats", `{"usage":{"prompt_tokens":1e1,"completion_tokens":2.0}}`, Usage{Input: 10, Output: 2, Known: true}},
		{"parts above the whole", `{"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9,"cache_write_tokens":9},"completion_tokens_details":{"reasoning_tokens":9}}}`,
			Usage{Input: 1, Output: 2, Cached: 1, Reasoning: 2, Known: true}},
		{"details null", `{"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":null}}`, Usage{Input: 1, Output: 2, Known: true}},
		{"nested elsewhere", `{"x":{"usage":{"prompt_tokens":1,"completion_tokens":2}}}`, Usage{}},
		{"in content", `{"choices":[{"delta":{"content":"\"usage\":{\"prompt_tokens\":1}"}}]}`, Usage{}},
		{"huge", `{"usage":{"prompt_tokens":99999999999999999999,"completion_tokens":2}}`, Usage{Input: maxCount, Output: 2, Known: true}},
		{"not JSON", `<html>"usage"</html>`, Usage{}},
	}
	for _, tt := range tests {
		got, ok := ReadUsage([]byte(tt.data))
		if got != tt.want || ok != tt.want.Known {
			t.Errorf("%s: got %+v %t, want %+v", tt.name, got, ok, tt.want)
		}
	}
}
