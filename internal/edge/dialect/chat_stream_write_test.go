package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// writeChat writes events as one stream.
func writeChat(o WriterOptions, events []Event) string {
	w := Chat().NewWriter(o)
	var b []byte
	for i := range events {
		b = w.Write(b, &events[i])
	}
	return string(b)
}

func TestChatWriteStream(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	usage := Usage{Known: true, Input: 10, Cached: 4, Output: 5}
	o := WriterOptions{Model: "alias", ID: "chatcmpl-7", Created: 9}
	withUsage := o
	withUsage.Usage = true
	begin := Event{Kind: Begin, ID: "msg_1", Model: "m", Created: 5}
	chunk := func(delta, reason string) string {
		return `{"id":"chatcmpl-7","object":"chat.completion.chunk","created":9,"model":"alias","choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + reason + `}]}`
	}
	role := chunk(chatRole, "null")
	counted := func(s string) string { return strings.TrimSuffix(s, "}") + `,"usage":null}` }
	const failed = `{"error":{"message":"no\n","type":"%t","param":null,"code":"%c"}}`
	fault := func(kind, code string) string { return strings.NewReplacer("%t", kind, "%c", code).Replace(failed) }
	for _, tt := range []struct {
		name   string
		o      WriterOptions
		events []Event
		want   []string
	}{
		{"text", o, []Event{begin, {Kind: BlockBegin}, {Kind: Delta, Text: text("grü\n")}, {Kind: Delta}, {Kind: BlockEnd}, {Kind: Finish, Stop: StopEnd}, {Kind: Used, Usage: usage}, {Kind: End}, {Kind: Ping}},
			[]string{role, chunk(`{"content":"grü\n"}`, "null"), chunk(`{}`, `"stop"`), "[DONE]"}},
		{"usage", withUsage, []Event{{Kind: Begin, ID: "msg_1", Usage: Usage{Known: true, Input: 1}}, {Kind: BlockBegin}, {Kind: Delta, Text: text("a")}, {Kind: BlockEnd}, {Kind: Used, Usage: usage}, {Kind: Used}, {Kind: Finish, Stop: StopLength}, {Kind: End}},
			[]string{counted(role), counted(chunk(`{"content":"a"}`, "null")), counted(chunk(`{}`, `"length"`)),
				`{"id":"chatcmpl-7","object":"chat.completion.chunk","created":9,"model":"alias","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":0}}}`, "[DONE]"}},
		{"usage that is not told", withUsage, []Event{begin, {Kind: Finish, Stop: StopEnd}, {Kind: End}},
			[]string{counted(role), counted(chunk(`{}`, `"stop"`)), "[DONE]"}},
		{"thinking", o, []Event{begin, {Kind: BlockBegin, Block: Thinking}, {Kind: Delta, Text: text("t")}, {Kind: Sign, Text: text("s")}, {Kind: BlockEnd}, {Kind: BlockBegin, Index: 1, Block: Redacted, Data: "d"}, {Kind: BlockEnd, Index: 1}, {Kind: Finish, Stop: StopRefusal}, {Kind: End}},
			[]string{role, chunk(`{"reasoning_content":"t"}`, "null"), chunk(`{}`, `"content_filter"`), "[DONE]"}},
		{"refusal", o, []Event{begin, {Kind: BlockBegin, Block: Refusal}, {Kind: Delta, Text: text("no")}, {Kind: BlockEnd}, {Kind: Finish, Stop: StopRefusal}, {Kind: End}},
			[]string{role, chunk(`{"refusal":"no"}`, "null"), chunk(`{}`, `"stop"`), "[DONE]"}},
		{"calls", o, []Event{begin, {Kind: BlockBegin}, {Kind: BlockEnd}, {Kind: BlockBegin, Index: 1, Block: ToolCall, ID: "c", Name: "f"}, {Kind: BlockBegin, Index: 2, Block: ToolCall, ID: "d", Name: "g"}, {Kind: Delta, Index: 1, Text: text(`{"a":1}`)}, {Kind: BlockEnd, Index: 1}, {Kind: BlockEnd, Index: 2}, {Kind: Finish, Stop: StopTool}, {Kind: End}},
			[]string{role, chunk(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`, "null"),
				chunk(`{"tool_calls":[{"index":1,"id":"d","type":"function","function":{"name":"g","arguments":""}}]}`, "null"),
				chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`, "null"),
				chunk(`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`, "null"), chunk(`{}`, `"tool_calls"`), "[DONE]"}},
		{"the provider's own id", WriterOptions{Model: "alias", ID: "other", Created: 9}, []Event{{Kind: Begin, ID: "chatcmpl-7"}}, []string{role}},
		{"nothing but the provider's", WriterOptions{}, []Event{{Kind: Begin, ID: "chatcmpl-7", Model: "alias", Created: 9}}, []string{role}},
		{"what has no beginning", o, []Event{{Kind: Delta, Text: text("a")}, {Kind: End}, begin, {Kind: Delta, Index: 3, Text: text("a")}, {Kind: BlockEnd, Index: 3}}, []string{role}},
		{"fault at once", o, []Event{{Kind: Fault, Code: "overloaded", Text: text("no\n")}}, []string{fault("service_unavailable_error", "service_unavailable")}},
		{"fault", o, []Event{begin, {Kind: Fault, Code: "rate_limit", Text: text("no\n")}, {Kind: Delta, Text: text("a")}, {Kind: End}}, []string{role, fault("rate_limit_error", "rate_limit_exceeded")}},
		{"fault of the caller", o, []Event{{Kind: Fault, Code: "invalid_request", Text: text("no\n")}}, []string{fault("invalid_request_error", "invalid_request")}},
		{"any other fault", o, []Event{{Kind: Fault, Code: "?", Text: text("no\n")}}, []string{fault("server_error", "upstream_error")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := writeChat(tt.o, tt.events)
			if want := chatLines(tt.want...); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A blank line after a comment, or data that is empty, ends some clients.
func TestChatWritePing(t *testing.T) {
	got := writeChat(WriterOptions{}, []Event{{Kind: Ping}, {Kind: Begin}, {Kind: Ping}, {Kind: Finish}})
	if strings.Count(got, ": ping\ndata: ") != 2 || strings.Contains(got, "ping\n\n") {
		t.Errorf("got %q", got)
	}
}

func TestChatStreamRoundTrip(t *testing.T) {
	first, err := feedChat(Chat().NewReader(), chatStream)
	if err != nil {
		t.Fatal(err)
	}
	again := writeChat(WriterOptions{Usage: true}, first)
	for line := range strings.Lines(again) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
			t.Errorf("not JSON: %s", data)
		}
	}
	second, err := feedChat(Chat().NewReader(), again)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("first  %s\nsecond %s", storyOf(first), storyOf(second))
	}
}
