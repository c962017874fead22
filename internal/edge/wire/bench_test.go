package wire

import (
	"fmt"
	"strings"
	"testing"
)

// requestBody is a chat request of about size bytes, with escapes and CJK.
func requestBody(size int) []byte {
	const turn = `{"role":"user","content":"Summarise the report: \"latency\" rose by 12 % in the last week.\nWhat should we do? 今天天气很好。 Keep it short, and name the numbers that matter most to the people on call."},`
	n := max(1, (size-300)/len(turn))
	return []byte(`{"model":"chat-large","messages":[` + strings.TrimSuffix(strings.Repeat(turn, n), ",") +
		`],"temperature":0.7,"stream":true,"max_completion_tokens":512,"metadata":{"team":"x","trace":"abc"},"user":"u-123","seed":42}`)
}

func BenchmarkParse(b *testing.B) {
	for _, kb := range []int{2, 32, 512} {
		body := requestBody(kb << 10)
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := Parse(ChatCompletions, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkForward(b *testing.B) {
	for _, kb := range []int{2, 32, 512} {
		body := requestBody(kb << 10)
		e, perr := Parse(ChatCompletions, body)
		if perr != nil {
			b.Fatal(perr)
		}
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ChatCompletions.Forward(body, e, "vendor/big-1", ForwardOptions{AskUsage: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMeasure(b *testing.B) {
	for _, tt := range []struct{ name, text string }{
		{"english", "Summarise the report and name the numbers that matter most to the people on call. "},
		{"chinese", "今天天气很好，我们去公园散步吧。"},
		{"code", "for i := 0; i < len(b); i++ {\n\tsum += int(b[i]) // \"a\"\n}\n"},
	} {
		body := chatBody(strings.Repeat(tt.text, 32<<10/len(tt.text)))
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				Measure(body)
			}
		})
	}
	b.Run("image", func(b *testing.B) {
		body := []byte(`{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,` + strings.Repeat("A", 1<<20) + `"}}]}]}`)
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			Measure(body)
		}
	})
}

var benchChunk = []byte(`{"id":"chatcmpl-9abcdefghijklmnop","object":"chat.completion.chunk","created":1790000000,"model":"big-1-2026-01-01","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],"usage":null}`)

func BenchmarkChunk(b *testing.B) {
	dst := make([]byte, 0, 512)
	bench := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
	bench("model", func() { ChunkModel(benchChunk, "chat-large", dst) })
	bench("usage", func() { ReadUsage(benchChunk) })
	bench("usage-only", func() { ReadChunk(benchChunk).UsageOnly() })
	bench("error", func() { ErrorInChunk(benchChunk) })
	bench("error-null", func() { ReadChunk(benchChunk).Rewrite("", dst) })
	bench("all-in-one", func() {
		c := ReadChunk(benchChunk)
		c.Usage()
		c.UsageOnly()
		c.Failure()
		c.Rewrite("chat-large", dst)
	})
	var chunks Chunks
	bench("in-a-stream", func() {
		c := chunks.Read(benchChunk)
		c.Usage()
		c.UsageOnly()
		c.Failure()
		c.Rewrite("chat-large", dst)
	})
}

func BenchmarkReadUsage(b *testing.B) {
	chunk := []byte(`{"id":"chatcmpl-9","choices":[],"usage":{"prompt_tokens":287,"completion_tokens":8,"total_tokens":295,"prompt_tokens_details":{"cached_tokens":256},"completion_tokens_details":{"reasoning_tokens":0}}}`)
	b.ReportAllocs()
	for b.Loop() {
		ReadUsage(chunk)
	}
}

func BenchmarkReadIntent(b *testing.B) {
	h := headers("X-Stainless-Timeout", "600", "X-Stainless-Retry-Count", "1", "Accept", "application/json", "X-Spillway-Class", "batch", "Prefer", "wait=10")
	b.ReportAllocs()
	for b.Loop() {
		ReadIntent(h)
	}
}

func BenchmarkErrorBody(b *testing.B) {
	e := &Error{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "too many requests", Stage: "quota", Limit: "requests_per_minute", Figure: "600"}
	b.ReportAllocs()
	for b.Loop() {
		e.Body()
	}
}
