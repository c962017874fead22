package sim

import (
	"bytes"
	"strings"
	"testing"
)

// Where deployments have upstreams of their own they have lines in the table
// and in the page, and a picture there.
func TestReportShowsDeployments(t *testing.T) {
	const story = "service 1s\ndeployment fast slots=2 price-in=1\ndeployment slow slots=2\nupstream slow service=2s requests=30\ncaller x rate=1x deadline=9s\nfor 60s"
	c := &Comparison{Order: []string{"ours"}, Results: map[string]*Result{"ours": told(t, story, "ours")}}
	var page bytes.Buffer
	if err := c.Report(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Deployments in figures", ">slow<", "Calls a second over time: fast at most"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if table := c.Table(); !strings.Contains(table, "\nslow  ") || !strings.Contains(table, "deployments as under ours") {
		t.Errorf("the table lacks a line:\n%s", table)
	}
	if plot := c.Results["ours"].Plot(); !strings.Contains(plot, "calls a second to slow") {
		t.Errorf("no plot of the calls:\n%s", plot)
	}
}

// A pool known by its own name looks as it did before there were others.
func TestReportWithoutDeployments(t *testing.T) {
	c := &Comparison{Order: []string{"ours"}, Results: map[string]*Result{"ours": told(t, "slots 2 2\ncaller x rate=1x deadline=9s\nfor 60s", "ours")}}
	if strings.Contains(c.Table(), "deployment") || c.first().Deployments != nil {
		t.Error("deployments are listed that share one server")
	}
}
