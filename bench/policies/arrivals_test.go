package main

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/sim"
)

// every is one arrival a second.
func every(n int) (all []sim.Arrival) {
	for i := range n {
		all = append(all, sim.Arrival{At: time.Duration(i) * time.Second, Tenant: "a"})
	}
	return all
}

// A burst loses nobody and keeps the order; what follows comes sooner.
func TestBurst(t *testing.T) {
	const s = time.Second
	all := burst(every(300), 50*s, 10*s, 10)
	in := 0
	for i, a := range all {
		if i > 0 && a.At < all[i-1].At {
			t.Fatalf("arrival %d at %v, after one at %v", i, a.At, all[i-1].At)
		}
		if a.At > 50*s && a.At <= 60*s {
			in++
		}
	}
	if in != 100 { // ten times one a second, for ten seconds
		t.Errorf("%d arrivals in the burst, want 100", in)
	}
	if last := all[299].At; last != 209*s { // 90 s of 100 were squeezed out
		t.Errorf("the last at %v, want 209s", last)
	}
}

func TestSplit(t *testing.T) {
	got := map[string]int{}
	for _, a := range split(every(10_000), []share{{"loud", 9, 1}, {"light", 1, 1}}) {
		got[a.Tenant]++
	}
	if n := got["light"]; n < 900 || n > 1100 || got["loud"] != 10_000-n { // 1,000, give or take three deviations
		t.Errorf("split into %v", got)
	}
}

// Changed arrivals are copies.
func TestStretchedLeavesTheOriginal(t *testing.T) {
	all := every(3)
	if twice := stretched(all, 2); twice[2].At != 4*time.Second || all[2].At != 2*time.Second {
		t.Errorf("stretched to %v, and the original is at %v", twice[2].At, all[2].At)
	}
}
