package telemetry

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// told is a request that waited a second, was sent twice, and streamed.
func told() *Record {
	m := NewMetrics(prometheus.NewRegistry())
	m.Configure(names)
	r := newRecord()
	r.SpanID, r.Parent, r.TraceState, r.Deadline, r.kept, r.told = 0xabcdef, 0x00f067aa0ba902b7, "a=1", time.Minute, keptParent, true
	m.Decided(r, &queueIt)
	m.Decided(r, &dispatch)
	m.Attempted(r, &Attempt{
		Deployment: "hosted/big", Kind: "reset", SpanID: 1, Started: t0.Add(time.Second), Service: 100 * time.Millisecond,
		Model: "big-0", Provider: "anthropic", Host: "api.example.com", Port: 443,
	})
	m.Attempted(r, &Attempt{
		Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true, SpanID: 2, Started: t0.Add(1100 * time.Millisecond), Service: 2200 * time.Millisecond,
		Model: "big-1", Provider: "openai", Host: "gpu.example.com", Port: 8000,
	})
	answer(r)
	return r
}

func TestSpans(t *testing.T) {
	spans := told().spans()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for i, want := range []struct {
		name     string
		kind     tracepb.Span_SpanKind
		from, to time.Duration
		failed   bool
		id       uint64
	}{
		{"chat chat", tracepb.Span_SPAN_KIND_SERVER, 0, 3300 * time.Millisecond, false, 0xabcdef},
		{"queue", tracepb.Span_SPAN_KIND_INTERNAL, 0, time.Second, false, 0},
		{"chat big-0", tracepb.Span_SPAN_KIND_CLIENT, time.Second, 1100 * time.Millisecond, true, 1},
		{"chat big-1", tracepb.Span_SPAN_KIND_CLIENT, 1100 * time.Millisecond, 3300 * time.Millisecond, false, 2},
		{"stream", tracepb.Span_SPAN_KIND_INTERNAL, 1300 * time.Millisecond, 3300 * time.Millisecond, false, 0},
	} {
		if i >= len(spans) {
			t.Fatalf("no span %s", want.name)
		}
		s := spans[i]
		from, to := time.Unix(0, int64(s.StartTimeUnixNano)).Sub(t0), time.Unix(0, int64(s.EndTimeUnixNano)).Sub(t0)
		if s.Name != want.name || s.Kind != want.kind || from != want.from || to != want.to || (s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR) != want.failed {
			t.Errorf("%d: %s %v from %v to %v, %v; want %+v", i, s.Name, s.Kind, from, to, s.Status, want)
		}
		parent := spanBytes(0xabcdef)
		if i == 0 {
			parent = spanBytes(0x00f067aa0ba902b7)
		}
		if !bytes.Equal(s.ParentSpanId, parent) || want.id != 0 && !bytes.Equal(s.SpanId, spanBytes(want.id)) || bytes.Equal(s.SpanId, spanBytes(0)) {
			t.Errorf("%s: span %x of %x", s.Name, s.SpanId, s.ParentSpanId)
		}
		remote := s.Flags&uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK) != 0
		if textOf(s.TraceId) != trace || s.TraceState != "a=1" || s.Flags&sampledFlag == 0 || remote != (i == 0) {
			t.Errorf("%s: trace %x, state %q, flags %x", s.Name, s.TraceId, s.TraceState, s.Flags)
		}
	}
	if len(spans) != 5 {
		t.Errorf("%d spans", len(spans))
	}
}

func textOf(id []byte) string {
	var l line
	for _, b := range id {
		l = append(l, "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15])
	}
	return string(l)
}

func TestAttributes(t *testing.T) {
	spans := told().spans()
	root, failed := valuesOf(spans[0]), valuesOf(spans[2])
	for key, want := range map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "chat", "gen_ai.response.model": "big-1", "gen_ai.provider.name": "openai",
		"gen_ai.request.stream": true, "gen_ai.usage.input_tokens": int64(900), "gen_ai.usage.output_tokens": int64(101),
		"gen_ai.usage.cache_read.input_tokens": int64(600), "gen_ai.response.time_to_first_chunk": 1.3,
		"http.response.status_code": int64(200), "spillway.tenant": "bank", "spillway.class": "interactive", "spillway.verdict": "run",
		"spillway.stage": "dispatch", "spillway.predicted_wait_ms": int64(800), "spillway.wait_ms": int64(1000), "spillway.kept": "parent",
		"spillway.attempts": int64(2), "spillway.cost_microdollars": int64(5000), "spillway.deadline_ms": int64(60000), "error.type": nil,
	} {
		if root[key] != want {
			t.Errorf("request: %s is %v, want %v", key, root[key], want)
		}
	}
	if f := root["gen_ai.response.finish_reasons"].([]string); len(f) != 1 || f[0] != "stop" {
		t.Errorf("finish reasons %v", f)
	}
	for key, want := range map[string]any{
		"gen_ai.provider.name": "anthropic", "gen_ai.request.model": "big-0", "server.address": "api.example.com", "server.port": int64(443),
		"error.type": "reset", "spillway.deployment": "hosted/big", "http.response.status_code": nil,
	} {
		if failed[key] != want {
			t.Errorf("attempt: %s is %v, want %v", key, failed[key], want)
		}
	}
}

// A refusal has no attempt, and is no error of the server unless its status is
// one.
func TestRefusedSpans(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	r := newRecord()
	r.SpanID = 1
	m.Decided(r, &queueIt)
	m.Decided(r, &late)
	r.Outcome, r.Status, r.Total = Refused, 429, 8*time.Second
	spans := r.spans()
	if len(spans) != 2 || spans[1].Name != "queue" || spans[1].EndTimeUnixNano != uint64(t0.Add(8*time.Second).UnixNano()) {
		t.Fatalf("%v", spans)
	}
	if spans[0].Status != nil || len(spans[0].ParentSpanId) != 0 || valuesOf(spans[0])["spillway.stage"] != "late" {
		t.Errorf("%v", spans[0])
	}
	if r.Status = 503; r.spans()[0].GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Error("a 503 is none")
	}
}

// Every attribute is in the documentation. (The reverse is TestAttributes'.)
func TestAttributesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	refused := newRecord()
	refused.SpanID, refused.decisions, refused.Decision, refused.Attempt = 1, 1, refuseIt, 1
	refused.Decision.NoRetry, refused.WouldRefuse, refused.Outcome, refused.Status = true, true, Refused, 503
	other := told()
	other.Recalled, other.Rungs, other.Decision.Model, other.Priced = true, []string{"small"}, "embed", false
	other.TokensKnown = false
	seen := map[string]bool{}
	for _, s := range append(refused.spans(), other.spans()...) {
		for key := range valuesOf(s) {
			seen[key] = true
			if !bytes.Contains(doc, []byte("`"+key+"`")) {
				t.Errorf("docs/operating.md does not name %s", key)
			}
		}
	}
	if len(seen) < 45 {
		t.Errorf("only %d attributes seen", len(seen))
	}
}

// Callers choose some of the texts. They are cut, and what is no text does not
// spoil the batch; what is secret or personal is in none.
func TestTracesHoldNothingPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, c, _ := tracing(t, 0)
		r := told()
		r.AskedModel = strings.Repeat("x", 10_000) + "CANARY"
		r.UpstreamModel = "bad\xff\xfetext"
		r.calls[0].Model = "\xff"
		r.Rungs = []string{"\xff"}
		r.Key, r.User, r.Session, r.ClientIP = "CANARY-key", "CANARY-user", "CANARY-session", "192.0.2.99"
		tr.Finished(r)
		time.Sleep(2 * traceEvery)
		synctest.Wait()
		spans, _ := c.got()
		if len(spans) != 5 {
			t.Fatalf("%d spans", len(spans))
		}
		if got := valuesOf(spans[0])["gen_ai.response.model"]; got != "bad\uFFFDtext" {
			t.Errorf("%q", got)
		}
		for _, secret := range []string{"CANARY", "192.0.2.99"} {
			if bytes.Contains(c.bodies[0], []byte(secret)) {
				t.Errorf("%s was sent", secret)
			}
		}
		if n := len(c.bodies[0]); n > 6000 {
			t.Errorf("%d bytes for one request", n)
		}
	})
}

func TestOperations(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/chat/completions": "chat", "/v1/messages": "chat", "/v1/responses": "chat", "/v1/completions": "text_completion", "/v1/embeddings": "embeddings",
	} {
		if got := (&Record{Path: path}).operation(); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestExemplars(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	m.Configure(names)
	for _, kept := range []keptBy{notKept, keptSample} {
		r := newRecord()
		r.kept = kept
		m.Decided(r, &dispatch)
		answer(r)
		m.Finished(r)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, f := range families {
			for _, series := range f.GetMetric() {
				for _, b := range series.GetHistogram().GetBucket() {
					for _, l := range b.GetExemplar().GetLabel() {
						found[f.GetName()] = l.GetName() + "=" + l.GetValue()
					}
				}
			}
		}
		for _, name := range []string{"spillway_request_duration_seconds", "spillway_time_to_first_token_seconds", "spillway_wait_seconds"} {
			want := ""
			if kept != notKept {
				want = "trace_id=" + r.TraceID
			}
			if found[name] != want {
				t.Errorf("kept %q: %s has %q, want %q", kept, name, found[name], want)
			}
		}
	}
}

// The spans of one request: their making, and their form on the wire.
func BenchmarkSpans(b *testing.B) {
	r := []*Record{told()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := proto.Marshal(resourceSpans(r)[0]); err != nil {
			b.Fatal(err)
		}
	}
}

// What the tracer costs the request itself, by whether its trace is kept. The
// spans of one that is kept come on top, in another goroutine.
func BenchmarkTracer(b *testing.B) {
	for _, c := range []struct {
		name    string
		on      bool
		outcome Outcome
	}{{"off", false, Answered}, {"ordinary", true, Answered}, {"kept", true, Refused}} {
		b.Run(c.name, func(b *testing.B) {
			tr := NewTracer(nil, nil)
			tr.which.Store(&TraceSettings{})
			if c.on {
				l := &traceLink{t: tr, queue: make(chan *Record, 2)}
				tr.link.Store(l)
				defer tr.link.Store(nil)
			}
			r := newRecord()
			answer(r)
			r.Outcome = c.outcome
			b.ReportAllocs()
			for b.Loop() {
				r.SpanID = 0
				tr.Begin(r)
				tr.Finished(r)
				if l := tr.link.Load(); l != nil && len(l.queue) > 0 {
					<-l.queue
				}
			}
		})
	}
}
