package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The upstream has 16 slots and a mean service time of one second: 16 requests
// a second at full speed.
func TestPossible(t *testing.T) {
	steady := func(perSecond, seconds int) []int {
		out := make([]int, seconds)
		for i := range out {
			out[i] = perSecond
		}
		return out
	}
	burst := steady(0, 20)
	burst[0] = 1000
	tests := []struct {
		name     string
		arrivals []int
		slow     slowness
		want     float64
	}{
		{"nothing came", steady(0, 10), fullSpeed, 0},
		{"half the capacity", steady(8, 10), fullSpeed, 0.5},
		{"ten times the capacity", steady(160, 10), fullSpeed, 1},
		// 16 in the first second; then what eight seconds can finish.
		{"a burst is kept no longer than its deadline", burst, fullSpeed, (16 + 128) / 320.0},
		// Half the capacity asks for 1.5 times of it while the upstream is three times slower: full for these ten
		// seconds, and 80 - 53.3 requests are left, of which the deadline lets 42.7 wait: all are done after it.
		{"slower in the middle", steady(8, 40), slowed(3, 10*time.Second, 20*time.Second), (10*8 + 10*16 + 20*8 + 80 - 160/3.0) / 640},
	}
	for _, tt := range tests {
		if got := possible(tt.arrivals, time.Second, tt.slow); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %.4f, want %.4f", tt.name, got, tt.want)
		}
	}
}

func TestArrivals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "samples.csv")
	text := "t,offered,on_time\n0.3,4,0\n0.5,5,1\n0.8,6,2\n1.0,7,3\n1.3,1,0\n9.0,0,9\n" // times are rounded, and late samples count for the end
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := arrivals(file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := []int{4, 5, 6, 8}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if _, err := arrivals(filepath.Join(t.TempDir(), "none"), time.Second); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestBars(t *testing.T) {
	var r report
	r.atLeast("x", "at the limit", 0.97, 0.97, "%")
	r.atMost("x", "at the limit", 0.2, 0.2, "s")
	if !r.passed() {
		t.Error("a figure at its limit does not pass")
	}
	r.atMost("x", "beyond", 0.21, 0.2, "s")
	if r.passed() {
		t.Error("a missed bar passes")
	}
}
