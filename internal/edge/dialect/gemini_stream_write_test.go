package dialect

import "testing"

func TestGeminiWriter(t *testing.T) {
	const tail = `,"role":"model"},"index":0}],"modelVersion":"alias","responseId":"r"}` + "\n\n"
	const head = `data: {"candidates":[{"content":{"parts":`
	for _, tt := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"text", []Event{{Kind: BlockBegin}, {Kind: Delta, Text: []byte("a\"\n")}, {Kind: Delta}, {Kind: BlockEnd}}, head + `[{"text":"a\"\n"}]` + tail},
		{"thinking", []Event{{Kind: BlockBegin, Block: Thinking}, {Kind: Delta, Text: []byte("hm")}, {Kind: Sign, Text: []byte("sig")}, {Kind: BlockEnd}},
			head + `[{"text":"hm","thought":true}]` + tail + head + `[{"text":"","thought":true,"thoughtSignature":"c3BpbGx3YXk6c2ln"}]` + tail},
		{"calls in parallel", []Event{
			{Kind: BlockBegin, Block: Thinking}, {Kind: Sign, Text: []byte("gemini-next:AA==")}, {Kind: BlockEnd},
			{Kind: BlockBegin, Index: 1, Block: ToolCall, ID: "x", Name: "f"}, {Kind: BlockBegin, Index: 2, Block: ToolCall, ID: "y", Name: "g"},
			{Kind: Delta, Index: 1, Text: []byte(`{"a":`)}, {Kind: Delta, Index: 2, Text: []byte(`{"b`)}, {Kind: Delta, Index: 1, Text: []byte("\n1}")},
			{Kind: BlockEnd, Index: 1}, {Kind: BlockEnd, Index: 2}},
			head + `[{"functionCall":{"id":"x","name":"f","args":{"a":1}},"thoughtSignature":"AA=="}]` + tail + head + `[{"functionCall":{"id":"y","name":"g","args":{}}}]` + tail},
		{"redacted", []Event{{Kind: BlockBegin, Block: Redacted, Data: "x"}, {Kind: BlockEnd}}, head + `[{"text":"","thought":true,"thoughtSignature":"cmVkYWN0ZWQ6eA=="}]` + tail},
		{"a sign of life", []Event{{Kind: Ping}}, head + `[{"text":""}]` + tail},
		{"the end", []Event{{Kind: Finish, Stop: StopLength}, {Kind: Used, Usage: geminiSpent}, {Kind: End}},
			head + `[{"text":""}],"role":"model"},"finishReason":"MAX_TOKENS","index":0}],"usageMetadata":{"promptTokenCount":103,"cachedContentTokenCount":40,"candidatesTokenCount":10,"thoughtsTokenCount":5,"totalTokenCount":118},"modelVersion":"alias","responseId":"r"}` + "\n\n"},
		{"a fault", []Event{{Kind: Fault, Code: "overloaded", Text: []byte("busy")}}, `data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}` + "\n\n"},
		{"a limit", []Event{{Kind: Fault, Code: "rate_limit"}}, `data: {"error":{"code":429,"message":"","status":"RESOURCE_EXHAUSTED"}}` + "\n\n"},
		{"a mistake", []Event{{Kind: Fault, Code: "invalid_request"}}, `data: {"error":{"code":400,"message":"","status":"INVALID_ARGUMENT"}}` + "\n\n"},
		{"a break", []Event{{Kind: Fault}}, `data: {"error":{"code":500,"message":"","status":"INTERNAL"}}` + "\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := Gemini().NewWriter(WriterOptions{Model: "alias"})
			got := w.Write(nil, &Event{Kind: Begin, ID: "r", Model: "m"})
			for i := range tt.events {
				got = w.Write(got, &tt.events[i])
			}
			if string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
