package dialect

import (
	"encoding/base64"
	"reflect"
	"testing"
)

func TestChatWriteRequest(t *testing.T) {
	text := func(s string) Part { return Part{Kind: Text, Text: s} }
	hi := Turn{User, []Part{text("hi")}}
	image := Part{Kind: Image, Media: "image/png", Data: "aGk="}
	call := Turn{Assistant, []Part{{Kind: ToolCall, ID: "1", Name: "f"}, {Kind: ToolCall, ID: "2", Name: "g", Arguments: Raw(`{"a":"ü"}`)}}}
	const called = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"g","arguments":"{\"a\":\"ü\"}"}}]}`
	budget := func(n int64) Request { return Request{Turns: []Turn{hi}, Budget: &n} }
	effort := func(s string) string {
		return `"messages":[{"role":"user","content":"hi"}],"reasoning_effort":"` + s + `"`
	}
	yes, zero := true, int64(0)
	for _, tt := range []struct {
		name    string
		r       Request
		want    string // without the model
		dropped []string
	}{
		{"stream", Request{Turns: []Turn{hi}, Stream: true}, `"messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}`, nil},
		{"no stream", Request{Turns: []Turn{hi}, Usage: true}, `"messages":[{"role":"user","content":"hi"}]`, nil},
		{"system", Request{System: []Part{text("s")}, Turns: []Turn{hi}}, `"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]`, nil},
		{"only a system", Request{System: []Part{text("s")}}, `"messages":[{"role":"system","content":"s"}]`, nil},
		{"choice without tools", Request{Turns: []Turn{hi}, Choice: ChoiceAuto, Parallel: &yes}, `"messages":[{"role":"user","content":"hi"}]`, nil},
		{"choices", Request{Turns: []Turn{hi}, Tools: []Tool{{Name: "f"}}, Choice: ChoiceRequired, Parallel: &yes},
			`"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required","parallel_tool_calls":true`, nil},
		{"auto", Request{Turns: []Turn{hi}, Tools: []Tool{{Name: "f"}}, Choice: ChoiceAuto},
			`"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto"`, nil},
		{"none", Request{Turns: []Turn{hi}, Tools: []Tool{{Name: "f"}}, Choice: ChoiceNone},
			`"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none"`, nil},
		{"JSON", Request{Turns: []Turn{hi}, Format: Format{Kind: FormatJSON}}, `"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_object"}`, nil},
		{"schema without a name", Request{Turns: []Turn{hi}, Format: Format{Kind: FormatSchema, Schema: Raw(`{}`)}},
			`"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{}}}`, nil},

		{"budget of the provider's", budget(-1), `"messages":[{"role":"user","content":"hi"}]`, nil},
		{"no budget", budget(0), effort("none"), nil},
		{"least budget", budget(1), effort("low"), nil},
		{"most of low", budget(4095), effort("low"), nil},
		{"least of medium", budget(4096), effort("medium"), nil},
		{"most of medium", budget(16383), effort("medium"), nil},
		{"least of high", budget(16384), effort("high"), nil},
		{"words before numbers", Request{Turns: []Turn{hi}, Effort: "minimal", Budget: &zero}, effort("minimal"), nil},

		{"thinking", Request{Turns: []Turn{hi, {Assistant, []Part{{Kind: Thinking, Text: "t"}, {Kind: Redacted, Data: "x"}, text("a")}}, {Assistant, []Part{{Kind: Thinking, Text: "t"}}}, hi}},
			`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"hi"}]`, []string{"thinking"}},
		{"refusal", Request{Turns: []Turn{hi, {Assistant, []Part{{Kind: Refusal, Text: "no"}}}}},
			`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"refusal":"no"}]`, nil},
		{"texts around a call", Request{Turns: []Turn{{Assistant, []Part{text("a"), {Kind: ToolCall, ID: "1", Name: "f"}, text("b")}}}},
			`"messages":[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`, nil},
		{"results come first", Request{Turns: []Turn{call, {User, []Part{text("so?"), {Kind: ToolResult, ID: "1", Parts: []Part{text("x")}}, {Kind: ToolResult, ID: "2"}}}}},
			`"messages":[` + called + `,{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"2","content":""},{"role":"user","content":"so?"}]`, nil},
		{"failed", Request{Turns: []Turn{call, {User, []Part{{Kind: ToolResult, ID: "1", Failed: true, Parts: []Part{text("x"), text("y")}}, {Kind: ToolResult, ID: "2", Failed: true}}}}},
			`"messages":[` + called + `,{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"Error: x"},{"type":"text","text":"y"}]},{"role":"tool","tool_call_id":"2","content":"Error: "}]`, nil},
		{"images of results wait for the user", Request{Turns: []Turn{call, {User, []Part{{Kind: ToolResult, ID: "1", Parts: []Part{text("x"), image}}}}, {User, []Part{{Kind: ToolResult, ID: "2", Parts: []Part{image}}, text("so?")}}}},
			`"messages":[` + called + `,{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"x"},{"type":"text","text":"` + chatMoved + `"}]},{"role":"tool","tool_call_id":"2","content":"` + chatMoved + `"},` +
				`{"role":"user","content":[{"type":"text","text":"From the result of the tool call 1:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},{"type":"text","text":"From the result of the tool call 2:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},{"type":"text","text":"so?"}]}]`, nil},
		{"images of results go before the model", Request{Turns: []Turn{call, {User, []Part{{Kind: ToolResult, ID: "1", Parts: []Part{image}}, {Kind: ToolResult, ID: "2"}}}, {Assistant, []Part{text("a")}}}},
			`"messages":[` + called + `,{"role":"tool","tool_call_id":"1","content":"` + chatMoved + `"},{"role":"tool","tool_call_id":"2","content":""},` +
				`{"role":"user","content":[{"type":"text","text":"From the result of the tool call 1:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},{"role":"assistant","content":"a"}]`, nil},
		{"documents", Request{Turns: []Turn{{User, []Part{{Kind: Document, Media: "application/pdf", Data: "aGk="}, {Kind: Document, Media: "text/plain", Data: base64.StdEncoding.EncodeToString([]byte("grüezi")), Name: "a.txt"}, {Kind: Document, Media: "text/csv", Data: "aGk="}}}}},
			`"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,aGk="}},{"type":"text","text":"a.txt:\ngrüezi"},{"type":"text","text":"hi"}]}]`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Model = "m"
			got, err := Chat().WriteRequest(&tt.r)
			if err != nil {
				t.Fatal(err)
			}
			sameChatJSON(t, string(got), `{"model":"m",`+tt.want+`}`)
			if !reflect.DeepEqual(tt.r.Dropped, tt.dropped) {
				t.Errorf("dropped %q, want %q", tt.r.Dropped, tt.dropped)
			}
		})
	}
}

func TestChatWriteRequestRefuses(t *testing.T) {
	text := Part{Kind: Text, Text: "hi"}
	turns := func(ts ...Turn) Request { return Request{Model: "m", Turns: ts} }
	user := func(p Part) Request { return turns(Turn{User, []Part{text}}, Turn{User, []Part{text, p}}) }
	k := int64(5)
	for _, tt := range []struct {
		name        string
		r           Request
		field       string
		unsupported bool
	}{
		{"top_k", Request{Model: "m", Turns: []Turn{{User, []Part{text}}}, TopK: &k}, "top_k", true},
		{"a call without tools", Request{Model: "m", Turns: []Turn{{User, []Part{text}}}, Choice: ChoiceRequired}, "tool_choice", false},
		{"nothing", turns(), "turns", false},
		{"only thinking", turns(Turn{Assistant, []Part{{Kind: Thinking, Text: "t"}}}), "turns", false},
		{"schema", Request{Model: "m", Turns: []Turn{{User, []Part{text}}}, Format: Format{Kind: FormatSchema}}, "format.schema", false},
		{"image of the system", Request{Model: "m", System: []Part{text, {Kind: Image}}}, "system[1]", true},
		{"call of the user", user(Part{Kind: ToolCall}), "turns[1].parts[1]", true},
		{"thinking of the user", user(Part{Kind: Thinking}), "turns[1].parts[1]", true},
		{"call in a result", user(Part{Kind: ToolResult, Parts: []Part{text, {Kind: ToolCall}}}), "turns[1].parts[1].parts[1]", true},
		{"result of the model", turns(Turn{Assistant, []Part{text, {Kind: ToolResult}}}), "turns[0].parts[1]", true},
		{"image of the model", turns(Turn{Assistant, []Part{{Kind: Image}}}), "turns[0].parts[0]", true},
		{"document by URL", user(Part{Kind: Document, URL: "https://x/a.pdf"}), "turns[1].parts[1].url", true},
		{"document by URL in a result", turns(Turn{User, []Part{{Kind: ToolResult, ID: "1", Parts: []Part{{Kind: Document, URL: "https://x/a.pdf"}}}}}), "turns[0].parts[0].parts[0].url", true},
		{"text that is none", user(Part{Kind: Document, Media: "text/plain", Data: "/w=="}), "turns[1].parts[1].data", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Chat().WriteRequest(&tt.r)
			if err == nil {
				t.Fatalf("written as %s", b)
			}
			refusedChat(t, err, tt.field, tt.unsupported)
		})
	}
}
