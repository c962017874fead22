package sim

import "math"

// sketch is a histogram of non-negative seconds with a relative error of 2 %,
// and memory that does not grow with the samples. Below a microsecond is zero.
type sketch struct {
	n       int64
	sum     float64
	zeros   int64
	buckets []uint32
	low     int // index of the first bucket
}

const (
	sketchBase  = 1.04 // a bucket's width: its middle is within 2 %
	sketchChunk = 64   // buckets are added so many at a time
)

var logBase = math.Log(sketchBase)

func (s *sketch) add(x float64) {
	s.n++
	s.sum += x
	if x < 1e-6 {
		s.zeros++
		return
	}
	*s.bucket(int(math.Floor(math.Log(x) / logBase)))++
}

// bucket is the one of an index, made if there is none.
func (s *sketch) bucket(i int) *uint32 {
	switch {
	case len(s.buckets) == 0:
		s.low = i - sketchChunk/2
		s.buckets = make([]uint32, sketchChunk)
	case i < s.low:
		more := max(s.low-i, sketchChunk)
		s.buckets = append(make([]uint32, more), s.buckets...)
		s.low -= more
	case i >= s.low+len(s.buckets):
		s.buckets = append(s.buckets, make([]uint32, max(i-s.low-len(s.buckets)+1, sketchChunk))...)
	}
	return &s.buckets[i-s.low]
}

// quantile is the value below which the share q lies; 0 if there is none.
func (s *sketch) quantile(q float64) float64 {
	rank := int64(math.Ceil(q * float64(s.n)))
	seen := s.zeros
	if rank <= seen || s.n == 0 {
		return 0
	}
	for i, n := range s.buckets {
		if seen += int64(n); seen >= rank {
			return math.Pow(sketchBase, float64(s.low+i)+0.5)
		}
	}
	return 0
}

func (s *sketch) mean() float64 {
	if s.n == 0 {
		return 0
	}
	return s.sum / float64(s.n)
}

func (s *sketch) merge(o *sketch) {
	s.n, s.sum, s.zeros = s.n+o.n, s.sum+o.sum, s.zeros+o.zeros
	for i, n := range o.buckets {
		if n > 0 {
			*s.bucket(o.low + i) += n
		}
	}
}
