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

const sketchBase = 1.04 // a bucket's width: its middle is within 2 %

func (s *sketch) add(x float64) {
	s.n++
	s.sum += x
	if x < 1e-6 {
		s.zeros++
		return
	}
	i := int(math.Floor(math.Log(x) / math.Log(sketchBase)))
	switch {
	case len(s.buckets) == 0:
		s.low = i
		s.buckets = make([]uint32, 1)
	case i < s.low:
		s.buckets = append(make([]uint32, s.low-i), s.buckets...)
		s.low = i
	case i >= s.low+len(s.buckets):
		s.buckets = append(s.buckets, make([]uint32, i-s.low-len(s.buckets)+1)...)
	}
	s.buckets[i-s.low]++
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
		if n == 0 {
			continue
		}
		at := o.low + i
		switch {
		case len(s.buckets) == 0:
			s.low, s.buckets = at, make([]uint32, 1)
		case at < s.low:
			s.buckets = append(make([]uint32, s.low-at), s.buckets...)
			s.low = at
		case at >= s.low+len(s.buckets):
			s.buckets = append(s.buckets, make([]uint32, at-s.low-len(s.buckets)+1)...)
		}
		s.buckets[at-s.low] += n
	}
}
