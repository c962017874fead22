package main

import (
	"math"
	"strings"
	"testing"
)

// comparisonOf is a comparison that agrees in everything, but for the goodput of
// the live runs and the waits of the simulated ones.
func comparisonOf(liveGoodput, simulatedP99 float64) *comparison {
	f := figures{goodput: 0.9, waitP95: 1, waitP99: 2, attempts: 1.5, refused: 0.1, onTime: 0.9, service: 1}
	live, low, high := f, f, f
	live.goodput = liveGoodput
	low.waitP99, high.waitP99 = simulatedP99-0.1, simulatedP99+0.1
	return &comparison{load: 2, live: []figures{live, live}, simulated: [][]figures{{low, high}, {high, low}}}
}

func TestAgreed(t *testing.T) {
	a := comparisonOf(0.9, 2.2).agreed(func(f *figures) float64 { return f.waitP99 }, true)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("live", a.live, 2)
	near("simulated", a.simulated, 2.2)
	near("apart", a.apart, 0.1)
	near("chance", a.chance, math.Sqrt(0.02/2)) // each two are 0.1 about their mean; two live runs
}

func TestBars(t *testing.T) {
	for _, tt := range []struct {
		name         string
		goodput, p99 float64
		passes       bool
		says         string
	}{
		{"the same", 0.9, 2, true, "+0.0 points"},
		{"within the bars", 0.919, 1.75, true, "-12.5 %"},
		{"goodput apart", 0.879, 2, false, "+2.1 points"},
		{"waits apart", 0.9, 2.32, false, "+16.0 %"},
		{"no number", math.NaN(), 2, false, "NaN"},
	} {
		var out strings.Builder
		if got := report(&out, []*comparison{comparisonOf(tt.goodput, tt.p99)}); got != tt.passes || strings.Contains(out.String(), "FAIL") == tt.passes {
			t.Errorf("%s: passed is %v\n%s", tt.name, got, &out)
		}
		if !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: it does not say %q\n%s", tt.name, tt.says, &out)
		}
	}
}

func TestLoads(t *testing.T) {
	if loads, err := parseLoads("0.8,2"); err != nil || len(loads) != 2 || loads[1] != 2 {
		t.Errorf("%v, %v", loads, err)
	}
	for _, text := range []string{"", "1,", "-1", "NaN", "21", "1 2"} {
		if _, err := parseLoads(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
