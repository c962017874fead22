package meter

import "math"

const (
	histBuckets = 128
	histPerTwo  = 8                               // buckets for a factor of two: relative error 4.4 %
	histLow     = -histBuckets / 2.0 / histPerTwo // log2 of the lower end: 1/256
	histFull    = 128                             // samples after which the older half is forgotten
)

// Hist is a decaying histogram of positive ratios between 1/256 and 256 with
// logarithmic buckets; values outside count in the outermost bucket. It
// remembers between 128 and 256 samples, in two halves of which the older is
// dropped whole. The zero value is ready.
type Hist struct {
	new, old   [histBuckets]uint16
	nNew, nOld int
}

// Add takes one sample.
func (h *Hist) Add(ratio float64) {
	if h.nNew == histFull {
		h.old, h.nOld = h.new, h.nNew
		h.new, h.nNew = [histBuckets]uint16{}, 0
	}
	h.new[histBucket(ratio)]++
	h.nNew++
}

// Count is the number of samples remembered.
func (h *Hist) Count() int { return h.nNew + h.nOld }

// Quantile is the value below which the share q, in [0, 1], of samples lies;
// 1 if there are none.
func (h *Hist) Quantile(q float64) float64 {
	n := h.Count()
	if n == 0 {
		return 1
	}
	rank := q * float64(n)
	seen := 0.0
	for i := range h.new {
		in := float64(h.new[i]) + float64(h.old[i])
		if in > 0 && seen+in >= rank {
			return histValue(float64(i) + (rank-seen)/in)
		}
		seen += in
	}
	return histValue(histBuckets)
}

// Below is the share of samples that lie below x; 0 if there are none.
func (h *Hist) Below(x float64) float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	sum := 0
	for i := range histBucket(x) {
		sum += int(h.new[i]) + int(h.old[i])
	}
	return float64(sum) / float64(n)
}

// Excess is the mean of max(x-1, 0) over the mean of x: the share of a
// renewal process in which the running life is older than 1.
func (h *Hist) Excess() float64 {
	var sum, over float64
	for i := range h.new {
		in := float64(h.new[i]) + float64(h.old[i])
		if in == 0 {
			continue
		}
		x := histValue(float64(i) + 0.5)
		sum += in * x
		over += in * max(x-1, 0)
	}
	if sum == 0 {
		return 0
	}
	return over / sum
}

func histBucket(x float64) int {
	if !(x > 0) {
		return 0
	}
	i := int(math.Floor((math.Log2(x) - histLow) * histPerTwo))
	return min(max(i, 0), histBuckets-1)
}

func histValue(pos float64) float64 { return math.Exp2(pos/histPerTwo + histLow) }
