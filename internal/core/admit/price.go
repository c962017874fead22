package admit

import (
	"math"
	"math/bits"
)

// Price is what tokens cost, in micro-dollars for a million of them, and a
// request in micro-dollars. Zero is free; whether the price is known at all is
// said apart, because an unknown price is not nothing.
type Price struct {
	Known         bool
	Input, Output int64
	Cached        int64 // of input that the provider had in its cache
	CacheWrite    int64 // of input that it put there
	Reasoning     int64 // of output that nobody sees
	Request       int64
	Long          LongPrice
	// Tiers are the shares of the price, in per cent, that requests of the
	// provider's service tiers cost. One that is not named costs all of it.
	Tiers map[string]int64
}

// LongPrice replaces the price of a whole request with much input.
type LongPrice struct {
	Above                                        int64 // tokens of input; 0 means that there is no such price
	Input, Output, Cached, CacheWrite, Reasoning int64
}

// Tokens are what a call took. Cached and CacheWrite are parts of Input,
// Reasoning is a part of Output.
type Tokens struct {
	Input, Output, Cached, CacheWrite, Reasoning int64
}

// Of is the cost in micro-dollars of a call of which no more is known than its
// input and output, rounded up.
func (p *Price) Of(input, output int64) int64 {
	return p.Cost(Tokens{Input: input, Output: output}, "")
}

// Cost is what a call costs in micro-dollars, rounded up once. Figures that no
// call has, which an upstream may claim, give the largest amount and not a
// small or negative one.
func (p *Price) Cost(t Tokens, tier string) int64 {
	in, out, cached, written, reasoning := p.Input, p.Output, p.Cached, p.CacheWrite, p.Reasoning
	if l := &p.Long; l.Above > 0 && t.Input > l.Above {
		in, out, cached, written, reasoning = l.Input, l.Output, l.Cached, l.CacheWrite, l.Reasoning
	}
	t.Cached = min(max(t.Cached, 0), max(t.Input, 0))
	t.CacheWrite = min(max(t.CacheWrite, 0), max(t.Input-t.Cached, 0))
	t.Reasoning = min(max(t.Reasoning, 0), max(t.Output, 0))
	var s amount
	s.add(t.Input-t.Cached-t.CacheWrite, in)
	s.add(t.Cached, cached)
	s.add(t.CacheWrite, written)
	s.add(t.Output-t.Reasoning, out)
	s.add(t.Reasoning, reasoning)
	s.add(p.Request, million)
	share := int64(100)
	if len(p.Tiers) > 0 {
		if x, ok := p.Tiers[tier]; ok {
			share = x
		}
	}
	return s.over(share)
}

const million = 1_000_000

// MostCost is the largest amount that a call is taken to cost: a billion dollars.
const MostCost = 1_000_000_000 * million

// amount is a sum of products in 128 bits.
type amount struct{ high, low uint64 }

func (a *amount) add(n, each int64) {
	if n <= 0 || each <= 0 {
		return
	}
	high, low := bits.Mul64(uint64(n), uint64(each))
	var carry uint64
	a.low, carry = bits.Add64(a.low, low, 0)
	a.high, carry = bits.Add64(a.high, high, carry)
	if carry != 0 {
		a.high, a.low = math.MaxUint64, math.MaxUint64
	}
}

// over is share per cent of the sum over a million, rounded up.
func (a *amount) over(share int64) int64 {
	const whole = 100 * million
	if a.high == 0 && share == 100 { // nearly always
		return int64(min(a.low/million+min(a.low%million, 1), MostCost))
	}
	if a.high >= whole/200 || share <= 0 {
		if share <= 0 {
			return 0
		}
		return MostCost
	}
	high, low := bits.Mul64(a.low, uint64(share))
	high += a.high * uint64(share)
	if high >= whole {
		return MostCost
	}
	q, r := bits.Div64(high, low, whole)
	return int64(min(q+min(r, 1), MostCost))
}
