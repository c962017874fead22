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
