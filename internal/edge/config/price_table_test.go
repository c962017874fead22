package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBundledTable(t *testing.T) {
	table := bundledTable()
	if day, err := time.Parse(time.DateOnly, table.AsOf); err != nil || day.Before(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("as of %q", table.AsOf)
	}
	if len(table.Models) < 40 {
		t.Errorf("only %d models", len(table.Models))
	}
	for name, p := range table.Models {
		if name != dated.ReplaceAllString(name, "") {
			t.Errorf("%s has a date and would hold for that alone", name)
		}
		if p.Source != PriceTable || p.Input <= 0 || p.Cached > p.Input || p.CacheWrite < p.Input || p.Output > 0 && p.Output < p.Input || p.Long.Above > 0 && p.Long.Input <= p.Input {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestPriceFromTheTable(t *testing.T) {
	for deployment, want := range map[string]PriceSource{
		"provider: a, model: gpt-5-mini":                          PriceTable,
		"provider: a, model: gpt-5-mini-2025-08-07":               PriceTable,
		"provider: b, model: claude-sonnet-4-20250514":            PriceTable,
		"provider: b, model: claude-sonnet-4@20250514":            PriceTable,
		"provider: b, model: claude-sonnet-4-5@default":           PriceTable,
		"provider: a, model: gpt-5-mini, price: {}":               PriceTable,
		"provider: a, model: gpt-5-mini, price: free":             PriceFile,
		"provider: a, model: gpt-5-mini-2025":                     PriceUnknown,
		"provider: a, model: gpt-5-mini-2025-08-07-x":             PriceUnknown,
		"provider: a, model: my-gpt-5-mini":                       PriceUnknown,
		"provider: a, model: GPT-5-mini":                          PriceUnknown,
		"provider: local, model: gpt-5-mini":                      PriceUnknown, // it costs nothing, or what the file says
		"provider: local, model: gpt-5-mini, price: {request: 1}": PriceFile,
	} {
		c := parse(t, "providers: {a: {base_url: http://h/v1}, b: {kind: anthropic, base_url: http://h}, local: {kind: simulated}}\nmodels: {chat: {deployments: [{"+deployment+"}]}}")
		d := c.Models["chat"].Deployments[0]
		if d.Price.Source != want || c.Policy().Models[0].Deployments[0].Price.Known != (want != PriceUnknown) {
			t.Errorf("%s: %s %+v, want %s", deployment, d.Price.Source, d.Price, want)
		}
	}
	c := parse(t, "providers: {a: {base_url: http://h/v1}}\nmodels: {gpt-4.1: {deployments: [{provider: a}]}}")
	if p := c.Models["gpt-4.1"].Deployments[0].Price; p.Source != PriceTable || p.Input != 2_000_000 || p.Cached != 500_000 || !c.Plain(&c.Models["gpt-4.1"].Deployments[0]) {
		t.Errorf("by the name of the pool: %+v", p)
	}
}

// The operator's own file replaces the whole table, and stands beside the
// configuration.
func TestPricesOfOnesOwn(t *testing.T) {
	c := good(t, "money")
	p := c.Models["gpt-5-mini-2025-08-07"].Deployments[0].Price
	if p.Source != PriceTable || p.Input != 200_000 || p.Cached != 200_000 || p.Output != 1_000_000 || c.PricesAsOf() != "2026-01-31" {
		t.Errorf("%+v of %s", p, c.PricesAsOf())
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte("as_of: 2026-02-01\nmodels: {x: {input: 1, output: ${N}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "providers: {a: {base_url: http://h/v1}}\nprices: p.yaml"
	_, err := Parse(filepath.Join(dir, "spillway.yaml"), []byte(text), testEnv)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "p.yaml")+":2:") {
		t.Errorf("no place in that file: %v", err)
	}
	if _, err = Parse("elsewhere.yaml", []byte(strings.Replace(text, "p.yaml", filepath.Join(dir, "p.yaml"), 1)), testEnv); err == nil || !strings.Contains(err.Error(), "p.yaml:2:") {
		t.Errorf("a whole path: %v", err)
	}
	if c := parse(t, "providers: {a: {base_url: http://h/v1}}\nprices:"); c.PricesAsOf() != bundledTable().AsOf {
		t.Errorf("nothing is written: %s", c.PricesAsOf())
	}
}
