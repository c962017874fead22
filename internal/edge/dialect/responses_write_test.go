package dialect

import (
	"errors"
	"reflect"
	"testing"

	"github.com/tidwall/gjson"
)

// What a request of any dialect becomes for a provider of Responses.
func TestResponsesWriteRequest(t *testing.T) {
	const store = `"store":false`
	for _, c := range []struct {
		name string
		r    Request
		want string // after the model
	}{
		{"nothing", Request{}, `"input":[],` + store},
		{"system", Request{System: []Part{{Text: "a"}, {Text: "b"}}}, `"instructions":"a\n\nb","input":[],` + store},
		{"a user", Request{Turns: []Turn{{Parts: []Part{{Text: "a"}, {Kind: Image, URL: "https://a"}, {Kind: Image, Media: "image/png", Data: "AAAA", Detail: "high"}}}, respUserTurn("b")}},
			`"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://a","detail":"auto"},{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"high"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}],` + store},
		{"documents", Request{Turns: []Turn{{Parts: []Part{{Kind: Document, URL: "https://a", Name: "n"}, {Kind: Document, Media: "application/pdf", Data: "AAAA"}, {Kind: Document, Media: "text/plain", Data: "AAAA", Name: "n.txt"}}}}},
			`"input":[{"type":"message","role":"user","content":[{"type":"input_file","file_url":"https://a"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_file","filename":"n.txt","file_data":"data:text/plain;base64,AAAA"}]}],` + store},
		{"an assistant", Request{Turns: []Turn{{Role: Assistant, Parts: []Part{
			{Kind: Thinking, Text: "hm", Signature: "openai:s"}, {Kind: Thinking, Text: "unsigned"}, {Kind: Redacted, Data: "openai:x"},
			{Text: "a"}, {Kind: Refusal, Text: "no"}, {Kind: ToolCall, ID: "c", Name: "f", Arguments: Raw(`{"a":1}`)}, {Kind: ToolCall, ID: "d", Name: "g"}, {Text: "b"}}}}},
			`"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"s"},{"type":"reasoning","summary":[],"encrypted_content":"x"},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"},{"type":"function_call","call_id":"d","name":"g","arguments":"{}"},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}],` + store},
		{"results", Request{Turns: []Turn{{Parts: []Part{{Kind: ToolResult, ID: "a"}, {Kind: ToolResult, ID: "b", Failed: true, Parts: []Part{{Text: "no"}}}, {Kind: ToolResult, ID: "c", Parts: []Part{{Text: "x"}, {Kind: Image, URL: "https://a"}}}, {Text: "go on"}}}}},
			`"input":[{"type":"function_call_output","call_id":"a","output":""},{"type":"function_call_output","call_id":"b","status":"incomplete","output":"no"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"https://a","detail":"auto"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}],` + store},
		{"tools", Request{Tools: []Tool{{Name: "f", Description: "d", Schema: Raw(`{"a":1}`), Strict: respPtr(true)}, {Name: "g"}}, Choice: ChoiceNamed, ChoiceName: "f", Parallel: respPtr(false)},
			`"input":[],"tools":[{"type":"function","name":"f","description":"d","parameters":{"a":1},"strict":true},{"type":"function","name":"g","parameters":{"type":"object","properties":{}},"strict":false}],"tool_choice":{"type":"function","name":"f"},"parallel_tool_calls":false,` + store},
		{"choice auto", Request{Choice: ChoiceAuto}, `"input":[],"tool_choice":"auto",` + store},
		{"choice none", Request{Choice: ChoiceNone}, `"input":[],"tool_choice":"none",` + store},
		{"choice required", Request{Choice: ChoiceRequired}, `"input":[],"tool_choice":"required",` + store},
		{"options", Request{MaxOutput: respPtr(int64(9)), Temperature: respPtr(0.5), TopP: respPtr(1.0), FrequencyPenalty: respPtr(0.0), PresencePenalty: respPtr(0.0), User: "u", Stream: true, Usage: true},
			`"input":[],"max_output_tokens":9,"temperature":0.5,"top_p":1,"safety_identifier":"u",` + store + `,"stream":true`},
		{"effort", Request{Effort: "low"}, `"input":[],"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],` + store},
		{"no effort", Request{Effort: "none"}, `"input":[],"reasoning":{"effort":"none"},` + store},
		{"no budget", Request{Budget: respPtr(int64(0))}, `"input":[],"reasoning":{"effort":"none"},` + store},
		{"JSON", Request{Format: Format{Kind: FormatJSON}}, `"input":[],"text":{"format":{"type":"json_object"}},` + store},
		{"JSON by schema", Request{Format: Format{Kind: FormatSchema, Schema: Raw(`{}`), Strict: respPtr(true)}}, `"input":[],"text":{"format":{"type":"json_schema","name":"answer","schema":{},"strict":true}},` + store},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.Model = "m"
			got, err := Responses().WriteRequest(&c.r)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"model":"m",` + c.want + `}`; string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if !gjson.ValidBytes(got) {
				t.Error("this is not JSON")
			}
		})
	}
}

// Thinking that no provider would take back is left out, and that is told.
func TestResponsesWriteRequestTellsWhatItLeavesOut(t *testing.T) {
	r := Request{Model: "m", Turns: []Turn{{Role: Assistant, Parts: []Part{{Kind: Thinking, Text: "hm"}, {Text: "a"}}}}}
	if _, err := Responses().WriteRequest(&r); err != nil || len(r.Dropped) != 1 {
		t.Errorf("err %v, dropped %q", err, r.Dropped)
	}
}

func TestResponsesWriteRequestUnsupported(t *testing.T) {
	turn := func(role Role, p Part) Request { return Request{Turns: []Turn{{Role: role, Parts: []Part{p}}}} }
	for _, c := range []struct {
		r     Request
		field string
	}{
		{Request{Stop: []string{"a"}}, "stop"},
		{Request{Seed: respPtr(int64(1))}, "seed"},
		{Request{TopK: respPtr(int64(1))}, "top_k"},
		{Request{FrequencyPenalty: respPtr(1.0)}, "frequency_penalty"},
		{Request{PresencePenalty: respPtr(1.0)}, "presence_penalty"},
		{Request{Budget: respPtr(int64(1024))}, "budget"},
		{Request{System: []Part{{Kind: Image}}}, "system[0]"},
		{turn(Assistant, Part{Kind: Image, URL: "https://a"}), "turns[0].parts[0]"},
		{turn(Assistant, Part{Kind: ToolResult}), "turns[0].parts[0]"},
		{turn(User, Part{Kind: ToolCall}), "turns[0].parts[0]"},
		{turn(User, Part{Kind: Refusal}), "turns[0].parts[0]"},
		{turn(User, Part{Kind: Thinking}), "turns[0].parts[0]"},
		{turn(User, Part{Kind: ToolResult, Parts: []Part{{Kind: Thinking}, {Kind: Text}}}), "turns[0].parts[0]"},
	} {
		_, err := Responses().WriteRequest(&c.r)
		var e *Error
		if !errors.As(err, &e) || e.Field != c.field || !e.Unsupported {
			t.Errorf("got %v, want %q", err, c.field)
		}
	}
}

// A request that was read and written reads the same again.
func TestResponsesRequestRoundTrip(t *testing.T) {
	body := `{"model":"m","instructions":"be brief","stream":true,"input":[
		{"role":"user","content":[{"type":"input_text","text":"é \" \n"},{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"low"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}]},
		{"type":"reasoning","summary":[{"type":"summary_text","text":""}],"encrypted_content":"signed, without words"},
		{"type":"reasoning","summary":[],"encrypted_content":"sealed"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\": [1, 2]}"},
		{"type":"function_call_output","call_id":"c","output":"x","status":"incomplete"},
		{"role":"user","content":"b"},{"role":"user","content":"c"}],
		"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}],"tool_choice":"required","parallel_tool_calls":true,
		"max_output_tokens":5,"temperature":0,"top_p":0.25,"text":{"format":{"type":"json_schema","name":"n","schema":{},"strict":false}},
		"reasoning":{"effort":"minimal"},"safety_identifier":"u"}`
	first, err := Responses().ReadRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	written, err := Responses().WriteRequest(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Responses().ReadRequest(written)
	if err != nil {
		t.Fatalf("%v in %s", err, written)
	}
	second.Dropped = first.Dropped // what writing asks for is a hint on reading
	if !reflect.DeepEqual(first, second) {
		t.Errorf("first  %+v\nsecond %+v", first, second)
	}
}
