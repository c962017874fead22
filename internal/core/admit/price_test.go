package admit

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestPriceCost(t *testing.T) {
	p := Price{
		Known: true, Input: 2_000_000, Output: 10_000_000, Cached: 500_000, CacheWrite: 2_500_000, Reasoning: 8_000_000, Request: 7,
		Long:  LongPrice{Above: 200_000, Input: 4_000_000, Output: 15_000_000, Cached: 1_000_000, CacheWrite: 5_000_000, Reasoning: 15_000_000},
		Tiers: map[string]int64{"flex": 50, "priority": 170},
	}
	for _, x := range []struct {
		tokens Tokens
		tier   string
		want   int64
		why    string
	}{
		{Tokens{}, "", 7, "a request costs something by itself"},
		{Tokens{Input: 1}, "", 9, "two for a token"},
		{Tokens{Input: 1000, Output: 100}, "", 2000 + 1000 + 7, ""},
		{Tokens{Input: 1000, Cached: 600, CacheWrite: 200}, "", 400 + 300 + 500 + 7, "parts of the input have their own price"},
		{Tokens{Output: 100, Reasoning: 40}, "", 600 + 320 + 7, "and parts of the output"},
		{Tokens{Input: 1000}, "flex", (2000 + 7 + 1) / 2, "half, rounded up"},
		{Tokens{Input: 1000}, "priority", (2007*170 + 99) / 100, ""},
		{Tokens{Input: 1000}, "default", 2007, "a tier that has no price of its own"},
		{Tokens{Input: 200_000}, "", 400_007, "not yet long"},
		{Tokens{Input: 200_001}, "", 800_011, "long: every token costs more"},
		{Tokens{Input: 10, Cached: 90}, "", 5 + 7, "a part cannot exceed the whole"},
		{Tokens{Input: -5, Output: -9}, "", 7, "nothing is below zero"},
		{Tokens{Input: math.MaxInt64, Output: math.MaxInt64}, "priority", MostCost, "figures that no call has"},
	} {
		if got := p.Cost(x.tokens, x.tier); got != x.want {
			t.Errorf("%+v %q: %d, want %d: %s", x.tokens, x.tier, got, x.want, x.why)
		}
	}
}

// The same with numbers of any size, which cannot overflow.
func TestPriceAgainstBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	number := func() int64 { return rng.Int64N(1 << rng.IntN(62)) }
	for range 20_000 {
		p := Price{Input: number(), Output: number(), Cached: number(), Request: number(), Tiers: map[string]int64{"x": rng.Int64N(400)}}
		k := Tokens{Input: number(), Output: number(), Cached: number()}
		k.Cached = min(k.Cached, k.Input)
		sum := new(big.Int)
		for _, m := range [][2]int64{{k.Input - k.Cached, p.Input}, {k.Cached, p.Cached}, {k.Output, p.Output}, {p.Request, million}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(m[0]), big.NewInt(m[1])))
		}
		sum.Mul(sum, big.NewInt(p.Tiers["x"]))
		q, r := new(big.Int).QuoRem(sum, big.NewInt(100*million), new(big.Int))
		if r.Sign() > 0 {
			q.Add(q, big.NewInt(1))
		}
		want := int64(MostCost)
		if q.IsInt64() {
			want = min(q.Int64(), MostCost)
		}
		if got := p.Cost(k, "x"); got != want {
			t.Fatalf("%+v of %+v: %d, want %d", k, p, got, want)
		}
	}
}
