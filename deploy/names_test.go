package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// ruleFile is as much of a file of rules as is looked at.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	for _, name := range files(t, "prometheus/*.rules.yml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f ruleFile
		if err := yaml.Unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, g := range f.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}

// vocabulary is what an expression may name: metrics with their labels, nil for
// those of a recording rule, which may have any that is known.
type vocabulary struct {
	labels map[string][]string
	known  []string // labels of any metric
}

var (
	documented = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z_, ]*) \\|")
	// foreign are the metrics that Prometheus and its Go client add.
	foreign = []string{"up", "process_start_time_seconds", "process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds", "go_goroutines"}
	added   = []string{"job", "instance", "le"}
)

func words(t *testing.T, all []rule) vocabulary {
	t.Helper()
	doc, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	v := vocabulary{labels: map[string][]string{}, known: slices.Clone(added)}
	for _, m := range documented.FindAllStringSubmatch(string(doc), -1) {
		labels := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })
		v.labels[m[1]] = append(labels, added...)
		v.known = append(v.known, labels...)
	}
	if len(v.labels) < 60 {
		t.Fatalf("only %d metrics in docs/metrics.md: looked for the wrong form", len(v.labels))
	}
	for _, name := range foreign {
		v.labels[name] = added
	}
	for _, r := range all {
		if r.Record != "" {
			v.labels[r.Record] = nil
		}
	}
	return v
}

var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	selector = regexp.MustCompile(`([a-zA-Z_:][\w:]*)?\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)`)
	grouping = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	duration = regexp.MustCompile(`\[[^\]]*\]|\boffset\s+\w+`)
	name     = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
	call     = regexp.MustCompile(`^\s*\(`)
	operator = []string{"and", "or", "unless", "bool", "sum", "max", "min", "avg", "count", "topk", "by", "without", "Inf"}
)

// unknown says which names of an expression do not exist.
func (v vocabulary) unknown(expr string) (found []string) {
	expr = duration.ReplaceAllString(quoted.ReplaceAllString(expr, `""`), "")
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		labels := v.known
		if of, ok := v.find(s[1]); ok && of != nil {
			labels = of
		}
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			if !slices.Contains(labels, m[1]) {
				found = append(found, fmt.Sprintf("label %s of %s", m[1], s[1]))
			}
		}
	}
	expr = selector.ReplaceAllString(expr, "$1 ")
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, l := range name.FindAllString(g[2], -1) {
			if !slices.Contains(v.known, l) {
				found = append(found, "label "+l)
			}
		}
	}
	expr = grouping.ReplaceAllString(expr, " ")
	for _, at := range name.FindAllStringIndex(expr, -1) {
		n := expr[at[0]:at[1]]
		if slices.Contains(operator, n) || call.MatchString(expr[at[1]:]) || at[0] > 0 && expr[at[0]-1] >= '0' && expr[at[0]-1] <= '9' {
			continue
		}
		if _, ok := v.find(n); !ok {
			found = append(found, "metric "+n)
		}
	}
	return found
}

// find takes the series of a histogram for the histogram.
func (v vocabulary) find(n string) (labels []string, ok bool) {
	for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
		base, has := strings.CutSuffix(n, suffix)
		if labels, ok = v.labels[base]; has && ok {
			return labels, true
		}
	}
	return nil, false
}

func TestUnknownNamesAreFound(t *testing.T) {
	v := words(t, rules(t))
	for expr, want := range map[string]string{
		`sum by (job, model) (rate(spillway_requests_total{outcome="answered"}[5m])) / 2`:     "",
		`histogram_quantile(0.5, sum by (le) (rate(spillway_wait_seconds_bucket[5m])))`:       "",
		`up{job=~"spillway.*"} == 0 and on (job) spillway:slots_busy:ratio offset 7d`:         "",
		`rate(spillway_request_total[5m])`:                                                    "metric spillway_request_total",
		`spillway_requests_total{outcome="x", verdict="y"}`:                                   "label verdict of spillway_requests_total",
		`sum by (jobs) (spillway_capacity)`:                                                   "label jobs",
		`spillway:nothing:ratio > 1`:                                                          "metric spillway:nothing:ratio",
		`spillway_capacity / on (job) group_left (colour) spillway_queue_waiting`:             "label colour",
		`rate(spillway_requests_total{deployment=~"$d"}[$__rate_interval]) or spillway_build`: "label deployment of spillway_requests_total, metric spillway_build",
	} {
		if got := strings.Join(v.unknown(expr), ", "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

func TestRulesNameWhatExists(t *testing.T) {
	all := rules(t)
	v := words(t, all)
	for _, r := range all {
		for _, u := range v.unknown(r.Expr) {
			t.Errorf("%s%s asks for %s, which is not in docs/metrics.md", r.Record, r.Alert, u)
		}
	}
}

const runbooks = "https://github.com/spillway-llm/spillway/blob/main/docs/guide/read-the-dashboard.md#"

// An alert has all that somebody needs who is woken by it, a heading in the
// docs, and a test in which it fires.
func TestAlertsAreComplete(t *testing.T) {
	doc, err := os.ReadFile("../docs/guide/read-the-dashboard.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests []byte
	for _, name := range files(t, "prometheus/*.test.yml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests = append(tests, text...)
	}
	headings := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^### (Spillway\w+)$`).FindAllSubmatch(doc, -1) {
		headings[string(h[1])] = true
	}
	alerts := 0
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		alerts++
		if !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Annotations["runbook_url"] != runbooks+strings.ToLower(r.Alert) {
			t.Errorf("%s: annotations are not complete: %v", r.Alert, r.Annotations)
		}
		if !headings[r.Alert] {
			t.Errorf("%s: no heading in docs/guide/read-the-dashboard.md", r.Alert)
		}
		delete(headings, r.Alert)
		if !bytes.Contains(tests, []byte("- alertname: "+r.Alert+"\n")) || !bytes.Contains(tests, []byte("- {alertname: "+r.Alert+",")) {
			t.Errorf("%s: needs a test in which it fires, and one in which it does not", r.Alert)
		}
	}
	if alerts < 20 {
		t.Errorf("only %d alerts found", alerts)
	}
	for h := range headings {
		t.Errorf("docs/guide/read-the-dashboard.md: %s is no alert", h)
	}
}
