package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"
)

// Ramp is how one pool does without any protection as its load grows: how
// many are late, and how long they wait.
type Ramp struct {
	Profile
	Steps []Step // by load
}

// Profile is what the requests of a pool are like. A zero is not known.
type Profile struct {
	Model     string
	Slots     int // calls at once
	Requests  int64
	Span      time.Duration      // from zero to the last arrival
	Service   time.Duration      // mean time of a call at low load
	Service95 time.Duration      // the 95th percentile of the same: the baseline
	Patience  time.Duration      // what nine of ten requests can at most wait: their deadlines less their own time
	Tokens    float64            // mean, input and output
	Tenants   map[string]float64 // mean requests a minute
	// Calls is the mean time of a call by deployment, at low load or as it was
	// measured; what is missing takes Service.
	Calls map[string]time.Duration
}

// load is the offered work over capacity at the pace of the source.
func (p *Profile) load() float64 {
	return float64(p.Requests) * p.Service.Seconds() / (float64(p.Slots) * max(p.Span.Seconds(), 1e-9))
}

// Step is one load of a ramp.
type Step struct {
	Load   float64       // offered work over capacity; 0 where the capacity is not known
	Rate   float64       // requests a second
	Late   float64       // share of the requests that were not answered in time
	Wait95 time.Duration // 95th percentile of the waits
}

// lateBeyond is the share of late requests, beyond that at the lowest load,
// from which lateness cascades.
const lateBeyond = 0.02

// healthy says whether lateness has not begun at a step: hardly more is late
// than at the lowest load, and the P95 of the waits is below that of the
// calls, so that the P95 of both together has not departed.
func (r *Ramp) healthy(s Step) bool {
	return s.Late <= r.Steps[0].Late+lateBeyond && s.Wait95 <= r.Service95
}

// Knee is the last healthy step, and the first that is not; found is false if
// every step is healthy, or none is: then the lowest is both.
func (r *Ramp) Knee() (good, bad Step, found bool) {
	for i, s := range r.Steps {
		if !r.healthy(s) {
			return r.Steps[max(i-1, 0)], s, i > 0
		}
	}
	last := r.Steps[len(r.Steps)-1]
	return last, last, false
}

// Climb measures a ramp: step adds the measurement at a rate to r. The rate
// grows by factor from the lowest until lateness has begun at two steps or at
// most is reached; then the step in which it began is halved, three times.
func Climb(r *Ramp, lowest, most, factor float64, step func(rate float64) error) error {
	late := 0
	for rate := lowest; late < 2 && rate <= most; rate *= factor {
		if err := step(rate); err != nil {
			return err
		}
		if !r.healthy(r.Steps[len(r.Steps)-1]) {
			late++
		}
	}
	r.sort()
	return r.narrow(func(good, bad Step) error { return step((good.Rate + bad.Rate) / 2) })
}

// halvings are of the step in which lateness begins.
const halvings = 3

// narrow measures in the middle of the step in which lateness begins.
func (r *Ramp) narrow(middle func(good, bad Step) error) error {
	for range halvings {
		good, bad, found := r.Knee()
		if !found {
			return nil
		}
		if err := middle(good, bad); err != nil {
			return err
		}
		r.sort()
	}
	return nil
}

// sort brings the steps in order of load.
func (r *Ramp) sort() {
	slices.SortStableFunc(r.Steps, func(a, b Step) int {
		return cmp.Compare(a.Rate, b.Rate)
	})
}

// Concurrency is what a pool runs at the knee, by Little's law, less a tenth.
func (r *Ramp) Concurrency() int {
	good, _, _ := r.Knee()
	return min(max(int(good.Rate*r.Service.Seconds()*0.9), 1), mostCalls)
}

// Curve is the share of late requests over the load, as text; or, where
// hardly any is late, the P95 of the waits.
func (r *Ramp) Curve() string {
	first, last := r.Steps[0], r.Steps[len(r.Steps)-1]
	what, of, digits := "late, in per cent", func(s Step) float64 { return percent(s.Late) }, uint(0)
	if !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Late > lateBeyond }) {
		what, of, digits = "P95 wait, in seconds", func(s Step) float64 { return s.Wait95.Seconds() }, 2
	}
	values := make([]float64, plotWidth)
	for i := range values {
		values[i] = r.at(first.Rate+(last.Rate-first.Rate)*float64(i)/float64(len(values)-1), of)
	}
	over := fmt.Sprintf("%.3g to %.3g requests a second", first.Rate, last.Rate)
	if last.Load > 0 {
		over = fmt.Sprintf("load %.3g to %.3g", first.Load, last.Load)
	}
	text := asciigraph.Plot(values, asciigraph.Height(plotHeight), asciigraph.LowerBound(0), asciigraph.Precision(digits),
		asciigraph.Caption(what+", over "+over))
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// at is a figure at a rate, between the steps in a straight line.
func (r *Ramp) at(rate float64, of func(Step) float64) float64 {
	i, _ := slices.BinarySearchFunc(r.Steps, rate, func(s Step, rate float64) int {
		if s.Rate < rate {
			return -1
		}
		return 1
	})
	if i == 0 {
		return of(r.Steps[0])
	}
	if i == len(r.Steps) {
		return of(r.Steps[i-1])
	}
	a, b := r.Steps[i-1], r.Steps[i]
	if b.Rate == a.Rate {
		return of(b)
	}
	return of(a) + (of(b)-of(a))*(rate-a.Rate)/(b.Rate-a.Rate)
}

// rounded is d to two digits, as people write thresholds.
func rounded(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	digit := time.Duration(math.Pow(10, math.Floor(math.Log10(float64(d)))-1))
	return max(d.Round(max(digit, time.Millisecond)), time.Millisecond)
}
