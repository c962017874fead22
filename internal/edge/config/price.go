package config

import (
	"errors"
	"maps"
	"slices"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Price is what a provider charges. In the file it may also be the word free.
type Price struct {
	// Dollars for a million tokens of input. 0 is free. At most six decimals, like every price. Needed beside output.
	Input Dollars `yaml:"input"`
	// Dollars for a million tokens of output. Needed beside input.
	Output Dollars `yaml:"output"`
	// Dollars for a million tokens of the input that the provider had in its cache. Default as input.
	Cached Dollars `yaml:"cached"`
	// Dollars for a million tokens of the input that it put into its cache. Default as input.
	CacheWrite Dollars `yaml:"cache_write"`
	// Dollars for a million tokens of output that nobody sees. Default as output.
	Reasoning Dollars `yaml:"reasoning"`
	// Dollars for a request, beside its tokens. Default 0. Alone it means that tokens are free.
	Request Dollars `yaml:"request"`
	// What all tokens of a request with much input cost instead. Default the same.
	Long LongPrice `yaml:"long"`
	// Share of the price that requests of a service tier of the provider cost, such as {flex: 50%, priority: 170%}. Default 100% for each.
	Tiers map[string]Percent `yaml:"tiers"`

	// Source is where the price comes from.
	Source PriceSource `yaml:"-"`
}

// LongPrice is the price of a request with much input. What is left out of it
// costs what it costs in a short request, and cached, cache_write and reasoning
// follow an input and output that are written here.
type LongPrice struct {
	// Tokens of input above which it holds, for the whole request.
	Above int64 `yaml:"above" jsonschema:"required,minimum=1,maximum=1000000000"`
	// Dollars for a million tokens of input. Default as in a short request.
	Input Dollars `yaml:"input"`
	// Dollars for a million tokens of output. Default as in a short request.
	Output Dollars `yaml:"output"`
	// Dollars for a million tokens of input from the cache. Default as input here, else as in a short request.
	Cached Dollars `yaml:"cached"`
	// Dollars for a million tokens of input into the cache. Default as input here, else as in a short request.
	CacheWrite Dollars `yaml:"cache_write"`
	// Dollars for a million tokens of output that nobody sees. Default as output here, else as in a short request.
	Reasoning Dollars `yaml:"reasoning"`
}

// PriceSource is where the price of a deployment comes from.
type PriceSource uint8

const (
	PriceUnknown PriceSource = iota // nobody says it
	PriceFile                       // the configuration file
	PriceTable                      // the table of prices, by the model's name
)

func (s PriceSource) String() string { return [...]string{"unknown", "file", "table"}[s] }

// unset is a price while the file is read and has not said it. A checked
// configuration holds none.
const unset Dollars = -1

const maxTierShare = 1000 // per cent

// A price that is left out is not zero: what it is depends on the others.
func (p *Price) setDefaults() {
	*p = Price{Input: unset, Output: unset, Cached: unset, CacheWrite: unset, Reasoning: unset, Request: unset}
	p.Long = LongPrice{Input: unset, Output: unset, Cached: unset, CacheWrite: unset, Reasoning: unset}
}

func (*Price) want() string { return "keys and values, or the word free" }

func (p *Price) say(text string) error {
	if text != "free" {
		return errors.New("not a price; write keys and values such as {input: 1.25, output: 10}, or free")
	}
	p.Input, p.Output = 0, 0
	return nil
}

// check fills in what follows from what was written; a price of which nothing
// was written is unknown.
func (p *Price) check(d *document, path string) {
	for _, tier := range slices.Sorted(maps.Keys(p.Tiers)) {
		switch at := join(join(path, "tiers"), tier); {
		case !printableName(tier):
			d.fail(at, "a service tier's name is 1 to %d characters without spaces", maxName)
		case p.Tiers[tier] > maxTierShare:
			d.fail(at, "%d%% is above %d%%, the most", p.Tiers[tier], maxTierShare)
		}
	}
	nothing := Price{}
	nothing.setDefaults()
	switch {
	case p.same(&nothing):
		*p = Price{}
		return
	case p.Input == unset && p.Output == unset && p.Request != unset:
		p.Input, p.Output = 0, 0
	case p.Input == unset || p.Output == unset:
		missing := "output"
		if p.Input == unset {
			missing = "input"
		}
		d.fail(path, "%s is missing; write %s: 0 if that is free", missing, missing)
	}
	p.fill()
	p.Source = PriceFile
}

// same compares two prices whose tiers do not matter unless there are some.
func (p *Price) same(q *Price) bool {
	return p.Input == q.Input && p.Output == q.Output && p.Cached == q.Cached && p.CacheWrite == q.CacheWrite && p.Reasoning == q.Reasoning &&
		p.Request == q.Request && p.Long == q.Long && maps.Equal(p.Tiers, q.Tiers)
}

func (p *Price) fill() {
	p.Cached, p.CacheWrite, p.Reasoning, p.Request = p.Cached.or(p.Input), p.CacheWrite.or(p.Input), p.Reasoning.or(p.Output), p.Request.or(0)
	l := &p.Long
	if l.Above == 0 {
		*l = LongPrice{}
		return
	}
	l.Cached = l.Cached.or(l.Input).or(p.Cached)
	l.CacheWrite = l.CacheWrite.or(l.Input).or(p.CacheWrite)
	l.Reasoning = l.Reasoning.or(l.Output).or(p.Reasoning)
	l.Input, l.Output = l.Input.or(p.Input), l.Output.or(p.Output)
}

func (d Dollars) or(other Dollars) Dollars {
	if d == unset {
		return other
	}
	return d
}

func (p *Price) policy() admit.Price {
	if p.Source == PriceUnknown {
		return admit.Price{}
	}
	price := admit.Price{
		Known: true, Input: int64(p.Input), Output: int64(p.Output),
		Cached: int64(p.Cached), CacheWrite: int64(p.CacheWrite), Reasoning: int64(p.Reasoning), Request: int64(p.Request),
		Long: admit.LongPrice{
			Above: p.Long.Above, Input: int64(p.Long.Input), Output: int64(p.Long.Output),
			Cached: int64(p.Long.Cached), CacheWrite: int64(p.Long.CacheWrite), Reasoning: int64(p.Long.Reasoning),
		},
	}
	for tier, share := range p.Tiers {
		if price.Tiers == nil {
			price.Tiers = make(map[string]int64, len(p.Tiers))
		}
		price.Tiers[tier] = int64(share)
	}
	return price
}
