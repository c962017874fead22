package internal_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var metricName = regexp.MustCompile(`\bspillway_[a-z0-9_]*[a-z0-9]\b`)

// Whatever pages say to look at is there: docs/metrics.md is made from the
// program and has every metric.
func TestPagesNameMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range metricName.FindAllString(string(text), -1) {
		known[name] = true
	}
	if len(known) < 50 {
		t.Fatalf("only %d metrics in docs/metrics.md", len(known))
	}
	seen := 0
	for page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			seen++
			for _, part := range []string{"_bucket", "_sum", "_count"} { // of a histogram
				if base := strings.TrimSuffix(name, part); known[base] {
					name = base
				}
			}
			if !known[name] {
				t.Errorf("%s: there is no metric %s", page, name)
			}
		}
	}
	if seen < len(known)+20 {
		t.Errorf("only %d names seen", seen)
	}
}
