package dialect

import (
	"errors"
	"reflect"
	"testing"

	"github.com/tidwall/gjson"
)

const respRecorded = `{"id":"resp_1","object":"response","created_at":1741476777.0,"status":"completed","model":"gpt","error":null,"incomplete_details":null,
	"output":[{"type":"reasoning","id":"rs_1","summary":[]},
		{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"s"},
		{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"x"},
		{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"no"}]},
		{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{\"a\":1}","status":"completed"}],
	"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":2},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":7},"total_tokens":123},"surprise":{}}`

func respRecordedAnswer() *Answer {
	return &Answer{
		ID: "resp_1", Model: "gpt", Created: 1741476777, Stop: StopTool,
		Parts: []Part{
			{Kind: Thinking, Text: "hm", Signature: "openai:s"}, {Kind: Redacted, Data: "openai:x"}, {Text: "a"}, {Kind: Refusal, Text: "no"},
			{Kind: ToolCall, ID: "c", Name: "f", Arguments: Raw(`{"a":1}`)},
		},
		Usage: Usage{Known: true, Input: 36, Cached: 3, CacheWrite: 2, Output: 87, Reasoning: 7},
	}
}

func TestResponsesReadAnswer(t *testing.T) {
	got, err := Responses().ReadAnswer([]byte(respRecorded))
	if err != nil {
		t.Fatal(err)
	}
	if want := respRecordedAnswer(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, c := range []struct {
		name, body string
		stop       StopReason
		parts      int
	}{
		{"the end", `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}`, StopEnd, 1},
		{"a refusal", `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"a"}]}]}`, StopRefusal, 1},
		{"a cap", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`, StopLength, 0},
		{"a filter", `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, StopFilter, 0},
		{"no reason", `{"status":"incomplete","output":[]}`, StopUnknown, 0},
		{"half a character", `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"\ud83d` + "\xff" + `"}]}]}`, StopEnd, 1},
		{"a name that was said twice", `{"status":"completed","output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1,\"a\":2}"}]}`, StopTool, 1},
		{"a call that was cut", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a"}]}`, StopLength, 0},
	} {
		a, err := Responses().ReadAnswer([]byte(c.body))
		if err != nil || a.Stop != c.stop || len(a.Parts) != c.parts {
			t.Errorf("%s: got %+v, %v", c.name, a, err)
		}
	}
}

func TestResponsesReadAnswerRefuses(t *testing.T) {
	for _, c := range []struct{ body, field string }{
		{``, ""},
		{`[]`, ""},
		{`{"status":"completed"`, ""},
		{`{"object":"chat.completion","choices":[]}`, "status"},
		{`{"status":"queued","output":[]}`, "status"},
		{`{"status":"completed"}`, "output"},
		{`{"status":"failed","error":{"code":"server_error","message":"m"},"output":[]}`, "error"},
		{`{"error":{"message":"m"}}`, "error"},
		{`{"status":"completed","output":[{"type":"web_search_call"}]}`, "output[0].type"},
		{`{"status":"completed","output":[{"type":"message","content":[{"type":"video"}]}]}`, "output[0].content[0].type"},
		{`{"status":"completed","output":[{"type":"function_call","arguments":"{"}]}`, "output[0].arguments"},
	} {
		_, err := Responses().ReadAnswer([]byte(c.body))
		var e *Error
		if !errors.As(err, &e) || e.Field != c.field {
			t.Errorf("%s: got %v, want %q", c.body, err, c.field)
		}
	}
}

// respRequired are the members that official clients require of a response.
var respRequired = []string{
	"id", "object", "created_at", "status", "error", "incomplete_details", "instructions", "metadata", "model", "output",
	"parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "usage", "text", "truncation", "store", "access_programs",
}

func TestResponsesWriteAnswer(t *testing.T) {
	got, err := Responses().WriteAnswer(respRecordedAnswer())
	if err != nil {
		t.Fatal(err)
	}
	v := gjson.ParseBytes(got)
	if !gjson.ValidBytes(got) {
		t.Fatalf("not JSON: %s", got)
	}
	for _, name := range respRequired {
		if !v.Get(name).Exists() {
			t.Errorf("%s is missing", name)
		}
	}
	const output = `[{"type":"reasoning","id":"rs_1_0","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"s"},` +
		`{"type":"reasoning","id":"rs_1_1","summary":[],"encrypted_content":"x"},` +
		`{"type":"message","id":"msg_1_2","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"a"},{"type":"refusal","refusal":"no"}]},` +
		`{"type":"function_call","id":"fc_1_3","status":"completed","call_id":"c","name":"f","arguments":"{\"a\":1}"}]`
	if v.Get("output").Raw != output {
		t.Errorf("got  %s\nwant %s", v.Get("output").Raw, output)
	}
	const usage = `{"input_tokens":36,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":2},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":7},"total_tokens":123}`
	if v.Get("usage").Raw != usage {
		t.Errorf("got %s", v.Get("usage").Raw)
	}
	again, err := Responses().ReadAnswer(got)
	if err != nil || !reflect.DeepEqual(again, respRecordedAnswer()) {
		t.Errorf("read again: %+v, %v", again, err)
	}
}

// Every stop reason has a status, and an id of another form is made one of this.
func TestResponsesWriteAnswerStop(t *testing.T) {
	text := []Part{{Text: "a"}}
	for _, c := range []struct {
		stop           StopReason
		parts          []Part
		status, reason string
		last           string // status of the message
	}{
		{StopUnknown, text, "completed", "", "completed"},
		{StopEnd, text, "completed", "", "completed"},
		{StopSequence, text, "completed", "", "completed"},
		{StopTool, text, "completed", "", "completed"},
		{StopLength, text, "incomplete", "max_output_tokens", "incomplete"},
		{StopContext, text, "incomplete", "max_output_tokens", "incomplete"},
		{StopPause, text, "incomplete", "max_output_tokens", "incomplete"},
		{StopFilter, text, "incomplete", "content_filter", "incomplete"},
		{StopRefusal, text, "incomplete", "content_filter", "incomplete"},
		{StopRefusal, []Part{{Kind: Refusal, Text: "no"}}, "completed", "", "completed"},
	} {
		got, err := Responses().WriteAnswer(&Answer{ID: `msg_"01`, Model: "m", Parts: c.parts, Stop: c.stop})
		v := gjson.ParseBytes(got)
		if err != nil || v.Get("status").Str != c.status || v.Get("incomplete_details.reason").Str != c.reason || v.Get("output.0.status").Str != c.last {
			t.Errorf("%d: %s, %v", c.stop, got, err)
		}
		if v.Get("id").Str != "resp_msg_01" || v.Get("usage").Type != gjson.Null {
			t.Errorf("id %s, usage %s", v.Get("id"), v.Get("usage"))
		}
	}
	if _, err := Responses().WriteAnswer(&Answer{Parts: []Part{{Kind: Image}}}); err == nil {
		t.Error("an image has no place in an answer")
	}
}
