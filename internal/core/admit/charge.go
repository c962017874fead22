package admit

import (
	"math"

	"github.com/spillway-llm/spillway/internal/core/predict"
)

// charge is what a request costs, in micro-dollars.
type charge struct {
	likely int64 // at most, in nine cases of ten
	most   int64 // at most, by the bound of its answer
}

const (
	spreadQuantile = 0.9
	spreadSamples  = 20  // before them the spread of answers' lengths is a guess
	spreadGuess    = 4.0 // the 90 % quantile of a wide one, over its mean
	spreadRefresh  = 16  // samples between two looks at the quantile
	unbound        = 4   // times that, an answer without a bound is taken to have at most
	boundShare     = 32  // of a budget is what a bound may count at most
)

// charge is what a request costs at the dearest of the pool's deployments:
// which it will be is not known yet. Bounds of answers that are far above what
// answers have must not keep others out of a small budget: they count up to a
// part of it.
func (p *pool) charge(input, maxOutput int64, est predict.Estimate, tier string, payers *payers) (x charge) {
	if !p.dearest.Known {
		return x
	}
	out := int64(float64(est.Output) * p.spread())
	most := out * unbound
	if maxOutput > 0 {
		out, most = min(out, maxOutput), maxOutput
	}
	x.likely = p.dearest.Cost(Tokens{Input: input, Output: out}, tier)
	if x.most = x.likely; most == out {
		return x
	}
	least := int64(math.MaxInt64)
	for _, a := range payers {
		if a != nil && a.least > 0 {
			least = min(least, a.least)
		}
	}
	x.most = max(x.likely, min(p.dearest.Cost(Tokens{Input: input, Output: most}, tier), least/boundShare))
	return x
}

func (p *pool) spread() float64 {
	if p.spreadOf == 0 {
		return spreadGuess
	}
	return p.spreadOf
}

// length learns how long answers are beside what was expected.
func (p *pool) length(expected, output int64) {
	if expected <= 0 || output <= 0 {
		return
	}
	p.lengths.Add(float64(output) / float64(expected))
	if p.lengthsNew++; p.lengths.Count() >= spreadSamples && (p.spreadOf == 0 || p.lengthsNew >= spreadRefresh) {
		p.lengthsNew, p.spreadOf = 0, max(p.lengths.Quantile(spreadQuantile), 1)
	}
}

// dearestOf is a price that no deployment's exceeds, in any part.
func dearestOf(list []Deployment) (top Price) {
	for i := range list {
		p := &list[i].Price
		if !p.Known {
			continue
		}
		top.Known = true
		for _, x := range []struct{ a, b *int64 }{
			{&top.Input, &p.Input}, {&top.Input, &p.Cached}, {&top.Input, &p.CacheWrite}, {&top.Output, &p.Output}, {&top.Output, &p.Reasoning}, {&top.Request, &p.Request},
			{&top.Long.Input, &p.Long.Input}, {&top.Long.Input, &p.Long.CacheWrite}, {&top.Long.Output, &p.Long.Output}, {&top.Long.Output, &p.Long.Reasoning},
		} {
			*x.a = max(*x.a, *x.b)
		}
		if l := p.Long.Above; l > 0 && (top.Long.Above == 0 || l < top.Long.Above) {
			top.Long.Above = l
		}
		for tier, share := range p.Tiers {
			if top.Tiers == nil {
				top.Tiers = map[string]int64{}
			}
			top.Tiers[tier] = max(top.Tiers[tier], share)
		}
	}
	for i := range list { // who does not name a tier takes all of the price for it
		for tier := range top.Tiers {
			if _, ok := list[i].Price.Tiers[tier]; !ok {
				top.Tiers[tier] = max(top.Tiers[tier], 100)
			}
		}
	}
	if top.Long.Above > 0 {
		top.Long.Input, top.Long.Output = max(top.Long.Input, top.Input), max(top.Long.Output, top.Output)
	}
	return top
}
