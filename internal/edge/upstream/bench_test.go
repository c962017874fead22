package upstream

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const benchEvent = `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"big-1","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

// BenchmarkStream reads one endless stream over loopback: the server flushes
// every burst events.
func BenchmarkStream(b *testing.B) {
	for _, burst := range []int{1, 20} {
		b.Run("burst="+strconv.Itoa(burst), func(b *testing.B) {
			c := serve(b, Provider{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", events)
				part := strings.Repeat(benchEvent, burst)
				for {
					if _, err := io.WriteString(w, part); err != nil {
						return
					}
					http.NewResponseController(w).Flush()
				}
			})
			res, err := c.Do(b.Context(), Call{Path: "/v1/x", Stream: true})
			if err != nil {
				b.Fatal(err)
			}
			defer res.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := res.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCall is one whole call over loopback, server included, next to a
// bare RoundTrip of the same request.
func BenchmarkCall(b *testing.B) {
	c := serve(b, Provider{}, answer(200, jsonBody, `{"a":1}`))
	body := `{"model":"m"}`
	b.Run("Do", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := take(c, Call{Body: []byte(body)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("RoundTrip", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), "POST", c.p.BaseURL+"/v1/chat/completions", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			res, err := c.pool.at(time.Now()).RoundTrip(req)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	})
}

// BenchmarkLimits reads the headers of an answer that tells no limits, and of
// one that does.
func BenchmarkLimits(b *testing.B) {
	now := time.Now()
	for name, h := range map[string]http.Header{
		"none": headers("Content-Type: text/event-stream", "Date: Sun, 01 Mar 2026 12:00:00 GMT", "X-Request-Id: r"),
		"OpenAI": headers("x-ratelimit-limit-requests: 5000", "x-ratelimit-remaining-requests: 4999", "x-ratelimit-reset-requests: 12ms",
			"x-ratelimit-limit-tokens: 800000", "x-ratelimit-remaining-tokens: 79000", "x-ratelimit-reset-tokens: 6m0s"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ReadLimits(h, now)
			}
		})
	}
}

// BenchmarkFault judges a refusal, which under overload there are many of.
func BenchmarkFault(b *testing.B) {
	body := []byte(`{"error":{"message":"Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit 10000, Used 9800, Requested 900. Please try again in 4.2s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`)
	h := headers("Retry-After: 5")
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		statusFailure(429, h, body, now).Fault()
	}
}
