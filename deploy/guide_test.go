package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The guide names panels and dashboards by their titles, and says of each alert
// what it means, what to look at and what to turn.
func TestGuideReadsWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("../docs/guide/read-the-dashboard.md")
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]bool{}
	for _, b := range boards {
		titles[b.title] = true
		for _, p := range b.panels {
			titles[p.title] = true
		}
	}
	questions, alerts, _ := strings.Cut(string(text), "\n## Alerts\n")
	named := regexp.MustCompile(`(?:^|[^*])\*([A-Z0-9][^*|]*)\*`).FindAllStringSubmatch(questions, -1)
	for _, m := range named {
		if !titles[m[1]] {
			t.Errorf("no panel or dashboard is called %q", m[1])
		}
	}
	for _, place := range regexp.MustCompile(`\* \(([A-Z][^)]*)\)`).FindAllStringSubmatch(questions, -1) {
		if !titles[place[1]] {
			t.Errorf("no dashboard is called %q", place[1])
		}
	}
	if len(named) < 30 {
		t.Errorf("only %d panels named", len(named))
	}
	for entry := range strings.SplitSeq(alerts, "\n### ") {
		name, about, _ := strings.Cut(entry, "\n")
		if !strings.HasPrefix(name, "Spillway") {
			continue
		}
		means, rest, _ := strings.Cut(strings.TrimSpace(about), "**Look at** ")
		look, turn, _ := strings.Cut(rest, "**Turn** ")
		if len(means) < 20 || len(look) < 5 || len(turn) < 5 {
			t.Errorf("%s: says not what it means, what to look at and what to turn", name)
		}
	}
}
