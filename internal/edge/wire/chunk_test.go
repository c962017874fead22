package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestChunkModel(t *testing.T) {
	tests := []struct{ name, data, want string }{ // want "" = unchanged
		{"B153 dated snapshot", `{"id":"c","model":"m-2026-01","choices":[{"index":0}]}`, `{"id":"c","model":"chat","choices":[{"index":0}]}`},
		{"model last, as Azure sorts", `{"choices":[{"delta":{"content":"\"model\":\"x\""}}],"id":"c","model":"m"}`, `{"choices":[{"delta":{"content":"\"model\":\"x\""}}],"id":"c","model":"chat"}`},
		{"model in content", `{"choices":[{"delta":{"content":"{\"model\":\"m\"}"}}]}`, ""},
		{"model in nested objects", `{"a":{"model":"m"},"b":[{"model":"m"}]}`, ""},
		{"B002 text around it", `{"x":"北\\\"","model":"你好","y":"🙂"}`, `{"x":"北\\\"","model":"chat","y":"🙂"}`},
		{"blanks", " { \"model\" : \"m\" , \"a\":1 }\n", " { \"model\" : \"chat\" , \"a\":1 }\n"},
		{"escaped name", `{"\u006dodel":"m"}`, `{"\u006dodel":"chat"}`},
		{"quote in the value", `{"model":"a\"b","a":1}`, `{"model":"chat","a":1}`},
		{"the alias already", `{"model":"chat"}`, ""},
		{"null", `{"model":null}`, ""},
		{"not a string", `{"model":{"model":"m"}}`, ""},
		{"done", `[DONE]`, ""},
		{"empty", ``, ""},
		{"array", `[{"model":"m"}]`, ""},
		{"cut in the value", `{"model":"m`, ""},
		{"cut after the name", `{"model"`, ""},
		{"cut in an earlier value", `{"a":{"b":[`, ""},
		{"stray bracket", `{"a":],"model":"m"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.data
			}
			if got := ChunkModel([]byte(tt.data), "chat", make([]byte, 3, 8)); string(got) != want {
				t.Errorf("ChunkModel    %s\nwant          %s", got, want)
			}
			if got := ResponseModel([]byte(tt.data), "chat"); string(got) != want {
				t.Errorf("ResponseModel %s\nwant          %s", got, want)
			}
			if got := ReadChunk([]byte(tt.data)).Rewrite("chat", nil); string(got) != want {
				t.Errorf("Rewrite       %s\nwant          %s", got, want)
			}
		})
	}
}

func TestChunkModelQuotesAlias(t *testing.T) {
	got := ChunkModel([]byte(`{"model":"m"}`), "a\"\n\xff", nil)
	if want := `{"model":"a\"\n` + "\uFFFD" + `"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestChunkRewrite(t *testing.T) {
	tests := []struct{ name, data, alias, want string }{
		{"null between", `{"id":1,"error":null,"choices":[]}`, "", `{"id":1,"choices":[]}`},
		{"null first", `{"error":null, "choices":[]}`, "", `{"choices":[]}`},
		{"null last", `{"choices":[] , "error" : null }`, "", `{"choices":[] }`},
		{"null alone", `{"error":null}`, "", `{}`},
		{"null before the model", `{"error":null,"model":"m","a":1}`, "chat", `{"model":"chat","a":1}`},
		{"null after the model", `{"model":"m","error":null,"a":1}`, "chat", `{"model":"chat","a":1}`},
		{"null last, after the model", `{"a":1,"model":"m","error":null}`, "chat", `{"a":1,"model":"chat"}`},
		{"null in content", `{"a":{"error":null},"b":"\"error\":null"}`, "", `{"a":{"error":null},"b":"\"error\":null"}`},
		{"a real error", `{"error":{"message":"x"}}`, "chat", `{"error":{"message":"x"}}`},
		{"no alias", `{"model":"m"}`, "", `{"model":"m"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ReadChunk([]byte(tt.data)).Rewrite(tt.alias, nil); string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got := ReadChunk([]byte(tt.data)).Rewrite("", nil); tt.alias == "" && string(got) != tt.want {
				t.Errorf("Rewrite without alias %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUsageOnly(t *testing.T) {
	tests := []struct {
		name, chunk string
		want        bool
	}{
		{"B025 usage chunk", `{"id":"c","choices":[ ],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, true},
		{"B030 content filter preamble", `{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, false},
		{"B030 preamble with usage null", `{"choices":[],"usage":null,"prompt_filter_results":[]}`, false},
		{"B022 usage with a choice", `{"choices":[{"delta":{}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, false},
		{"usage without choices", `{"usage":{"prompt_tokens":1}}`, false},
		{"usage in content", `{"choices":[],"x":{"usage":{}}}`, false},
		{"cut in choices", `{"usage":{},"choices":[`, false},
		{"done", `[DONE]`, false},
	}
	for _, tt := range tests {
		if got := ReadChunk([]byte(tt.chunk)).UsageOnly(); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestErrorInChunk(t *testing.T) {
	tests := []struct {
		name, data string
		ok         bool
		status     int
		message    string
	}{
		{"B014 other surface's shape", `{"type":"error","error":{"type":"rate_limit_error","message":"busy"}}`, true, 429, "busy"},
		{"B040 alone in a stream", `{"error":{"message":"long text …"}}`, true, 502, "long text …"},
		{"overloaded", `{"error":{"message":"x","type":"overloaded_error"}}`, true, 503, "x"},
		{"status as code", `{"error":{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}}`, true, 400, "too long"},
		{"flat", `{"object":"error","message":"bad","type":"BadRequestError","code":400}`, true, 400, "bad"},
		{"text", `{"error":"out of memory"}`, true, 502, "out of memory"},
		{"null", `{"error":null,"choices":[]}`, false, 0, ""},
		{"in content", `{"choices":[{"delta":{"content":"\"error\":{}","error":{"message":"x"}}}]}`, false, 0, ""},
		{"none", `{"choices":[]}`, false, 0, ""},
		{"B014 ping", `{"type": "ping"}`, false, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, ok := ErrorInChunk([]byte(tt.data))
			if ok != tt.ok || e.Status != tt.status || e.Message != tt.message {
				t.Errorf("got %t %+v, want %t %d %q", ok, e, tt.ok, tt.status, tt.message)
			}
		})
	}
}

// A rewritten chunk must be the same JSON but for the top-level model and a null
// error, and what cannot be read must be left alone.
func FuzzChunkModel(f *testing.F) {
	for _, s := range []string{
		`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"\"model\":\"x\""}}],"usage":null}`,
		`{"error":null,"model":"m"}`, `{"model":"m","error":null}`, `{"a":[{"model":"m"}],"model":"\""}`, `[DONE]`, `{`, `{"a":"\\"`, `{"choices":[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		out := ChunkModel(data, "ali/as", nil)
		all := ReadChunk(data).Rewrite("ali/as", make([]byte, 4))
		ReadUsage(data)
		ReadChunk(data).UsageOnly()
		ErrorInChunk(data)
		ReadChunk(data).Rewrite("", nil)
		if !bytes.Equal(before, data) {
			t.Fatal("the chunk was written into")
		}
		var was, is, isAll map[string]json.RawMessage
		if json.Unmarshal(data, &was) != nil || strings.Count(string(data), "odel") > 1 || strings.Count(string(data), "rror") > 1 {
			return // broken, or perhaps a duplicate, of which the first is changed
		}
		if err := json.Unmarshal(out, &is); err != nil {
			t.Fatalf("%s became %s: %v", data, out, err)
		}
		if err := json.Unmarshal(all, &isAll); err != nil {
			t.Fatalf("%s became %s: %v", data, all, err)
		}
		if m, ok := was["model"]; ok && m[0] == '"' {
			was["model"] = json.RawMessage(`"ali/as"`)
		}
		compare(t, data, was, is)
		if string(was["error"]) == "null" {
			delete(was, "error")
		}
		compare(t, data, was, isAll)
	})
}

func compare(t *testing.T, data []byte, want, got map[string]json.RawMessage) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: members %v became %v", data, want, got)
	}
	for k, v := range want {
		if string(got[k]) != string(v) {
			t.Fatalf("%s: member %q became %s, want %s", data, k, got[k], v)
		}
	}
}
