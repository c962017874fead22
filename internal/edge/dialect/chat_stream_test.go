package dialect

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// feedChat reads the whole events of a stream's text, which are cut apart here in
// the plainest way, and returns what they mean, with its end in words.
func feedChat(r Reader, text string) (events []Event, err error) {
	for {
		event, rest, ok := strings.Cut(text, "\n\n")
		if !ok {
			return events, nil
		}
		text = rest
		var name, data string
		for line := range strings.Lines(event) {
			line = strings.TrimSuffix(line, "\n")
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				data = v
			} else if v, ok := strings.CutPrefix(line, "event: "); ok {
				name = v
			}
		}
		more, err := r.Read([]byte(name), []byte(data))
		if err != nil {
			return events, err
		}
		for _, e := range more {
			e.Text = bytes.Clone(e.Text)
			events = append(events, e)
		}
	}
}

// storyOf is a stream's events in short.
func storyOf(events []Event) string {
	var b strings.Builder
	kinds := []string{Text: "text", ToolCall: "call", Thinking: "thinking", Refusal: "refusal"}
	for i, e := range events {
		if i > 0 {
			b.WriteString("; ")
		}
		switch e.Kind {
		case Begin:
			fmt.Fprintf(&b, "begin %s %s %d", e.ID, e.Model, e.Created)
		case BlockBegin:
			fmt.Fprintf(&b, "%s %d", kinds[e.Block], e.Index)
			if e.Block == ToolCall {
				fmt.Fprintf(&b, " %s %s", e.ID, e.Name)
			}
		case Delta:
			fmt.Fprintf(&b, "%d+%s", e.Index, e.Text)
		case BlockEnd:
			fmt.Fprintf(&b, "end %d", e.Index)
		case Finish:
			fmt.Fprintf(&b, "finish %d", e.Stop)
			if e.Sequence != "" {
				b.WriteString(" " + e.Sequence)
			}
		case Used:
			fmt.Fprintf(&b, "used %d %d %d %d", e.Usage.Input, e.Usage.Cached, e.Usage.Output, e.Usage.Reasoning)
		case End:
			b.WriteString("end")
		case Fault:
			fmt.Fprintf(&b, "fault %s %s", e.Code, e.Text)
		case Ping:
			b.WriteString("ping")
		}
	}
	return b.String()
}

// chatLines frames chunks as a stream. A line that is no JSON is taken as it is.
func chatLines(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		if strings.HasPrefix(c, "event: ") {
			b.WriteString(c + "\n\n")
			continue
		}
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

// chatDelta is a chunk with one delta.
func chatDelta(delta string) string {
	return `{"id":"x","created":5,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}],"usage":null}`
}

func chatEnd(reason string) string {
	return `{"id":"x","created":5,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func chatArgs(i int, id, name, arguments string) string {
	return chatDelta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"function":{"name":%q,"arguments":%q}}]}`, i, id, name, arguments))
}

const chatRole = `{"role":"assistant","content":"","refusal":null}`

func TestChatReadStream(t *testing.T) {
	used := `{"id":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}`
	for _, tt := range []struct {
		name     string
		chunks   []string
		want     string
		finished bool
	}{
		{"text", []string{chatDelta(chatRole), chatDelta(`{"content":"h\u00fc"}`), chatDelta(`{"content":""}`), chatDelta(`{"content":"\"i"}`), chatEnd("stop"), used, "[DONE]"},
			`begin x m 5; text 0; 0+hü; 0+"i; end 0; finish 1; used 10 4 5 3; end`, true},
		{"all in one", []string{`{"choices":[{"finish_reason":"length","delta":{"tool_calls":null,"content":"hi","role":"assistant","reasoning_content":"t"}}],"usage":{"prompt_tokens":1,"completion_tokens":2},"model":"m","created":5,"id":"x"}`, "[DONE]"},
			"begin x m 5; thinking 0; 0+t; end 0; text 1; 1+hi; end 1; finish 3; used 1 0 2 0; end", true},
		{"thinking", []string{chatDelta(`{"reasoning_content":"a","content":null}`), chatDelta(`{"reasoning":"b"}`), chatDelta(`{"reasoning_content":"c","reasoning":"c"}`), chatDelta(`{"content":"d"}`), chatEnd("stop"), "[DONE]"},
			"begin x m 5; thinking 0; 0+a; 0+b; 0+c; end 0; text 1; 1+d; end 1; finish 1; end", true},
		{"refusal", []string{chatDelta(`{"refusal":"n"}`), chatDelta(`{"refusal":"o"}`), chatEnd("stop"), "[DONE]"},
			"begin x m 5; refusal 0; 0+n; 0+o; end 0; finish 6; end", true},
		{"calls", []string{chatDelta(`{"content":"a"}`), chatArgs(0, "c", "f", ""), chatArgs(0, "", "", `{"a"`), chatArgs(0, "", "", ":1}"), chatArgs(1, "d", "g", "{}"), chatEnd("tool_calls"), "[DONE]"},
			`begin x m 5; text 0; 0+a; end 0; call 1 c f; 1+{"a"; 1+:1}; call 2 d g; 2+{}; end 1; end 2; finish 4; end`, true},
		{"calls that mix", []string{chatArgs(0, "c", "f", "{"), chatArgs(1, "d", "g", "{"), chatArgs(0, "", "", "}"), chatArgs(1, "", "", "}"), chatEnd("stop"), "[DONE]"},
			`begin x m 5; call 0 c f; 0+{; call 1 d g; 1+{; 0+}; 1+}; end 0; end 1; finish 4; end`, true},
		{"all calls have the index 0", []string{chatArgs(0, "c", "f", "{}"), chatArgs(0, "d", "f", "{}"), chatEnd("tool_calls"), "[DONE]"},
			`begin x m 5; call 0 c f; 0+{}; call 1 d f; 1+{}; end 0; end 1; finish 4; end`, true},
		{"another id for each fragment", []string{chatArgs(0, "c", "f", "{"), chatArgs(0, "d", "", "}"), chatEnd("tool_calls"), "[DONE]"},
			`begin x m 5; call 0 c f; 0+{; 0+}; end 0; finish 4; end`, true},
		{"no index", []string{chatDelta(`{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{"}}]}`), chatDelta(`{"tool_calls":[{"function":{"arguments":"}"}}]}`), chatDelta(`{"tool_calls":[{"id":"d","function":{"name":"f"}}]}`), chatEnd("tool_calls"), "[DONE]"},
			`begin x m 5; call 0 c f; 0+{; 0+}; call 1 d f; end 0; end 1; finish 4; end`, true},
		{"no id", []string{chatArgs(0, "", "f", "{}"), chatEnd("tool_calls"), "[DONE]"},
			`begin x m 5; call 0 call_x0 f; 0+{}; end 0; finish 4; end`, true},
		{"text after a call", []string{chatArgs(0, "c", "f", "{}"), chatDelta(`{"content":"a"}`), chatEnd("tool_calls"), "[DONE]"},
			`begin x m 5; call 0 c f; 0+{}; end 0; text 1; 1+a; end 1; finish 4; end`, true},
		{"stop sequence", []string{chatDelta(`{"content":"a"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","stop_reason":"END"}]}`, "[DONE]"},
			`begin x m 5; text 0; 0+a; end 0; finish 2 END; end`, true},
		{"usage in every chunk", []string{`{"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, `{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`},
			`begin x m 0; text 0; 0+a; used 1 0 1 0; 0+b; end 0; finish 1; used 1 0 2 0`, true},
		{"a filter's verdict comes first", []string{`{"id":"","model":"","choices":[],"prompt_filter_results":[{}]}`, chatDelta(chatRole), chatEnd("content_filter"), "[DONE]"},
			`begin x m 5; finish 5; end`, true},
		{"reason again, empty reason", []string{`{"id":"x","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":""}]}`, chatEnd("stop"), chatEnd("stop"), "[DONE]", chatDelta(`{"content":"late"}`), "[DONE]"},
			`begin x  0; text 0; 0+a; end 0; finish 1; end`, true},
		{"no reason", []string{chatDelta(`{"content":"a"}`), " [DONE] "}, `begin x m 5; text 0; 0+a; end 0; finish 0; end`, true},
		{"cut", []string{chatDelta(`{"content":"a"}`)}, `begin x m 5; text 0; 0+a`, false},
		{"error null", []string{`{"error":null,"id":"x","choices":[{"index":0,"delta":{"content":"a"}}],"created":null,"model":null}`}, `begin x  0; text 0; 0+a`, false},
		{"error", []string{chatDelta(`{"content":"a"}`), `{"error":{"message":"slöw down","type":"tokens","code":"rate_limit_exceeded"}}`, chatDelta(`{"content":"b"}`)},
			`begin x m 5; text 0; 0+a; fault rate_limit slöw down`, false},
		{"error after the reason", []string{chatEnd("stop"), `{"error":{"message":"m"}}`}, `begin x m 5; finish 1; fault server_error m`, false},
		{"error at once", []string{`{"error":{"message":"m","type":"overloaded_error","code":null}}`}, `fault overloaded m`, false},
		{"error by number", []string{`{"error":{"message":"m","code":400}}`}, `fault invalid_request m`, false},
		{"error text", []string{`{"error":"out of memory"}`}, `fault server_error out of memory`, false},
		{"error of vLLM", []string{`{"object":"error","message":"m","type":"BadRequestError","code":400}`}, `fault invalid_request m`, false},
		{"error by name", []string{"event: error\ndata: {\"message\":\"m\"}"}, `fault server_error m`, false},
		{"error without words", []string{`{"error":{}}`}, `fault server_error the provider failed and did not say why`, false},
		{"ping of a proxy", []string{"event: ping\ndata: {\"type\":\"ping\"}", chatDelta(chatRole), "event: ping\ndata: {\"type\":\"ping\"}", ""}, `begin x m 5; ping`, false},
		{"lone surrogate, bad UTF-8", []string{chatDelta(`{"content":"a\ud800b` + "\xff" + `"}`)}, "begin x m 5; text 0; 0+a\uFFFDb\uFFFD", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Chat().NewReader()
			events, err := feedChat(r, chatLines(tt.chunks...))
			if err != nil {
				t.Fatal(err)
			}
			if got := storyOf(events); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if r.Finished() != tt.finished {
				t.Errorf("finished %v, want %v", r.Finished(), tt.finished)
			}
		})
	}
}

func TestChatReadStreamRefuses(t *testing.T) {
	many := make([]string, chatMostCalls+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"index":%d,"function":{"name":"f"}}`, i)
	}
	for _, tt := range []struct {
		name        string
		chunks      []string
		field       string
		unsupported bool
	}{
		{"not JSON", []string{`Internal error`}, "", false},
		{"array", []string{`[]`}, "", false},
		{"cut", []string{`{"choices":[{"index":0,"delta":{"content":"a`}, "choices[0].delta.content", false},
		{"two objects", []string{chatDelta(`{}`) + `{}`}, "", false},
		{"done at once", []string{"[DONE]"}, "", false},
		{"another choice", []string{`{"choices":[{"index":1,"delta":{}}]}`}, "choices", true},
		{"two choices", []string{`{"choices":[{"index":0,"delta":{}},{"index":1,"delta":{}}]}`}, "choices", true},
		{"choices cut", []string{`{"choices":[`}, "choices", false},
		{"choice cut", []string{`{"choices":[{`}, "choices[0]", false},
		{"choices garbled", []string{`{"choices":x}`}, "choices", false},
		{"choices object", []string{`{"choices":{}}`}, "", false},
		{"delta string", []string{chatDelta(`"a"`)}, "", false},
		{"content array", []string{chatDelta(`{"content":[{"type":"text","text":"a"}]}`)}, "choices[0].delta.content", false},
		{"old call", []string{chatDelta(`{"function_call":{"name":"f"}}`)}, "choices[0].delta.function_call", true},
		{"no name", []string{chatArgs(0, "c", "", "{}")}, "choices[0].delta.tool_calls[0].function.name", false},
		{"index", []string{chatDelta(`{"tool_calls":[{"index":-1}]}`)}, "choices[0].delta.tool_calls[0].index", false},
		{"late text", []string{chatEnd("stop"), chatDelta(`{"content":"a"}`)}, "choices[0].delta", false},
		{"late call", []string{chatEnd("stop"), chatArgs(0, "c", "f", "")}, "choices[0].delta.tool_calls[0]", false},
		{"call that was over", []string{chatArgs(3, "c", "f", "{"), chatDelta(`{"content":"a"}`), chatArgs(3, "", "", "}")}, "choices[0].delta.tool_calls[0].index", false},
		{"many calls", []string{chatDelta(`{"tool_calls":[` + strings.Join(many, ",") + `]}`)}, "choices[0].delta.tool_calls[1000]", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, err := feedChat(Chat().NewReader(), chatLines(tt.chunks...))
			if err == nil {
				t.Fatalf("accepted as %s", storyOf(events))
			}
			refusedChat(t, err, tt.field, tt.unsupported)
		})
	}
}

// chatStream is an answer of all kinds.
var chatStream = chatLines(chatDelta(chatRole), chatDelta(`{"reasoning_content":"hm"}`), chatDelta(`{"content":"gr\u00fcezi\n\n"}`), chatDelta(`{"content":"data: [DONE]"}`),
	chatArgs(0, "c", "f", ""), chatArgs(0, "", "", `{"a":`), chatArgs(0, "", "", `1}`), chatArgs(1, "d", "g", "{}"), chatEnd("tool_calls"),
	`{"id":"x","created":5,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, "[DONE]")

func TestChatStreamCut(t *testing.T) {
	whole, err := feedChat(Chat().NewReader(), chatStream)
	if err != nil {
		t.Fatal(err)
	}
	finish := slices.IndexFunc(whole, func(e Event) bool { return e.Kind == Finish })
	for n := range len(chatStream) {
		r := Chat().NewReader()
		got, err := feedChat(r, chatStream[:n])
		if err != nil {
			t.Fatalf("at %d: %v", n, err)
		}
		if len(got) > len(whole) || len(got) > 0 && !reflect.DeepEqual(got, whole[:len(got)]) {
			t.Fatalf("at %d: got %s\nof %s", n, storyOf(got), storyOf(whole))
		}
		if r.Finished() != (len(got) > finish) {
			t.Fatalf("at %d: finished is %v after %s", n, r.Finished(), storyOf(got))
		}
	}
}
