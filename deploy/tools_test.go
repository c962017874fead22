// Package deploy_test keeps what operators run beside the gateway in agreement
// with it: rules, dashboards and the mappings of the log.
package deploy_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the dashboards")

// tool finds a program of Debian's package prometheus. Without it the test is
// skipped, or fails where everything must be run.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v: scripts/prometheus installs it", err)
	}
	t.Skipf("%v: scripts/prometheus installs it", err)
	return ""
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return list
}

func TestRulesAreValid(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), tool(t, "promtool"), "check", "config", "prometheus/prometheus.yml").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each alert over virtual days: when it fires, with its words, and when not.
func TestAlertsOverDays(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool")
	for _, name := range files(t, "prometheus/*.test.yml") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", name).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
