package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// geminiSaid is an answer with these parts.
func geminiSaid(parts, finish string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"finishReason":"` + finish + `","index":0,"avgLogprobs":-0.1}],` +
		`"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":40,"candidatesTokenCount":10,"thoughtsTokenCount":5,"toolUsePromptTokenCount":3,"totalTokenCount":118,"promptTokensDetails":[{}]},` +
		`"modelVersion":"gemini-3-pro","responseId":"r-1_x"}`
}

var geminiSpent = Usage{Known: true, Input: 103, Cached: 40, Output: 15, Reasoning: 5}

func TestGeminiReadAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       Answer
	}{
		{"text", geminiSaid(`{"text":"a"},{"text":""},{"text":"b\n"}`, "STOP"), Answer{Parts: []Part{{Text: "a"}, {Text: "b\n"}}, Stop: StopEnd}},
		{"thoughts", geminiSaid(`{"text":"hm","thought":true},{"text":"a","thoughtSignature":"AA=="}`, "STOP"),
			Answer{Parts: []Part{{Kind: Thinking, Text: "hm"}, {Text: "a", Signature: "gemini:AA=="}}, Stop: StopEnd}},
		{"signed thoughts", geminiSaid(`{"text":"hm","thought":true,"thoughtSignature":"AA=="}`, "STOP"),
			Answer{Parts: []Part{{Kind: Thinking, Text: "hm", Signature: "gemini:AA=="}}, Stop: StopEnd}},
		{"calls", geminiSaid(`{"functionCall":{"name":"f","args":{"a":[1, 2]}},"thoughtSignature":"AA=="},{"functionCall":{"name":"f"}},{"functionCall":{"id":"q","name":"g","args":{}}}`, "STOP"),
			Answer{Parts: []Part{{Kind: Thinking, Signature: "gemini-next:AA=="},
				{Kind: ToolCall, ID: "call_r-1_x_0", Name: "f", Arguments: Raw(`{"a":[1, 2]}`)},
				{Kind: ToolCall, ID: "call_r-1_x_1", Name: "f", Arguments: Raw(`{}`)},
				{Kind: ToolCall, ID: "q", Name: "g", Arguments: Raw(`{}`)}}, Stop: StopTool}},
		{"cut short", geminiSaid(`{"text":"a"}`, "MAX_TOKENS"), Answer{Parts: []Part{{Text: "a"}}, Stop: StopLength}},
		{"safety", geminiSaid(``, "SAFETY"), Answer{Stop: StopFilter}},
		{"recitation", geminiSaid(``, "RECITATION"), Answer{Stop: StopFilter}},
		{"blocklist", geminiSaid(``, "BLOCKLIST"), Answer{Stop: StopFilter}},
		{"prohibited", geminiSaid(``, "PROHIBITED_CONTENT"), Answer{Stop: StopFilter}},
		{"personal", geminiSaid(``, "SPII"), Answer{Stop: StopFilter}},
		{"language", geminiSaid(``, "LANGUAGE"), Answer{Stop: StopFilter}},
		{"other", geminiSaid(``, "OTHER"), Answer{Stop: StopUnknown}},
		{"a word to come", geminiSaid(``, "NEW_ONE"), Answer{Stop: StopUnknown}},
		{"marks beside a text", geminiSaid(`{"text":"a","newMark":{}}`, "STOP"), Answer{Parts: []Part{{Text: "a"}}, Stop: StopEnd}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.ID, tt.want.Model, tt.want.Usage = "r-1_x", "gemini-3-pro", geminiSpent
			got, err := Gemini().ReadAnswer([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", geminiDump(got), geminiDump(tt.want))
			}
		})
	}
	for _, tt := range []struct {
		name, body string
		want       Answer
	}{
		{"a blocked prompt", `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4},"createTime":"1970-01-01T00:00:09.5Z"}`,
			Answer{Stop: StopFilter, Created: 9, Usage: Usage{Known: true, Input: 4}}},
		{"no id", `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a.b:c"}}]},"finishReason":"STOP"}]}`,
			Answer{Stop: StopTool, Parts: []Part{{Kind: ToolCall, ID: "call_0_abc", Name: "a.b:c", Arguments: Raw(`{}`)}}}},
		{"no reason", `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, Answer{Parts: []Part{{Text: "a"}}}},
		{"no content", `{"candidates":[{"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":-4}}`, Answer{Stop: StopLength, Usage: Usage{Known: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Gemini().ReadAnswer([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", geminiDump(got), geminiDump(tt.want))
			}
		})
	}
}

func TestGeminiRefusesAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, body, field string
		unsupported       bool
	}{
		{"no JSON", `<html>`, "", false},
		{"an array", `[{}]`, "", false},
		{"nothing", `{}`, "candidates", false},
		{"an error", `{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}`, "error", false},
		{"no call", geminiSaid(``, "MALFORMED_FUNCTION_CALL"), "candidates[0].finishReason", false},
		{"a call unasked", geminiSaid(``, "UNEXPECTED_TOOL_CALL"), "candidates[0].finishReason", false},
		{"two candidates", `{"candidates":[{"finishReason":"STOP"},{"finishReason":"STOP"}]}`, "candidates[1]", true},
		{"code", geminiSaid(`{"executableCode":{"code":"1"}}`, "STOP"), "candidates[0].content.parts[0].executableCode", true},
		{"an image", geminiSaid(`{"text":"a"},{"inlineData":{"mimeType":"image/png","data":""}}`, "STOP"), "candidates[0].content.parts[1]", true},
		{"arguments in pieces", geminiSaid(`{"functionCall":{"name":"f","partialArgs":[]}}`, "STOP"), "candidates[0].content.parts[0].functionCall.partialArgs", true},
		{"a nameless call", geminiSaid(`{"functionCall":{}}`, "STOP"), "candidates[0].content.parts[0].functionCall.name", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Gemini().ReadAnswer([]byte(tt.body))
			geminiWantError(t, err, tt.field, tt.unsupported)
		})
	}
}

func TestGeminiWriteAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer Answer
		want   string
	}{
		{"text", Answer{ID: "i", Model: "m", Created: 9, Parts: []Part{{Text: "a"}, {Kind: Refusal, Text: "no"}}, Stop: StopEnd, Usage: geminiSpent},
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"a"},{"text":"no"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":103,"cachedContentTokenCount":40,"candidatesTokenCount":10,"thoughtsTokenCount":5,"totalTokenCount":118},"modelVersion":"m","responseId":"i"}`},
		{"a call", Answer{Parts: []Part{{Kind: Thinking, Signature: "gemini-next:AA=="}, {Kind: ToolCall, ID: "q", Name: "f", Arguments: Raw(`{"a": 1}`)}, {Kind: ToolCall, ID: "z", Name: "f", Arguments: Raw(`{"a`)}}, Stop: StopTool},
			`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"q","name":"f","args":{"a":1}},"thoughtSignature":"AA=="},{"functionCall":{"id":"z","name":"f","args":{}}}]},"finishReason":"STOP","index":0}]}`},
		{"thinking of others", Answer{Parts: []Part{{Kind: Thinking, Text: "hm", Signature: "sig"}, {Kind: Redacted, Data: "x"}}, Stop: StopLength},
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"c3BpbGx3YXk6c2ln"},{"text":"","thought":true,"thoughtSignature":"cmVkYWN0ZWQ6eA=="}]},"finishReason":"MAX_TOKENS","index":0}]}`},
		{"nothing", Answer{Stop: StopRefusal}, `{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"SAFETY","index":0}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Gemini().WriteAnswer(&tt.answer)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	if _, err := Gemini().WriteAnswer(&Answer{Parts: []Part{{Kind: Image}}}); err == nil {
		t.Error("an image went through")
	}
	for stop, want := range map[StopReason]string{StopUnknown: "OTHER", StopSequence: "STOP", StopFilter: "SAFETY", StopPause: "OTHER", StopContext: "MAX_TOKENS"} {
		if got := geminiFinish(stop); got != want {
			t.Errorf("%d is %s, want %s", stop, got, want)
		}
	}
}

// Thinking of another provider comes back to it as it was, through a caller
// that speaks Gemini.
func TestGeminiCarriesThinking(t *testing.T) {
	want := []Part{{Kind: Thinking, Text: "hm", Signature: "Eq/+sig=="}, {Kind: Redacted, Data: "secret"}, {Text: "a"}}
	b, err := Gemini().WriteAnswer(&Answer{Parts: want, Stop: StopEnd})
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Candidates []struct{ Content Raw }
	}
	if err := json.Unmarshal(b, &said); err != nil {
		t.Fatal(err)
	}
	r, err := Gemini().ReadRequest([]byte(`{"contents":[` + string(said.Candidates[0].Content) + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Turns[0].Parts, want) {
		t.Errorf("got %s", geminiDump(r.Turns))
	}
}

func TestGeminiAnswerRoundTrip(t *testing.T) {
	want := Answer{ID: "i", Model: "m", Stop: StopTool, Usage: geminiSpent, Parts: []Part{
		{Kind: Thinking, Text: "hm", Signature: "gemini:AA=="}, {Text: "let me " + strings.Repeat("see ", 9)},
		{Kind: Thinking, Signature: "gemini-next:BB=="}, {Kind: ToolCall, ID: "q", Name: "f", Arguments: Raw(`{"a":1}`)}}}
	b, err := Gemini().WriteAnswer(&want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Gemini().ReadAnswer(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got\n%s\nwant\n%s", geminiDump(got), geminiDump(want))
	}
}

func FuzzGeminiAnswer(f *testing.F) {
	f.Add([]byte(geminiSaid(`{"text":"a"},{"text":"hm","thought":true}`, "STOP")))
	f.Add([]byte(geminiSaid(`{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"AA=="}`, "STOP")))
	f.Add([]byte(`{"promptFeedback":{"blockReason":"SAFETY"}}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[]}}],"usageMetadata":{"toolUsePromptTokenCount":1}}`))
	f.Add([]byte(`{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := Gemini().ReadAnswer(body)
		if err != nil {
			return
		}
		b, err := Gemini().WriteAnswer(a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Gemini().ReadAnswer(b)
		if err != nil {
			t.Fatalf("%s\nbecame\n%s\n%v", body, b, err)
		}
		if a.Usage != again.Usage || a.ID != again.ID {
			t.Fatalf("%s\nbecame\n%s", body, b)
		}
	})
}
