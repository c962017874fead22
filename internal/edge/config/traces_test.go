package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestTraces(t *testing.T) {
	const base = "providers: {a: {base_url: http://h/v1}}\n"
	if got := parse(t, base).Traces; got.Endpoint != "" || got.Sample != 1 || !got.Parent {
		t.Errorf("%+v", got)
	}
	got := parse(t, base+"traces: {endpoint: 'http://127.0.0.1:4318/', headers: {x-key: 'k ${SECRET}'}, sample: 5%, parent: false}").Traces
	if got.Endpoint != "http://127.0.0.1:4318/v1/traces" || got.Headers["X-Key"] != "k s3cr3t" || got.Sample != 5 || got.Parent {
		t.Errorf("%+v", got)
	}
	if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
	if got := parse(t, base+"traces: {endpoint: 'https://collector.example.com/otlp/x'}").Traces.Endpoint; got != "https://collector.example.com/otlp/x" {
		t.Error("a path of its own was changed:", got)
	}
}

func TestBadTraces(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{endpoint: ''}", "endpoint is missing"},
		{"{headers: {a: b}}", "endpoint is missing"},
		{"{endpoint: 'collector:4318'}", "not a URL"},
		{"{endpoint: 'grpc://h:4317'}", "not a URL"},
		{"{endpoint: 'http://u:s3cr3t@h'}", "traces.headers"},
		{"{endpoint: 'http://h/?key=s3cr3t'}", "traces.headers"},
		{"{endpoint: 'http://h', headers: {Content-Type: text/plain}}", "set by the gateway"},
		{"{endpoint: 'http://h', headers: {a: x, A: y}}", "written twice"},
		{"{endpoint: 'http://h', sample: 101}", "above 100"},
	} {
		_, err := Parse("f", []byte("providers: {a: {base_url: http://h/v1}}\ntraces: "+c.text), func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}
