package dialect

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func respPtr[T any](v T) *T { return &v }

// respUserTurn is what the user said, alone.
func respUserTurn(text string) Turn { return Turn{Parts: []Part{{Kind: Text, Text: text}}} }

// Every member of a request has one place in the neutral form.
func TestResponsesReadRequest(t *testing.T) {
	hi := []Turn{respUserTurn("hi")}
	for _, c := range []struct {
		name, members string
		want          Request
	}{
		{"text", `"input":"hi"`, Request{Turns: hi}},
		{"a message without a type", `"input":[{"role":"user","content":"hi"}]`, Request{Turns: hi}},
		{"parts", `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]`, Request{Turns: hi}},
		{"null is absent", `"input":"hi","store":null,"tools":null,"prompt":null,"surprise":null,"text":{"format":null}`, Request{Turns: hi}},
		{"instructions come first", `"input":[{"role":"developer","content":"two"},{"role":"system","content":[{"type":"input_text","text":"three"}]},{"role":"user","content":"hi"}],"instructions":"one"`,
			Request{Turns: hi, System: []Part{{Text: "one"}, {Text: "two"}, {Text: "three"}}}},
		{"image by URL", `"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a/b.png","detail":"low"}]}]`,
			Request{Turns: []Turn{{Parts: []Part{{Kind: Image, URL: "https://a/b.png", Detail: "low"}}}}}},
		{"image as data", `"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]`,
			Request{Turns: []Turn{{Parts: []Part{{Kind: Image, Media: "image/png", Data: "AAAA"}}}}}},
		{"file as data", `"input":[{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}]}]`,
			Request{Turns: []Turn{{Parts: []Part{{Kind: Document, Name: "a.pdf", Media: "application/pdf", Data: "AAAA"}}}}}},
		{"file by URL", `"input":[{"role":"user","content":[{"type":"input_file","file_url":"https://a/b.pdf"}]}]`,
			Request{Turns: []Turn{{Parts: []Part{{Kind: Document, URL: "https://a/b.pdf"}}}}}},
		{"a turn of the assistant is many items", `"input":[{"role":"user","content":"hi"},
			{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"s"},
			{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"x"},
			{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"yes","annotations":[]},{"type":"refusal","refusal":"no"}]},
			{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},
			{"type":"function_call","call_id":"c2","name":"g","arguments":""},
			{"type":"function_call_output","call_id":"c1","output":"one"},
			{"type":"function_call_output","call_id":"c2","status":"incomplete","output":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"https://a"}]},
			{"role":"user","content":"go on"}]`,
			Request{Dropped: []string{"input[].id", "input[].status"}, Turns: []Turn{respUserTurn("hi"),
				{Role: Assistant, Parts: []Part{
					{Kind: Thinking, Text: "a\n\nb", Signature: "openai:s"}, {Kind: Redacted, Data: "openai:x"},
					{Text: "yes"}, {Kind: Refusal, Text: "no"},
					{Kind: ToolCall, ID: "c1", Name: "f", Arguments: Raw(`{"a":1}`)}, {Kind: ToolCall, ID: "c2", Name: "g", Arguments: Raw(`{}`)}}},
				{Parts: []Part{
					{Kind: ToolResult, ID: "c1", Name: "f", Parts: []Part{{Text: "one"}}},
					{Kind: ToolResult, ID: "c2", Name: "g", Failed: true, Parts: []Part{{Text: "two"}, {Kind: Image, URL: "https://a"}}}}},
				respUserTurn("go on")}}},
		{"reasoning of open models", `"input":[{"role":"user","content":"hi"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}]`,
			Request{Turns: append(hi[:1:1], Turn{Role: Assistant, Parts: []Part{{Kind: Thinking, Text: "hm"}}})}},
		{"reasoning that is stored elsewhere", `"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"hi"}]`,
			Request{Turns: hi, Dropped: []string{"input[].id", "input[] of type reasoning"}}},
		{"tools", `"input":"hi","tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true},{"type":"function","name":"g","parameters":null,"strict":null,"defer_loading":false}],"tool_choice":{"type":"function","name":"f"},"parallel_tool_calls":false`,
			Request{Turns: hi, Tools: []Tool{{Name: "f", Description: "d", Schema: Raw(`{"type":"object"}`), Strict: respPtr(true)}, {Name: "g"}}, Choice: ChoiceNamed, ChoiceName: "f", Parallel: respPtr(false)}},
		{"choice auto", `"input":"hi","tool_choice":"auto"`, Request{Turns: hi, Choice: ChoiceAuto}},
		{"choice none", `"input":"hi","tool_choice":"none"`, Request{Turns: hi, Choice: ChoiceNone}},
		{"choice required", `"input":"hi","tool_choice":"required"`, Request{Turns: hi, Choice: ChoiceRequired}},
		{"sampling", `"input":"hi","max_output_tokens":1e3,"temperature":0.5,"top_p":1`, Request{Turns: hi, MaxOutput: respPtr(int64(1000)), Temperature: respPtr(0.5), TopP: respPtr(1.0)}},
		{"plain text", `"input":"hi","text":{"format":{"type":"text"},"verbosity":"medium"}`, Request{Turns: hi, Dropped: []string{"text.verbosity"}}},
		{"JSON", `"input":"hi","text":{"format":{"type":"json_object"}}`, Request{Turns: hi, Format: Format{Kind: FormatJSON}}},
		{"JSON by schema", `"input":"hi","text":{"format":{"type":"json_schema","name":"n","schema":{"a":[1]},"strict":true}}`,
			Request{Turns: hi, Format: Format{Kind: FormatSchema, Name: "n", Schema: Raw(`{"a":[1]}`), Strict: respPtr(true)}}},
		{"reasoning", `"input":"hi","reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content"]`,
			Request{Turns: hi, Effort: "high", Dropped: []string{"reasoning.summary", "include"}}},
		{"stream", `"input":"hi","stream":true,"stream_options":{"include_obfuscation":false}`, Request{Turns: hi, Stream: true, Usage: true, Dropped: []string{"stream_options.include_obfuscation"}}},
		{"user", `"input":"hi","user":"u"`, Request{Turns: hi, User: "u"}},
		{"safety identifier", `"input":"hi","user":"u","safety_identifier":"s"`, Request{Turns: hi, User: "s", Dropped: []string{"user"}}},
		{"not stored, as ever", `"input":"hi","store":false`, Request{Turns: hi}},
		{"hints", `"input":"hi","metadata":{"a":"b"},"store":true,"service_tier":"auto","prompt_cache_key":"k","prompt_cache_retention":"24h","truncation":"disabled","top_logprobs":0,"background":false,"client_metadata":{}`,
			Request{Turns: hi, Dropped: []string{"metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_retention", "truncation", "top_logprobs", "client_metadata"}}},
		{"cache marks, citations and phases", `"input":[{"role":"user","content":[{"type":"input_text","text":"hi","prompt_cache_breakpoint":{}}]},{"role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"a","annotations":[{"type":"url_citation"}],"logprobs":[]}]}]`,
			Request{Turns: append(hi[:1:1], Turn{Role: Assistant, Parts: []Part{{Text: "a"}}}), Dropped: []string{"prompt_cache_breakpoint", "input[].phase", "annotations"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Responses().ReadRequest([]byte(`{"model":"m",` + c.members + `}`))
			if err != nil {
				t.Fatal(err)
			}
			c.want.Model = "m"
			if !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
		})
	}
}

// What has no word in another dialect is refused by its path.
func TestResponsesReadRequestUnsupported(t *testing.T) {
	item := func(s string) string { return `"input":[{"role":"user","content":"hi"},` + s + `]` }
	part := func(s string) string { return `"input":[{"role":"user","content":[` + s + `]}]` }
	for _, c := range []struct{ members, field string }{
		{`"surprise":1`, "surprise"},
		{`"previous_response_id":"resp_1"`, "previous_response_id"},
		{`"conversation":"conv_1"`, "conversation"},
		{`"prompt":{"id":"pmpt_1"}`, "prompt"},
		{`"background":true`, "background"},
		{`"max_tool_calls":3`, "max_tool_calls"},
		{`"top_logprobs":5`, "top_logprobs"},
		{`"truncation":"auto"`, "truncation"},
		{`"service_tier":"flex"`, "service_tier"},
		{`"context_management":[{}]`, "context_management"},
		{`"moderation":{}`, "moderation"},
		{`"image":{}`, "image"},
		{`"access_programs":{}`, "access_programs"},
		{`"include":["reasoning.encrypted_content","file_search_call.results"]`, "include[1]"},
		{`"stream_options":{"include_usage":true}`, "stream_options.include_usage"},
		{`"text":{"verbosity":"low"}`, "text.verbosity"},
		{`"text":{"tone":"mild"}`, "text.tone"},
		{`"text":{"format":{"type":"grammar"}}`, "text.format.type"},
		{`"text":{"format":{"type":"text","name":"n"}}`, "text.format.name"},
		{`"text":{"format":{"type":"json_schema","name":"n","schema":{},"description":"d"}}`, "text.format.description"},
		{`"reasoning":{"effort":"xhigh"}`, "reasoning.effort"},
		{`"reasoning":{"context":"all_turns"}`, "reasoning.context"},
		{`"reasoning":{"mode":"pro"}`, "reasoning.mode"},
		{`"reasoning":{"depth":1}`, "reasoning.depth"},
		{`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]}`, "tool_choice.type"},
		{`"tool_choice":{"type":"web_search"}`, "tool_choice.type"},
		{`"tool_choice":{"type":"function","name":"f","mode":"x"}`, "tool_choice.mode"},
		{`"tools":[{"type":"function","name":"f"},{"type":"custom","name":"g"}]`, "tools[1].type"},
		{`"tools":[{"type":"web_search"}]`, "tools[0].type"},
		{`"tools":[{"type":"file_search"}]`, "tools[0].type"},
		{`"tools":[{"type":"computer_use_preview"}]`, "tools[0].type"},
		{`"tools":[{"type":"mcp"}]`, "tools[0].type"},
		{`"tools":[{"type":"code_interpreter"}]`, "tools[0].type"},
		{`"tools":[{"type":"image_generation"}]`, "tools[0].type"},
		{`"tools":[{"type":"local_shell"}]`, "tools[0].type"},
		{`"tools":[{"type":"function","name":"f","defer_loading":true}]`, "tools[0].defer_loading"},
		{`"tools":[{"type":"function","name":"f","output_schema":{}}]`, "tools[0].output_schema"},
		{item(`{"type":"item_reference","id":"msg_1"}`), "input[1].type"},
		{item(`{"type":"web_search_call"}`), "input[1].type"},
		{item(`{"type":"custom_tool_call"}`), "input[1].type"},
		{item(`{"role":"system","content":"be brief"}`), "input[1].role"},
		{item(`{"role":"user","content":"a","name":"n"}`), "input[1].name"},
		{item(`{"type":"function_call","call_id":"c","name":"f","arguments":"{}","namespace":"n"}`), "input[1].namespace"},
		{item(`{"type":"function_call","call_id":"c","name":"f","arguments":"{}","async":true}`), "input[1].async"},
		{item(`{"type":"function_call_output","call_id":"c","output":"","caller":{}}`), "input[1].caller"},
		{item(`{"type":"function_call_output","call_id":"c","output":[{"type":"input_audio"}]}`), "input[1].output[0].type"},
		{item(`{"type":"reasoning","summary":[{"type":"picture"}]}`), "input[1].summary[0].type"},
		{item(`{"type":"reasoning","summary":[{"type":"summary_text","text":"a","b":1}]}`), "input[1].summary[0].b"},
		{part(`{"type":"input_audio","input_audio":{}}`), "input[0].content[0].type"},
		{part(`{"type":"input_text","text":"a","b":1}`), "input[0].content[0].b"},
		{part(`{"type":"input_image","file_id":"file_1"}`), "input[0].content[0].file_id"},
		{part(`{"type":"input_image","image_url":"https://a","detail":"original"}`), "input[0].content[0].detail"},
		{part(`{"type":"input_file","file_id":"file_1"}`), "input[0].content[0].file_id"},
		{part(`{"type":"input_file","file_url":"https://a","pages":3}`), "input[0].content[0].pages"},
	} {
		respRefuses(t, respWithInput(c.members), c.field, true)
	}
}

// respWithInput makes a body that lacks nothing.
func respWithInput(members string) string {
	if !strings.Contains(members, `"input"`) {
		members = `"input":"hi",` + members
	}
	return `{"model":"m",` + members + `}`
}

func respRefuses(t *testing.T, body, field string, unsupported bool) {
	t.Helper()
	_, err := Responses().ReadRequest([]byte(body))
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%s: got %v, want an error", body, err)
	} else if e.Field != field || e.Unsupported != unsupported || e.Message == "" {
		t.Errorf("%s\ngot  %+v\nwant %q, unsupported %v", body, *e, field, unsupported)
	}
}

// What is no request at all.
func TestResponsesReadRequestMalformed(t *testing.T) {
	for _, c := range []struct{ body, field string }{
		{``, ""},
		{`[]`, ""},
		{`{"model":"m"`, ""},
		{`{"model":"m","input":"hi"} x`, ""},
		{`{"model":"m","input":"hi","input":"ho"}`, "input"},
		{`{"model":"m","input":[{"role":"user","content":"a","content":"b"}]}`, "input[0].content"},
		{"{\"model\":\"m\",\"input\":\"\xff\"}", "input"},
		{`{"input":"hi"}`, "model"},
		{`{"model":3,"input":"hi"}`, "model"},
		{`{"model":"m"}`, "input"},
		{`{"model":"m","input":[]}`, "input"},
		{`{"model":"m","input":{}}`, "input"},
		{`{"model":"m","input":["hi"]}`, "input[0]"},
		{`{"model":"m","input":[{"content":"hi"}]}`, "input[0].type"},
		{`{"model":"m","input":[{"role":"user"}]}`, "input[0].content"},
		{`{"model":"m","input":[{"role":"tool","content":"a"}]}`, "input[0].role"},
		{`{"model":"m","input":[{"role":"user","content":3}]}`, "input[0].content"},
		{`{"model":"m","input":[{"role":"user","content":[{"text":"a"}]}]}`, "input[0].content[0].type"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"input_text"}]}]}`, "input[0].content[0].text"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"output_text","text":"a"}]}]}`, "input[0].content[0].type"},
		{`{"model":"m","input":[{"role":"assistant","content":[{"type":"input_text","text":"a"}]}]}`, "input[0].content[0].type"},
		{`{"model":"m","input":[{"role":"developer","content":[{"type":"input_image","image_url":"https://a"}]}]}`, "input[0].content[0].type"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"input_image"}]}]}`, "input[0].content[0].image_url"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png,AA"}]}]}`, "input[0].content[0].image_url"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"/etc/passwd"}]}]}`, "input[0].content[0].image_url"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"input_file","filename":"a"}]}]}`, "input[0].content[0]"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_data":"AAAA"}]}]}`, "input[0].content[0].file_data"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_url":"data:a;base64,AAAA"}]}]}`, "input[0].content[0].file_url"},
		{`{"model":"m","input":[{"type":"function_call","name":"f","arguments":"{}"}]}`, "input[0].call_id"},
		{`{"model":"m","input":[{"type":"function_call","call_id":"c","arguments":"{}"}]}`, "input[0].name"},
		{`{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{"}]}`, "input[0].arguments"},
		{`{"model":"m","input":[{"type":"function_call_output","output":"a"}]}`, "input[0].call_id"},
		{`{"model":"m","input":[{"type":"function_call_output","call_id":"c"}]}`, "input[0].output"},
		{`{"model":"m","input":"hi","max_output_tokens":0}`, "max_output_tokens"},
		{`{"model":"m","input":"hi","max_output_tokens":1.5}`, "max_output_tokens"},
		{`{"model":"m","input":"hi","temperature":3}`, "temperature"},
		{`{"model":"m","input":"hi","top_p":"1"}`, "top_p"},
		{`{"model":"m","input":"hi","stream":"yes"}`, "stream"},
		{`{"model":"m","input":"hi","store":1}`, "store"},
		{`{"model":"m","input":"hi","text":"a"}`, "text"},
		{`{"model":"m","input":"hi","text":{"format":{"type":"json_schema","name":"n"}}}`, "text.format.schema"},
		{`{"model":"m","input":"hi","tool_choice":"any"}`, "tool_choice"},
		{`{"model":"m","input":"hi","tool_choice":{"type":"function"}}`, "tool_choice.name"},
		{`{"model":"m","input":"hi","tools":{}}`, "tools"},
		{`{"model":"m","input":"hi","tools":[{"type":"function"}]}`, "tools[0].name"},
		{`{"model":"m","input":"hi","tools":[{"type":"function","name":"f","parameters":[]}]}`, "tools[0].parameters"},
	} {
		respRefuses(t, c.body, c.field, false)
	}
}
