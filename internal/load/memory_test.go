package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory is a network of pipes: it serves a handler without sockets, so that it works in a synctest bubble.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}
func (m *memory) Close() error   { m.once.Do(func() { close(m.closed) }); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// serve returns a transport to the handler. Everything ends with the test.
func serve(t testing.TB, h http.Handler) *http.Transport {
	t.Helper()
	m := &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h}
	go s.Serve(m)
	transport := newTransport(100)
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case m.conns <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.closed:
			return nil, errors.New("connection refused")
		}
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	return transport
}

// answerJSON writes a whole answer that took this slot time.
func answerJSON(w http.ResponseWriter, service float64) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"mock":{"service_s":%g}}`, service)
}

// answerStatus writes an OpenAI error.
func answerStatus(w http.ResponseWriter, status int, pairs ...string) {
	w.Header().Set("Content-Type", "application/json")
	for i := 0; i < len(pairs); i += 2 {
		w.Header().Set(pairs[i], pairs[i+1])
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"not today","type":"t","param":null,"code":"c%d"}}`, status)
}

const (
	roleChunk   = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"error":null}`
	tokenChunk  = `{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}`
	toolChunk   = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x"}]},"finish_reason":null}]}`
	finishChunk = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"mock":{"service_s":0.5}}`
	usageChunk  = `{"choices":[],"usage":{"prompt_tokens":1}}`
)

// stream writes parts one after another: a duration is a pause, a text an event.
func stream(w http.ResponseWriter, r *http.Request, parts ...any) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, part := range parts {
		switch part := part.(type) {
		case time.Duration:
			if !sleep(r.Context(), part) {
				return
			}
		case string:
			if !strings.HasPrefix(part, ":") && !strings.HasPrefix(part, "event:") {
				part = "data: " + part
			}
			fmt.Fprintf(w, "%s\n\n", part)
			w.(http.Flusher).Flush()
		}
	}
}
