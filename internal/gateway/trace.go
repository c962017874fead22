package gateway

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// traceSettings are those of the configuration.
func traceSettings(c *config.Traces) telemetry.TraceSettings {
	s := telemetry.TraceSettings{Endpoint: c.Endpoint, Headers: map[string]string{}, Share: int(c.Sample), Parent: c.Parent}
	for name, value := range c.Headers {
		s.Headers[name] = string(value)
	}
	return s
}

// joinTrace takes up the caller's trace. Where requests are traced, one that
// came without gets a trace of its own; its ID is the request's, so that either
// leads to the other.
func (x *exchange) joinTrace() {
	r := &x.record
	t, ok := wire.ReadTrace(x.r.Header)
	if ok {
		r.TraceID, r.Parent, r.Sampled, r.TraceState = t.ID, t.Parent, t.Sampled, t.State
	} else if x.g.tracer.On() {
		r.TraceID = r.ID[len(requestPrefix):]
	}
	x.g.tracer.Begin(r)
}

// newSpan is the span of an attempt; zero if the request is not traced.
func (x *exchange) newSpan() uint64 {
	if x.record.SpanID == 0 {
		return 0
	}
	return telemetry.NewSpanID()
}

// passTrace tells the provider its place in the trace. Where requests are not
// traced it is the one that the caller told, if that is one at all.
func (x *exchange) passTrace(h http.Header, span uint64) {
	r := &x.record
	switch {
	case span != 0:
		wire.Trace{ID: r.TraceID, Parent: span, Sampled: r.Marked(), State: r.TraceState}.Write(h)
	case r.TraceID == "":
		wire.DropTrace(h)
	}
}

// providerNames are the kinds of providers in the words of the OpenTelemetry
// GenAI conventions.
var providerNames = map[config.Kind]string{
	config.OpenAI: "openai", config.Anthropic: "anthropic", config.Gemini: "gcp.gemini", config.Azure: "azure.ai.openai", config.Simulated: "simulated",
}

// address is the host and the port that a base URL names or means.
func address(base string) (host string, port int) {
	u, err := url.Parse(base)
	if err != nil {
		return "", 0
	}
	port, err = strconv.Atoi(u.Port())
	switch {
	case err == nil:
	case u.Scheme == "https":
		port = 443
	default:
		port = 80
	}
	return u.Hostname(), port
}
