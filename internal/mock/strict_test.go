package mock

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// What providers refuse of a conversation is refused, and nothing else.
func TestStrict(t *testing.T) {
	const (
		ask    = `{"role":"user","content":"hi"}`
		calls  = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		a, b   = `{"role":"tool","tool_call_id":"a","content":"1"}`, `{"role":"tool","tool_call_id":"b","content":"2"}`
		uses   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}`
		ra, rb = `{"type":"tool_result","tool_use_id":"a","content":"1"}`, `{"type":"tool_result","tool_use_id":"b","content":"2"}`
		fc     = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
		out    = `{"type":"function_call_output","call_id":"a","output":"1"}`
	)
	user := func(blocks ...string) string {
		return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
	}
	thought := func(signature string) string {
		return `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"` + signature + `"},{"type":"text","text":"x"}]}`
	}
	for _, c := range []struct {
		route route
		list  []string
		rest  string
		bad   string // part of the refusal; "" for none
	}{
		{chat, []string{ask, calls, b, a, ask}, ``, ``},
		{chat, []string{ask, calls, a}, ``, `did not have response messages: b`},
		{chat, []string{ask, calls, a, ask, b}, ``, `did not have response messages: b`},
		{chat, []string{ask, a}, ``, `must be a response to a preceeding message`},
		{chat, []string{ask, calls, a, b, b}, ``, `must be a response to a preceeding message`},
		{chat, []string{ask, strings.ReplaceAll(calls, `"a"`, `"`+strings.Repeat("a", 41)+`"`)}, ``, `string too long`},
		{chat, []string{ask, `{"role":"assistant","content":null}`, ask}, ``, `got null`},
		{chat, []string{`{"role":"model","content":"x"}`}, ``, `Invalid value: "model"`},
		{messages, []string{ask, uses, user(rb, ra, `{"type":"text","text":"x"}`)}, ``, ``},
		{messages, []string{ask, uses, user(ra), user(rb)}, ``, ``}, // messages of one role are one
		{messages, []string{ask, uses, user(ra)}, ``, "without `tool_result` blocks immediately after: b"},
		{messages, []string{ask, uses}, ``, "without `tool_result` blocks"},
		{messages, []string{ask, user(ra)}, ``, "unexpected `tool_use_id`"},
		{messages, []string{ask, uses, user(ra, `{"type":"text","text":"x"}`, rb)}, ``, "must come first"},
		{messages, []string{uses, user(ra, rb)}, ``, `first message must use the "user" role`},
		{messages, []string{ask, strings.ReplaceAll(uses, `"a"`, `"a.1"`)}, ``, "should match pattern"},
		{messages, []string{ask, strings.ReplaceAll(uses, `"b"`, `"a"`)}, ``, "must be unique"},
		{messages, []string{user(`{"type":"text","text":""}`)}, ``, "must be non-empty"},
		{messages, []string{ask, thought(signature("m") + "1"), ask}, ``, ``},
		{messages, []string{ask, thought(signature("other") + "1"), ask}, ``, "Invalid `signature`"},
		{messages, []string{ask, thought(""), ask}, ``, "Invalid `signature`"},
		{messages, []string{ask, uses, user(ra, rb)}, `,"thinking":{"type":"enabled","budget_tokens":1024}`, "must start with a thinking block"},
		{responses, []string{ask, fc, out}, ``, ``},
		{responses, []string{ask, fc}, ``, `No tool output found`},
		{responses, []string{ask, out}, ``, `No tool call found`},
	} {
		s, err := New(Settings{Strict: true, Base: 1, PerInput: 1, PerOutput: 1, OutputMean: 1})
		if err != nil {
			t.Fatal(err)
		}
		list := "messages"
		if c.route == responses {
			list = "input"
		}
		body := fmt.Sprintf(`{"model":"m","max_tokens":9,%q:[%s]%s}`, list, strings.Join(c.list, ","), c.rest)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/"+c.route.String(), strings.NewReader(body)))
		s.Close()
		said := gjson.Get(w.Body.String(), "error.message").Str
		if (w.Code == 400) != (c.bad != "") || !strings.Contains(said, c.bad) {
			t.Errorf("%s: %d %q, want %q", body, w.Code, said, c.bad)
		}
	}
}

// Calls in parallel and thoughts are in an answer and in a stream alike.
func TestParallelCallsAndThoughts(t *testing.T) {
	s, err := New(Settings{Thoughts: true, Base: 1, PerInput: 1, PerOutput: 1, OutputMean: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const wish = `"messages":[{"role":"user","content":"call:f {\"x\":1} and call:g {\"y\":2}"}]`
	for path, ask := range map[string]string{
		"/v1/chat/completions": `"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],`,
		"/v1/messages":         `"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"tools":[{"name":"f"},{"name":"g"}],`,
	} {
		for _, stream := range []bool{false, true} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(fmt.Sprintf(`{"model":"m","stream":%v,%s%s}`, stream, ask, wish))))
			body := strings.NewReplacer(`\`, ``, ` `, ``).Replace(w.Body.String())
			for _, part := range []string{`"name":"f"`, `"name":"g"`, `{"y":2}`, strings.ReplaceAll(thought, " ", "")} {
				if strings.Count(body, part) != 1 {
					t.Errorf("%s, stream %v: %d times %s: %s", path, stream, strings.Count(body, part), part, body)
				}
			}
		}
	}
}
