package dialect

import (
	"reflect"
	"strings"
	"testing"
)

func messagesPtr[T any](v T) *T { return &v }

// messagesMinimal is a body with the members that must be there and more.
func messagesMinimal(more string) string {
	return `{"model":"m","max_tokens":4000,"messages":[{"role":"user","content":"hi"}]` + more + `}`
}

// messagesWith is a body whose user message has these blocks.
func messagesWith(blocks string) string {
	return `{"model":"m","max_tokens":4000,"messages":[{"role":"user","content":[` + blocks + `]}]}`
}

// messagesSaid is a body whose assistant message has these blocks.
func messagesSaid(blocks string) string {
	return `{"model":"m","max_tokens":4000,"messages":[{"role":"assistant","content":[` + blocks + `]}]}`
}

func TestMessagesReadMembers(t *testing.T) {
	user := []Turn{{Role: User, Parts: []Part{{Text: "hi"}}}}
	base := func(change func(*Request)) *Request {
		r := &Request{Model: "m", MaxOutput: messagesPtr[int64](4000), Turns: user}
		change(r)
		return r
	}
	for _, tt := range []struct {
		name, body string
		want       *Request
	}{
		{"the least", messagesMinimal(""), base(func(r *Request) {})},
		{"null is absent", messagesMinimal(`,"system":null,"temperature":null,"foo":null,"tools":null,"thinking":null`), base(func(r *Request) {})},
		{"stream", messagesMinimal(`,"stream":true`), base(func(r *Request) { r.Stream, r.Usage = true, true })},
		{"no stream", messagesMinimal(`,"stream":false`), base(func(r *Request) {})},
		{"sampling", messagesMinimal(`,"temperature":0.5,"top_p":1,"top_k":40`), base(func(r *Request) {
			r.Temperature, r.TopP, r.TopK = messagesPtr(0.5), messagesPtr(1.0), messagesPtr[int64](40)
		})},
		{"stops", messagesMinimal(`,"stop_sequences":["a","b"]`), base(func(r *Request) { r.Stop = []string{"a", "b"} })},
		{"system as a string", messagesMinimal(`,"system":"be brief"`), base(func(r *Request) { r.System = []Part{{Text: "be brief"}} })},
		{"system as blocks", messagesMinimal(`,"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b"}]`), base(func(r *Request) {
			r.System = []Part{{Text: "a"}, {Text: "b"}}
			r.Dropped = []string{"cache_control"}
		})},
		{"a system message, before the member", `{"model":"m","max_tokens":4000,"messages":[{"role":"system","content":"b"},{"role":"user","content":"hi"}],"system":"a"}`, base(func(r *Request) {
			r.System = []Part{{Text: "a"}, {Text: "b"}}
		})},
		{"the end user", messagesMinimal(`,"metadata":{"user_id":"u"}`), base(func(r *Request) { r.User = "u" })},
		{"tools", messagesMinimal(`,"tools":[{"name":"t","description":"d","input_schema":{"type":"object"},"strict":true},{"type":"custom","name":"u","input_schema":{},"defer_loading":false,"allowed_callers":["direct"],"input_examples":[]}]`), base(func(r *Request) {
			r.Tools = []Tool{{Name: "t", Description: "d", Schema: Raw(`{"type":"object"}`), Strict: messagesPtr(true)}, {Name: "u", Schema: Raw(`{}`)}}
		})},
		{"tool hints", messagesMinimal(`,"tools":[{"name":"t","input_schema":{},"eager_input_streaming":true,"cache_control":{}}]`), base(func(r *Request) {
			r.Tools = []Tool{{Name: "t", Schema: Raw(`{}`)}}
			r.Dropped = []string{"eager_input_streaming", "cache_control"}
		})},
		{"choice auto", messagesMinimal(`,"tool_choice":{"type":"auto"}`), base(func(r *Request) { r.Choice = ChoiceAuto })},
		{"choice any, one call", messagesMinimal(`,"tool_choice":{"type":"any","disable_parallel_tool_use":true}`), base(func(r *Request) {
			r.Choice, r.Parallel = ChoiceRequired, messagesPtr(false)
		})},
		{"choice none", messagesMinimal(`,"tool_choice":{"type":"none"}`), base(func(r *Request) { r.Choice = ChoiceNone })},
		{"choice of a tool", messagesMinimal(`,"tools":[{"name":"t","input_schema":{}}],"tool_choice":{"type":"tool","name":"t","disable_parallel_tool_use":false}`), base(func(r *Request) {
			r.Tools = []Tool{{Name: "t", Schema: Raw(`{}`)}}
			r.Choice, r.ChoiceName, r.Parallel = ChoiceNamed, "t", messagesPtr(true)
		})},
		{"a budget", messagesMinimal(`,"thinking":{"type":"enabled","budget_tokens":2048}`), base(func(r *Request) { r.Budget = messagesPtr[int64](2048) })},
		{"a budget counts more than an effort", messagesMinimal(`,"thinking":{"type":"enabled","budget_tokens":2048},"output_config":{"effort":"low"}`), base(func(r *Request) {
			r.Budget = messagesPtr[int64](2048)
			r.Dropped = []string{"output_config.effort"}
		})},
		{"no thinking", messagesMinimal(`,"thinking":{"type":"disabled"}`), base(func(r *Request) { r.Effort = "none" })},
		{"adaptive", messagesMinimal(`,"thinking":{"type":"adaptive","display":"summarized"}`), base(func(r *Request) {
			r.Effort = "high"
			r.Dropped = []string{"thinking.display"}
		})},
		{"adaptive with an effort", messagesMinimal(`,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`), base(func(r *Request) { r.Effort = "low" })},
		{"an effort alone", messagesMinimal(`,"output_config":{"effort":"medium"}`), base(func(r *Request) { r.Effort = "medium" })},
		{"an effort beyond", messagesMinimal(`,"output_config":{"effort":"max"}`), base(func(r *Request) {
			r.Effort = "high"
			r.Dropped = []string{"output_config.effort: max"}
		})},
		{"a schema", messagesMinimal(`,"output_config":{"format":{"type":"json_schema","schema":{"a":1}}}`), base(func(r *Request) {
			r.Format = Format{Kind: FormatSchema, Schema: Raw(`{"a":1}`), Strict: messagesPtr(true)}
		})},
		{"a schema, in the beta's place", messagesMinimal(`,"output_format":{"type":"json_schema","schema":{}}`), base(func(r *Request) {
			r.Format = Format{Kind: FormatSchema, Schema: Raw(`{}`), Strict: messagesPtr(true)}
		})},
		{"hints", messagesMinimal(`,"service_tier":"auto","speed":"fast","cache_control":{},"diagnostics":{},"betas":["x"],"anthropic_beta":[],"anthropic_version":"v","mcp_servers":[]`), base(func(r *Request) {
			r.Dropped = []string{"service_tier", "speed", "cache_control", "diagnostics", "betas", "anthropic_beta", "anthropic_version"}
		})},
		{"escapes and other letters", strings.Replace(messagesMinimal(`,"system":"ä\n\ud83d\ude00"`), "system", `s\u0079stem`, 1), base(func(r *Request) { r.System = []Part{{Text: "ä\n😀"}} })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Messages().ReadRequest([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestMessagesReadBlocks(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       Part
	}{
		{"text", messagesWith(`{"type":"text","text":"a","citations":null}`), Part{Text: "a"}},
		{"text of an answer with citations", messagesSaid(`{"type":"text","text":"a","citations":[{"type":"char_location"}]}`), Part{Text: "a"}},
		{"image data", messagesWith(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="},"cache_control":{}}`), Part{Kind: Image, Media: "image/png", Data: "AA=="}},
		{"image URL", messagesWith(`{"type":"image","source":{"type":"url","url":"https://a/b"}}`), Part{Kind: Image, URL: "https://a/b"}},
		{"document data", messagesWith(`{"type":"document","title":"n","source":{"type":"base64","media_type":"application/pdf","data":"AA=="}}`), Part{Kind: Document, Name: "n", Media: "application/pdf", Data: "AA=="}},
		{"document URL", messagesWith(`{"type":"document","citations":{"enabled":false},"source":{"type":"url","url":"https://a/b"}}`), Part{Kind: Document, URL: "https://a/b"}},
		{"document text", messagesWith(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hi"}}`), Part{Kind: Document, Media: "text/plain", Data: "aGk="}},
		{"tool use", messagesSaid(`{"type":"tool_use","id":"toolu_1","name":"t","input":{"a":1},"caller":{"type":"direct"}}`), Part{Kind: ToolCall, ID: "toolu_1", Name: "t", Arguments: Raw(`{"a":1}`)}},
		{"tool use with an id of ours", messagesSaid(`{"type":"tool_use","id":"` + messagesID("functions.get:0") + `","name":"t","input":{}}`), Part{Kind: ToolCall, ID: "functions.get:0", Name: "t", Arguments: Raw(`{}`)}},
		{"tool result as a string", messagesWith(`{"type":"tool_result","tool_use_id":"x","content":"ok","is_error":true}`), Part{Kind: ToolResult, ID: "x", Failed: true, Parts: []Part{{Text: "ok"}}}},
		{"tool result as blocks", messagesWith(`{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"ok"},{"type":"image","source":{"type":"url","url":"https://a"}}]}`), Part{Kind: ToolResult, ID: "x", Parts: []Part{{Text: "ok"}, {Kind: Image, URL: "https://a"}}}},
		{"tool result of nothing", messagesWith(`{"type":"tool_result","tool_use_id":"x"}`), Part{Kind: ToolResult, ID: "x"}},
		{"thinking", messagesSaid(`{"type":"thinking","thinking":"hm","signature":"s"}`), Part{Kind: Thinking, Text: "hm", Signature: "s"}},
		{"thinking that nobody signed", messagesSaid(`{"type":"thinking","thinking":"hm"}`), Part{Kind: Thinking, Text: "hm"}},
		{"redacted thinking", messagesSaid(`{"type":"redacted_thinking","data":"d"}`), Part{Kind: Redacted, Data: "d"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Messages().ReadRequest([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Turns[0].Parts[0]; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// A result gets the name of the call that it belongs to.
func TestMessagesReadNames(t *testing.T) {
	r, err := Messages().ReadRequest([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`))
	if err != nil || r.Turns[1].Parts[0].Name != "t" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestMessagesReadRefusals(t *testing.T) {
	for _, tt := range []struct {
		body, field string
		unsupported bool
	}{
		// Not such a body at all.
		{``, "", false},
		{`[]`, "", false},
		{`null`, "", false},
		{`{"model":"m"`, "", false},
		{messagesMinimal("") + "{}", "", false},
		{messagesMinimal(`,"model":"n"`), "model", false},
		{messagesWith(`{"type":"text","type":"text","text":"a"}`), "messages[0].content[0].type", false},
		{messagesMinimal(",\"system\":\"\xff\""), "system", false},
		{strings.Repeat("[", 2000) + "x", strings.Repeat("[0]", 12), false},
		{messagesMinimal(`,"system":"\ud800"`), "system", false},

		// What must be there.
		{`{"max_tokens":1,"messages":[{"role":"user","content":"a"}]}`, "model", false},
		{`{"model":"m","messages":[{"role":"user","content":"a"}]}`, "max_tokens", false},
		{`{"model":"m","max_tokens":1}`, "messages", false},
		{`{"model":"m","max_tokens":1,"messages":[]}`, "messages", false},
		{`{"model":"m","max_tokens":1,"messages":[{"content":"a"}]}`, "messages[0].role", false},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"tool","content":"a"}]}`, "messages[0].role", false},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user"}]}`, "messages[0].content", false},
		{`{"model":"m","max_tokens":1,"messages":["a"]}`, "messages[0]", false},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":1}]}`, "messages[0].content", false},

		// Values.
		{messagesMinimal(`,"stream":1`), "stream", false},
		{messagesMinimal(`,"temperature":1.5`), "temperature", false},
		{messagesMinimal(`,"temperature":"1"`), "temperature", false},
		{messagesMinimal(`,"top_p":-1`), "top_p", false},
		{messagesMinimal(`,"top_k":1.5`), "top_k", false},
		{messagesMinimal(`,"stop_sequences":"a"`), "stop_sequences", false},
		{messagesMinimal(`,"stop_sequences":["a",""]`), "stop_sequences[1]", false},
		{messagesMinimal(`,"metadata":"u"`), "metadata", false},
		{messagesMinimal(`,"tools":{}`), "tools", false},
		{messagesMinimal(`,"tools":[{"input_schema":{}}]`), "tools[0].name", false},
		{messagesMinimal(`,"tools":[{"name":"t"}]`), "tools[0].input_schema", false},
		{messagesMinimal(`,"tools":[{"name":"t","input_schema":[]}]`), "tools[0].input_schema", false},
		{messagesMinimal(`,"tools":[{"name":"t","input_schema":{},"strict":"yes"}]`), "tools[0].strict", false},
		{messagesMinimal(`,"tool_choice":{}`), "tool_choice.type", false},
		{messagesMinimal(`,"tool_choice":{"type":"tool"}`), "tool_choice.name", false},
		{messagesMinimal(`,"tool_choice":{"type":"auto","name":"t"}`), "tool_choice.name", false},
		{messagesMinimal(`,"tool_choice":{"type":"tool","name":"t"}`), "tool_choice.name", false},
		{messagesMinimal(`,"thinking":{}`), "thinking.type", false},
		{messagesMinimal(`,"thinking":{"type":"enabled"}`), "thinking.budget_tokens", false},
		{messagesMinimal(`,"thinking":{"type":"enabled","budget_tokens":5}`), "thinking.budget_tokens", false},
		{messagesMinimal(`,"thinking":{"type":"enabled","budget_tokens":4000}`), "thinking.budget_tokens", false},
		{messagesMinimal(`,"output_config":{"format":{"type":"json_schema"}}`), "output_config.format.schema", false},
		{messagesMinimal(`,"output_config":{"format":{"type":"json_schema","schema":{}}},"output_format":{"type":"json_schema","schema":{}}`), "output_format", false},
		{messagesWith(`{"text":"a"}`), "messages[0].content[0].type", false},
		{messagesWith(`{"type":"text"}`), "messages[0].content[0].text", false},
		{messagesWith(`"a"`), "messages[0].content[0]", false},
		{messagesWith(`{"type":"tool_use","id":"a","name":"t","input":{}}`), "messages[0].content[0].type", false},
		{messagesWith(`{"type":"thinking","thinking":"a"}`), "messages[0].content[0].type", false},
		{messagesSaid(`{"type":"image","source":{"type":"url","url":"https://a"}}`), "messages[0].content[0].type", false},
		{messagesSaid(`{"type":"tool_use","id":"a b","name":"t","input":{}}`), "messages[0].content[0].id", false},
		{messagesSaid(`{"type":"tool_use","id":"a","name":"t","input":"{}"}`), "messages[0].content[0].input", false},
		{messagesSaid(`{"type":"tool_use","id":"a","name":"t"}`), "messages[0].content[0].input", false},
		{messagesSaid(`{"type":"tool_use","id":"a","input":{}}`), "messages[0].content[0].name", false},
		{messagesSaid(`{"type":"tool_result","tool_use_id":"a"}`), "messages[0].content[0].type", false},
		{messagesWith(`{"type":"tool_result","content":"a"}`), "messages[0].content[0].tool_use_id", false},
		{messagesWith(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_result","tool_use_id":"a"}]}`), "messages[0].content[0].content[0].type", false},
		{messagesWith(`{"type":"image"}`), "messages[0].content[0].source", false},
		{messagesWith(`{"type":"image","source":{"type":"base64","data":"AA=="}}`), "messages[0].content[0].source.media_type", false},
		{messagesWith(`{"type":"image","source":{"type":"url","url":"file:///etc"}}`), "messages[0].content[0].source.url", false},
		{messagesMinimal(`,"system":[{"type":"image","source":{"type":"url","url":"https://a"}}]`), "system[0].type", false},

		// What only Anthropic has.
		{messagesMinimal(`,"foo":1`), "foo", true},
		{messagesMinimal(`,"` + strings.Repeat("x", 100) + `":1`), strings.Repeat("x", 64) + "...", true},
		{messagesMinimal(`,"container":"c"`), "container", true},
		{messagesMinimal(`,"context_management":{}`), "context_management", true},
		{messagesMinimal(`,"mcp_servers":[{}]`), "mcp_servers", true},
		{messagesMinimal(`,"inference_geo":"eu"`), "inference_geo", true},
		{messagesMinimal(`,"metadata":{"a":"b"}`), "metadata.a", true},
		{messagesMinimal(`,"service_tier":"flex"`), "service_tier", true},
		{messagesMinimal(`,"speed":"slow"`), "speed", true},
		{strings.Replace(messagesMinimal(""), "4000", "0", 1), "max_tokens", true},
		{messagesMinimal(`,"thinking":{"type":"new"}`), "thinking.type", true},
		{messagesMinimal(`,"thinking":{"type":"adaptive","display":"omitted"}`), "thinking.display", true},
		{messagesMinimal(`,"thinking":{"type":"disabled","budget_tokens":2000}`), "thinking.budget_tokens", true},
		{messagesMinimal(`,"output_config":{"effort":"new"}`), "output_config.effort", true},
		{messagesMinimal(`,"output_config":{"task_budget":{}}`), "output_config.task_budget", true},
		{messagesMinimal(`,"output_config":{"format":{"type":"json"}}`), "output_config.format.type", true},
		{messagesMinimal(`,"tool_choice":{"type":"new"}`), "tool_choice.type", true},
		{messagesMinimal(`,"tools":[{"type":"web_search_20250305","name":"web_search"}]`), "tools[0].type", true},
		{messagesMinimal(`,"tools":[{"name":"t","input_schema":{}},{"type":"bash_20250124","name":"bash"}]`), "tools[1].type", true},
		{messagesMinimal(`,"tools":[{"type":"computer_20250124","name":"c"}]`), "tools[0].type", true},
		{messagesMinimal(`,"tools":[{"type":"text_editor_20250728","name":"c"}]`), "tools[0].type", true},
		{messagesMinimal(`,"tools":[{"name":"t","input_schema":{},"defer_loading":true}]`), "tools[0].defer_loading", true},
		{messagesMinimal(`,"tools":[{"name":"t","input_schema":{},"allowed_callers":["code_execution_20250825"]}]`), "tools[0].allowed_callers", true},
		{messagesMinimal(`,"tools":[{"name":"t","input_schema":{},"input_examples":[{}]}]`), "tools[0].input_examples", true},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}`, "messages[1].role", true},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a","name":"n"}]}`, "messages[0].name", true},
		{messagesWith(`{"type":"text","text":"a"},{"type":"search_result"}`), "messages[0].content[1].type", true},
		{messagesSaid(`{"type":"server_tool_use","id":"a","name":"web_search","input":{}}`), "messages[0].content[0].type", true},
		{messagesSaid(`{"type":"tool_use","id":"a","name":"t","input":{},"caller":{"type":"code_execution_20250825"}}`), "messages[0].content[0].caller", true},
		{messagesWith(`{"type":"text","text":"a","foo":1}`), "messages[0].content[0].foo", true},
		{messagesWith(`{"type":"image","title":"a","source":{"type":"url","url":"https://a"}}`), "messages[0].content[0].title", true},
		{messagesWith(`{"type":"image","source":{"type":"file","file_id":"f"}}`), "messages[0].content[0].source.type", true},
		{messagesWith(`{"type":"image","source":{"type":"text","media_type":"text/plain","data":"a"}}`), "messages[0].content[0].source.type", true},
		{messagesWith(`{"type":"document","source":{"type":"content","content":"a"}}`), "messages[0].content[0].source.type", true},
		{messagesWith(`{"type":"document","context":"a","source":{"type":"url","url":"https://a"}}`), "messages[0].content[0].context", true},
		{messagesWith(`{"type":"document","citations":{"enabled":true},"source":{"type":"url","url":"https://a"}}`), "messages[0].content[0].citations", true},
	} {
		t.Run(tt.body, func(t *testing.T) {
			got, err := Messages().ReadRequest([]byte(tt.body))
			e, ok := err.(*Error)
			if !ok || got != nil {
				t.Fatalf("got %+v, %v", got, err)
			}
			if e.Field != tt.field || e.Unsupported != tt.unsupported || e.Message == "" {
				t.Errorf("got %+v, want %s, unsupported %v", e, tt.field, tt.unsupported)
			}
		})
	}
}
