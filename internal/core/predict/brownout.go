package predict

import (
	"math"
	"time"
)

// Ages looks at the calls that run now, to notice an upstream that slows down
// before any call completes. Add every running call, then give it to Brownout.
type Ages struct {
	running, overdue int
	age, estimate    float64 // of the overdue calls, seconds
}

// Add takes one running call: its age and what was predicted for it, raw.
func (a *Ages) Add(s *Service, age, raw time.Duration) {
	a.running++
	if est := float64(raw) * s.total.kappa; float64(age) > est {
		a.overdue++
		a.age += age.Seconds()
		a.estimate += est / float64(time.Second)
	}
}

// Brownout sets the factor by which the upstream is believed to be slower
// than its completions say: one plus the share of running calls that are
// overdue, times how much. Some are always overdue, for service times vary:
// the share expected from the distribution of errors, and one standard
// deviation of it, do not count.
func (s *Service) Brownout(a Ages) { s.slow = s.SlowBy(a) }

// SlowBy is that factor for some of the running calls.
func (s *Service) SlowBy(a Ages) float64 {
	if a.overdue == 0 {
		return 1
	}
	n := float64(a.running)
	expected := s.total.aging
	excess := float64(a.overdue)/n - expected - math.Sqrt(expected*(1-expected)/n)
	if excess <= 0 {
		return 1
	}
	return 1 + excess*(a.age/a.estimate-1)
}

// Slow is the present brownout factor, 1 when all is well.
func (s *Service) Slow() float64 { return s.slow }
