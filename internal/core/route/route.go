// Package route chooses one of several upstreams that can all take a call now.
package route

// Balance is the order of preference among upstreams that have room.
type Balance uint8

const (
	LeastLoaded Balance = iota // the less loaded of two taken at random
	RoundRobin                 // each in turn
	Weighted                   // each in turn, as often as its weight says
	Cost                       // the cheapest; a dearer one only for what would come too late
	Speed                      // the one that will have answered first
	Quality                    // the best for the task
	Score                      // the best sum of cost, speed and quality
	numBalances = iota
)

var balanceNames = [numBalances]string{"least-loaded", "round-robin", "weighted", "cost", "speed", "quality", "score"}

func (b Balance) String() string { return balanceNames[b] }

// Parse reads the name of a balance.
func Parse(s string) (Balance, bool) {
	for i, n := range balanceNames {
		if n == s {
			return Balance(i), true
		}
	}
	return 0, false
}

// Weights say what counts for Score. They are relative to each other; all zero
// means equal.
type Weights struct{ Cost, Speed, Quality float64 }

// Candidate is one upstream that could take the call, in numbers.
type Candidate struct {
	Running, Slots int     // calls it has, and could have
	Cost           float64 // of this call, in any unit
	Time           float64 // until the caller has what it waits for, in seconds
	Quality        float64 // for this call's task, 0 to 1
	Turn           float64 // calls it was given, over its weight
}

// load compares by cross-multiplication, so that equal loads are equal.
func (a *Candidate) lessLoaded(b *Candidate) int { return a.Running*b.Slots - b.Running*a.Slots }

// Pick gives the index of the candidate to take, of at least one. Ties of
// LeastLoaded go to the one that was given less, and at random; all others go
// to the less loaded and then to the first. intn is a source of chance: a number in [0, n).
//
// Two random choices are enough: the fullest of n upstreams is then hardly
// fuller than the mean (Mitzenmacher, "The Power of Two Choices in Randomized
// Load Balancing", 2001), and a fresh one is not given everything at once.
func Pick(b Balance, w Weights, list []Candidate, intn func(int) int) int {
	if len(list) == 1 {
		return 0
	}
	switch b {
	case LeastLoaded:
		i, j := intn(len(list)), intn(len(list)-1)
		if j >= i {
			j++
		}
		a, b := &list[i], &list[j]
		if d := a.lessLoaded(b); d > 0 || d == 0 && a.Turn > b.Turn {
			return j
		}
		return i
	case RoundRobin, Weighted:
		return least(list, func(c *Candidate) float64 { return c.Turn })
	case Cost:
		return least(list, func(c *Candidate) float64 { return c.Cost })
	case Speed:
		return least(list, func(c *Candidate) float64 { return c.Time })
	case Quality:
		return least(list, func(c *Candidate) float64 { return -c.Quality })
	}
	return least(list, scored(w, list))
}

func least(list []Candidate, of func(*Candidate) float64) int {
	best, lowest := 0, of(&list[0])
	for i := 1; i < len(list); i++ {
		if x := of(&list[i]); x < lowest || x == lowest && list[i].lessLoaded(&list[best]) < 0 {
			best, lowest = i, x
		}
	}
	return best
}

// scored is the weighted sum of what is bad about a candidate: its cost and
// its time as shares of the worst in the list, and what its quality lacks.
func scored(w Weights, list []Candidate) func(*Candidate) float64 {
	if w == (Weights{}) {
		w = Weights{1, 1, 1}
	}
	var cost, time float64
	for i := range list {
		cost, time = max(cost, list[i].Cost), max(time, list[i].Time)
	}
	share := func(x, most float64) float64 {
		if most <= 0 {
			return 0
		}
		return x / most
	}
	return func(c *Candidate) float64 {
		return w.Cost*share(c.Cost, cost) + w.Speed*share(c.Time, time) + w.Quality*(1-c.Quality)
	}
}

// Affine is the place of key among n upstreams that have names: the same key
// always prefers the same name, and if that one leaves, only its keys move
// (rendezvous hashing; Thaler and Ravishankar, 1998). name gives the hash of
// the i-th name.
func Affine(key uint64, n int, name func(i int) uint64) int {
	best, highest := -1, uint64(0)
	for i := range n {
		if h := mix(key ^ name(i)); best < 0 || h > highest {
			best, highest = i, h
		}
	}
	return best
}

// mix spreads the bits of x (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Bounded says whether the preferred of n upstreams may take one more call of
// its keys: it yields when it is a quarter busier than all together, which
// have running calls on slots (consistent hashing with bounded loads; Mirrokni
// et al., 2018).
func Bounded(c *Candidate, running, slots int) bool {
	return 4*(c.Running+1)*slots <= 5*(running+1)*c.Slots+4*slots
}
