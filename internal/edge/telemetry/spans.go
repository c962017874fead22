package telemetry

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

const scopeName = "github.com/spillway-llm/spillway"

// resourceSpans are the spans of requests that have ended. They have no body, no
// header, no key, and nothing that names an end user.
func resourceSpans(records []*Record) []*tracepb.ResourceSpans {
	var spans []*tracepb.Span
	for _, r := range records {
		spans = append(spans, r.spans()...)
	}
	return []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: aboutUs()},
		SchemaUrl:  semconv.SchemaURL,
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: scopeName}, Spans: spans, SchemaUrl: semconv.SchemaURL}},
	}}
}

// aboutUs says whose spans they are.
var aboutUs = sync.OnceValue(func() (a attributes) {
	a.text(string(semconv.ServiceNameKey), "spillway")
	a.text(string(semconv.ServiceVersionKey), buildInfo()["version"])
	return a
})

// spans are the one of the request, and its children: the wait in the queue,
// each attempt, and the stream that the caller got.
func (r *Record) spans() []*tracepb.Span {
	trace, err := hex.DecodeString(r.TraceID)
	if err != nil || len(trace) != 16 { // it was checked where it came from
		return nil
	}
	end := r.Arrived.Add(r.Total)
	root := r.span(trace, r.SpanID, r.operation()+" "+clean(r.AskedModel), tracepb.Span_SPAN_KIND_SERVER, r.Arrived, end)
	if root.Name = strings.TrimSpace(root.Name); r.Parent != 0 {
		root.ParentSpanId = spanBytes(r.Parent)
		root.Flags |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	root.Attributes = r.attributes()
	if kind := r.errorType(); kind != "" {
		root.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
	}
	all := []*tracepb.Span{root}
	child := func(name string, kind tracepb.Span_SpanKind, id uint64, from, to time.Time) *tracepb.Span {
		s := r.span(trace, id, name, kind, from, to)
		s.ParentSpanId = root.SpanId
		all = append(all, s)
		return s
	}
	if r.queued {
		dispatched := end
		if r.ran {
			dispatched = r.Arrived.Add(r.Waited)
		}
		s := child("queue", tracepb.Span_SPAN_KIND_INTERNAL, NewSpanID(), r.Arrived, dispatched)
		s.Attributes = r.queueAttributes()
	}
	for i := range r.calls {
		c := &r.calls[i]
		s := child(strings.TrimSpace(r.operation()+" "+clean(c.Model)), tracepb.Span_SPAN_KIND_CLIENT, c.SpanID, c.Started, c.Started.Add(c.Service))
		s.Attributes = c.attributes(r.operation())
		if !c.OK {
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
		}
	}
	if r.TTFT > 0 {
		child("stream", tracepb.Span_SPAN_KIND_INTERNAL, NewSpanID(), r.Arrived.Add(r.TTFT), end)
	}
	return all
}

func (r *Record) span(trace []byte, id uint64, name string, kind tracepb.Span_SpanKind, from, to time.Time) *tracepb.Span {
	flags := uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if r.told {
		flags |= sampledFlag
	}
	return &tracepb.Span{
		TraceId: trace, SpanId: spanBytes(id), TraceState: r.TraceState, Flags: flags, Name: name, Kind: kind,
		StartTimeUnixNano: uint64(from.UnixNano()), EndTimeUnixNano: uint64(to.UnixNano()),
	}
}

// sampledFlag is that of W3C Trace Context.
const sampledFlag = 1

// operation is the kind of request in the words of the GenAI conventions.
func (r *Record) operation() string {
	switch {
	case strings.HasSuffix(r.Path, "/embeddings"):
		return semconv.GenAIOperationNameEmbeddings.Value.AsString()
	case strings.HasSuffix(r.Path, "/completions") && !strings.HasSuffix(r.Path, "/chat/completions"):
		return semconv.GenAIOperationNameTextCompletion.Value.AsString()
	}
	return semconv.GenAIOperationNameChat.Value.AsString()
}

// errorType is how a request failed that the gateway or an upstream has to
// answer for; empty if it did not.
func (r *Record) errorType() string {
	switch r.Outcome {
	case Failed, Cut:
		if r.Kind != "" {
			return r.Kind
		}
		return r.Outcome.String()
	case TimedOut:
		return r.Outcome.String()
	case Refused:
		if r.Status >= 500 {
			return r.Outcome.String()
		}
	}
	return ""
}

// attributes of the request: those of the conventions, then those of the
// decision, by the names of the request log.
func (r *Record) attributes() attributes {
	a := make(attributes, 0, 40)
	a.text(string(semconv.GenAIOperationNameKey), r.operation())
	a.text(string(semconv.GenAIRequestModelKey), r.AskedModel)
	a.mark(string(semconv.GenAIRequestStreamKey), r.Stream)
	a.text(string(semconv.GenAIResponseModelKey), r.UpstreamModel)
	if n := len(r.calls); n > 0 {
		a.text(string(semconv.GenAIProviderNameKey), r.calls[n-1].Provider)
	}
	if r.ran {
		a.number(string(semconv.GenAIUsageInputTokensKey), r.Input)
		a.number(string(semconv.GenAIUsageOutputTokensKey), r.Output)
		a.number(string(semconv.GenAIUsageCacheReadInputTokensKey), r.Cached)
		a.number(string(semconv.GenAIUsageCacheCreationInputTokensKey), r.CacheWrite)
		a.number(string(semconv.GenAIUsageReasoningOutputTokensKey), r.Reasoning)
	}
	a.seconds(string(semconv.GenAIResponseTimeToFirstChunkKey), r.TTFT)
	a.list(string(semconv.GenAIResponseFinishReasonsKey), r.Finish.String())
	a.text(string(semconv.HTTPRequestMethodKey), "POST")
	a.text(string(semconv.URLPathKey), r.Path)
	a.number(string(semconv.HTTPResponseStatusCodeKey), int64(r.Status))
	a.text(string(semconv.ErrorTypeKey), r.errorType())
	a.text("spillway.request.id", r.ID)
	a.text("spillway.kept", r.kept.String())
	a.text("spillway.outcome", r.Outcome.String())
	a.text("spillway.tenant", r.Tenant)
	a.text("spillway.model", r.Model)
	a.text("spillway.surface", r.Surface)
	a.number("spillway.attempt", int64(r.Attempt))
	a.number("spillway.deadline_ms", r.Deadline.Milliseconds())
	if r.decisions > 0 {
		r.decisionAttributes(&a)
	}
	a.list("spillway.rungs", r.Rungs...)
	if r.Recalled {
		a.text("spillway.recalled", recalledNames[r.recalled()])
	}
	if r.Attempts > 0 {
		a.number("spillway.attempts", int64(r.Attempts))
		a.text("spillway.deployment", r.Deployment)
		a.mark("spillway.tokens_estimated", !r.TokensKnown)
		a.number("spillway.cost_microdollars", r.Cost)
		a.mark("spillway.unpriced", r.unpriced())
	}
	return a
}

func (r *Record) decisionAttributes(a *attributes) {
	d := &r.Decision
	a.text("spillway.class", r.Class.String())
	a.text("spillway.verdict", d.Verdict.String())
	a.text("spillway.stage", d.Stage.String())
	a.number("spillway.predicted_wait_ms", r.PredictedWait.Milliseconds())
	a.number("spillway.wait_ms", r.Waited.Milliseconds())
	a.number("spillway.need_ms", d.Need.Milliseconds())
	a.mark("spillway.would_refuse", r.WouldRefuse)
	a.text("spillway.fallback", d.Model)
	if d.Verdict == admit.Reject {
		a.text("spillway.limit", d.Limit)
		a.number("spillway.figure", d.Figure)
		a.number("spillway.bound", d.Bound)
		a.number("spillway.retry_after_ms", d.RetryAfter.Milliseconds())
		a.mark("spillway.no_retry", d.NoRetry)
	}
}

func (r *Record) queueAttributes() attributes {
	var a attributes
	a.text("spillway.class", r.Class.String())
	a.number("spillway.predicted_wait_ms", r.PredictedWait.Milliseconds())
	a.number("spillway.depth", int64(max(r.Depth, 0)))
	return a
}

// attributes of an attempt.
func (t *Attempt) attributes(operation string) attributes {
	a := make(attributes, 0, 10)
	a.text(string(semconv.GenAIOperationNameKey), operation)
	a.text(string(semconv.GenAIProviderNameKey), t.Provider)
	a.text(string(semconv.GenAIRequestModelKey), t.Model)
	a.text(string(semconv.ServerAddressKey), t.Host)
	a.number(string(semconv.ServerPortKey), int64(t.Port))
	a.number(string(semconv.HTTPResponseStatusCodeKey), int64(t.Status))
	a.text("spillway.deployment", t.Deployment)
	a.text("spillway.kind", t.Kind)
	if !t.OK {
		a.text(string(semconv.ErrorTypeKey), t.Kind)
	}
	return a
}

func spanBytes(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }
