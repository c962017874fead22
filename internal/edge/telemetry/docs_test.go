package telemetry

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var update = flag.Bool("update", false, "rewrite docs/metrics.md")

const metricsDoc = "../../../docs/metrics.md"

// described registers collectors by keeping what they say of themselves.
type described struct{ descs []string }

func (d *described) Register(c prometheus.Collector) error {
	ch := make(chan *prometheus.Desc)
	go func() { c.Describe(ch); close(ch) }()
	for x := range ch {
		d.descs = append(d.descs, x.String())
	}
	return nil
}

func (d *described) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		d.Register(c)
	}
}

func (d *described) Unregister(prometheus.Collector) bool { return false }

var descForm = regexp.MustCompile(`^Desc\{fqName: "(spillway_[a-z_]+)", help: "(.*?)"(?:, unit: "[a-z]*")?, constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// metrics is every metric of ours, by name: its labels and its help.
func metrics(t *testing.T) (names []string, lines map[string]string) {
	t.Helper()
	var d described
	m := NewMetrics(&d)
	m.WatchStates(func() (s States) { return s })
	m.WatchLedger(func() (s LedgerState) { return s })
	m.WatchAnswers(func() (s AnswersState) { return s })
	m.WatchTraces(func() (s TracesState) { return s })
	lines = map[string]string{}
	for _, text := range d.descs {
		f := descForm.FindStringSubmatch(text)
		if f == nil {
			if strings.Contains(text, "spillway_") {
				t.Errorf("not understood: %s", text)
			}
			continue
		}
		labels := f[4]
		if f[3] != "" {
			labels = "version, revision, go_version"
		}
		names = append(names, f[1])
		lines[f[1]] = fmt.Sprintf("| `%s` | %s | %s |\n", f[1], strings.Join(strings.FieldsFunc(labels, func(r rune) bool { return r == ',' || r == ' ' }), ", "), f[2])
	}
	slices.Sort(names)
	return names, lines
}

// metricsNotes follow the table.
const metricsNotes = `
## Which one tells what

| question | metrics |
|---|---|
| how long is the queue, as requests find it | ` + "`spillway_queue_depth`, `spillway_queue_waiting`" + ` |
| waits, median and 99th percentile | ` + "`histogram_quantile(0.99, sum by (model, class, le) (rate(spillway_wait_seconds_bucket[5m])))`" + ` |
| goodput: complete answers in time | ` + "`rate(spillway_answers_total{in_time=\"true\"}[5m])`" + ` |
| refusals of a tenant | ` + "`sum by (tenant, stage) (rate(spillway_decisions_total{verdict=\"reject\"}[5m]))`" + ` |
| a tenant's own limits | ` + "`spillway_quota_used_ratio`" + ` |
| are predictions right | ` + "`spillway_wait_error_seconds`, `spillway_wait_error_ratio`" + ` |
| breakers: now, and how often they opened | ` + "`spillway_upstream_breaker_state`, `spillway_breaker_opened_total`" + ` |
| time at each level of a ladder | ` + "`spillway_ladder_seconds_total`" + ` |
| spending and its limits | ` + "`spillway_budget_minute_dollars`, `spillway_budget_used_dollars`, `spillway_budget_limit_dollars`, `spillway_budget_exhaustion_seconds`" + ` |
| retries, and calls that the provider throttled | ` + "`spillway_retries_total`; `spillway_upstream_faults_total{fault=\"throttled\"}` over `spillway_upstream_sent_total`" + ` |
| work for nobody | ` + "`spillway_upstream_wasted_seconds_total`; spared: `spillway_dropped_total`" + ` |
| readings of the configuration | ` + "`spillway_config_reloads_total`, `spillway_config_last_success_timestamp_seconds`" + ` |

## Bounds

Label values come from the configuration or from closed sets; nothing that a request brings becomes one. The first 1,000 pairs of a tenant and a model that are used have series of their own in the metrics with both labels;
further ones count with the tenant ` + "`other`" + `, so that sums by model stay right. The ledger has every tenant. Of budgets and quotas a scrape tells of 1,000 limits each, and of how many are left out.

## OpenTelemetry names

Names are those of Prometheus. Where the conventions for generative AI name the same thing:

| convention | metric |
|---|---|
| ` + "`gen_ai.server.request.duration` | `spillway_request_duration_seconds`" + ` |
| ` + "`gen_ai.server.time_to_first_token` | `spillway_time_to_first_token_seconds`" + ` |
| ` + "`gen_ai.server.time_per_output_token` | `spillway_time_per_output_token_seconds`" + ` |
| ` + "`gen_ai.client.operation.duration` | `spillway_upstream_service_seconds`" + ` |
| ` + "`gen_ai.client.token.usage` | `spillway_tokens_total`, a counter: its sum, not its distribution" + ` |

| attribute | label |
|---|---|
| ` + "`gen_ai.request.model` | `model`: the name in the configuration" + ` |
| ` + "`gen_ai.provider.name` | `provider` of `spillway_upstream_info`, joined by `deployment`: its name in the configuration" + ` |
| ` + "`gen_ai.token.type` | `direction`" + ` |
| ` + "`error.type` | `kind` of an attempt, `outcome` of a request" + ` |
`

// docs/metrics.md is what the metrics say of themselves.
func TestMetricsAreDocumented(t *testing.T) {
	names, lines := metrics(t)
	var b bytes.Buffer
	b.WriteString("# Metrics\n\nEvery metric of `/metrics` besides those of the Go runtime and the process; what to watch is in [operating.md](operating.md).\n" +
		"This file is made from the program (`make update`). Names that are not in the configuration count as `other`.\n\n" +
		"| metric | labels | meaning |\n|---|---|---|\n")
	for _, n := range names {
		b.WriteString(lines[n])
	}
	b.WriteString(metricsNotes)
	if *update {
		if err := os.WriteFile(metricsDoc, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(metricsDoc)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("docs/metrics.md is not what the metrics say of themselves: run make update and look at the difference")
	}
}

// Every metric that a document names exists.
func TestDocumentsNameRealMetrics(t *testing.T) {
	names, _ := metrics(t)
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no documents", err)
	}
	word := regexp.MustCompile(`\bspillway_[a-z_]+`)
	for _, f := range append(files, "../../../README.md", "../../../ARCHITECTURE.md") {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range word.FindAllString(string(text), -1) {
			base := w
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !slices.Contains(names, w) && !slices.Contains(names, base) {
				t.Errorf("%s: there is no metric %s", filepath.Base(f), w)
			}
		}
	}
}

// Every field of the request log is in the documentation.
func TestLogFieldsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("log.go")
	if err != nil {
		t.Fatal(err)
	}
	fields := regexp.MustCompile(`\bl\.[a-z]+\("([a-z_.]+)"`).FindAllSubmatch(source, -1)
	if len(fields) < 40 {
		t.Errorf("only %d fields found", len(fields))
	}
	for _, f := range fields {
		if !bytes.Contains(doc, []byte("`"+string(f[1])+"`")) {
			t.Errorf("docs/operating.md does not name %s", f[1])
		}
	}
}
