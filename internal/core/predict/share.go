package predict

// Share is how a pool's slots divide among tenants: weighted max-min fairness.
// A tenant that wants less than its share gets what it wants, the others
// divide the rest by weight.
type Share struct {
	capacity float64
	level    float64 // slots a unit of weight that a tenant with work gets
	wanting  float64 // slots taken by tenants below the level
	weight   float64 // weight of the tenants at the level
	all      float64 // weight of all tenants
	entry    entry
}

// entry is the share as one more tenant that always has work would find it.
type entry struct{ wanting, weight, level float64 }

// Demand is what one tenant asks of the pool.
type Demand struct {
	Weight float64
	Slots  float64 // slot-seconds a second of admitted work, of late
	Backed bool    // has work waiting: takes all it can get
}

// NewShare finds the level λ with Σ min(demand, weight·λ) = capacity.
func NewShare(capacity float64, demands []Demand) Share {
	s := Share{capacity: capacity}
	s.solve(demands, 1)
	s.entry = entry{s.wanting, s.weight - 1, s.level}
	s.solve(demands, 0)
	return s
}

// solve finds the level, with extra weight that always has work. Tenants found
// above the level only lower the rest's share, so the level rises with every
// round, and few rounds are needed.
func (s *Share) solve(demands []Demand, extra float64) {
	s.weight, s.wanting, s.level = extra, 0, 0
	for _, d := range demands {
		s.weight += d.Weight
	}
	s.all = s.weight
	if s.weight == 0 {
		return
	}
	s.level = s.capacity / s.weight
	for range 8 {
		wanting, weight := 0.0, extra
		for _, d := range demands {
			if s.low(d) {
				wanting += d.Slots
			} else {
				weight += d.Weight
			}
		}
		settled := weight == s.weight
		s.wanting, s.weight = wanting, weight
		if weight == 0 || settled {
			return
		}
		s.level = max((s.capacity-wanting)/weight, s.level)
	}
}

// low says whether a demand counts as less than its share.
func (s *Share) low(d Demand) bool { return !d.Backed && d.Slots < d.Weight*s.level }

// Of is the slots that a tenant of the weight would get with work waiting all
// the time: never less than its weight's part of all, nor than one more tenant
// would get. counted is its demand as it was when the share was made, for that
// may have changed since; the zero Demand if it came later.
func (s Share) Of(weight float64, counted Demand) float64 {
	wanting, total, all := s.wanting, s.weight, s.all
	switch {
	case counted.Weight == 0:
		total += weight
		all += weight
	case s.low(counted): // it wanted little: now it wants all it can get
		wanting = max(wanting-counted.Slots, 0)
		total += weight
	}
	total, all = max(total, weight), max(all, weight)
	e := s.entry
	if !counted.Backed && counted.Slots < counted.Weight*e.level {
		e.wanting = max(e.wanting-counted.Slots, 0)
	}
	newcomer := (s.capacity - e.wanting) / (e.weight + weight) * weight
	return max((s.capacity-wanting)/total*weight, s.capacity/all*weight, newcomer, 1e-3)
}
