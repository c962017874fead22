package meter

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestRecent(t *testing.T) {
	var r Recent
	for _, x := range []struct {
		at   time.Duration
		add  int
		want int64
	}{
		{0, 0, 0},
		{0, 3, 3},
		{900 * time.Millisecond, 2, 5},
		{9 * s, 1, 6},
		{9900 * time.Millisecond, 0, 6}, // the first second still counts
		{10 * s, 0, 1},                  // now it does not
		{10 * s, 4, 5},
		{18900 * time.Millisecond, 0, 5},
		{19 * s, 0, 4},   // the one of the ninth second
		{15 * s, 2, 6},   // backwards: as if no time passed
		{1000 * s, 0, 0}, // long after
		{1000 * s, 1 << 40, 1 << 40},
		{1010 * s, 0, 0}, // a large amount leaves whole
	} {
		now := t0.Add(x.at)
		if x.add > 0 {
			r.Add(now, x.add)
		}
		if got := r.Sum(now); got != x.want {
			t.Errorf("at %v: %d, want %d", x.at, got, x.want)
		}
	}
	var asked, fresh Recent
	asked.Sum(t0.Add(-300 * time.Millisecond)) // to look is not to begin
	asked.Add(t0, 1)
	fresh.Add(t0, 1)
	if asked != fresh {
		t.Error("looking at an empty one changed what it counts")
	}
}

func TestRate(t *testing.T) {
	var r Rate
	if r.PerSecond(t0) != 0 {
		t.Error("something in nothing")
	}
	r.Add(t0, 5)
	if got := r.PerSecond(t0); math.Abs(got-5) > 0.1 {
		t.Errorf("five in the first second are %v a second", got)
	}
	for i := range 1200 { // ten a second for two minutes
		r.Add(t0.Add(time.Duration(i)*100*time.Millisecond), 1)
	}
	now := t0.Add(120 * s)
	if got := r.PerSecond(now); math.Abs(got-10) > 0.3 {
		t.Errorf("ten a second are %v", got)
	}
	if got := r.PerSecond(now.Add(-time.Hour)); got > 11 || got < 0 {
		t.Errorf("an hour backwards it is %v", got)
	}
	if got := r.PerSecond(now.Add(RateTau)); math.Abs(got-10/math.E) > 0.2 {
		t.Errorf("after one time constant %v remain, want %v", got, 10/math.E)
	}
}

func TestMean(t *testing.T) {
	var m Mean
	if got := m.Shrunk(7, 1); got != 7 {
		t.Errorf("the prior is %v", got)
	}
	for _, x := range []float64{1, 2, 3} {
		m.Add(x, 100)
	}
	if got := m.Shrunk(100, 0); math.Abs(got-2) > 1e-9 {
		t.Errorf("mean %v, want 2", got)
	}
	if got := m.Shrunk(10, 3); math.Abs(got-6) > 1e-9 { // as strong as the three samples
		t.Errorf("shrunk %v, want 6", got)
	}
	for range 1000 {
		m.Add(50, 100)
	}
	if got := m.Shrunk(0, 0); math.Abs(got-50) > 0.1 {
		t.Errorf("it remembers too long: %v", got)
	}
}

// TestHist compares with a sorted slice: a bucket is an eighth of a factor of
// two, so that the error is at most 9.1 %.
func TestHist(t *testing.T) {
	for sigma, seed := range map[float64]uint64{0.1: 1, 0.4: 2, 1: 3, 1.5: 4} {
		rng := rand.New(rand.NewPCG(seed, 1))
		var h Hist
		var all []float64
		for range 256 {
			x := math.Exp(sigma * rng.NormFloat64())
			h.Add(x)
			all = append(all, x)
		}
		if h.Count() != 256 {
			t.Fatalf("%d remembered", h.Count())
		}
		slices.Sort(all)
		for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.95, 0.99} {
			i := min(int(q*256), 255)
			low, high := all[max(i-1, 0)]/1.091, all[min(i+1, 255)]*1.091
			if got := h.Quantile(q); got < low || got > high {
				t.Errorf("sigma %v: quantile %v is %v, want %v to %v", sigma, q, got, low, high)
			}
		}
		over, sum := 0.0, 0.0
		for _, x := range all {
			sum += x
			over += max(x-1, 0)
		}
		if got := h.Excess(); math.Abs(got-over/sum) > 0.03 {
			t.Errorf("sigma %v: excess %v, want %v", sigma, got, over/sum)
		}
	}
}

func TestHistEdges(t *testing.T) {
	var h Hist
	if h.Quantile(0.5) != 1 || h.Excess() != 0 {
		t.Error("an empty one should say 1 and no excess")
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), 1e9, 1e-9} {
		h.Add(x)
	}
	if lo, hi := h.Quantile(0), h.Quantile(1); lo < 1.0/256 || hi > 256 || h.Count() != 6 {
		t.Errorf("%v to %v of %d", lo, hi, h.Count())
	}
	for range 2 * histFull { // all of that is forgotten
		h.Add(2)
	}
	if q := h.Quantile(0.01); q < 1.8 || q > 2.2 {
		t.Errorf("it remembers %v", q)
	}
}

func TestHistBelow(t *testing.T) {
	var h Hist
	if got := h.Below(1); got != 0 {
		t.Errorf("of nothing %v lies below", got)
	}
	for i := range 300 { // more than it remembers: the older half is forgotten
		h.Add(float64(i%4 + 1))
	}
	for x, want := range map[float64]float64{0.5: 0, 1.5: 0.25, 2.5: 0.5, 3.5: 0.75, 5: 1, 1000: 1} {
		if got := h.Below(x); math.Abs(got-want) > 0.02 {
			t.Errorf("below %v: %v, want %v", x, got, want)
		}
	}
}
