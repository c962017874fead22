package sim

import (
	"cmp"
	"slices"
	"time"
)

// bill is what is known of the answers in time of one pool with prices.
type bill struct {
	pool   *room
	byTime []int32   // answers, by the second in which they were asked for
	cost   []float64 // of all answers if the deployment had given them, micro-dollars
	work   []float64 // the same in slot-seconds
	slack  float64   // sum of what deadlines left for waiting, seconds
	n      float64
}

// answered books an answer in time.
func (b *bill) answered(v *visit) {
	second := secondOf(v.intended)
	for len(b.byTime) <= second {
		b.byTime = append(b.byTime, 0)
	}
	b.byTime[second]++
	b.n++
	least := 0.0
	for i, x := range b.pool.sites {
		w := v.workOf(x.server, v.arrival.asked())
		b.cost[i] += float64(x.price.Of(v.arrival.Input, v.arrival.Output))
		b.work[i] += w.total * x.server.slow
		need := w.total
		if v.arrival.Stream {
			need = w.first
		}
		if i == 0 || need < least {
			least = need
		}
	}
	b.slack += max(v.arrival.Deadline.Seconds()-least, 0)
}

// newBill is the book of a pool, nil if nothing there has a price.
func newBill(p *room) *bill {
	if len(p.servers) < 2 || !slices.ContainsFunc(p.sites, func(x *site) bool { return x.price.Of(1e6, 1e6) > 0 }) {
		return nil
	}
	return &bill{pool: p, cost: make([]float64, len(p.sites)), work: make([]float64, len(p.sites))}
}

// least is what the answers in time could have cost at the least, in
// micro-dollars, as if they were a fluid of the mean answer: in each second the
// cheapest deployment does what its slots and its limit can, the oldest first;
// what waits for it longer than deadlines leave on average goes to the next
// dearer one, and what even the dearest cannot do waits on.
func (b *bill) least() (micro float64) {
	if b.n == 0 {
		return 0
	}
	order := make([]int, len(b.cost))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(b.cost[i], b.cost[j]) })
	waits := slices.Clone(b.byTime)
	left := make([]float64, len(waits))
	for i, n := range waits {
		left[i] = float64(n)
	}
	slack := int(b.slack / b.n)
	oldest := 0
	serve := func(capacity float64, until, each int) {
		for i := oldest; i <= until && capacity > 0; i++ {
			n := min(left[i], capacity)
			left[i] -= n
			capacity -= n
			micro += n * b.cost[each] / b.n
		}
		for oldest < len(left) && left[oldest] < 1e-9 {
			oldest++
		}
	}
	for second := 0; oldest < len(left); second++ {
		for rank, i := range order {
			until := second // the cheapest takes whatever is there
			if rank > 0 {
				until = second - slack
			}
			serve(b.capacity(i, second), min(until, len(left)-1), i)
		}
		if second > len(left)+24*3600 { // nothing can do it
			return micro
		}
	}
	return micro
}

// capacity is the mean answers that a deployment can give in a second of the run.
func (b *bill) capacity(i, second int) float64 {
	s := b.pool.sites[i].server
	most := float64(s.Slots) / max(b.work[i]/b.n, 1e-9)
	for k := len(s.allowed) - 1; k >= 0; k-- {
		if !s.allowed[k].from.After(epoch.Add(time.Duration(second) * time.Second)) {
			if requests, _ := s.allowed[k].limit.second(); requests > 0 {
				most = min(most, requests*float64(b.pool.sites[i].keys))
			}
			break
		}
	}
	return most
}
