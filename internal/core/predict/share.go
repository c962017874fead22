package predict

// Share is how a pool's slots divide among tenants: weighted max-min fairness.
// A tenant that wants less than its share gets what it wants, the others
// divide the rest by weight.
type Share struct {
	capacity float64
	level    float64 // slots a unit of weight that a tenant with work gets
	wanting  float64 // slots taken by tenants below the level
	weight   float64 // weight of the tenants at the level
}

// Demand is what one tenant asks of the pool.
type Demand struct {
	Weight float64
	Slots  float64 // slot-seconds a second of admitted work, of late
	Backed bool    // has work waiting: takes all it can get
}

// NewShare finds the level λ with Σ min(demand, weight·λ) = capacity. Tenants
// found above the level only lower the rest's share, so the level rises with
// every round, and few rounds are needed.
func NewShare(capacity float64, demands []Demand) Share {
	s := Share{capacity: capacity}
	for _, d := range demands {
		s.weight += d.Weight
	}
	if s.weight == 0 {
		return s
	}
	s.level = capacity / s.weight
	for range 8 {
		wanting, weight := 0.0, 0.0
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
			break
		}
		s.level = max((capacity-wanting)/weight, s.level)
	}
	return s
}

// low says whether a demand counts as less than its share.
func (s *Share) low(d Demand) bool { return !d.Backed && d.Slots < d.Weight*s.level }

// Of is the slots that a tenant of the weight would get with work waiting all
// the time. counted is its demand as it was when the share was made, for that
// may have changed since; the zero Demand if it came later. At least a
// hundredth of an equal part is given, so that nothing divides by zero while
// demands of the past still fade.
func (s Share) Of(weight float64, counted Demand) float64 {
	wanting, total := s.wanting, s.weight
	switch {
	case counted.Weight == 0:
		total += weight
	case s.low(counted): // it wanted little: now it wants all it can get
		wanting = max(wanting-counted.Slots, 0)
		total += weight
	}
	total = max(total, weight)
	return max((s.capacity-wanting)/total*weight, s.capacity/100*weight/total, 1e-3)
}
