package sim

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Gaps have a mean of 1 and the spread of their law; the gap that a random
// moment falls into has the mean of the squares.
func TestGapLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name  string
		shape float64
		cv2   float64 // variance at a mean of 1
	}{
		{"Gamma", 0.4, 2.5},
		{"Gamma", 4, 0.25},
		{"Exponential", 0, 1},
		{"Weibull", 0.7, math.Gamma(1+2/0.7)/math.Pow(math.Gamma(1+1/0.7), 2) - 1},
		{"Weibull", 2, 4/math.Pi - 1},
	} {
		law, err := parseLaw(c.name, c.shape)
		if err != nil {
			t.Fatal(err)
		}
		const n = 200_000
		var sum, squares, met float64
		for range n {
			x := law.gap(rng)
			sum += x
			squares += x * x
			met += law.met(rng)
		}
		if mean := sum / n; math.Abs(mean-1) > 0.02 {
			t.Errorf("%s %v: mean %.3f, want 1", c.name, c.shape, mean)
		}
		if cv2 := squares/n - 1; math.Abs(cv2/c.cv2-1) > 0.06 {
			t.Errorf("%s %v: variance %.3f, want %.3f", c.name, c.shape, cv2, c.cv2)
		}
		if got, want := met/n, c.cv2+1; math.Abs(got/want-1) > 0.03 {
			t.Errorf("%s %v: a random moment falls into %.3f, want %.3f", c.name, c.shape, got, want)
		}
	}
}

func TestLengthLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name                 string
		mean, p50, p95, most float64
	}{
		{"mean above the median", 427, 275, 422, 5073},
		{"mean below the median", 37, 40, 70, 171},
		{"cut off early", 600, 300, 900, 1000},
		{"always the same", 372, 372, 372, 372},
		{"median of zero", 12, 0, 90, 200},
		{"none", 0, 0, 0, 0},
	} {
		law := newLengthLaw(c.mean, c.p50, c.p95, c.most)
		sum := 0.0
		const n = 100_000
		for range n {
			v := float64(law.draw(rng))
			if v > c.most {
				t.Fatalf("%s: %v is above %v", c.name, v, c.most)
			}
			sum += v
		}
		if got := sum / n; math.Abs(got-c.mean) > 0.02*c.mean {
			t.Errorf("%s: mean %.1f, want %.1f", c.name, got, c.mean)
		}
	}
}
