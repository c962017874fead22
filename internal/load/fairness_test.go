package load

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMaxMinShares(t *testing.T) {
	for _, c := range []struct {
		name                   string
		capacity               float64
		demands, weights, want []float64
	}{
		{"enough for all", 10, []float64{1, 2, 3}, []float64{1, 1, 1}, []float64{1, 2, 3}},
		{"the light one keeps its demand", 10, []float64{1, 20, 20}, []float64{1, 1, 1}, []float64{1, 4.5, 4.5}},
		{"by weight", 12, []float64{100, 100}, []float64{1, 3}, []float64{3, 9}},
		{"weight beyond need is given away", 12, []float64{100, 4}, []float64{1, 3}, []float64{8, 4}},
		{"no demand, no share", 5, []float64{0, 10}, []float64{1, 1}, []float64{0, 5}},
	} {
		got := maxMinShares(c.capacity, c.demands, c.weights)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

// The shares must agree with pouring the capacity out in small drops.
func TestMaxMinSharesAgainstDrops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		capacity := float64(rapid.IntRange(1, 20).Draw(t, "capacity"))
		demands, weights, poured := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			demands[i] = float64(rapid.IntRange(0, 10).Draw(t, "demand"))
			weights[i] = float64(rapid.IntRange(1, 4).Draw(t, "weight"))
		}
		const drop = 0.002
		for left := capacity; left > 0; left -= drop {
			poorest := -1
			for i := range n {
				if poured[i] < demands[i] && (poorest < 0 || poured[i]/weights[i] < poured[poorest]/weights[poorest]) {
					poorest = i
				}
			}
			if poorest < 0 {
				break
			}
			poured[poorest] += drop
		}
		for i, share := range maxMinShares(capacity, demands, weights) {
			if math.Abs(share-poured[i]) > 0.05 {
				t.Fatalf("capacity %v, demands %v, weights %v: share %d is %v, poured %v", capacity, demands, weights, i, share, poured[i])
			}
		}
	})
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		name           string
		served, shares []float64
		want           float64
		ok             bool
	}{
		{"all served their share", []float64{1, 2, 3}, []float64{1, 2, 3}, 1, true},
		{"half of it each", []float64{1, 2}, []float64{2, 4}, 1, true},
		{"one got all", []float64{4, 0, 0, 0}, []float64{1, 1, 1, 1}, 0.25, true},
		{"no demand does not count", []float64{1, 0}, []float64{1, 0}, 1, true},
		{"unequal", []float64{1, 0.5}, []float64{1, 1}, 0.9, true},
		{"nothing served", []float64{0}, []float64{1}, 0, false},
	} {
		if got, ok := jain(c.served, c.shares); math.Abs(got-c.want) > 1e-12 || ok != c.ok {
			t.Errorf("%s: %v %v, want %v", c.name, got, ok, c.want)
		}
	}
}
