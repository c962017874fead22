package upstream

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// gzipEvents sends three numbered events, compressed and flushed one by one,
// each after a token from next but the first.
func gzipEvents(next chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", events)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for i := range 3 {
			fmt.Fprintf(z, "data: %d\n\n", i)
			z.Flush()
			http.NewResponseController(w).Flush()
			<-next
		}
		z.Close()
	}
}

func encoded(encoding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		answer(200, jsonBody, body)(w, r)
	}
}

// cut answers and then breaks the connection.
func cut(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer(200, contentType, body)(w, r)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestKinds(t *testing.T) {
	redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }
	for _, tt := range []struct {
		name      string
		h         http.HandlerFunc
		stream    bool
		kind      Kind
		status    int
		retryable bool
	}{
		{"B094 HTML for JSON", answer(200, "text/html", "service overloaded"), false, BadResponse, 200, true},
		{"B094 HTML for a stream", answer(200, "text/html", "service overloaded"), true, BadResponse, 200, true},
		{"B094 text for JSON", answer(200, "text/plain", "service overloaded"), false, BadResponse, 200, true},
		{"B094 text for a stream", answer(200, "text/plain", "service overloaded\n"), true, BadResponse, 200, true},
		{"B094 empty body", answer(200, jsonBody, ""), false, BadResponse, 200, true},
		{"B094 blank body", answer(200, jsonBody, "\n\n"), false, BadResponse, 200, true},
		{"B094 empty stream", answer(200, events, ": nothing\n\n"), true, BadResponse, 200, true},
		{"no content", answer(204, jsonBody, ""), false, BadResponse, 204, true},
		{"stream for a body", answer(200, events, "data: 1\n\n"), false, BadResponse, 200, true},
		{"redirect", redirect, false, BadResponse, 302, true},
		{"B136 unknown encoding", encoded("br", "x"), false, BadResponse, 200, true},
		{"B136 unknown encoding of a stream", encoded("zstd", "x"), true, BadResponse, 200, true},
		{"B136 no gzip", encoded("gzip", "plain text, too long for a header"), false, BadResponse, 200, true},
		{"reset before headers", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, Reset, 0, true},
		{"body cut", cut(jsonBody, `{"a":`), false, Truncated, 200, true},
		{"body that ends too early", answer(200, jsonBody, `{"a":`), false, Truncated, 200, true},
		{"stream cut between events", cut(events, "data: 1\n\n"), true, Truncated, 200, true},
		{"B013 stream cut inside an event", cut(events, "data: 1\n\nevent: e\ndata: {\"ty"), true, Truncated, 200, true},
		{"stream cut inside its first event", cut(events, "data: {\"ty"), true, Truncated, 200, true},
		{"body too large", answer(200, jsonBody, `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), false, TooLarge, 200, false},
		{"B018 event too large", answer(200, events, "data: 1\n\ndata: "+strings.Repeat("x", 100)+"\n\n"), true, TooLarge, 200, false},
		{"first event is an error", answer(200, events, "data: {\"error\":{\"type\":\"server_error\"}}\n\n"), true, StreamError, 200, true},
		{"first event is overloaded", answer(200, events, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"), true, StreamError, 200, true},
		{"first event refuses the content", answer(200, events, "data: {\"error\": {\"code\":\"content_filter\"}}\n\n"), true, StreamError, 200, false},
		{"B060 context length", answer(400, jsonBody, `{"error":{"code":"context_length_exceeded"}}`), true, Rejected, 400, false},
		{"key", answer(401, jsonBody, `{}`), false, Unauthorized, 401, false},
		{"money", answer(402, jsonBody, `{}`), false, Unpaid, 402, false},
		{"unknown model", answer(404, jsonBody, `{}`), false, Rejected, 404, false},
		{"request timeout", answer(408, jsonBody, `{}`), false, Rejected, 408, true},
		{"limit", answer(429, jsonBody, `{"error":{"message":"check your quota"}}`), false, RateLimited, 429, true},
		{"B063 terminal code", answer(429, jsonBody, `{"error":{"code":"insufficient_quota"}}`), false, Unpaid, 429, false},
		{"flex capacity", answer(498, jsonBody, `{}`), false, Unavailable, 498, true},
		{"error", answer(500, jsonBody, `{}`), false, ServerError, 500, true},
		{"not implemented", answer(501, jsonBody, `{}`), false, ServerError, 501, false},
		{"bad gateway", answer(502, "text/html", `<html>`), false, Unavailable, 502, true},
		{"unavailable", answer(503, jsonBody, `{}`), true, Unavailable, 503, true},
		{"gateway timeout", answer(504, jsonBody, `{}`), false, Unavailable, 504, true},
		{"B086 overloaded", answer(529, jsonBody, `{}`), true, Unavailable, 529, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := take(serve(t, Provider{MaxEvent: 100}, tt.h), Call{Stream: tt.stream})
			f := asFailure(t, err)
			if f.Kind != tt.kind || f.Status != tt.status || f.Retryable != tt.retryable || !f.Sent {
				t.Errorf("got %v, status %d, retryable %v, sent %v (%v); want %v, %d, %v, true",
					f.Kind, f.Status, f.Retryable, f.Sent, err, tt.kind, tt.status, tt.retryable)
			}
			if f.Kind.String() == "unknown" || !strings.Contains(f.Error(), "provider test: "+f.Kind.String()) {
				t.Errorf("error reads %q", f)
			}
		})
	}
}

// The body of an error is kept for the caller (B060) and for the reason of a
// pause (B063, B070).
func TestStatusFailureContent(t *testing.T) {
	body := `{"error":{"message":"maximum context length is 16384 tokens"}}`
	_, err := take(serve(t, Provider{}, answer(400, jsonBody, body)), Call{})
	if f := asFailure(t, err); string(f.Body) != body || f.Header.Get("Content-Type") != jsonBody {
		t.Errorf("body %q, header %v", f.Body, f.Header)
	}
	c := serve(t, Provider{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1.5")
		answer(429, jsonBody, strings.Repeat("x", maxErrorBody+10))(w, r)
	})
	_, err = take(c, Call{})
	if f := asFailure(t, err); f.RetryAfter != 1500*time.Millisecond || len(f.Body) != maxErrorBody {
		t.Errorf("pause %v, %d bytes of body", f.RetryAfter, len(f.Body))
	}
	gemini := `{"error":{"code":429,"details":[{"@type":"RetryInfo","retryDelay": "34s"}]}}`
	_, err = take(serve(t, Provider{}, answer(429, jsonBody, gemini)), Call{})
	if f := asFailure(t, err); f.RetryAfter != 34*time.Second {
		t.Errorf("pause %v from the body, want 34s", f.RetryAfter)
	}
}

func TestDialFailure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there now
	c, err := NewClient(Provider{Name: "p", BaseURL: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = take(c, Call{})
	if f := asFailure(t, err); f.Kind != Dial || f.Sent || !f.Retryable {
		t.Errorf("got %+v", f)
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		t.Errorf("the cause is not wrapped: %v", err)
	}
}

// A TLS error is a failure to connect: nothing was sent.
func TestTLSFailure(t *testing.T) {
	c := serve(t, Provider{}, answer(200, jsonBody, "{}"))
	c.target.base.Scheme = "https" // the server speaks plain HTTP
	_, err := take(c, Call{})
	if f := asFailure(t, err); f.Kind != Dial || f.Sent {
		t.Errorf("got %+v", f)
	}
}

func TestCallerKinds(t *testing.T) {
	arrived := make(chan struct{}, 1)
	c := serve(t, Provider{}, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := c.Do(ctx, Call{Path: "/v1/x"})
	if f := asFailure(t, err); f.Kind != CallerGone || f.Retryable || !f.Sent {
		t.Errorf("cancelled: %+v", f)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Do(ctx, Call{Path: "/v1/x"})
	if f := asFailure(t, err); f.Kind != Deadline || f.Retryable {
		t.Errorf("deadline: %+v", f)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Do(gone, Call{Path: "/v1/x"})
	if f := asFailure(t, err); f.Kind != CallerGone || f.Sent {
		t.Errorf("gone before the call: %+v", f)
	}
}

func TestKindStrings(t *testing.T) {
	seen := map[string]bool{}
	for k := Unknown; k <= Rejected; k++ {
		s := k.String()
		if s == "" || seen[s] {
			t.Errorf("kind %d has no name of its own: %q", k, s)
		}
		seen[s] = true
	}
	if Kind(200).String() != "unknown" || len(kindNames) != int(Rejected)+1 {
		t.Error("names and kinds differ in number")
	}
}
