package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func planOf(t testing.TB, s Settings) plan {
	t.Helper()
	if s.Target == "" {
		s.Target = "http://upstream.test/v1"
	}
	p, err := newPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func collect(p plan) []arrival {
	var all []arrival
	next := p.arrivals()
	for a, ok := next(); ok; a, ok = next() {
		all = append(all, a)
	}
	return all
}

func TestScheduleIsAFunctionOfSettingsAndSeed(t *testing.T) {
	s := Settings{Rate: 50, Duration: time.Minute, Seed: 7, Patience: Patience{Fraction: 0.5, Mean: time.Second},
		Tenants: []Tenant{{Name: "a"}, {Name: "b", Share: 0.2}}, Bursts: []Burst{{Factor: 3, At: 10 * time.Second, For: time.Second}}}
	first := collect(planOf(t, s))
	if !slices.Equal(first, collect(planOf(t, s))) {
		t.Error("equal settings and seed gave different arrivals")
	}
	other := s
	other.Seed = 8
	if slices.Equal(first, collect(planOf(t, other))) {
		t.Error("another seed gave equal arrivals")
	}

	// What callers do later must not move arrivals, nor may one more tenant move the others.
	patient := s
	patient.Patience = Patience{}
	patient.Tenants = append(slices.Clone(s.Tenants), Tenant{Name: "c", Rate: 5})
	patient.Tenants[0].Rate = 40
	var a, b []time.Duration
	for _, x := range first {
		if x.tenant < 2 {
			a = append(a, x.at)
		}
	}
	for _, x := range collect(planOf(t, patient)) {
		if x.tenant < 2 {
			b = append(b, x.at)
		}
	}
	if !slices.Equal(a, b) {
		t.Errorf("a third tenant moved the other two: %d and %d arrivals", len(a), len(b))
	}
}

func TestPoissonGaps(t *testing.T) {
	all := collect(planOf(t, Settings{Rate: 100, Duration: 500 * time.Second, Seed: 1}))
	var gaps []float64
	for i := 1; i < len(all); i++ {
		if all[i].n != uint64(i) || all[i].at < all[i-1].at {
			t.Fatalf("arrival %d is number %d at %v, after %v", i, all[i].n, all[i].at, all[i-1].at)
		}
		gaps = append(gaps, (all[i].at - all[i-1].at).Seconds())
	}
	mean, cv := meanCV(gaps)
	if math.Abs(mean-0.01) > 0.0002 || math.Abs(cv-1) > 0.02 {
		t.Errorf("gaps have mean %.5f s and variation %.3f, want 0.01 and 1", mean, cv)
	}
}

func meanCV(xs []float64) (mean, cv float64) {
	var sum, squares float64
	for _, x := range xs {
		sum, squares = sum+x, squares+x*x
	}
	n := float64(len(xs))
	mean = sum / n
	return mean, math.Sqrt(squares/n-mean*mean) / mean
}

func TestConstantGapsAndShares(t *testing.T) {
	all := collect(planOf(t, Settings{Rate: 10, Arrivals: Constant, Duration: 9900 * time.Millisecond,
		Tenants: []Tenant{{Name: "fixed", Rate: 1}, {Name: "part", Share: 0.5}, {Name: "rest"}}}))
	var n [3]int
	var last [3]time.Duration
	for _, a := range all {
		want := []time.Duration{time.Second, 200 * time.Millisecond, 250 * time.Millisecond}[a.tenant]
		if gap := a.at - last[a.tenant]; (gap - want).Abs() > time.Microsecond {
			t.Errorf("tenant %d: gap %v, want %v", a.tenant, gap, want)
		}
		last[a.tenant] = a.at
		n[a.tenant]++
	}
	if n != [3]int{9, 49, 39} {
		t.Errorf("arrivals by tenant: %v", n)
	}
}

func TestBurstsAndSteps(t *testing.T) {
	s := time.Second
	all := collect(planOf(t, Settings{Rate: 10, Arrivals: Constant, Duration: 40 * s, Bursts: []Burst{
		{Factor: 2, At: 10 * s},              // a step, for good
		{Factor: 10, At: 20 * s, For: 5 * s}, // over the step
		{Factor: 0, At: 30 * s, For: 5 * s},  // silence
	}}))
	var got [8]int
	for _, a := range all {
		got[a.at/(5*s)]++
	}
	want := [8]int{50, 50, 100, 100, 500, 100, 0, 100}
	for i := range got {
		if d := got[i] - want[i]; d < -1 || d > 1 { // an arrival on the edge
			t.Errorf("arrivals by 5 s: %v, want %v", got, want)
			break
		}
	}
	if n := len(collect(planOf(t, Settings{Rate: 10, Duration: s, Bursts: []Burst{{Factor: 0}}}))); n != 0 {
		t.Errorf("%d arrivals in silence", n)
	}
}

// The stretches must agree with asking for the factor at every instant.
func TestStretchesAgainstFactorAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var bursts []Burst
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			bursts = append(bursts, Burst{
				Factor: float64(rapid.IntRange(0, 5).Draw(t, "factor")),
				At:     time.Duration(rapid.IntRange(0, 30).Draw(t, "at")) * time.Second,
				For:    time.Duration(rapid.IntRange(0, 10).Draw(t, "for")) * time.Second,
			})
		}
		parts := stretches(bursts, 20*time.Second)
		for at := time.Duration(0); at < 20*time.Second; at += time.Second / 2 {
			i := slices.IndexFunc(parts, func(p stretch) bool { return at.Seconds() < p.until })
			if i < 0 || parts[i].factor != factorAt(bursts, at) {
				t.Fatalf("at %v: stretches %v, factor %v", at, parts, factorAt(bursts, at))
			}
		}
		if last := parts[len(parts)-1].until; last != 20 {
			t.Fatalf("the stretches end at %v", last)
		}
	})
}

func TestPatienceIsDrawn(t *testing.T) {
	var leaving []float64
	all := collect(planOf(t, Settings{Rate: 1000, Duration: 20 * time.Second, Patience: Patience{Fraction: 0.25, Mean: 2 * time.Second}}))
	for _, a := range all {
		if a.leave > 0 {
			leaving = append(leaving, a.leave.Seconds())
		}
	}
	mean, cv := meanCV(leaving)
	if part := float64(len(leaving)) / float64(len(all)); math.Abs(part-0.25) > 0.01 || math.Abs(mean-2) > 0.1 || math.Abs(cv-1) > 0.05 {
		t.Errorf("%.3f of the callers leave, after %.2f s with variation %.2f; want 0.25, 2, 1", part, mean, cv)
	}
}
