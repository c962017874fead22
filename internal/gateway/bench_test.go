package gateway

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// BenchmarkRelay is one stream of 1,000 events through the whole handler, so
// that a thousandth of it is the cost of an event without its system calls:
// the upstream sends all at once and the caller is a counter.
func BenchmarkRelay(b *testing.B) {
	const chunk = `data: {"id":"chatcmpl-5f2b8a6e9d1c4f07b3a2","object":"chat.completion.chunk","created":1764000000,"model":"up",` +
		`"system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" tokens"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	const end = `data: {"id":"c","object":"chat.completion.chunk","model":"up","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"id":"c","object":"chat.completion.chunk","model":"up","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1000,"total_tokens":1009}}` + "\n\n" +
		"data: [DONE]\n\n"
	stream := answerOf("text/event-stream", strings.Repeat(chunk, 1000)+end)
	for _, model := range []string{"up", "alias"} { // the same name upstream, and another
		b.Run(model, func(b *testing.B) {
			benchHandler(b, stream, `{"model":"`+model+`","stream":true,"messages":[{"role":"user","content":"Say much."}]}`)
		})
	}
}

// BenchmarkWhole is one request whose answer comes in one piece.
func BenchmarkWhole(b *testing.B) {
	answer := answerOf("application/json", `{"id":"chatcmpl-1","object":"chat.completion","created":1764000000,"model":"up","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":"`+strings.Repeat("An answer of some words. ", 30)+`"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":64,"completion_tokens":180,"total_tokens":244}}`)
	benchHandler(b, answer, `{"model":"up","messages":[{"role":"user","content":"Say something."}]}`)
}

// benchHandler runs a request again and again; more is further configuration.
func benchHandler(b *testing.B, answer []byte, request string, more ...string) {
	base := cannedUpstream(b, answer)
	c, err := config.Parse("bench", []byte(`
providers: {up: {base_url: "`+base+`"}}
models:
  up: {deployments: [{provider: up, model: up}]}
  alias: {deployments: [{provider: up, model: up}]}
`+strings.Join(more, "\n")), os.LookupEnv)
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(c, Options{Log: telemetry.NewLogger(io.Discard)})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	h := g.Handler()
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(request))
		if err != nil {
			b.Fatal(err)
		}
		r.RemoteAddr = "127.0.0.1:1"
		w := &counter{header: http.Header{}}
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK || w.bytes == 0 {
			b.Fatalf("status %d, %d bytes", w.status, w.bytes)
		}
	}
}

// counter is a caller without a connection.
type counter struct {
	header http.Header
	status int
	bytes  int
}

func (c *counter) Header() http.Header              { return c.header }
func (c *counter) WriteHeader(status int)           { c.status = status }
func (c *counter) Write(p []byte) (int, error)      { c.bytes += len(p); return len(p), nil }
func (c *counter) FlushError() error                { return nil }
func (c *counter) SetWriteDeadline(time.Time) error { return nil }

func answerOf(contentType, body string) []byte {
	return []byte("HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// cannedUpstream answers each request with the same bytes, without parsing
// more than where a small request ends, and returns its base URL.
func cannedUpstream(b *testing.B, answer []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf, used := make([]byte, 8<<10), 0
				for {
					n, err := conn.Read(buf[used:])
					if err != nil {
						return
					}
					if used += n; buf[used-1] != '}' { // the end of the JSON of these benchmarks, and of no part of it
						continue
					}
					used = 0
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/v1"
}
