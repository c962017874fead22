package sim

import (
	"math"
	"slices"
	"sort"
	"time"
)

// crowd is how the times of a deployment change with the calls that it has at
// once: a call beside n others takes alone + each·n times what the plane says.
// Engines that work on several calls in batches are slower for each of them.
type crowd struct{ alone, each float64 }

// unhurried is a deployment of which nothing of the kind is known.
var unhurried = crowd{alone: 1}

const (
	enoughCrowd  = 100 // calls, below which no slope is believed
	leastSpread  = 1.0 // standard deviation of the calls at once
	leastCertain = 5.0 // slope over its standard error
)

// beside is the mean number of other calls that a deployment had while each of
// some calls ran.
type beside struct {
	begins, ends []time.Duration
}

func newBeside(seen []Seen, deployment string) *beside {
	b := &beside{}
	for i := range seen {
		if s := &seen[i]; s.Deployment == deployment && s.Sent > 0 && s.Total > s.Waited {
			b.begins = append(b.begins, s.At+s.Waited)
			b.ends = append(b.ends, s.At+s.Total)
		}
	}
	slices.Sort(b.begins)
	slices.Sort(b.ends)
	return b
}

// at is the calls that run at a moment.
func (b *beside) at(t time.Duration) int {
	after := func(list []time.Duration) int {
		return sort.Search(len(list), func(i int) bool { return list[i] > t })
	}
	return after(b.begins) - after(b.ends)
}

// of looks at four moments of a call.
func (b *beside) of(s *Seen) (n float64) {
	const looks = 4
	begin, step := s.At+s.Waited, s.service()/looks
	for i := range looks {
		n += float64(max(b.at(begin+step/2+time.Duration(i)*step)-1, 0)) / looks
	}
	return n
}

// most is the most calls at once.
func (b *beside) most() (most int) {
	for _, t := range b.begins {
		most = max(most, b.at(t))
	}
	return most
}

// fitCrowd finds the crowd by least squares from the others beside each call and
// its time over that of the plane, and says how much the others varied. It
// believes in no slope that chance explains.
func fitCrowd(others, times []float64) (c crowd, spread float64) {
	n := float64(len(others))
	if n < enoughCrowd {
		return unhurried, 0
	}
	var mx, my float64
	for i := range others {
		mx += others[i] / n
		my += times[i] / n
	}
	var xx, xy, yy float64
	for i := range others {
		dx, dy := others[i]-mx, times[i]-my
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	if spread = math.Sqrt(xx / n); spread < leastSpread {
		return unhurried, spread
	}
	each := xy / xx
	alone := my - each*mx
	deviation := math.Sqrt(max(yy-each*xy, 0) / (n - 2) / xx)
	if each < leastCertain*deviation || alone <= my/20 {
		return unhurried, spread
	}
	return crowd{alone, each}, spread
}
