package telemetry

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is the receiving end of OTLP/HTTP, in memory.
type collector struct {
	mu      sync.Mutex
	spans   []*tracepb.Span
	bodies  [][]byte
	headers []http.Header
	calls   int
	status  int   // to answer with; 0 is 200
	away    error // of connecting; nil lets everybody in

	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	server http.Server
}

func newCollector(t *testing.T) *collector {
	c := &collector{conns: make(chan net.Conn), closed: make(chan struct{})}
	c.server.Handler = c
	done := make(chan struct{})
	go func() { defer close(done); c.server.Serve(c) }()
	t.Cleanup(func() { c.server.Close(); <-done })
	return c
}

func (c *collector) Accept() (net.Conn, error) {
	select {
	case conn := <-c.conns:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

func (c *collector) Close() error   { c.once.Do(func() { close(c.closed) }); return nil }
func (c *collector) Addr() net.Addr { return &net.TCPAddr{} }

func (c *collector) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	c.mu.Lock()
	err := c.away
	c.mu.Unlock()
	if err != nil {
		return nil, &net.OpError{Op: "dial", Err: err}
	}
	ours, theirs := net.Pipe()
	select {
	case c.conns <- theirs:
		return ours, nil
	case <-c.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// becomes changes what the next calls meet.
func (c *collector) becomes(status int, away error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status, c.away = status, away
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(in)
	var q coltracepb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &q)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.bodies, c.headers = append(c.bodies, body), append(c.headers, r.Header)
	switch {
	case err != nil || r.URL.Path != "/v1/traces":
		w.WriteHeader(http.StatusBadRequest)
	case c.status != 0:
		http.Error(w, "CANARY of the collector", c.status)
	default:
		for _, rs := range q.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	}
}

// got is what has arrived.
func (c *collector) got() (spans []*tracepb.Span, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans, c.calls
}

// valuesOf are the attributes of a span in Go's types.
func valuesOf(s *tracepb.Span) map[string]any {
	m := map[string]any{}
	for _, a := range s.Attributes {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[a.Key] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			m[a.Key] = v.BoolValue
		case *commonpb.AnyValue_DoubleValue:
			m[a.Key] = v.DoubleValue
		case *commonpb.AnyValue_ArrayValue:
			var words []string
			for _, w := range v.ArrayValue.Values {
				words = append(words, w.GetStringValue())
			}
			m[a.Key] = words
		}
	}
	return m
}
