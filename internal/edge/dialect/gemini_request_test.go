package dialect

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// geminiUser wraps members around a shortest request.
func geminiUser(members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]` + members + `}`
}

func TestGeminiReadRequest(t *testing.T) {
	hi := []Turn{{Parts: []Part{{Text: "hi"}}}}
	for _, tt := range []struct {
		name, body string
		want       Request
	}{
		{"shortest", geminiUser(``), Request{Turns: hi}},
		{"one content, one part", `{"contents":{"parts":{"text":"hi"}}}`, Request{Turns: hi}},
		{"null is nothing", geminiUser(`"tools":null,"generationConfig":{"topK":null}`), Request{Turns: hi}},
		{"model", geminiUser(`"model":"models/gemini-3-pro"`), Request{Model: "gemini-3-pro", Turns: hi}},
		{"system", geminiUser(`"systemInstruction":{"role":"user","parts":[{"text":"a"},{"text":"b"}]}`),
			Request{System: []Part{{Text: "a"}, {Text: "b"}}, Turns: hi}},
		{"snake case", geminiUser(`"system_instruction":{"parts":[{"text":"a"}]},"generation_config":{"max_output_tokens":"7"}`),
			Request{System: []Part{{Text: "a"}}, Turns: hi, MaxOutput: new(int64(7))}},
		{"config", geminiUser(`"generationConfig":{"maxOutputTokens":5,"temperature":0.5,"topP":0.9,"topK":40,"seed":-1,"presencePenalty":1,"frequencyPenalty":-1,"stopSequences":["x"],"candidateCount":1,"responseModalities":["TEXT"],"responseMimeType":"text/plain","responseLogprobs":false}`),
			Request{Turns: hi, MaxOutput: new(int64(5)), Temperature: new(0.5), TopP: new(0.9), TopK: new(int64(40)), Seed: new(int64(-1)), PresencePenalty: new(1.0), FrequencyPenalty: new(-1.0), Stop: []string{"x"}}},
		{"JSON", geminiUser(`"generationConfig":{"responseMimeType":"application/json"}`), Request{Turns: hi, Format: Format{Kind: FormatJSON}}},
		{"JSON by JSON Schema", geminiUser(`"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}`),
			Request{Turns: hi, Format: Format{Kind: FormatSchema, Schema: Raw(`{"type":"object"}`)}}},
		{"JSON by its own schema", geminiUser(`"generationConfig":{"responseSchema":{"type":"OBJECT","properties":{"min_items":{"type":"STRING","nullable":true,"enum":["a"]},"l":{"type":"ARRAY","items":{"type":"INTEGER"},"minItems":"2"},"u":{"anyOf":[{"type":"NUMBER"},{"type":"BOOLEAN"}]}},"required":["l"],"propertyOrdering":["l"]},"responseMimeType":"application/json"}`),
			Request{Turns: hi, Format: Format{Kind: FormatSchema, Schema: Raw(`{"type":"object","properties":{"min_items":{"type":["string","null"],"enum":["a",null]},"l":{"type":"array","items":{"type":"integer"},"minItems":2},"u":{"anyOf":[{"type":"number"},{"type":"boolean"}]}},"required":["l"]}`)}}},
		{"a budget", geminiUser(`"generationConfig":{"thinkingConfig":{"thinkingBudget":100,"includeThoughts":true}}`),
			Request{Turns: hi, Budget: new(int64(100)), Dropped: []string{"generationConfig.thinkingConfig.includeThoughts"}}},
		{"no thinking", geminiUser(`"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}`), Request{Turns: hi, Effort: "none"}},
		{"as much as it takes", geminiUser(`"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}`),
			Request{Turns: hi, Dropped: []string{"generationConfig.thinkingConfig.thinkingBudget"}}},
		{"a level", geminiUser(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}`), Request{Turns: hi, Effort: "low"}},
		{"hints", geminiUser(`"labels":{"a":"b"},"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`),
			Request{Turns: hi, Dropped: []string{"labels", "safetySettings"}}},
		{"tools", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object"}},{"name":"g","parameters":{"type":"OBJECT"},"response":{"type":"STRING"}}]},{"functionDeclarations":[{"name":"h"}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`),
			Request{Turns: hi, Choice: ChoiceAuto, Dropped: []string{"tools.functionDeclarations.response"},
				Tools: []Tool{{Name: "f", Description: "d", Schema: Raw(`{"type":"object"}`)}, {Name: "g", Schema: Raw(`{"type":"object"}`)}, {Name: "h"}}}},
		{"any tool", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`),
			Request{Turns: hi, Choice: ChoiceRequired, Tools: []Tool{{Name: "f"}}}},
		{"one tool", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g"]}}`),
			Request{Turns: hi, Choice: ChoiceNamed, ChoiceName: "g", Tools: []Tool{{Name: "f"}, {Name: "g"}}}},
		{"all of the tools", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g","f"]}}`),
			Request{Turns: hi, Choice: ChoiceRequired, Tools: []Tool{{Name: "f"}, {Name: "g"}}}},
		{"no tool", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`),
			Request{Turns: hi, Choice: ChoiceNone, Tools: []Tool{{Name: "f"}}}},
		{"validated", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}}`),
			Request{Turns: hi, Choice: ChoiceAuto, Tools: []Tool{{Name: "f", Strict: new(true)}}}},
		{"media", `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inline_data":{"mime_type":"application/pdf","data":"BBBB","display_name":"a.pdf"}},{"fileData":{"fileUri":"https://x/y.JPG?z=1"}},{"fileData":{"mimeType":"text/plain","fileUri":"https://x/y"},"mediaResolution":{"level":"MEDIA_RESOLUTION_LOW"}}]}],"generationConfig":{"mediaResolution":"MEDIA_RESOLUTION_HIGH"}}`,
			Request{Turns: []Turn{{Parts: []Part{
				{Kind: Image, Media: "image/png", Data: "AAAA", Detail: "high"}, {Kind: Document, Media: "application/pdf", Data: "BBBB", Name: "a.pdf"},
				{Kind: Image, URL: "https://x/y.JPG?z=1", Detail: "high"}, {Kind: Document, Media: "text/plain", URL: "https://x/y"}}}}}},
		{"a tool's round", `{"contents":[{"role":"user","parts":[{"text":"hi"}]},
			{"role":"model","parts":[{"text":"let me see","thought":true},{"functionCall":{"name":"f","args":{"a": 1}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"f"}},{"functionCall":{"id":"x","name":"g","args":{}}}]},
			{"role":"function","parts":[{"functionResponse":{"name":"f","response":{"output":"one"}}},{"functionResponse":{"id":"x","name":"g","response":{"b":[2]}}},{"functionResponse":{"name":"f","response":{"error":"bad"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}}]}]}`,
			Request{Turns: []Turn{hi[0],
				{Role: Assistant, Parts: []Part{{Kind: Thinking, Text: "let me see"}, {Kind: Thinking, Signature: "gemini-next:c2ln"},
					{Kind: ToolCall, ID: "call_0_f", Name: "f", Arguments: Raw(`{"a": 1}`)}, {Kind: ToolCall, ID: "call_1_f", Name: "f", Arguments: Raw(`{}`)}, {Kind: ToolCall, ID: "x", Name: "g", Arguments: Raw(`{}`)}}},
				{Parts: []Part{{Kind: ToolResult, ID: "call_0_f", Name: "f", Parts: []Part{{Text: "one"}}},
					{Kind: ToolResult, ID: "x", Name: "g", Parts: []Part{{Text: `{"b":[2]}`}}},
					{Kind: ToolResult, ID: "call_1_f", Name: "f", Failed: true, Parts: []Part{{Text: "bad"}, {Kind: Image, Media: "image/png", Data: "AAAA"}}}}}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Gemini().ReadRequest([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", geminiDump(got), geminiDump(tt.want))
			}
		})
	}
}

func geminiDump(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestGeminiRefusesRequest(t *testing.T) {
	for _, tt := range []struct {
		name, body, field string
		unsupported       bool
	}{
		{"no JSON", `{`, "", false},
		{"no object", `[]`, "", false},
		{"a name twice", `{"contents":[],"contents":[]}`, "", false},
		{"no contents", `{}`, "contents", false},
		{"empty contents", `{"contents":[]}`, "contents", false},
		{"no parts", `{"contents":[{"role":"user"}]}`, "contents[0].parts", false},
		{"another role", `{"contents":[{"role":"system","parts":[]}]}`, "contents[0].role", false},
		{"unknown member", geminiUser(`"storeIt":true`), "storeIt", true},
		{"cached content", geminiUser(`"cachedContent":"cachedContents/1"`), "cachedContent", true},
		{"a filter", geminiUser(`"safetySettings":[{"category":"X","threshold":"BLOCK_LOW_AND_ABOVE"}]`), "safetySettings[0].threshold", true},
		{"search", geminiUser(`"tools":[{"googleSearch":{}}]`), "tools[0].googleSearch", true},
		{"code", geminiUser(`"tools":[{"code_execution":{}}]`), "tools[0].code_execution", true},
		{"retrieval", geminiUser(`"toolConfig":{"retrievalConfig":{}}`), "toolConfig.retrievalConfig", true},
		{"some tools", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"},{"name":"h"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g","f"]}}`), "toolConfig.functionCallingConfig.allowedFunctionNames", true},
		{"another mode", geminiUser(`"toolConfig":{"functionCallingConfig":{"mode":"MAYBE"}}`), "toolConfig.functionCallingConfig.mode", false},
		{"a call that does not block", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f","behavior":"NON_BLOCKING"}]}]`), "tools[0].functionDeclarations[0].behavior", true},
		{"a nameless tool", geminiUser(`"tools":[{"functionDeclarations":[{}]}]`), "tools[0].functionDeclarations[0].name", false},
		{"a schema's keyword", geminiUser(`"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"p":{"oneOf":[]}}}}]}]`), "tools[0].functionDeclarations[0].parameters.properties.p.oneOf", true},
		{"a schema's type", geminiUser(`"generationConfig":{"responseSchema":{"type":"THING"}}`), "generationConfig.responseSchema.type", false},
		{"a deep schema", geminiUser(`"generationConfig":{"responseSchema":` + strings.Repeat(`{"items":`, 200) + `{}` + strings.Repeat(`}`, 200) + `}`), "generationConfig.responseSchema" + strings.Repeat(".items", geminiDepth+1), false},
		{"two candidates", geminiUser(`"generationConfig":{"candidateCount":2}`), "generationConfig.candidateCount", true},
		{"logprobs", geminiUser(`"generationConfig":{"responseLogprobs":true}`), "generationConfig.responseLogprobs", true},
		{"images", geminiUser(`"generationConfig":{"responseModalities":["TEXT","IMAGE"]}`), "generationConfig.responseModalities[1]", true},
		{"speech", geminiUser(`"generationConfig":{"speechConfig":{}}`), "generationConfig.speechConfig", true},
		{"an enum", geminiUser(`"generationConfig":{"responseMimeType":"text/x.enum"}`), "generationConfig.responseMimeType", true},
		{"no integer", geminiUser(`"generationConfig":{"maxOutputTokens":1.5}`), "generationConfig.maxOutputTokens", false},
		{"no number", geminiUser(`"generationConfig":{"temperature":"hot"}`), "generationConfig.temperature", false},
		{"a negative budget", geminiUser(`"generationConfig":{"thinkingConfig":{"thinkingBudget":-2}}`), "generationConfig.thinkingConfig.thinkingBudget", false},
		{"audio", `{"contents":[{"parts":[{"inlineData":{"mimeType":"audio/mp3","data":"AAAA"}}]}]}`, "contents[0].parts[0]", true},
		{"a kept file", `{"contents":[{"parts":[{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/x"}}]}]}`, "contents[0].parts[0].fileData.fileUri", true},
		{"a bucket", `{"contents":[{"parts":[{"fileData":{"fileUri":"gs://b/x"}}]}]}`, "contents[0].parts[0].fileData.fileUri", true},
		{"two in one", `{"contents":[{"parts":[{"text":"a","inlineData":{"mimeType":"image/png","data":""}}]}]}`, "contents[0].parts[0]", false},
		{"part of a video", `{"contents":[{"parts":[{"text":"a"},{"text":"a","videoMetadata":{}}]}]}`, "contents[0].parts[1].videoMetadata", true},
		{"code that ran", `{"contents":[{"parts":[{"executableCode":{}}]}]}`, "contents[0].parts[0].executableCode", true},
		{"a call by the user", `{"contents":[{"role":"user","parts":[{"functionCall":{"name":"f"}}]}]}`, "contents[0].parts[0]", false},
		{"a result by the model", `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionResponse":{"name":"f"}}]}]}`, "contents[0].parts[1].functionResponse", false},
		{"a result of nothing", `{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`, "contents[0].parts[0].functionResponse", false},
		{"a nameless call", `{"contents":[{"role":"model","parts":[{"functionCall":{}}]}]}`, "contents[0].parts[0].functionCall.name", false},
		{"args in a string", `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":"{}"}}]}]}`, "contents[0].parts[0].functionCall.args", false},
		{"an image as system", geminiUser(`"systemInstruction":{"parts":[{"inlineData":{"mimeType":"image/png","data":""}}]}`), "systemInstruction.parts[0]", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Gemini().ReadRequest([]byte(tt.body))
			geminiWantError(t, err, tt.field, tt.unsupported)
		})
	}
}

func geminiWantError(t *testing.T, err error, field string, unsupported bool) {
	t.Helper()
	var e *Error
	switch {
	case !errors.As(err, &e):
		t.Fatalf("got %v, want an *Error", err)
	case e.Field != field || e.Unsupported != unsupported || e.Message == "":
		t.Errorf("got %+v, want field %q, unsupported %v", e, field, unsupported)
	}
}
