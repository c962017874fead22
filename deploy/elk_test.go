package deploy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// fullLine is what the logger writes of a request that everything happened to.
func fullLine(t *testing.T) map[string]any {
	t.Helper()
	var b bytes.Buffer
	m := telemetry.NewMetrics(prometheus.NewRegistry())
	r := &telemetry.Record{
		ID: "req_1", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", ClientIP: "192.0.2.7", Path: "/v1/chat/completions", Surface: "openai",
		Tenant: "bank", Model: "chat", AskedModel: "chat-latest", UpstreamModel: "big-1", Stream: true, Attempt: 1,
		Arrived: time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC), BytesIn: 512, BytesOut: 4096, Depth: 3,
		Outcome: telemetry.Cut, Status: 200, TTFT: time.Second, First: time.Second, Total: 3 * time.Second,
		Input: 900, Output: 101, Cached: 600, CacheWrite: 200, Reasoning: 40, Cost: 5000, Finish: telemetry.FinishStop,
		Key: "till", User: "anna", Session: "s1", Rungs: []string{"brief", "small"}, Lowest: admit.RungModel, Recalled: true,
	}
	m.Decided(r, &admit.Decision{Verdict: admit.Queue, Stage: admit.StageQueue, Wait: time.Second, Observed: true})
	m.Decided(r, &admit.Decision{Verdict: admit.Run, Stage: admit.StageDispatch, Wait: time.Second})
	m.Decided(r, &admit.Decision{
		Verdict: admit.Reject, Stage: admit.StageAgain, Need: time.Second, RetryAfter: time.Second, NoRetry: true, Limit: "predicted wait", Figure: 9000, Bound: 8000,
	})
	m.Attempted(r, &telemetry.Attempt{Deployment: "gpu/big", Kind: "reset", Status: 200})
	telemetry.NewLogger(&b).Request(r)
	var fields map[string]any
	if err := json.Unmarshal(b.Bytes(), &fields); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	return fields
}

// mapping is a field of the index template, or an object of them.
type mapping struct {
	Type       string             `json:"type"`
	Properties map[string]mapping `json:"properties"`
}

func flatten(m mapping, at string, into map[string]string) {
	for k, v := range m.Properties {
		if v.Type != "" {
			into[at+k] = v.Type
		}
		flatten(v, at+k+".", into)
	}
}

// mapped gives the types that fit a value of the log.
func mapped(v any) string {
	switch v.(type) {
	case string:
		return "keyword match_only_text wildcard ip date"
	case float64:
		return "long"
	case bool:
		return "boolean"
	}
	return ""
}

// Every field of a line has a mapping of its type, and every mapping a field.
func TestIndexTemplateMapsTheLog(t *testing.T) {
	text, err := os.ReadFile("elk/index-template.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Patterns []string         `json:"index_patterns"`
		Stream   *json.RawMessage `json:"data_stream"`
		Template struct {
			Mappings struct {
				Dynamic *bool `json:"dynamic"`
				mapping
			} `json:"mappings"`
		} `json:"template"`
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	if len(template.Patterns) != 1 || template.Patterns[0] != "logs-spillway-*" || template.Stream == nil {
		t.Errorf("for %v, a data stream %v", template.Patterns, template.Stream != nil)
	}
	if d := template.Template.Mappings.Dynamic; d == nil || *d {
		t.Error("mappings are dynamic: what callers write could add fields")
	}
	types := map[string]string{}
	flatten(template.Template.Mappings.mapping, "", types)
	line := fullLine(t)
	want := map[string]string{"@timestamp": "date", "message": "match_only_text", "client.ip": "ip", "url.path": "wildcard"}
	for field, v := range line {
		switch got := types[field]; {
		case got == "":
			t.Errorf("%s: no mapping in deploy/elk/index-template.json", field)
		case want[field] != "" && got != want[field] || !strings.Contains(mapped(v), got):
			t.Errorf("%s: mapped as %s, and is %v", field, got, v)
		}
		delete(types, field)
	}
	delete(types, "error.message") // of lines that are not about a request, see filebeat.yml
	for field := range types {
		t.Errorf("%s: mapped, but in no line", field)
	}
}

func TestFilebeatReadsTheLog(t *testing.T) {
	text, err := os.ReadFile("elk/filebeat.yml")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Inputs []struct {
			Type    string
			ID      string
			Paths   []string
			Parsers []map[string]map[string]any
		} `yaml:"filebeat.inputs"`
		Template bool `yaml:"setup.template.enabled"`
		Output   struct {
			Index string
		} `yaml:"output.elasticsearch"`
	}
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Inputs) != 1 || f.Inputs[0].Type != "filestream" || f.Inputs[0].ID == "" || len(f.Inputs[0].Paths) == 0 || len(f.Inputs[0].Parsers) != 1 {
		t.Fatalf("inputs: %+v", f.Inputs)
	}
	p := f.Inputs[0].Parsers[0]["ndjson"]
	if target, ok := p["target"]; !ok || target != "" {
		t.Errorf("fields go to %v, not to the root", target)
	}
	for _, k := range []string{"expand_keys", "overwrite_keys", "add_error_key"} {
		if p[k] != true {
			t.Errorf("ndjson: %s is %v", k, p[k])
		}
	}
	if !strings.HasPrefix(f.Output.Index, "logs-spillway-") {
		t.Errorf("index %s is not what the template is for", f.Output.Index)
	}
	if f.Template {
		t.Error("Filebeat would load its own template")
	}
}
