package config

import (
	"net/url"
	"strings"
)

// Traces says where spans of requests go. Without an endpoint there are none, and
// the trace context of callers is passed on as it came.
type Traces struct {
	// OTLP/HTTP URL of a collector, such as http://127.0.0.1:4318; a path other than /v1/traces is written with it. Default none: nothing is traced.
	Endpoint string `yaml:"endpoint"`
	// Headers of every call to the collector, such as a key. Default none.
	Headers map[string]Secret `yaml:"headers"`
	// Share of the ordinary requests that is kept. Those that were refused, degraded, failed, cut or late are always kept. Default 1%. Smaller costs less.
	Sample Percent `yaml:"sample" jsonschema:"minimum=0,maximum=100"`
	// Whether a request is kept whose caller keeps its own part of the trace. Default true. With false callers cannot raise the share.
	Parent bool `yaml:"parent"`
}

const tracesPath = "/v1/traces"

func (t *Traces) setDefaults() { t.Sample, t.Parent = 1, true }

// check also completes the endpoint.
func (t *Traces) check(d *document) {
	const at = "traces.endpoint"
	if t.Endpoint == "" {
		if d.wrote(at) || d.wrote("traces.headers") {
			d.fail("traces", "endpoint is missing, such as endpoint: http://127.0.0.1:4318; leave the section out to trace nothing")
		}
		return
	}
	u, err := url.Parse(t.Endpoint)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		d.fail(at, "not a URL that can be called; write it like http://127.0.0.1:4318")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		d.fail(at, "may hold no user, query or fragment, which OTLP does not send; a key goes into traces.headers")
	case strings.Trim(u.Path, "/") == "":
		u.Path = tracesPath
		t.Endpoint = u.String()
	}
	t.Headers = checkHeaders(d, join("traces", "headers"), t.Headers, false)
}
