package route

import (
	"math/rand/v2"
	"testing"
)

func TestPick(t *testing.T) {
	list := []Candidate{
		{Running: 4, Slots: 8, Cost: 3, Time: 1, Quality: 0.9, Turn: 5},
		{Running: 1, Slots: 8, Cost: 2, Time: 4, Quality: 0.7, Turn: 3},
		{Running: 7, Slots: 8, Cost: 1, Time: 2, Quality: 0.6, Turn: 4},
	}
	none := func(int) int { panic("no chance is needed") }
	for _, tt := range []struct {
		b    Balance
		w    Weights
		want int
	}{
		{RoundRobin, Weights{}, 1}, {Weighted, Weights{}, 1}, {Cost, Weights{}, 2}, {Speed, Weights{}, 0}, {Quality, Weights{}, 0},
		{Score, Weights{Cost: 1}, 2}, {Score, Weights{Speed: 1}, 0}, {Score, Weights{Cost: 1, Speed: 1, Quality: 0}, 2}, {Score, Weights{Quality: 1}, 0},
	} {
		if got := Pick(tt.b, tt.w, list, none); got != tt.want {
			t.Errorf("%v %+v: %d, want %d", tt.b, tt.w, got, tt.want)
		}
	}
	if got := Pick(LeastLoaded, Weights{}, list[:1], none); got != 0 {
		t.Errorf("of one: %d", got)
	}
	ties := []Candidate{{Running: 2, Slots: 4, Cost: 1}, {Running: 1, Slots: 4, Cost: 1}}
	if got := Pick(Cost, Weights{}, ties, none); got != 1 {
		t.Errorf("of equals not the less loaded")
	}
}

// TestLeastLoaded: of two at random the less loaded in proportion; the fullest
// is then hardly fuller than the others.
func TestLeastLoaded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	list := make([]Candidate, 10)
	for i := range list {
		list[i].Slots = 100 * (1 + i%2)
	}
	for range 750 {
		i := Pick(LeastLoaded, Weights{}, list, rng.IntN)
		list[i].Running++
		list[i].Turn++
	}
	for i, c := range list {
		if load := float64(c.Running) / float64(c.Slots); load < 0.43 || load > 0.57 {
			t.Errorf("%d is %.2f full, want about half", i, load)
		}
	}
}

// TestAffine: the same key goes to the same place, keys spread, and when one
// of five leaves only its keys move.
func TestAffine(t *testing.T) {
	names := []uint64{11, 222, 3333, 44444, 555555}
	all := func(i int) uint64 { return names[i] }
	counts := make([]int, 5)
	moved := 0
	for key := range uint64(5000) {
		i := Affine(key, 5, all)
		if i != Affine(key, 5, all) {
			t.Fatal("not the same place")
		}
		counts[i]++
		if j := Affine(key, 4, all); i < 4 && j != i {
			moved++
		}
	}
	for i, n := range counts {
		if n < 850 || n > 1150 {
			t.Errorf("%d has %d of 5000 keys", i, n)
		}
	}
	if moved != 0 {
		t.Errorf("%d keys moved that had no need to", moved)
	}
	if Affine(1, 0, nil) != -1 {
		t.Error("a place among none")
	}
	if !Bounded(&Candidate{Running: 0, Slots: 10}, 0, 50) || Bounded(&Candidate{Running: 9, Slots: 10}, 20, 50) {
		t.Error("it must yield when it is much busier than the others, and only then")
	}
}

func TestParse(t *testing.T) {
	for b := range Balance(numBalances) {
		if got, ok := Parse(b.String()); !ok || got != b {
			t.Errorf("%v is read as %v", b, got)
		}
	}
	if _, ok := Parse("random"); ok {
		t.Error("read what does not exist")
	}
}
