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
