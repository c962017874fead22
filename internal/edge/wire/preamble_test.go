package wire

import "testing"

func TestPreamble(t *testing.T) { // B067
	for data, want := range map[string]bool{
		`{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}`: true,
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[]}}]}`:                                            true,
		`{"choices":[{"delta":{}},{"delta":{"role":"assistant"}} ]}`:                                                                       true,
		`{"choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]}`:                 true, // Azure
		`{"choices":[ ],"usage":null}`:                                                      true,
		`{"choices":[{"text":"","index":0,"finish_reason":null}]}`:                          true,
		`{"choices":[{"delta":null}]}`:                                                      true,
		`{"choices":[{"text":"a"}]}`:                                                        false,
		`{"choices":[{"delta":{"role":"assistant","content":" "}}]}`:                        false,
		`{"choices":[{"delta":{"role":"assistant"}},{"delta":{"content":"x"}}]}`:            false,
		`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`:                                false,
		`{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0}]}}]}`:           false,
		`{"choices":[{"delta":{"role":"assistant","content":"","refusal":"no"}}]}`:          false,
		`{"choices":[{"delta":{},"finish_reason":"stop"}]}`:                                 false,
		`{"choices":[{"message":{"content":"x"}}]}`:                                         false,
		`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1}}`: false,
		`{"choices":[{"delta":{"role":"assistant"}}],"error":{"message":"x"}}`:              false,
		`{"object":"error","choices":[]}`:                                                   false,
		`{"choices":[{"delta":{"role":"assi`:                                                false,
		`{"choices":[{"delta":{"role":"assistant"}}`:                                        false,
		`{"choices":{}}`:            false,
		`{"choices":[1]}`:           false,
		`{"type":"x"}`:              false,
		`{}`:                        false,
		`[DONE]`:                    false,
		``:                          false,
		`{"choices":[{"delta":7}]}`: false,
	} {
		if got := Preamble([]byte(data)); got != want {
			t.Errorf("%v: %s", got, data)
		}
	}
}

func TestBroken(t *testing.T) {
	whole := `{"id":"c","model":"m","choices":[{"delta":{"content":"}"}}]}`
	var s Chunks
	for range 2 { // the second time with the head known
		if c := s.Read([]byte(whole)); c.Broken() {
			t.Error("a whole chunk")
		}
		for i := 1; i < len(whole); i++ {
			if c := s.Read([]byte(whole[:i])); !c.Broken() {
				t.Errorf("cut at %d: %s", i, whole[:i])
			}
		}
	}
	for data, want := range map[string]bool{` {} `: false, `{"a":1} x`: true, `{"a":1,}`: true, `[DONE]`: false, `1`: false, ``: false, `{"a"}`: true} {
		if c := ReadChunk([]byte(data)); c.Broken() != want {
			t.Errorf("%v: %s", c.Broken(), data)
		}
	}
}

func FuzzPreamble(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"role":"a","content":""}},{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { Preamble(data) })
}
