package dialect

import (
	"fmt"
	"strings"
	"testing"
)

var chatDeltas = []struct{ name, chunk string }{
	{"text", `{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1700000000,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" wörld \"is\"\n"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"abcdef"}`},
	{"thinking", `{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1700000000,"model":"deepseek","choices":[{"index":0,"delta":{"content":null,"reasoning_content":" hmm"},"finish_reason":null}]}`},
	{"arguments", `{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1700000000,"model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]},"finish_reason":null}]}`},
}

func BenchmarkChatReadDelta(b *testing.B) {
	for _, d := range chatDeltas {
		b.Run(d.name, func(b *testing.B) {
			r := Chat().NewReader()
			mustReadChat(b, r, `{"id":"chatcmpl-9","model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant"}}]}`)
			if d.name == "arguments" {
				mustReadChat(b, r, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}}]}`)
			}
			data := []byte(d.chunk)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if events, err := r.Read(nil, data); err != nil || len(events) == 0 {
					b.Fatal(events, err)
				}
			}
		})
	}
}

// A delta costs no allocation once the reader and the writer are warm, and a
// chunk with usage one.
func TestChatDeltaAllocations(t *testing.T) {
	const usage = `{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`
	for _, tt := range []struct {
		name, chunk string
		most        float64
	}{{"text", chatDeltas[0].chunk, 0}, {"thinking", chatDeltas[1].chunk, 0}, {"usage", usage, 1}} {
		r := Chat().NewReader()
		w := Chat().NewWriter(WriterOptions{Model: "m", Usage: true})
		var dst []byte
		data := []byte(tt.chunk)
		got := testing.AllocsPerRun(100, func() {
			events, err := r.Read(nil, data)
			if err != nil {
				t.Fatal(err)
			}
			dst = dst[:0]
			for i := range events {
				dst = w.Write(dst, &events[i])
			}
		})
		if got > tt.most || len(dst) == 0 {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}

func BenchmarkChatWriteDelta(b *testing.B) {
	for _, kind := range []PartKind{Text, Thinking, ToolCall} {
		b.Run([]string{Text: "text", Thinking: "thinking", ToolCall: "arguments"}[kind], func(b *testing.B) {
			w := Chat().NewWriter(WriterOptions{Model: "m", ID: "chatcmpl-1", Created: 1700000000, Usage: true})
			dst := w.Write(nil, &Event{Kind: Begin})
			dst = w.Write(dst, &Event{Kind: BlockBegin, Block: kind, ID: "c", Name: "f"})
			e := &Event{Kind: Delta, Text: []byte(" wörld \"is\"\n")}
			b.ReportAllocs()
			for b.Loop() {
				dst = w.Write(dst[:0], e)
			}
		})
	}
}

func BenchmarkChatReadRequest(b *testing.B) {
	body := []byte(chatRich)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Chat().ReadRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

// A conversation of 1.2 MB, nearly all of it text with escapes.
func BenchmarkChatReadLongRequest(b *testing.B) {
	said := fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q}]}`, strings.Repeat("some words \"here\" ü\n", 200))
	body := []byte(chatSays(said + strings.Repeat(","+said, 249)))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Chat().ReadRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChatWriteRequest(b *testing.B) {
	r, err := Chat().ReadRequest([]byte(chatRich))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Chat().WriteRequest(r); err != nil {
			b.Fatal(err)
		}
	}
}

func mustReadChat(t testing.TB, r Reader, chunk string) []Event {
	t.Helper()
	events, err := r.Read(nil, []byte(chunk))
	if err != nil {
		t.Fatalf("%s: %v", chunk, err)
	}
	return events
}
