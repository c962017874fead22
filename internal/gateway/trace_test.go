package gateway

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	collectorConf = "traces: {endpoint: 'http://collector:4318', headers: {X-Key: CANARY-collector}, sample: SHARE}\n"

	callersTrace = "0123456789abcdef0123456789abcdef"
	callersSpan  = "00f067aa0ba902b7"
	sampled      = "00-" + callersTrace + "-" + callersSpan + "-01"
	notSampled   = "00-" + callersTrace + "-" + callersSpan + "-00"
)

// collector receives the spans of a gateway.
type collector struct {
	mu     sync.Mutex
	bodies []byte
	all    []*tracepb.Span
}

// traced is a gateway with a collector that keeps a share of what is ordinary.
func traced(t *testing.T, conf, share string, upstream any) (*rig, *collector) {
	t.Helper()
	r := setup(t, conf+strings.ReplaceAll(collectorConf, "SHARE", share), upstream)
	c := &collector{}
	server := &http.Server{Handler: c}
	done := make(chan struct{})
	l := r.net.listen("collector:4318")
	go func() { defer close(done); server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-done })
	return r, c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in, err := gzip.NewReader(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(in)
	var q coltracepb.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &q) != nil || r.Header.Get("X-Key") != "CANARY-collector" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, body...)
	for _, rs := range q.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.all = append(c.all, ss.Spans...)
		}
	}
}

// spans are what has come a while after the last request, in order.
func (c *collector) spans() []*tracepb.Span {
	time.Sleep(3 * time.Second)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

func textOf(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// slow waits before an upstream does something.
func slow(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { time.Sleep(d); h(w, r) }
}

// A caller's trace goes through the gateway: its request waits for the slot, is
// tried twice, and streams.
func TestTraceOfARequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := inTurn(
			slow(time.Second, reply(200, "application/json", wholeAnswer)),
			fails(503),
			slow(500*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				send(w, chunk("CANARY-answer"))
				time.Sleep(250 * time.Millisecond)
				send(w, finish, usage, done)
			}),
		)
		r, c := traced(t, one(1, tenantsOf("{name: a, keys: [{hash: KEY, name: CANARY-name}]}")), "0", up)
		key := []string{"Authorization", "Bearer secret"}
		before := r.background(t.Context(), chatPath, plainAsk, key...)
		time.Sleep(100 * time.Millisecond)
		t0 := time.Now()
		a := r.ask(chatPath, `{"model":"chat","stream":true,"user":"CANARY-user","messages":[{"role":"user","content":"CANARY-prompt"}]}`,
			append(key, "Traceparent", sampled, "Tracestate", "a=1", "X-Spillway-Session", "CANARY-session", "Cookie", "CANARY-cookie")...)
		took := time.Since(t0)
		if <-before; a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		spans := c.spans()
		if len(spans) != 5 {
			t.Fatalf("%d spans, want those of the one request", len(spans))
		}
		request, queue, first, second, stream := spans[0], spans[1], spans[2], spans[3], spans[4]
		at := func(nanos uint64) time.Duration { return time.Unix(0, int64(nanos)).Sub(t0) }
		const dispatch = 900 * time.Millisecond
		begin := at(second.StartTimeUnixNano)
		for _, s := range []struct {
			span     *tracepb.Span
			name     string
			from, to time.Duration
			parent   string
		}{
			{request, "chat chat", 0, took, callersSpan},
			{queue, "queue", 0, dispatch, hex.EncodeToString(request.SpanId)},
			{first, "chat vendor/m-2026", dispatch, dispatch, hex.EncodeToString(request.SpanId)},
			{second, "chat vendor/m-2026", begin, begin + 750*time.Millisecond, hex.EncodeToString(request.SpanId)},
			{stream, "stream", begin + 500*time.Millisecond, begin + 750*time.Millisecond, hex.EncodeToString(request.SpanId)},
		} {
			if s.span.Name != s.name || at(s.span.StartTimeUnixNano) != s.from || at(s.span.EndTimeUnixNano) != s.to || hex.EncodeToString(s.span.ParentSpanId) != s.parent {
				t.Errorf("%s from %v to %v of %x, want %+v", s.span.Name, at(s.span.StartTimeUnixNano), at(s.span.EndTimeUnixNano), s.span.ParentSpanId, s)
			}
			if hex.EncodeToString(s.span.TraceId) != callersTrace || s.span.TraceState != "a=1" {
				t.Errorf("%s: trace %x, %q", s.span.Name, s.span.TraceId, s.span.TraceState)
			}
		}
		if begin < dispatch || took != begin+750*time.Millisecond {
			t.Errorf("the second attempt began after %v, all ended after %v", begin, took)
		}
		if first.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || second.Status != nil || textOf(second, "server.address") != "127.0.0.1" || textOf(second, "gen_ai.provider.name") != "openai" {
			t.Errorf("%v\n%v", first, second)
		}
		for i, s := range []*tracepb.Span{first, second} { // the provider's spans are children of the attempts
			if h := up.headers[i+1]; h.Get("Traceparent") != "00-"+callersTrace+"-"+hex.EncodeToString(s.SpanId)+"-01" || h.Get("Tracestate") != "a=1" {
				t.Errorf("attempt %d was sent %v", i, h)
			}
		}
		if line := r.ended(2); line["trace.id"] != callersTrace || line["span.id"] != hex.EncodeToString(request.SpanId) {
			t.Errorf("log: %v", line)
		}
		for _, secret := range []string{"CANARY", "secret"} {
			if bytes.Contains(c.bodies, []byte(secret)) {
				t.Errorf("%s was sent to the collector", secret)
			}
		}
	})
}

// Whatever the share, what is out of the ordinary is kept.
func TestTracesByEnd(t *testing.T) {
	answers := reply(200, "application/json", wholeAnswer)
	tooLong := reply(400, "application/json", `{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`)
	two := fmt.Sprintf(provider, "") + `
models:
  chat: {deployments: [{provider: up, model: vendor/m-2026, concurrency: 1}], fallback: {context: [other]}}
  other: {deployments: [{provider: up, model: vendor/other, concurrency: 1}]}
`
	for _, c := range []struct {
		name   string
		conf   string
		ask    string
		up     http.Handler
		header []string
		want   string // what keeps it; empty if it is not kept
	}{
		{"ordinary", one(1), plainAsk, answers, nil, ""},
		{"kept by its caller", one(1), plainAsk, answers, []string{"Traceparent", sampled}, "parent"},
		{"not kept by its caller", one(1), plainAsk, answers, []string{"Traceparent", notSampled}, ""},
		{"no model of ours", one(1), `{"model":"nobody","messages":[]}`, answers, []string{"Traceparent", notSampled}, ""},
		{"without a key", one(1, tenantsOf("{name: a, keys: [KEY]}")), plainAsk, answers, []string{"Traceparent", sampled}, ""},
		{"refused", one(1, tenantsOf("{name: a, keys: [KEY], limits: {rpm: 1}}")), plainAsk, answers, []string{"Authorization", "Bearer secret"}, "refused"},
		{"failed", one(1), plainAsk, fails(500), nil, "failed"},
		{"cut", one(1), streamAsk, then(events(chunk("a")), abort), nil, "failed"},
		{"late", one(1), plainAsk, slow(3*time.Second, answers), []string{"X-Spillway-Deadline-Ms", "2000"}, "late"},
		{"late by its class", one(1, "classes: {interactive: {deadline: 2s}}\n"), plainAsk, slow(3*time.Second, answers), nil, "late"},
		{"by another model", two, plainAsk, inTurn(tooLong, answers), nil, "degraded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r, col := traced(t, c.conf, "0", c.up)
				a := r.ask(chatPath, c.ask, c.header...)
				if c.want == "refused" { // the second in a minute
					a = r.ask(chatPath, c.ask, c.header...)
				}
				spans := col.spans()
				switch {
				case c.want == "" && len(spans) > 0:
					t.Errorf("%d %s: kept, by %s", a.status, a.body, textOf(spans[0], "spillway.kept"))
				case c.want != "" && len(spans) == 0:
					t.Errorf("%d %s: not kept", a.status, a.body)
				case c.want != "" && textOf(spans[0], "spillway.kept") != c.want:
					t.Errorf("%d %s: kept by %s, want %s", a.status, a.body, textOf(spans[0], "spillway.kept"), c.want)
				}
			})
		})
	}
}

// A request without a trace gets one by the name of its own ID, and the provider
// is told whether it is kept.
func TestTraceOfItsOwn(t *testing.T) {
	for share, flag := range map[string]string{"0": "-00", "100": "-01"} {
		bubble(t, func(t *testing.T) {
			up := inTurn(reply(200, "application/json", wholeAnswer))
			r, c := traced(t, one(1), share, up)
			a := r.ask(chatPath, plainAsk, "Traceparent", "00-1", "Tracestate", "a=1")
			id := strings.TrimPrefix(a.header.Get("X-Request-Id"), "req_")
			if got := up.headers[0].Get("Traceparent"); len(id) != 32 || !strings.HasPrefix(got, "00-"+id+"-") || !strings.HasSuffix(got, flag) || up.headers[0].Get("Tracestate") != "" {
				t.Errorf("%s%%: request %s was sent on with %v", share, id, up.headers[0])
			}
			spans := c.spans()
			if kept := len(spans) > 0; kept != (share == "100") || kept && (len(spans) != 2 || hex.EncodeToString(spans[0].TraceId) != id || len(spans[0].ParentSpanId) > 0) {
				t.Errorf("%s%%: %v", share, spans)
			}
		})
	}
}

// Without an endpoint the gateway takes no part: the provider's spans are
// children of the caller's.
func TestTraceUntouched(t *testing.T) {
	for _, c := range []struct{ sent, want string }{{sampled, sampled}, {"00-1", ""}, {"", ""}} {
		bubble(t, func(t *testing.T) {
			up := inTurn(reply(200, "application/json", wholeAnswer))
			r := setup(t, one(1), up)
			header := []string{"Tracestate", "a=1"}
			if c.sent != "" {
				header = append(header, "Traceparent", c.sent)
			}
			r.ask(chatPath, plainAsk, header...)
			state := "a=1"
			if c.want == "" {
				state = ""
			}
			if h := up.headers[0]; h.Get("Traceparent") != c.want || h.Get("Tracestate") != state {
				t.Errorf("%q was sent on as %v", c.sent, h)
			}
			if line := r.ended(1); line["span.id"] != nil || c.want == "" && line["trace.id"] != nil {
				t.Errorf("log: %v", line)
			}
		})
	}
}

// Requests go on while there is no collector, and while the endpoint changes.
func TestTracesReload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, c := traced(t, one(4), "100", reply(200, "application/json", wholeAnswer))
		ask := func(conf string) {
			t.Helper()
			if err := r.g.Apply(parse(t, one(4)+conf)); err != nil {
				t.Fatal(err)
			}
			if a := r.ask(chatPath, plainAsk); a.status != 200 || a.took > 0 {
				t.Errorf("%d after %v: %s", a.status, a.took, a.body)
			}
		}
		ask("traces: {endpoint: 'http://nobody:4318', sample: 100}\n")
		ask("")
		ask(strings.ReplaceAll(collectorConf, "SHARE", "100"))
		if n := len(c.spans()); n != 2 {
			t.Errorf("%d spans, want those of one request", n)
		}
		said := 0
		for _, line := range r.log.all {
			if m, _ := line["message"].(string); strings.Contains(m, "restart") {
				t.Error(m)
			} else if strings.Contains(m, "do not reach the collector") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("the collector that is not there was told of %d times", said)
		}
	})
}
