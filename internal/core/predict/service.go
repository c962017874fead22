// Package predict says how long a request will take and how long until it
// starts.
//
// Service times are a plane over input and output tokens fitted online, a
// factor by tenant, a fast calibration for what the fit has not followed yet,
// and the distribution of the remaining error. All of it is O(1) a sample and
// free of allocations. Types are plain values owned by one goroutine.
package predict

import (
	"math"
	"math/bits"
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// Prior is what is believed before anything was measured.
type Prior struct {
	First, PerInput, PerOutput time.Duration
	Output                     int64 // tokens of an answer
}

const (
	priorInput   = 500.0 // tokens of input the prior mean stands for
	shrink       = 20    // samples a prior weighs against a tenant's own
	tenantMemory = 200   // samples a tenant's means remember
	calMemory    = 32    // samples the calibration remembers
	calLow       = 0.25  // range of the calibration
	calHigh      = 4
	trusted      = 8    // samples after which the spread of times is believed
	refreshEvery = 16   // samples between two refreshes of cached quantiles
	shortest     = 1e-4 // seconds: below this a time is noise
	leastShare   = 0.05 // of a time to the first event, that is left without its input
	longest      = 3600 // seconds: nothing longer is predicted, so that sums of times stay far from overflow
)

// Service predicts the service times of one pool.
type Service struct {
	prior  Prior
	total  timing // dispatch to end
	first  timing // dispatch to first event, streams only
	output meter.Mean
	mean   meter.Mean // of total, seconds
	square meter.Mean // of total squared
	slow   float64    // brownout factor, at least 1
}

// Tenant is what is known of one tenant in one pool. The zero value knows nothing.
type Tenant struct {
	output meter.Mean
	bySize [sizes]meter.Mean // the same by size of the input
	total  meter.Mean        // real over fitted
	first  meter.Mean
}

// Estimate is a prediction for one request. Raw times are before calibration:
// what sums up in queues, to be scaled when it is used.
type Estimate struct {
	Output     int64         // tokens
	Raw, First time.Duration // slot time; time to the first event

	total, first float64 // seconds, as fitted, before the tenant's factor
	lesser       bool    // of a request that was made cheaper
}

// Scaled is the estimate of the same request made cheaper, so that it takes a
// share of its time. What such a request takes teaches nothing of others, but
// how far predictions are off: how much it saved is for the caller to learn,
// and the calibration must not take that for the upstream's speed.
func (e Estimate) Scaled(share float64) Estimate {
	e.Raw, e.total, e.lesser = seconds(e.Raw.Seconds()*share), e.total*share, true
	e.First = min(e.First, e.Raw)
	return e
}

// timing is one kind of time: the fit, its calibration and its error.
type timing struct {
	fit   fit
	kappa float64 // real over raw: a ratio of means, as queues hold sums
	real  float64 // means of about the last calMemory samples, seconds
	raw   float64
	error meter.Hist // real over calibrated
	since int

	measured int
	quant    [101]float32 // cached quantiles by per cent, 0 means not cached
	aging    float64      // cached share of a running call's life that is overdue
}

// priorErrors stand for the error before anything was measured: log-normal, sigma 0.4.
var priorErrors = [...]float64{0.5, 0.65, 0.75, 0.85, 0.95, 1.05, 1.15, 1.3, 1.5, 1.9}

// NewService starts from a prior.
func NewService(p Prior) *Service {
	a, b, d := p.First.Seconds(), p.PerInput.Seconds(), p.PerOutput.Seconds()
	out := float64(p.Output)
	s := &Service{prior: p, slow: 1}
	s.total = newTiming(newFit(priorInput, out, a+b*priorInput+d*out, b, d))
	s.first = newTiming(newFit(priorInput, out, a+b*priorInput, b, 0))
	return s
}

func newTiming(f fit) timing {
	t := timing{fit: f, kappa: 1, real: f.y, raw: f.y}
	for _, e := range priorErrors {
		t.error.Add(e)
	}
	t.refresh()
	return t
}

// Estimate predicts a request of input tokens and at most maxOutput (0: no cap).
func (s *Service) Estimate(t *Tenant, input, maxOutput int64) Estimate {
	out := t.output.Shrunk(s.output.Shrunk(float64(s.prior.Output), 1), shrink)
	out = t.bySize[size(input)].Shrunk(out, shrink)
	if maxOutput > 0 {
		out = min(out, float64(maxOutput))
	}
	total, first := s.total.fit.at(float64(input), out), s.first.fit.at(float64(input), out)
	return Estimate{
		Output: int64(out + 0.5),
		Raw:    seconds(total * t.total.Shrunk(1, shrink)),
		First:  seconds(first * t.first.Shrunk(1, shrink)),
		total:  total,
		first:  first,
	}
}

// Slots is a raw time as it is believed now: calibrated and slowed.
func (s *Service) Slots(raw time.Duration) time.Duration {
	return time.Duration(min(float64(raw)*s.Factor(), math.MaxInt64/4))
}

// Factor is what raw slot time is multiplied with now.
func (s *Service) Factor() float64 { return s.total.kappa * s.slow }

// Need is the time from start to what the caller's deadline means, which is
// not exceeded with confidence per cent: the first event for a stream, else
// the end. Until some calls were measured it is the median: the spread of a
// prior is a guess, and must not turn people away.
func (s *Service) Need(e Estimate, stream bool, confidence int) time.Duration {
	t, raw := &s.total, e.Raw
	if stream {
		t, raw = &s.first, e.First
	}
	if t.measured < trusted {
		confidence = min(confidence, 50)
	}
	return seconds(raw.Seconds() * t.kappa * s.slow * t.quantile(confidence))
}

// Residual is the expected rest of a running call, E[S²]/2E[S]; with c slots
// busy the next ends after about a c-th of it.
func (s *Service) Residual() time.Duration {
	mean := s.mean.Shrunk(s.total.fit.y, 1)
	return seconds(s.square.Shrunk(mean*mean, 1) / (2 * mean) * s.slow)
}

// Mean is the mean service time measured of late.
func (s *Service) Mean() time.Duration { return seconds(s.mean.Shrunk(s.total.fit.y, 1)) }

// Unsized is a measured time to the first event without what the length of the
// input explains: scaled to an empty input, so that it is never negative,
// however wrong the fit.
func (s *Service) Unsized(took time.Duration, input int64) time.Duration {
	whole := s.first.fit.at(float64(input), 0)
	share := 1.0
	if whole > 0 {
		share = min(max(s.first.fit.at(0, 0)/whole, leastShare), 1)
	}
	return time.Duration(float64(took) * share)
}

// Expected is the time of a call of these tokens before calibration, to its
// first event and to its end; output 0 means it is not known.
func (s *Service) Expected(e Estimate, input, output int64) (first, total time.Duration) {
	out := float64(output)
	if output <= 0 {
		out = float64(e.Output)
	}
	return seconds(s.first.fit.at(float64(input), out)), seconds(s.total.fit.at(float64(input), out))
}

// First takes the measured time to a stream's first event.
func (s *Service) First(t *Tenant, e Estimate, input int64, took time.Duration) {
	y := max(took.Seconds(), shortest)
	t.first.Add(y/max(e.first, shortest), tenantMemory)
	s.first.learn(float64(input), float64(e.Output), y, e.First.Seconds())
}

// Total takes the measured time of a whole call and its tokens; output 0
// means it is not known.
func (s *Service) Total(t *Tenant, e Estimate, input, output int64, took time.Duration) {
	y := max(took.Seconds(), shortest)
	if output <= 0 {
		output = e.Output
	} else if !e.lesser {
		t.output.Add(float64(output), tenantMemory)
		t.bySize[size(input)].Add(float64(output), tenantMemory)
		s.output.Add(float64(output), tenantMemory)
	}
	s.mean.Add(y, fitMemory)
	s.square.Add(y*y, fitMemory)
	if e.lesser {
		s.total.wrong(y, e.Raw.Seconds())
		return
	}
	t.total.Add(y/max(e.total, shortest), tenantMemory)
	s.total.learn(float64(input), float64(output), y, e.Raw.Seconds())
}

// sizes are the classes of input length that a tenant's answers are known by:
// up to 64 tokens, each to twice as many, and above 64k. One tenant often has
// several uses of a model, and they differ in the length of both.
const sizes = 12

func size(input int64) int {
	return min(max(bits.Len64(uint64(max(input, 0)))-6, 0), sizes-1)
}

func (t *timing) learn(in, out, y, raw float64) {
	t.wrong(y, raw)
	t.real += (y - t.real) / calMemory
	t.raw += (raw - t.raw) / calMemory
	t.kappa = min(max(t.real/t.raw, calLow), calHigh)
	t.fit.add(in, out, y)
}

// wrong takes how far a prediction was off.
func (t *timing) wrong(y, raw float64) {
	t.measured++
	t.error.Add(y / max(raw, shortest) / t.kappa)
	if t.since++; t.since >= refreshEvery {
		t.refresh()
	}
}

func (t *timing) refresh() {
	t.since = 0
	t.quant = [101]float32{}
	t.aging = t.error.Excess()
}

func (t *timing) quantile(percent int) float64 {
	q := &t.quant[percent]
	if *q == 0 {
		*q = float32(t.error.Quantile(float64(percent) / 100))
	}
	return float64(*q)
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, longest) * float64(time.Second))
}
