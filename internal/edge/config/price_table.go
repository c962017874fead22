package config

import (
	_ "embed"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// priceTable is what providers charge for models, by their names. It stands in
// for prices that the configuration does not say.
type priceTable struct {
	// Day on which the prices were collected, such as 2026-01-31.
	AsOf string `yaml:"as_of"`
	// Prices by the name of the model at the provider, without a date.
	Models map[string]*Price `yaml:"models"`
}

//go:embed prices.yaml
var bundledPrices []byte

var bundledTable = sync.OnceValue(func() *priceTable {
	d := newDocument("prices.yaml", func(string) (string, bool) { return "", false })
	t := d.priceTable(bundledPrices)
	if t == nil {
		panic(d.sorted()) // a test reads it
	}
	return t
})

// priceTable reads a table; nil after faults, which it notes.
func (d *document) priceTable(data []byte) *priceTable {
	t := new(priceTable)
	if d.decode(data, t); len(d.problems) > 0 {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, t.AsOf); err != nil {
		d.fail("as_of", "as_of must be the day of the prices, such as as_of: 2026-01-31")
	}
	if len(t.Models) == 0 {
		d.fail("models", "models is empty; write prices like models: {big-1: {input: 1.25, output: 10}}")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Models)) {
		p, at := t.Models[name], join("models", name)
		if p.check(d, at); p.Source == PriceUnknown {
			d.fail(at, "no price; write keys and values such as {input: 1.25, output: 10}, or free")
		}
		p.Source = PriceTable
	}
	if len(d.problems) > 0 {
		return nil
	}
	return t
}

// readPrices gives the table that fills in prices: the operator's own, or the
// bundled one. Faults of the operator's table are noted with their places there,
// and give none.
func (c *Config) readPrices(d *document) *priceTable {
	if c.Prices == "" {
		return bundledTable()
	}
	file := c.Prices
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(d.file), file)
	}
	// A pipe or a device could be read for ever.
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		d.fail("prices", "%s is not a file", d.quote("prices", c.Prices))
		return nil
	} else if err != nil {
		why := err
		if e, ok := err.(*fs.PathError); ok {
			why = e.Err // without the path, which may come from a variable
		}
		d.fail("prices", "cannot be read: %v; the path is relative to the configuration file", why)
		return nil
	}
	data, err := readFile(file)
	if err != nil {
		d.fail("prices", "%v", err)
		return nil
	}
	own := newDocument(file, d.env)
	t := own.priceTable(data)
	d.problems = append(d.problems, own.problems...)
	return t
}

// dated ends the names of models that stand for one day's version: -2025-08-07,
// -20250514 or @20250514.
var dated = regexp.MustCompile(`(-20\d\d-\d\d-\d\d|-20\d{6}|@.*)$`)

// of finds the price of a model by its name at the provider, exactly or without
// its date.
func (t *priceTable) of(model string) (Price, bool) {
	p, ok := t.Models[model]
	if !ok {
		p, ok = t.Models[dated.ReplaceAllString(model, "")]
	}
	if !ok {
		return Price{}, false
	}
	return *p, true
}

// price completes the price of a deployment.
func (dep *Deployment) price(d *document, path string, p *Provider, table *priceTable) {
	dep.Price.check(d, join(path, "price"))
	if dep.Price.Source != PriceUnknown || table == nil || p.Kind == Simulated {
		return
	}
	if price, ok := table.of(dep.Model); ok {
		dep.Price = price
	}
}
