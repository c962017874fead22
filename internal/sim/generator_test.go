package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Rates are kept at every part of a day with changes, and gaps are those of
// callers who know nothing of each other.
func TestPoisson(t *testing.T) {
	const s = time.Second
	c := Caller{Name: "a", Rate: 20, Changes: []RateChange{{300 * s, 5}, {100 * s, 80}, {200 * s, 0}}}
	src := Poisson([]Caller{c, {Name: "b", Rate: 10}}, 400*s, 7)
	counts, sum, squares, n, last := map[int]int{}, 0.0, 0.0, 0.0, time.Duration(0)
	var before time.Duration
	for {
		a, ok, err := src.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if a.At < before {
			t.Fatalf("%v after %v", a.At, before)
		}
		before = a.At
		if a.Tenant == "b" {
			continue
		}
		counts[int(a.At/(100*s))]++
		if a.At < 100*s {
			gap := (a.At - last).Seconds()
			sum, squares, n, last = sum+gap, squares+gap*gap, n+1, a.At
		}
	}
	for part, rate := range []float64{20, 80, 0, 5} {
		if got, want := float64(counts[part]), rate*100; math.Abs(got-want) > 4*math.Sqrt(want) {
			t.Errorf("part %d: %v arrivals, want about %v", part, got, want)
		}
	}
	mean := sum / n
	if cv := math.Sqrt(squares/n-mean*mean) / mean; math.Abs(cv-1) > 0.1 {
		t.Errorf("the gaps vary by %v of their mean, want 1", cv)
	}
}

// One caller more does not move the others.
func TestCallersAreIndependent(t *testing.T) {
	arrivals := func(callers ...Caller) (at []time.Duration) {
		src := Poisson(callers, 20*time.Second, 3)
		for {
			a, ok, _ := src.Next()
			if !ok {
				return at
			}
			if a.Group == "a" {
				at = append(at, a.At)
			}
		}
	}
	a := Caller{Name: "a", Rate: 5}
	if !slices.Equal(arrivals(a), arrivals(a, Caller{Name: "b", Rate: 50, Tenants: 7, Spread: 1})) {
		t.Error("caller b moved caller a")
	}
}

func TestDress(t *testing.T) {
	kinds := []Kind{{Share: 0.7, Stream: true, Deadline: 3 * time.Second, DeadlineTo: 6 * time.Second}, {Share: 0.3, Deadline: 20 * time.Second}}
	var plain []Arrival
	for i := range 10_000 {
		plain = append(plain, Arrival{At: time.Duration(i), Tenant: "a"})
	}
	plain[0].Deadline, plain[0].Stream = time.Hour, false // says itself what it wants
	src := Dress(&list{plain}, kinds, 1)
	first, _, _ := src.Next()
	if first.Deadline != time.Hour || first.Stream {
		t.Errorf("what the trace says was overwritten: %+v", first)
	}
	streams, low, high := 0, time.Hour, time.Duration(0)
	for {
		a, ok, _ := src.Next()
		if !ok {
			break
		}
		if a.Stream {
			streams++
			low, high = min(low, a.Deadline), max(high, a.Deadline)
		} else if a.Deadline != 20*time.Second {
			t.Fatalf("%+v", a)
		}
	}
	if math.Abs(float64(streams)-7000) > 200 || low < 3*time.Second || low > 3100*time.Millisecond || high > 6*time.Second || high < 5900*time.Millisecond {
		t.Errorf("%d streams with deadlines from %v to %v", streams, low, high)
	}
}

func TestSketch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var all []float64
	var s, a, b sketch
	for i := range 20_000 {
		x := math.Exp(3 * rng.NormFloat64())
		if i%50 == 0 {
			x = 0
		}
		all = append(all, x)
		s.add(x)
		if i%2 == 0 {
			a.add(x)
		} else {
			b.add(x)
		}
	}
	a.merge(&b)
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999} {
		want := all[int(math.Ceil(q*float64(len(all))))-1]
		for name, got := range map[string]float64{"one": s.quantile(q), "merged": a.quantile(q)} {
			if math.Abs(got-want) > 0.021*want {
				t.Errorf("%s: quantile %v is %v, want %v", name, q, got, want)
			}
		}
	}
	if (&sketch{}).quantile(0.5) != 0 || (&sketch{}).mean() != 0 {
		t.Error("an empty sketch has values")
	}
}
