package predict

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var prior = Prior{First: 200 * time.Millisecond, PerInput: 150 * time.Microsecond, PerOutput: 20 * time.Millisecond, Output: 200}

// TestFitConverges to a plane it was not told of, from a prior that is wrong.
func TestFitConverges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	f := newFit(500, 200, 4.275, 150e-6, 20e-3)
	plane := func(in, out float64) float64 { return 0.5 + 1e-3*in + 5e-3*out }
	for range 1000 {
		in, out := 100+1900*rng.Float64(), 50+450*rng.Float64()
		f.add(in, out, plane(in, out)*math.Exp(0.1*rng.NormFloat64()))
	}
	for _, x := range [][2]float64{{100, 50}, {100, 500}, {1000, 300}, {2000, 50}, {2000, 500}} {
		if got, want := f.at(x[0], x[1]), plane(x[0], x[1]); math.Abs(got-want) > 0.1*want {
			t.Errorf("%v tokens: %v s, want %v", x, got, want)
		}
	}
}

// TestFitSlopes are never negative, and the value is always a positive number.
func TestFitSlopes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFit(500, 200, 4, 150e-6, 20e-3)
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			f.add(rapid.Float64Range(0, 1e6).Draw(t, "in"), rapid.Float64Range(0, 1e5).Draw(t, "out"), rapid.Float64Range(shortest, 1e4).Draw(t, "y"))
			if !(f.b >= 0 && f.d >= 0) {
				t.Fatalf("slopes %v and %v", f.b, f.d)
			}
			if y := f.at(0, 0); !(y > 0) || math.IsInf(y, 0) {
				t.Fatalf("nothing takes %v", y)
			}
		}
	})
}

// learned is a service whose calls take a second, log-normal with sigma.
func learned(n int, mean, sigma float64, rng *rand.Rand) (*Service, *Tenant) {
	s, tenant := NewService(prior), &Tenant{}
	for range n {
		took := seconds(mean * math.Exp(sigma*rng.NormFloat64()-sigma*sigma/2))
		s.Total(tenant, s.Estimate(tenant, 100, 0), 100, 200, took)
	}
	return s, tenant
}

// TestCoverage: the share of calls that take no longer than Need is what the
// confidence says, whatever the noise.
func TestCoverage(t *testing.T) {
	for _, sigma := range []float64{0.1, 0.25, 0.5, 1} {
		for _, confidence := range []int{50, 90, 95} {
			rng := rand.New(rand.NewPCG(7, 7))
			s, tenant := learned(500, 1, sigma, rng)
			within, n := 0, 4000
			for range n {
				e := s.Estimate(tenant, 100, 0)
				need := s.Need(e, false, confidence)
				took := seconds(math.Exp(sigma*rng.NormFloat64() - sigma*sigma/2))
				if took <= need {
					within++
				}
				s.Total(tenant, e, 100, 200, took)
			}
			if got := 100 * float64(within) / float64(n); math.Abs(got-float64(confidence)) > 3 {
				t.Errorf("sigma %v: %v %% of calls are within the time for %d %%", sigma, got, confidence)
			}
		}
	}
}

// TestPriorIsForgotten: ten times too long or too short a prior is corrected
// within a hundred calls.
func TestPriorIsForgotten(t *testing.T) {
	for _, mean := range []float64{0.4, 40} { // the prior says four seconds
		s, tenant := learned(100, mean, 0.25, rand.New(rand.NewPCG(1, 1)))
		got := s.Slots(s.Estimate(tenant, 100, 0).Raw).Seconds()
		if math.Abs(got-mean) > 0.25*mean {
			t.Errorf("%v s after a hundred calls of %v s", got, mean)
		}
	}
}

// TestTenants: one tenant's calls are three times as long as another's of the
// same size; each is predicted its own, and a stranger something between.
func TestTenants(t *testing.T) {
	s := NewService(prior)
	var short, long, stranger Tenant
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		s.Total(&short, s.Estimate(&short, 100, 0), 100, 200, seconds(1+0.1*rng.Float64()))
		s.Total(&long, s.Estimate(&long, 100, 0), 100, 200, seconds(3+0.3*rng.Float64()))
	}
	a, b, c := s.Slots(s.Estimate(&short, 100, 0).Raw), s.Slots(s.Estimate(&long, 100, 0).Raw), s.Slots(s.Estimate(&stranger, 100, 0).Raw)
	if a > 1300*time.Millisecond || b < 2700*time.Millisecond || c < a || c > b {
		t.Errorf("predicted %v and %v, a stranger %v", a, b, c)
	}
}

func TestEstimate(t *testing.T) {
	s := NewService(prior)
	var tenant Tenant
	if e := s.Estimate(&tenant, 500, 0); e.Output != 200 || (e.Raw-4275*time.Millisecond).Abs() > time.Millisecond {
		t.Errorf("%+v, want the prior's 0.2 + 0.075 + 4 s", e)
	}
	if e := s.Estimate(&tenant, 500, 50); e.Output != 50 || (e.Raw-1275*time.Millisecond).Abs() > time.Millisecond {
		t.Errorf("%+v, want the caller's cap to count", e)
	}
	if e := s.Estimate(&tenant, 0, 1<<62); e.Output != 200 {
		t.Errorf("%+v, want no more than is usual", e)
	}
	if e := s.Estimate(&tenant, 1<<62, 0); e.Raw <= 0 || e.Raw > time.Hour || s.Need(e, false, 99) > time.Hour || s.Need(e, true, 99) <= 0 {
		t.Errorf("%+v for any number of tokens", e)
	}
	if first, total := s.Need(s.Estimate(&tenant, 500, 0), true, 50), s.Need(s.Estimate(&tenant, 500, 0), false, 50); first*5 > total {
		t.Errorf("a stream's first token needs %v of %v", first, total)
	}
}

// TestBrownout rises before any call ends, in proportion to how late those
// running are, and stays at one in steady state.
func TestBrownout(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	s, tenant := learned(500, 1, 0.25, rng)
	raw := s.Estimate(tenant, 100, 0).Raw
	look := func(ages ...float64) float64 {
		var a Ages
		for _, age := range ages {
			a.Add(s, seconds(age), raw)
		}
		s.Brownout(a)
		return s.Slow()
	}
	stuck := func(age float64) (ages []float64) {
		for range 16 {
			ages = append(ages, age)
		}
		return ages
	}
	if got := look(); got != 1 {
		t.Errorf("nothing runs: %v", got)
	}
	if got := look(stuck(0.5)...); got != 1 {
		t.Errorf("all are young: %v", got)
	}
	two, three := look(stuck(2)...), look(stuck(3)...)
	if two < 1.4 || three < 2 || three <= two || three > 3.2 {
		t.Errorf("all at twice their time: %v, at three times: %v", two, three)
	}
	if got := s.Slots(time.Second); got < 2*time.Second*9/10 {
		t.Errorf("a second is %v while slow", got)
	}
	if got := look(stuck(0.5)...); got != 1 {
		t.Errorf("it does not end: %v", got)
	}
	worst, sum := 1.0, 0.0
	for range 2000 { // slots at a random moment of calls as long as usual
		var ages []float64
		for len(ages) < 16 {
			life := math.Exp(0.25 * rng.NormFloat64())
			if rng.Float64()*3 < life { // long calls are met more often
				ages = append(ages, life*rng.Float64())
			}
		}
		got := look(ages...)
		worst, sum = max(worst, got), sum+got
	}
	if mean := sum / 2000; worst > 1.15 || mean > 1.01 {
		t.Errorf("in steady state up to %v, %v on average", worst, mean)
	}
}
