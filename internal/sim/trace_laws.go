package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// gapLaw is a distribution of gaps with a mean of 1: Gamma of the shape, or
// Weibull. Exponential is Gamma of shape 1.
type gapLaw struct {
	shape   float64
	weibull float64 // for a Weibull one over the mean at scale 1, else 0
}

func parseLaw(name string, shape float64) (gapLaw, error) {
	switch strings.ToLower(name) {
	case "exponential", "exp", "poisson", "":
		return gapLaw{shape: 1}, nil
	case "gamma":
		if shape < 0.001 {
			return gapLaw{}, fmt.Errorf("p1: the shape %v of a Gamma law is below 0.001", shape)
		}
		return gapLaw{shape: shape}, nil
	case "weibull":
		if shape < 0.05 {
			return gapLaw{}, fmt.Errorf("p1: the shape %v of a Weibull law is below 0.05", shape)
		}
		return gapLaw{shape: shape, weibull: 1 / math.Gamma(1+1/shape)}, nil
	}
	return gapLaw{}, fmt.Errorf("iat_dist: %.80q is not Gamma, Weibull or Exponential", name)
}

func (l gapLaw) gap(rng *rand.Rand) float64 {
	if l.weibull > 0 {
		return math.Pow(rng.ExpFloat64(), 1/l.shape) * l.weibull
	}
	return drawGamma(rng, l.shape) / l.shape
}

// met draws a gap with a chance that grows with its length.
func (l gapLaw) met(rng *rand.Rand) float64 {
	if l.weibull > 0 {
		return math.Pow(drawGamma(rng, 1+1/l.shape), 1/l.shape) * l.weibull
	}
	return drawGamma(rng, l.shape+1) / l.shape
}

// drawGamma draws from the Gamma distribution with scale 1, by the method of
// Marsaglia and Tsang (2000).
func drawGamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return drawGamma(rng, shape+1) * math.Pow(1-rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if u := 1 - rng.Float64(); math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// lengthLaw draws a length: log-normal cut off at max, or always the same if
// sigma is 0. A mu of minus infinity is a length of 0.
type lengthLaw struct{ mu, sigma, max float64 }

// newLengthLaw takes sigma from the way between the median and the mean, or to
// the 95th percentile if the mean is no more than the median. What the cut
// takes from the mean is given back by a higher mu.
func newLengthLaw(mean, p50, p95, most float64) lengthLaw {
	const z95 = 1.6449 // of the normal distribution
	l := lengthLaw{mu: math.Log(mean), max: most}
	if mean <= 0 || p50 <= 0 || mean >= most {
		return l
	}
	switch {
	case mean > p50:
		l.sigma = math.Sqrt(2 * math.Log(mean/p50))
	case p95 > p50:
		l.sigma = math.Log(p95/p50) / z95
	default:
		return l
	}
	low := l.mu - l.sigma*l.sigma/2 // right without the cut
	high := math.Log(most)
	for range 40 {
		l.mu = (low + high) / 2
		if l.mean() < mean {
			low = l.mu
		} else {
			high = l.mu
		}
	}
	return l
}

// mean is the mean after the cut.
func (l lengthLaw) mean() float64 {
	z := (math.Log(l.max) - l.mu) / l.sigma
	return math.Exp(l.mu+l.sigma*l.sigma/2)*normal(z-l.sigma) + l.max*normal(-z)
}

// normal is the distribution function of the standard normal.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func (l lengthLaw) draw(rng *rand.Rand) int64 {
	if math.IsInf(l.mu, -1) {
		return 0
	}
	v := math.Exp(l.mu + l.sigma*rng.NormFloat64())
	if l.max > 0 {
		v = min(v, l.max)
	}
	return int64(math.Round(min(v, maxTokens)))
}
