package predict

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// level is the twin of NewShare: it sorts tenants by what they want for their
// weight and hands out, the modest first.
func level(capacity float64, demands []Demand) float64 {
	want := func(d Demand) float64 {
		if d.Backed {
			return math.Inf(1)
		}
		return d.Slots / d.Weight
	}
	sorted := slices.Clone(demands)
	slices.SortFunc(sorted, func(a, b Demand) int {
		switch x, y := want(a), want(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	weight := 0.0
	for _, d := range sorted {
		weight += d.Weight
	}
	for _, d := range sorted {
		if want(d)*weight >= capacity {
			return capacity / weight
		}
		capacity -= d.Slots
		weight -= d.Weight
	}
	return math.Inf(1) // all have what they want
}

func TestShareTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Float64Range(0.5, 100).Draw(t, "capacity")
		var demands []Demand
		for range rapid.IntRange(1, 12).Draw(t, "tenants") {
			demands = append(demands, Demand{
				Weight: float64(rapid.IntRange(1, 5).Draw(t, "weight")),
				Slots:  rapid.Float64Range(0, 60).Draw(t, "slots"),
				Backed: rapid.Bool().Draw(t, "backed"),
			})
		}
		s := NewShare(capacity, demands)
		for i, d := range demands {
			asked := slices.Clone(demands)
			asked[i].Backed = true // Of is about a tenant that wants all it can get
			want := level(capacity, asked) * d.Weight
			got := s.Of(d.Weight, d)
			// Of looks at the others as they stood before; that the one who now
			// wants more pushes some of them below what they want is known for a
			// weight of one, but for its own demand of before. So it never says
			// too much, and at least that.
			all := 0.0
			for _, o := range demands {
				all += o.Weight
			}
			asked[i].Weight = 1
			least := max(level(capacity, asked), capacity*d.Weight/all)
			if got > want+1e-6*capacity && want > capacity/100 || got < max(least-d.Slots, capacity*d.Weight/all)*(1-1e-6) {
				t.Errorf("%+v of %v gets %v, fairly %v, and at least %v", d, demands, got, want, least)
			}
			if d.Backed && math.Abs(got-want) > 1e-6*capacity && want > capacity/100 {
				t.Errorf("%+v of %v gets %v, fairly %v", d, demands, got, want)
			}
			if !(got > 0) || math.IsInf(got, 0) {
				t.Errorf("%+v gets %v", d, got)
			}
		}
	})
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		name     string
		capacity float64
		demands  []Demand
		ask      Demand
		want     float64
	}{
		{"alone", 16, nil, Demand{Weight: 1}, 16},
		{"two with work", 16, []Demand{{1, 20, true}, {1, 20, true}}, Demand{1, 20, true}, 8},
		{"three to one", 16, []Demand{{3, 20, true}, {1, 20, true}}, Demand{3, 20, true}, 12},
		{"the modest leave the rest", 16, []Demand{{1, 2, false}, {1, 99, true}}, Demand{1, 99, true}, 14},
		{"a modest one that now wants all", 16, []Demand{{1, 2, false}, {1, 99, true}}, Demand{1, 2, false}, 8},
		{"a newcomer beside two", 15, []Demand{{1, 20, true}, {1, 20, true}}, Demand{1, 0, false}, 5},
		{"nothing left by those below the level", 10, []Demand{{1, 5, false}, {1, 5, false}}, Demand{1, 5, false}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			counted := tt.ask
			if !slices.Contains(tt.demands, tt.ask) {
				counted = Demand{} // it came later
			}
			if got := NewShare(tt.capacity, tt.demands).Of(tt.ask.Weight, counted); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("gets %v, want %v", got, tt.want)
			}
		})
	}
}
