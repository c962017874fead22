package dialect

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

var messagesHi = []Turn{{Role: User, Parts: []Part{{Text: "hi"}}}}

func TestMessagesWriteRequest(t *testing.T) {
	const hi = `"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]`
	call := Part{Kind: ToolCall, ID: "a", Name: "t", Arguments: Raw(`{"x":1}`)}
	result := Part{Kind: ToolResult, ID: "a", Parts: []Part{{Text: "ok"}}}
	for _, tt := range []struct {
		name string
		r    Request
		want string
	}{
		{"the least", Request{Model: "m", Turns: messagesHi}, `{"model":"m","max_tokens":4096,` + hi + `}`},
		{"all of the plain members", Request{
			Model: "m", Stream: true, Usage: true, System: []Part{{Text: "s"}, {Text: " "}}, Turns: messagesHi, MaxOutput: messagesPtr[int64](9),
			Temperature: messagesPtr(0.0), TopP: messagesPtr(1.0), TopK: messagesPtr[int64](3), Stop: []string{"x"}, User: "u",
			FrequencyPenalty: messagesPtr(0.0), PresencePenalty: messagesPtr(0.0),
		}, `{"model":"m","max_tokens":9,"stream":true,"system":[{"type":"text","text":"s"}],` + hi + `,"temperature":0,"top_p":1,"top_k":3,"stop_sequences":["x"],"metadata":{"user_id":"u"}}`},
		{"tools", Request{Model: "m", Turns: messagesHi, Tools: []Tool{{Name: "t", Description: "d", Schema: Raw(`{"type":"object"}`), Strict: messagesPtr(true)}, {Name: "u"}}},
			`{"model":"m","max_tokens":4096,` + hi + `,"tools":[{"name":"t","description":"d","input_schema":{"type":"object"},"strict":true},{"name":"u","input_schema":{"type":"object","properties":{}}}]}`},
		{"a choice without tools", Request{Model: "m", Turns: messagesHi, Choice: ChoiceAuto, Parallel: messagesPtr(false)}, `{"model":"m","max_tokens":4096,` + hi + `}`},
		{"a schema", Request{Model: "m", Turns: messagesHi, Format: Format{Kind: FormatSchema, Name: "n", Schema: Raw(`{"a":1}`)}},
			`{"model":"m","max_tokens":4096,` + hi + `,"output_config":{"format":{"type":"json_schema","schema":{"a":1}}}}`},
		{"turns of one side become one, results first", Request{Model: "m", Turns: []Turn{
			{Role: Assistant, Parts: []Part{{Text: "let me see"}}}, {Role: Assistant, Parts: []Part{call}},
			{Role: User, Parts: []Part{{Text: "and?"}}}, {Role: User, Parts: []Part{result}},
		}}, `{"model":"m","max_tokens":4096,"messages":[` +
			`{"role":"assistant","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"a","name":"t","input":{"x":1}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"},{"type":"text","text":"and?"}]}]}`},
		{"ids in other letters", Request{Model: "m", Turns: []Turn{
			{Role: Assistant, Parts: []Part{{Kind: ToolCall, ID: "f.g:0", Name: "t"}}}, {Role: User, Parts: []Part{{Kind: ToolResult, ID: "f.g:0", Failed: true}}},
		}}, `{"model":"m","max_tokens":4096,"messages":[` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"spw_f_2eg_3a0","name":"t","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"spw_f_2eg_3a0","is_error":true}]}]}`},
		{"empty text and turns are left out", Request{Model: "m", Turns: []Turn{{Role: Assistant, Parts: []Part{{Text: ""}}}, messagesHi[0]}}, `{"model":"m","max_tokens":4096,` + hi + `}`},
		{"results with images", Request{Model: "m", Turns: []Turn{{Parts: []Part{{Kind: ToolResult, ID: "a", Parts: []Part{{Text: "see"}, {Kind: Image, Media: "image/png", Data: "AA=="}}}}}}},
			`{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]}]}`},
		{"documents", Request{Model: "m", Turns: []Turn{{Parts: []Part{
			{Kind: Document, Name: "n", Media: "application/pdf", Data: "AA=="}, {Kind: Document, URL: "https://a"}, {Kind: Document, Media: "text/plain", Data: "aGk="},
		}}}}, `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="},"title":"n"},` +
			`{"type":"document","source":{"type":"url","url":"https://a"}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hi"}}]}]}`},
		{"thinking with its signature, and a refusal", Request{Model: "m", Turns: []Turn{{Role: Assistant, Parts: []Part{
			{Kind: Thinking, Text: "hm", Signature: "s"}, {Kind: Redacted, Data: "d"}, {Kind: Refusal, Text: "no"},
		}}, messagesHi[0]}}, `{"model":"m","max_tokens":4096,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"no"}]},` + hi[len(`"messages":[`):] + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Messages().WriteRequest(&tt.r)
			if err != nil || string(got) != tt.want || len(tt.r.Dropped) > 0 {
				t.Errorf("%v, dropped %q\ngot  %s\nwant %s", err, tt.r.Dropped, got, tt.want)
			}
		})
	}
}

func TestMessagesWriteChoice(t *testing.T) {
	for _, tt := range []struct {
		choice   ToolChoice
		parallel *bool
		want     string
	}{
		{ChoiceDefault, nil, ``},
		{ChoiceDefault, messagesPtr(false), `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		{ChoiceAuto, nil, `"tool_choice":{"type":"auto"}`},
		{ChoiceAuto, messagesPtr(true), `"tool_choice":{"type":"auto","disable_parallel_tool_use":false}`},
		{ChoiceRequired, nil, `"tool_choice":{"type":"any"}`},
		{ChoiceNamed, messagesPtr(false), `"tool_choice":{"type":"tool","name":"t","disable_parallel_tool_use":true}`},
		{ChoiceNone, messagesPtr(false), `"tool_choice":{"type":"none"}`},
	} {
		r := &Request{Model: "m", Turns: messagesHi, Tools: []Tool{{Name: "t"}}, Choice: tt.choice, Parallel: tt.parallel}
		if tt.choice == ChoiceNamed {
			r.ChoiceName = "t"
		}
		got, err := Messages().WriteRequest(r)
		if err != nil || !strings.Contains(string(got), tt.want) || tt.want == "" && strings.Contains(string(got), "tool_choice") {
			t.Errorf("%v %v: got %s, %v", tt.choice, tt.parallel, got, err)
		}
	}
}

func TestMessagesWriteThinking(t *testing.T) {
	const disabled = `"thinking":{"type":"disabled"}`
	n := messagesPtr[int64]
	chain := func(first Part) []Turn {
		return []Turn{messagesHi[0], {Role: Assistant, Parts: []Part{first, {Kind: ToolCall, ID: "a", Name: "t"}}}, {Parts: []Part{{Kind: ToolResult, ID: "a"}}}, {Parts: []Part{{Text: "go on"}}}}
	}
	for _, tt := range []struct {
		name    string
		r       Request
		want    string // in the body; empty: no thinking in it
		dropped string
	}{
		{"not said", Request{}, `"max_tokens":4096,`, ""},
		{"none", Request{Effort: "none"}, disabled, ""},
		{"a budget of none", Request{Budget: n(0)}, disabled, ""},
		{"minimal", Request{Effort: "minimal"}, `"thinking":{"type":"enabled","budget_tokens":1024}`, ""},
		{"low", Request{Effort: "low"}, `"thinking":{"type":"enabled","budget_tokens":4096}`, ""},
		{"medium", Request{Effort: "medium"}, `"thinking":{"type":"enabled","budget_tokens":8192}`, ""},
		{"high", Request{Effort: "high"}, `"thinking":{"type":"enabled","budget_tokens":16384}`, ""},
		{"the cap leaves room for the answer", Request{Effort: "high"}, `"max_tokens":20480,`, ""},
		{"half of a cap that is said", Request{Effort: "high", MaxOutput: n(8000)}, `"thinking":{"type":"enabled","budget_tokens":4000}`, ""},
		{"no room", Request{Effort: "low", MaxOutput: n(2047)}, ``, "effort"},
		{"a budget", Request{Budget: n(5000), MaxOutput: n(20000)}, `"thinking":{"type":"enabled","budget_tokens":5000}`, ""},
		{"more than half, as it is said", Request{Budget: n(5000), MaxOutput: n(5001)}, `"budget_tokens":5000}`, ""},
		{"not less than the cap", Request{Budget: n(5000), MaxOutput: n(5000)}, `"budget_tokens":2500}`, ""},
		{"a small budget", Request{Budget: n(1)}, `"thinking":{"type":"enabled","budget_tokens":1024}`, ""},
		{"a budget without room", Request{Budget: n(5000), MaxOutput: n(1000)}, ``, "budget"},
		{"later models take an effort", Request{Model: "claude-opus-4-7", Effort: "minimal"}, `"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`, ""},
		{"or the like of a budget", Request{Model: "claude-sonnet-5", Budget: n(5000)}, `"thinking":{"type":"adaptive"},"output_config":{"effort":"medium"}`, ""},
		{"a large one", Request{Model: "claude-sonnet-5", Budget: n(50000)}, `"output_config":{"effort":"high"}`, ""},
		{"earlier ones do not", Request{Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Effort: "low"}, `"budget_tokens":4096`, ""},
		{"by another name", Request{Model: "anthropic/claude-sonnet-4.5", Effort: "low"}, `"budget_tokens":4096`, ""},
		{"or a short one", Request{Model: "claude-opus-4", Effort: "low"}, `"budget_tokens":4096`, ""},
		{"beside a forced tool", Request{Effort: "low", Choice: ChoiceRequired, Tools: []Tool{{Name: "t"}}}, ``, "effort"},
		{"beside a temperature", Request{Effort: "low", Temperature: messagesPtr(0.5)}, ``, "effort"},
		{"beside the temperature of 1", Request{Effort: "low", Temperature: messagesPtr(1.0)}, `"budget_tokens":4096`, ""},
		{"beside top_p", Request{Effort: "low", TopP: messagesPtr(0.5)}, ``, "effort"},
		{"beside top_k", Request{Budget: n(2000), TopK: n(5)}, ``, "budget"},
		{"in a chain of calls that began without", Request{Effort: "low", Turns: chain(Part{Text: "a"})}, ``, "effort"},
		{"in one that began with it", Request{Effort: "low", Turns: chain(Part{Kind: Thinking, Text: "a", Signature: "s"})}, `"budget_tokens":4096`, ""},
		{"after such a chain", Request{Effort: "low", Turns: append(chain(Part{Text: "a"}), Turn{Role: Assistant, Parts: []Part{{Text: "done"}}}, messagesHi[0])}, `"budget_tokens":4096`, ""},
		{"unsigned thinking is left out", Request{Turns: []Turn{{Role: Assistant, Parts: []Part{{Kind: Thinking, Text: "a"}}}, messagesHi[0]}}, ``, "thinking"},
		{"how closely to look", Request{Turns: []Turn{{Parts: []Part{{Kind: Image, URL: "https://a", Detail: "low"}}}}}, ``, "detail"},
		{"whichever way", Request{Turns: []Turn{{Parts: []Part{{Kind: Image, URL: "https://a", Detail: "auto"}}}}}, ``, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.r.Turns == nil {
				tt.r.Turns = messagesHi
			}
			got, err := Messages().WriteRequest(&tt.r)
			if err != nil || !strings.Contains(string(got), tt.want) || tt.want == "" && strings.Contains(string(got), "thinking") {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
			if strings.Join(tt.r.Dropped, " ") != tt.dropped {
				t.Errorf("dropped %q, want %q", tt.r.Dropped, tt.dropped)
			}
		})
	}
}

func TestMessagesWriteRefusals(t *testing.T) {
	assistant := func(p ...Part) []Turn { return []Turn{{Role: Assistant, Parts: p}, messagesHi[0]} }
	user := func(p ...Part) []Turn { return []Turn{{Role: User, Parts: p}} }
	for _, tt := range []struct {
		field       string
		unsupported bool
		r           Request
	}{
		{"seed", true, Request{Seed: messagesPtr[int64](0)}},
		{"frequency_penalty", true, Request{FrequencyPenalty: messagesPtr(0.1)}},
		{"presence_penalty", true, Request{PresencePenalty: messagesPtr(-0.1)}},
		{"temperature", true, Request{Temperature: messagesPtr(1.1)}},
		{"stop[1]", true, Request{Stop: []string{"a", "\n"}}},
		{"format", true, Request{Format: Format{Kind: FormatJSON}}},
		{"format.schema", false, Request{Format: Format{Kind: FormatSchema}}},
		{"effort", true, Request{Effort: "huge"}},
		{"budget", true, Request{Budget: messagesPtr[int64](-1)}},
		{"max_output", false, Request{MaxOutput: messagesPtr[int64](0)}},
		{"choice", false, Request{Choice: ChoiceRequired}},
		{"tools[0].name", true, Request{Tools: []Tool{{Name: "a.b"}}}},
		{"tools[0].name", true, Request{Tools: []Tool{{Name: strings.Repeat("a", 129)}}}},
		{"tools[0].schema", false, Request{Tools: []Tool{{Name: "a", Schema: Raw(`[]`)}}}},
		{"system", true, Request{System: []Part{{Kind: Image}}}},
		{"turns", false, Request{Turns: user(Part{Text: " "})}},
		{"turns[0].parts[0].id", true, Request{Turns: assistant(Part{Kind: ToolCall, Name: "t"})}},
		{"turns[0].parts[0].name", true, Request{Turns: assistant(Part{Kind: ToolCall, ID: "a", Name: "a.b"})}},
		{"turns[0].parts[0].arguments", false, Request{Turns: assistant(Part{Kind: ToolCall, ID: "a", Name: "t", Arguments: Raw(`{"a":`)})}},
		{"turns[0].parts[0].arguments", false, Request{Turns: assistant(Part{Kind: ToolCall, ID: "a", Name: "t", Arguments: Raw(`[1]`)})}},
		{"turns[0].parts[1]", true, Request{Turns: assistant(Part{Text: "a"}, Part{Kind: Image, URL: "https://a"})}},
		{"turns[0].parts[0].id", true, Request{Turns: user(Part{Kind: ToolResult})}},
		{"turns[0].parts[0].parts[0]", true, Request{Turns: user(Part{Kind: ToolResult, ID: "a", Parts: []Part{{Kind: Thinking}}})}},
		{"turns[0].parts[0].parts[0].data", false, Request{Turns: user(Part{Kind: ToolResult, ID: "a", Parts: []Part{{Kind: Image}}})}},
		{"turns[0].parts[0].media", true, Request{Turns: user(Part{Kind: Image, Media: "image/tiff", Data: "AA=="})}},
		{"turns[0].parts[0].media", true, Request{Turns: user(Part{Kind: Document, Media: "text/csv", Data: "AA=="})}},
		{"turns[0].parts[0].data", false, Request{Turns: user(Part{Kind: Document, Media: "text/plain", Data: "%"})}},
	} {
		if tt.r.Turns == nil {
			tt.r.Turns = messagesHi
		}
		got, err := Messages().WriteRequest(&tt.r)
		if e, ok := err.(*Error); !ok || e.Field != tt.field || e.Unsupported != tt.unsupported {
			t.Errorf("%s: got %s, %v", tt.field, got, err)
		}
	}
}

// messagesRich is a request with something of everything.
const messagesRich = `{"model":"claude-3-7-sonnet","max_tokens":20000,"stream":true,"temperature":1,"stop_sequences":["END"],
"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"metadata":{"user_id":"u"},
"thinking":{"type":"enabled","budget_tokens":4000},"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},
"tools":[{"name":"look","description":"looks","input_schema":{"type":"object"},"strict":true}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true},
"messages":[{"role":"user","content":[{"type":"text","text":"what is \"this\"?\n"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},
{"type":"document","title":"t","source":{"type":"text","media_type":"text/plain","data":"hällo"}}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"I look"},
{"type":"tool_use","id":"toolu_1","name":"look","input":{"at":[1,2]}},{"type":"tool_use","id":"spw_odd","name":"look","input":{}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a cat"},{"type":"tool_result","tool_use_id":"spw_odd","is_error":true,"content":[{"type":"text","text":"broken"},{"type":"image","source":{"type":"url","url":"https://a/b"}}]},{"type":"text","text":"so?"}]}]}`

// What is read, written and read again means the same.
func TestMessagesRoundTrip(t *testing.T) {
	first, err := Messages().ReadRequest([]byte(messagesRich))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Dropped, []string{"cache_control"}) {
		t.Errorf("dropped %q", first.Dropped)
	}
	body, err := Messages().WriteRequest(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Messages().ReadRequest(body)
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	first.Dropped = nil
	if !reflect.DeepEqual(first, second) {
		t.Errorf("first  %+v\nsecond %+v", first, second)
	}
}

func TestMessagesID(t *testing.T) {
	for id, want := range map[string]string{
		"":                "",
		"toolu_01A-b":     "toolu_01A-b",
		"call_1":          "call_1",
		"functions.get:0": "spw_functions_2eget_3a0",
		"a_b.c":           "spw_a_5fb_2ec",
		"ü":               "spw__c3_bc",
		"spw_1":           "spw_spw_5f1", // of our form, but not ours
	} {
		got := messagesID(id)
		if got != want || messagesOwnID(got) != id {
			t.Errorf("%q: got %q, back %q, want %q", id, got, messagesOwnID(got), want)
		}
	}
	for _, id := range []string{"spw_", "spw__", "spw__1", "spw__zz", "spw_a", "spw__41"} { // none that we make
		if got := messagesOwnID(id); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
}
