package dialect

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// chatRich says everything that can be said both ways, and says it as it is
// written.
const chatRich = `{"model":"gpt-x","messages":[
	{"role":"system","content":[{"type":"text","text":"Be brief."},{"type":"text","text":"Speak \"plainly\"\n."}]},
	{"role":"user","content":"What is in these?"},
	{"role":"user","content":[{"type":"text","text":"Look: ü😀"},
		{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},
		{"type":"file","file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,aGk="}}]},
	{"role":"assistant","content":"I will look.","tool_calls":[
		{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"at\": \"a\"}"}},
		{"id":"call_2","type":"function","function":{"name":"look","arguments":"{}"}}]},
	{"role":"tool","tool_call_id":"call_1","content":"a cat"},
	{"role":"tool","tool_call_id":"call_2","content":[{"type":"text","text":"a"},{"type":"text","text":"dog"}]},
	{"role":"assistant","content":null,"refusal":"I cannot tell."},
	{"role":"user","content":"Then guess."}],
	"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"at":{"type":"string"}}},"strict":true}},
		{"type":"function","function":{"name":"stop"}}],
	"tool_choice":{"type":"function","function":{"name":"look"}},"parallel_tool_calls":false,
	"max_completion_tokens":100,"temperature":0.5,"top_p":0.9,"frequency_penalty":-1,"presence_penalty":1.5,
	"stop":["END","\n\n"],"seed":9007199254740993,
	"response_format":{"type":"json_schema","json_schema":{"name":"guess","schema":{"type":"object"},"strict":false}},
	"reasoning_effort":"high","user":"u-1","stream":true,"stream_options":{"include_usage":true}}`

func TestChatRequestRoundTrip(t *testing.T) {
	r, err := Chat().ReadRequest([]byte(chatRich))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Dropped) > 0 {
		t.Errorf("dropped %v", r.Dropped)
	}
	got, err := Chat().WriteRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	sameChatJSON(t, string(got), chatRich)
}

// said is a request with one user message and more members.
func chatWith(members string) string {
	return `{"model":"m","messages":[{"role":"user","content":"hi"}],` + members + `}`
}

func chatSays(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }

func TestChatReadRequest(t *testing.T) {
	yes, no, limit, seed, half := true, false, int64(100), int64(-7), 0.5
	hi := []Turn{{User, []Part{{Kind: Text, Text: "hi"}}}}
	member := func(set func(r *Request)) Request {
		r := Request{Model: "m", Turns: hi}
		set(&r)
		return r
	}
	said := func(turns ...Turn) Request { return Request{Model: "m", Turns: turns} }
	text := func(s string) Part { return Part{Kind: Text, Text: s} }
	for _, tt := range []struct {
		name, body string
		want       Request
	}{
		{"null is absent", chatWith(`"tools":null,"tool_choice":null,"stop":null,"n":null,"functions":null,"metadata":null,"max_tokens":null,"whatever":null`), member(func(r *Request) {})},
		{"stream", chatWith(`"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}`),
			member(func(r *Request) {
				r.Stream, r.Usage, r.Dropped = true, true, []string{"stream_options.include_obfuscation"}
			})},
		{"older limit", chatWith(`"max_tokens":1e2`), member(func(r *Request) { r.MaxOutput = &limit })},
		{"newer limit wins", chatWith(`"max_completion_tokens":100,"max_tokens":7`), member(func(r *Request) { r.MaxOutput = &limit })},
		{"no limit, as some spell it", chatWith(`"max_tokens":-1`), member(func(r *Request) {})},
		{"numbers", chatWith(`"temperature":0.5,"top_p":5e-1,"frequency_penalty":0.5,"presence_penalty":0.5,"seed":-7`),
			member(func(r *Request) {
				r.Temperature, r.TopP, r.FrequencyPenalty, r.PresencePenalty, r.Seed = &half, &half, &half, &half, &seed
			})},
		{"one stop", chatWith(`"stop":"END"`), member(func(r *Request) { r.Stop = []string{"END"} })},
		{"stops", chatWith(`"stop":["a","b"]`), member(func(r *Request) { r.Stop = []string{"a", "b"} })},
		{"text", chatWith(`"response_format":{"type":"text"}`), member(func(r *Request) {})},
		{"JSON", chatWith(`"response_format":{"type":"json_object","json_schema":null}`), member(func(r *Request) { r.Format.Kind = FormatJSON })},
		{"schema", chatWith(`"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{ "a":1},"strict":true}}`),
			member(func(r *Request) {
				r.Format = Format{Kind: FormatSchema, Name: "n", Schema: Raw(`{ "a":1}`), Strict: &yes}
			})},
		{"effort", chatWith(`"reasoning_effort":"minimal"`), member(func(r *Request) { r.Effort = "minimal" })},
		{"user", chatWith(`"user":"u"`), member(func(r *Request) { r.User = "u" })},
		{"safety identifier", chatWith(`"safety_identifier":"u"`), member(func(r *Request) { r.User = "u" })},
		{"both", chatWith(`"safety_identifier":"s","user":"u"`), member(func(r *Request) { r.User, r.Dropped = "s", []string{"user"} })},
		{"tools", chatWith(`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{},"strict":false},"cache_control":{}},{"type":"function","function":{"name":"g","strict":null}}]`),
			member(func(r *Request) {
				r.Tools = []Tool{{Name: "f", Description: "d", Schema: Raw(`{}`), Strict: &no}, {Name: "g"}}
				r.Dropped = []string{"cache_control"}
			})},
		{"auto", chatWith(`"tool_choice":"auto"`), member(func(r *Request) { r.Choice = ChoiceAuto })},
		{"none", chatWith(`"tool_choice":"none","tools":[]`), member(func(r *Request) { r.Choice = ChoiceNone })},
		{"required", chatWith(`"tool_choice":"required","parallel_tool_calls":true`), member(func(r *Request) { r.Choice, r.Parallel = ChoiceRequired, &yes })},
		{"named", chatWith(`"tool_choice":{"type":"function","function":{"name":"f"}}`), member(func(r *Request) { r.Choice, r.ChoiceName = ChoiceNamed, "f" })},
		{"hints", chatWith(`"metadata":{"a":"b"},"store":false,"service_tier":"auto","prompt_cache_key":"k","prompt_cache_retention":"24h","prompt_cache_options":{},"verbosity":"medium"`),
			member(func(r *Request) {
				r.Dropped = []string{"metadata", "service_tier", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "verbosity"}
			})},
		{"defaults", chatWith(`"n":1,"logprobs":false,"top_logprobs":0,"logit_bias":{},"modalities":["text"]`), member(func(r *Request) {})},
		{"escaped names", `{"\u006dodel":"m","messages":[{"role":"user","c\u006fntent":"h\u0069"}]}`, said(hi...)},

		{"system", chatSays(`{"role":"system","content":"a"},{"role":"developer","content":[{"type":"text","text":"b"}]},{"role":"user","content":"hi"}`),
			Request{Model: "m", System: []Part{text("a"), text("b")}, Turns: hi}},
		{"late system", chatSays(`{"role":"user","content":"hi"},{"role":"system","content":"a"}`),
			Request{Model: "m", Turns: append(hi[:1:1], Turn{User, []Part{text("a")}}), Dropped: []string{"messages[].role"}}},
		{"user parts", chatSays(`{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":""},{"type":"image_url","image_url":{"url":"HTTPS://x/y","detail":"auto"}},{"type":"image_url","image_url":{"url":"data:image/PNG;base64,aGk=","detail":null}},{"type":"file","file":{"filename":"n","file_data":"data:application/pdf;base64,aGk="}}]}`),
			Request{Model: "m", Turns: []Turn{{User, []Part{text("a"), {Kind: Image, URL: "HTTPS://x/y", Detail: "auto"}, {Kind: Image, Media: "image/png", Data: "aGk="}, {Kind: Document, Media: "application/pdf", Data: "aGk=", Name: "n"}}}}, Dropped: []string{"cache_control"}}},
		{"empty user", chatSays(`{"role":"user","content":""}`), said(Turn{User, []Part{text("")}})},
		{"assistant as it was answered", chatSays(`{"role":"assistant","content":"a","refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":null}`),
			said(Turn{Assistant, []Part{text("a")}})},
		{"calls", chatSays(`{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":" {\"a\":1}"}},{"id":"2","function":{"name":"g","arguments":""}}]},{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"2","name":"other","content":""},{"role":"tool","tool_call_id":"3","name":"h","content":[{"type":"image_url","image_url":{"url":"https://x"}}]},{"role":"user","content":"hi"}`),
			said(Turn{Assistant, []Part{{Kind: ToolCall, ID: "1", Name: "f", Arguments: Raw(` {"a":1}`)}, {Kind: ToolCall, ID: "2", Name: "g", Arguments: Raw(`{}`)}}},
				Turn{User, []Part{{Kind: ToolResult, ID: "1", Name: "f", Parts: []Part{text("x")}}, {Kind: ToolResult, ID: "2", Name: "g"}, {Kind: ToolResult, ID: "3", Name: "h", Parts: []Part{{Kind: Image, URL: "https://x"}}}}}, hi[0])},
		{"thinking and refusals", chatSays(`{"role":"assistant","reasoning_content":"t","content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"b"}],"refusal":"c"},{"role":"assistant","reasoning":"t","content":""}`),
			said(Turn{Assistant, []Part{{Kind: Thinking, Text: "t"}, text("a"), {Kind: Refusal, Text: "b"}, {Kind: Refusal, Text: "c"}}}, Turn{Assistant, []Part{{Kind: Thinking, Text: "t"}}})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Chat().ReadRequest([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got  %s\nwant %s", asChatJSON(got), asChatJSON(&tt.want))
			}
		})
	}
}

func asChatJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// sameChatJSON compares two texts of JSON by what they say.
func sameChatJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, want)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", asChatJSON(g), asChatJSON(w))
	}
}

// refusedChat checks an error by its field and its kind.
func refusedChat(t *testing.T, err error, field string, unsupported bool) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want one of this package", err)
	}
	if e.Field != field || e.Unsupported != unsupported {
		t.Errorf("field %q, unsupported %v, want %q, %v (%s)", e.Field, e.Unsupported, field, unsupported, e.Message)
	}
	if strings.TrimSpace(e.Message) == "" || len(e.Error()) > 700 {
		t.Errorf("message %q", e.Message)
	}
}
