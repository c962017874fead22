package dialect

import (
	"reflect"
	"strings"
	"testing"
)

func TestGeminiWriteRequest(t *testing.T) {
	hi := []Turn{{Parts: []Part{{Text: "hi"}}}}
	const said = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	object := Raw(`{"type":"object"}`)
	for _, tt := range []struct {
		name    string
		request Request
		want    string
		dropped []string
	}{
		{"shortest", Request{Model: "m", Stream: true, Usage: true, Turns: hi}, said + `}`, nil},
		{"system", Request{System: []Part{{Text: "a"}, {Text: "b"}}, Turns: hi}, said + `,"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]}}`, nil},
		{"one content for turns of one side", Request{Turns: []Turn{{Parts: []Part{{Text: "a"}}}, {Role: Assistant, Parts: []Part{{Text: ""}}}, {Parts: []Part{{Text: "b"}}}, {Role: Assistant, Parts: []Part{{Kind: Refusal, Text: "no"}}}}},
			`{"contents":[{"role":"user","parts":[{"text":"a"},{"text":"b"}]},{"role":"model","parts":[{"text":"no"}]}]}`, nil},
		{"config", Request{Turns: hi, MaxOutput: new(int64(5)), Temperature: new(0.5), TopP: new(0.9), TopK: new(int64(40)), Stop: []string{"x"}, Seed: new(int64(7)), PresencePenalty: new(1.0), FrequencyPenalty: new(-1.0)},
			said + `,"generationConfig":{"maxOutputTokens":5,"temperature":0.5,"topP":0.9,"topK":40,"stopSequences":["x"],"seed":7,"presencePenalty":1,"frequencyPenalty":-1}}`, nil},
		{"JSON", Request{Turns: hi, Format: Format{Kind: FormatJSON}}, said + `,"generationConfig":{"responseMimeType":"application/json"}}`, nil},
		{"JSON by schema", Request{Turns: hi, Format: Format{Kind: FormatSchema, Name: "n", Strict: new(true), Schema: Raw(`{"oneOf":[{"$ref":"#/x"}]}`)}},
			said + `,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"oneOf":[{"$ref":"#/x"}]}}}`, nil},
		{"a budget", Request{Turns: hi, Budget: new(int64(99))}, said + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":99,"includeThoughts":true}}}`, nil},
		{"an effort", Request{Turns: hi, Model: "gemini-3-pro", Effort: "low"}, said + `,"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","includeThoughts":true}}}`, nil},
		{"an effort of old", Request{Turns: hi, Model: "models/gemini-2.5-pro", Effort: "high"}, said + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":24576,"includeThoughts":true}}}`, nil},
		{"no thinking", Request{Turns: hi, Effort: "none"}, said + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`, nil},
		{"a label", Request{Turns: hi, User: "u"}, said + `}`, []string{"user"}},
		{"tools", Request{Turns: hi, Tools: []Tool{{Name: "f", Description: "d", Schema: object}, {Name: "g", Strict: new(false)}}},
			said + `,"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object"}},{"name":"g"}]}]}`, nil},
		{"auto, in parallel", Request{Turns: hi, Tools: []Tool{{Name: "f"}}, Choice: ChoiceAuto, Parallel: new(true)},
			said + `,"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}`, nil},
		{"strict", Request{Turns: hi, Tools: []Tool{{Name: "f", Strict: new(true)}}},
			said + `,"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}}}`, nil},
		{"required", Request{Turns: hi, Tools: []Tool{{Name: "f", Strict: new(true)}}, Choice: ChoiceRequired},
			said + `,"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`, nil},
		{"named", Request{Turns: hi, Tools: []Tool{{Name: "f"}, {Name: "g"}}, Choice: ChoiceNamed, ChoiceName: "g"},
			said + `,"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g"]}}}`, nil},
		{"none", Request{Turns: hi, Tools: []Tool{{Name: "f"}}, Choice: ChoiceNone, Parallel: new(false)},
			said + `,"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`, nil},
		{"media", Request{Turns: []Turn{{Parts: []Part{{Kind: Image, Media: "image/png", Data: "AAAA", Detail: "low"}, {Kind: Image, URL: "https://x/y.webp", Detail: "low"}, {Kind: Document, URL: "https://x/y"}, {Kind: Document, Media: "application/pdf", Data: "BB==", Name: "a.pdf"}}}}},
			`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"fileData":{"mimeType":"image/webp","fileUri":"https://x/y.webp"}},{"fileData":{"fileUri":"https://x/y"}},{"inlineData":{"mimeType":"application/pdf","data":"BB=="}}]}],"generationConfig":{"mediaResolution":"MEDIA_RESOLUTION_LOW"}}`, []string{"document name"}},
		{"details that differ", Request{Turns: []Turn{{Parts: []Part{{Kind: Image, Media: "image/png", Data: "A", Detail: "low"}, {Kind: Image, Media: "image/png", Data: "A", Detail: "high"}}}}},
			`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"A"}},{"inlineData":{"mimeType":"image/png","data":"A"}}]}]}`, []string{"image detail"}},
		{"a detail of some", Request{Turns: []Turn{{Parts: []Part{{Kind: Image, Media: "image/png", Data: "A", Detail: "low"}, {Kind: Image, Media: "image/png", Data: "A"}}}}},
			`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"A"}},{"inlineData":{"mimeType":"image/png","data":"A"}}]}]}`, []string{"image detail"}},
		{"a tool's round", Request{Turns: []Turn{hi[0],
			{Role: Assistant, Parts: []Part{{Kind: ToolCall, ID: "a", Name: "f", Arguments: Raw(`{"a": 1}`)}, {Kind: ToolCall, ID: "b", Name: "g"}}},
			{Parts: []Part{{Kind: ToolResult, ID: "b", Parts: []Part{{Text: "o"}, {Text: "ne"}}}}},
			{Parts: []Part{{Kind: ToolResult, ID: "a", Parts: []Part{{Text: `{"x":2}`}}}}},
			{Role: Assistant, Parts: []Part{{Kind: ToolCall, ID: "c", Name: "h"}}},
			{Parts: []Part{{Kind: ToolResult, ID: "c", Failed: true, Parts: []Part{{Text: `{"y":3}`}, {Kind: Image, Media: "image/png", Data: "AAAA"}}}, {Text: "go on"}}}}},
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]},` +
				`{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{"a":1}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"b","name":"g","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"b","name":"g","response":{"output":"o\nne"}}},{"functionResponse":{"id":"a","name":"f","response":{"x":2}}}]},` +
				`{"role":"model","parts":[{"functionCall":{"id":"c","name":"h","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"c","name":"h","response":{"error":"{\"y\":3}"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}},{"text":"go on"}]}]}`, nil},
		{"a result that looks like an error", Request{Turns: []Turn{{Role: Assistant, Parts: []Part{{Kind: ToolCall, ID: "a", Name: "f"}}}, {Parts: []Part{{Kind: ToolResult, ID: "a", Parts: []Part{{Text: `{"error":1}`}}}, {Kind: ToolResult, ID: "z", Name: "z"}}}}},
			`{"contents":[{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"output":"{\"error\":1}"}}},{"functionResponse":{"id":"z","name":"z","response":{"output":""}}}]}]}`, nil},
		{"signatures of its own", Request{Turns: []Turn{{Role: Assistant, Parts: []Part{
			{Kind: Thinking, Text: "hm", Signature: "gemini:AA=="}, {Kind: Thinking, Signature: "gemini-next:BB=="}, {Kind: ToolCall, ID: "a", Name: "f"}, {Kind: ToolCall, ID: "b", Name: "f"}, {Text: "t", Signature: "gemini:CC=="}}}}},
			`{"contents":[{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"AA=="},{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"BB=="},{"functionCall":{"id":"b","name":"f","args":{}}},{"text":"t","thoughtSignature":"CC=="}]}]}`, nil},
		{"thinking of others", Request{Turns: []Turn{{Role: Assistant, Parts: []Part{
			{Kind: Thinking, Text: "hm", Signature: "AA=="}, {Kind: Thinking, Text: "hm"}, {Kind: Redacted, Data: "x"}, {Text: "t", Signature: "AA=="}}}}},
			`{"contents":[{"role":"model","parts":[{"text":"t"}]}]}`, []string{"thinking"}},
		{"what is not UTF-8", Request{Turns: []Turn{{Parts: []Part{{Text: "a\xff"}}}}}, `{"contents":[{"role":"user","parts":[{"text":"a` + "\ufffd" + `"}]}]}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Gemini().WriteRequest(&tt.request)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if !reflect.DeepEqual(tt.request.Dropped, tt.dropped) {
				t.Errorf("dropped %q, want %q", tt.request.Dropped, tt.dropped)
			}
		})
	}
}

func TestGeminiCannotSay(t *testing.T) {
	hi := []Turn{{Parts: []Part{{Text: "hi"}}}}
	call := Turn{Role: Assistant, Parts: []Part{{Kind: ToolCall, ID: "a", Name: "f"}}}
	for _, tt := range []struct {
		name        string
		request     Request
		field       string
		unsupported bool
	}{
		{"nothing said", Request{Turns: []Turn{{Parts: []Part{{Text: ""}}}}}, "turns", false},
		{"an image as system", Request{System: []Part{{Text: "a"}, {Kind: Image}}, Turns: hi}, "system[1]", true},
		{"one call a turn", Request{Turns: hi, Tools: []Tool{{Name: "f"}}, Parallel: new(false)}, "parallel", true},
		{"a tool that is not there", Request{Turns: hi, Tools: []Tool{{Name: "f"}}, Choice: ChoiceNamed, ChoiceName: "g"}, "choice", false},
		{"no tool to call", Request{Turns: hi, Choice: ChoiceRequired}, "choice", false},
		{"a part to come", Request{Turns: []Turn{{Parts: []Part{{Kind: 99}}}}}, "turns[0].parts[0].kind", true},
		{"an effort", Request{Turns: hi, Effort: "utmost"}, "effort", true},
		{"a tool's schema", Request{Turns: hi, Tools: []Tool{{Name: "f", Schema: Raw(`true`)}}}, "tools[0].schema", false},
		{"a format's schema", Request{Turns: hi, Format: Format{Kind: FormatSchema, Schema: Raw(`{"a":`)}}, "format.schema", false},
		{"arguments", Request{Turns: []Turn{{Role: Assistant, Parts: []Part{{Kind: ToolCall, Name: "f", Arguments: Raw(`{"a":`)}}}}}, "turns[0].parts[0].arguments", false},
		{"a nameless call", Request{Turns: []Turn{{Role: Assistant, Parts: []Part{{Kind: ToolCall}}}}}, "turns[0].parts[0].name", false},
		{"a result without a call", Request{Turns: []Turn{hi[0], {Parts: []Part{{Text: "a"}, {Kind: ToolResult, ID: "q"}}}}}, "turns[1].parts[1].id", false},
		{"a result by address", Request{Turns: []Turn{call, {Parts: []Part{{Kind: ToolResult, ID: "a", Parts: []Part{{Kind: Image, URL: "https://x"}}}}}}}, "turns[1].parts[0].parts[0].url", true},
		{"a result of a result", Request{Turns: []Turn{call, {Parts: []Part{{Kind: ToolResult, ID: "a", Parts: []Part{{Kind: ToolResult}}}}}}}, "turns[1].parts[0].parts[0]", true},
		{"data of no type", Request{Turns: []Turn{{Parts: []Part{{Kind: Image, Data: "AAAA"}}}}}, "turns[0].parts[0].media", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Gemini().WriteRequest(&tt.request)
			geminiWantError(t, err, tt.field, tt.unsupported)
		})
	}
}

// What is written is read again as it was.
func TestGeminiRequestRoundTrip(t *testing.T) {
	for _, want := range []Request{
		{Turns: []Turn{{Parts: []Part{{Text: "hi"}, {Kind: Image, Media: "image/png", Data: "AAAA", Detail: "high"}}}}, System: []Part{{Text: "s"}},
			MaxOutput: new(int64(5)), Temperature: new(0.25), Stop: []string{"a", "b"}, Budget: new(int64(10)),
			Tools: []Tool{{Name: "f", Description: "d", Schema: Raw(`{"type":"object"}`), Strict: new(true)}}, Choice: ChoiceAuto,
			Format: Format{Kind: FormatSchema, Schema: Raw(`{"type":"object"}`)}},
		{Turns: []Turn{
			{Parts: []Part{{Text: "hi"}}},
			{Role: Assistant, Parts: []Part{{Kind: Thinking, Text: "hm", Signature: "gemini:AA=="}, {Kind: Thinking, Signature: "gemini-next:BB=="},
				{Kind: ToolCall, ID: "a", Name: "f", Arguments: Raw(`{"a":1}`)}, {Kind: ToolCall, ID: "b", Name: "f", Arguments: Raw(`{}`)}}},
			{Parts: []Part{{Kind: ToolResult, ID: "b", Name: "f", Parts: []Part{{Text: `{"x":[1]}`}}}, {Kind: ToolResult, ID: "a", Name: "f", Failed: true, Parts: []Part{{Text: "no"}}}}},
		}, Tools: []Tool{{Name: "f"}, {Name: "g"}}, Choice: ChoiceNamed, ChoiceName: "g"},
	} {
		b, err := Gemini().WriteRequest(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Gemini().ReadRequest(b)
		if err != nil {
			t.Fatal(err)
		}
		got.Dropped = nil // includeThoughts
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s\ngot\n%s\nwant\n%s", b, geminiDump(got), geminiDump(want))
		}
	}
}

func FuzzGeminiRequest(f *testing.F) {
	f.Add([]byte(geminiUser(`"generationConfig":{"responseSchema":{"type":"OBJECT","nullable":true,"enum":["a"]}}`)))
	f.Add([]byte(geminiUser(`"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}`)))
	f.Add([]byte(`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c3BpbGx3YXk6QQ=="}]},{"parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}},{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"fileData":{"fileUri":"https://x/y.pdf"}}]}]}`))
	f.Add([]byte(`{"contents":{"parts":{"text":"\ud83d\ude00"}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Gemini().ReadRequest(body)
		if err != nil {
			return
		}
		b, err := Gemini().WriteRequest(r)
		if err != nil {
			return
		}
		again, err := Gemini().ReadRequest(b)
		if err != nil && !strings.Contains(err.Error(), "reach this model's provider") {
			t.Fatalf("%s\nbecame\n%s\n%v", body, b, err)
		}
		if err == nil && len(again.Tools) != len(r.Tools) {
			t.Fatalf("%d tools became %d", len(r.Tools), len(again.Tools))
		}
	})
}

func BenchmarkGeminiWriteRequest(b *testing.B) {
	r := Request{Model: "gemini-3-pro", System: []Part{{Text: strings.Repeat("be good ", 100)}},
		Tools: []Tool{{Name: "f", Schema: Raw(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}}
	for range 10 {
		r.Turns = append(r.Turns, Turn{Parts: []Part{{Text: strings.Repeat("question ", 50)}}}, Turn{Role: Assistant, Parts: []Part{{Text: strings.Repeat("answer ", 50)}}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Gemini().WriteRequest(&r); err != nil {
			b.Fatal(err)
		}
	}
}
