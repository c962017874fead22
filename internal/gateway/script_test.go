package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/mock"
)

// payloads are the data of a stream's events.
func payloads(body string) (out []string) {
	for block := range strings.SplitSeq(body, "\n\n") {
		if data, ok := strings.CutPrefix(block, "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

// errorOf reads an error body.
func errorOf(t *testing.T, body string) (e struct {
	Message, Type, Stage, Limit, Scope, Figure string
	Param, Code                                *string
	RequestID                                  string  `json:"request_id"`
	RetryAfterMs                               float64 `json:"retry_after_ms"`
}) {
	t.Helper()
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &v); err != nil || v["error"] == nil {
		t.Fatalf("no error object: %.300q", body)
	}
	for _, key := range []string{`"message"`, `"type"`, `"param"`, `"code"`} {
		if !bytes.Contains(v["error"], []byte(key)) {
			t.Errorf("the error object lacks %s: %s", key, v["error"])
		}
	}
	if err := json.Unmarshal(v["error"], &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// code is the code of an error body, "" for none.
func code(t *testing.T, body string) string {
	t.Helper()
	if e := errorOf(t, body); e.Code != nil {
		return *e.Code
	}
	return ""
}

// chunk is one event of a scripted stream.
func chunk(text string) string {
	return fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","model":"vendor/m-2026","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", text)
}

const (
	finish = `data: {"id":"c","object":"chat.completion.chunk","model":"vendor/m-2026","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usage  = `data: {"id":"c","object":"chat.completion.chunk","model":"vendor/m-2026","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}` + "\n\n"
	done   = "data: [DONE]\n\n"

	wholeAnswer = `{"id":"c","object":"chat.completion","model":"vendor/m-2026-01-02","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`
)

// events is an upstream that sends parts, flushing each.
func events(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		send(w, parts...)
	}
}

func send(w http.ResponseWriter, parts ...string) {
	for _, p := range parts {
		io.WriteString(w, p)
		http.NewResponseController(w).Flush()
	}
}

// reply is an upstream with one answer.
func reply(status int, contentType, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// calls counts and keeps what an upstream was sent.
type calls struct {
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
	next    http.Handler
}

func (c *calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.bodies, c.headers = append(c.bodies, string(b)), append(c.headers, r.Header)
	c.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(b))
	c.next.ServeHTTP(w, r)
}

func (c *calls) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.bodies)
}

// inTurn answers each call with the next handler, and with the last for ever.
func inTurn(hs ...http.HandlerFunc) *calls {
	var mu sync.Mutex
	n := 0
	return &calls{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := hs[min(n, len(hs)-1)]
		n++
		mu.Unlock()
		h(w, r)
	})}
}

// quick are mock settings whose every answer takes a second and eleven tokens.
func quick() mock.Settings {
	return mock.Settings{Slots: 64, ServiceMean: time.Second, Noise: new(0.0), OutputMean: 11, Seed: 1}
}
