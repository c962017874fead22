package admit

import (
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/predict"
	"github.com/spillway-llm/spillway/internal/core/route"
)

// want is what a call asks of a deployment.
type want struct {
	class    Class
	input    int64
	est      predict.Estimate
	stream   bool
	task     string
	affinity uint64
	deadline time.Time
	most     int       // the highest rank it may use
	avoid    []failure // where it has failed
}

// anyRank is the rank of a call that may use every deployment.
const anyRank = 1<<31 - 1

func (r *Request) want(p *plan, most int) want {
	return want{r.Class, p.input, p.est, r.Stream, r.Task, r.Affinity, p.deadline, most, nil}
}

func (k *call) want(most int) want {
	return want{k.lane.class, k.input, k.est, k.stream, k.task, k.affinity, k.deadline, most, k.avoid}
}

// place is a deployment that could take a call now.
type place struct {
	d   *deployment
	key int
}

// any says whether some deployment could take the call now, and of which rank
// the best is.
func (p *pool) any(now time.Time, w *want) (rank int, ok bool) {
	rank = anyRank
	for _, d := range p.deployments {
		if d.rank > w.most || d.rank >= rank && ok || w.avoids(d) || !d.room(now) {
			continue
		}
		if n, _ := d.key(now, w.input+w.est.Output, comesFirst(w.class)); n >= 0 {
			rank, ok = d.rank, true
			if rank == 0 {
				return 0, true
			}
		}
	}
	return rank, ok
}

// choose is the deployment, and its key, that the call should run on now; nil
// if none can take it. Of the best rank that has room it takes the one where
// requests of its kind go, as long as that is not much busier than the others,
// and else the one that the pool's balance prefers; one that is too slow for
// the deadline only when all are.
func (c *Controller) choose(now time.Time, p *pool, w *want) (*deployment, int) {
	if d, n := c.two(now, p, w); d != nil {
		return d, n
	}
	p.picks = p.picks[:0]
	rank := w.most
	for _, d := range p.deployments {
		if d.rank > rank || w.avoids(d) || !d.room(now) {
			continue
		}
		n, _ := d.key(now, w.input+w.est.Output, comesFirst(w.class))
		if n < 0 {
			continue
		}
		if d.rank < rank {
			rank, p.picks = d.rank, p.picks[:0]
		}
		p.picks = append(p.picks, place{d, n})
	}
	switch len(p.picks) {
	case 0:
		return nil, 0
	case 1:
		return p.picks[0].d, p.picks[0].key
	}
	if w.affinity != 0 {
		if i := p.affine(now, w, rank); i >= 0 {
			return p.picks[i].d, p.picks[i].key
		}
	}
	p.candidates(now, w)
	i := p.fit[route.Pick(p.policy.Balance, p.policy.Score, p.cands, c.rng.IntN)]
	return p.picks[i].d, p.picks[i].key
}

// few is how many deployments are all looked at.
const few = 4

// two is the shortcut for the usual case of many equal deployments: of two at
// random the less loaded, if both can take the call in time; nil if that says
// nothing, and all must be looked at.
func (c *Controller) two(now time.Time, p *pool, w *want) (*deployment, int) {
	n := len(p.deployments)
	if n <= few || p.policy.Balance != LeastLoaded || p.tiered() || w.affinity != 0 || len(w.avoid) > 0 {
		return nil, 0
	}
	i, j := c.rng.IntN(n), c.rng.IntN(n-1)
	if j >= i {
		j++
	}
	p.picks = p.picks[:0]
	for _, d := range [2]*deployment{p.deployments[i], p.deployments[j]} {
		if !d.room(now) {
			return nil, 0
		}
		key, _ := d.key(now, w.input+w.est.Output, comesFirst(w.class))
		if key < 0 {
			return nil, 0
		}
		p.picks = append(p.picks, place{d, key})
	}
	if p.candidates(now, w); len(p.cands) < 2 || p.cands[0].Time > w.deadline.Sub(now).Seconds() {
		return nil, 0
	}
	k := p.fit[route.Pick(LeastLoaded, ScoreWeights{}, p.cands, func(int) int { return 0 })]
	return p.picks[k].d, p.picks[k].key
}

// resting says that every key pauses or is refused: until then requests that
// prefer the deployment stay together elsewhere.
func (d *deployment) resting(now time.Time) bool {
	return d.limited && !slices.ContainsFunc(d.keys, func(k *key) bool { return !k.paused.After(now) && !k.denied.After(now) })
}

// affine is the index of the pick that requests of this affinity prefer; -1 if
// it has no room, or is so busy that the others should share.
func (p *pool) affine(now time.Time, w *want, rank int) int {
	p.peers = p.peers[:0]
	running, slots := 0, 0
	for _, d := range p.deployments {
		if calls := d.calls(now); d.rank == rank && calls > 0 && !d.resting(now) {
			p.peers = append(p.peers, d)
			running += d.running
			slots += calls
		}
	}
	best := route.Affine(w.affinity, len(p.peers), func(i int) uint64 { return p.peers[i].hash })
	for i := range p.picks {
		if d := p.picks[i].d; best >= 0 && d == p.peers[best] {
			if route.Bounded(&route.Candidate{Running: d.running, Slots: d.calls(now)}, running, slots) {
				return i
			}
		}
	}
	return -1
}

// candidates puts the picks into numbers: those that are fast enough, or all.
// Calls that failed count as running, as they would if they had been answered:
// who fails at once would else look idle and draw everything.
func (p *pool) candidates(now time.Time, w *want) {
	p.cands, p.fit = p.cands[:0], p.fit[:0]
	need := p.service.Need(w.est, w.stream, 50).Seconds()
	left := w.deadline.Sub(now).Seconds()
	for round := 0; len(p.cands) == 0; round++ {
		for i := range p.picks {
			d := p.picks[i].d
			time := need * d.ratio(w.stream)
			if round == 0 && time > left {
				continue
			}
			p.fit = append(p.fit, i)
			slots := max(d.calls(now), 1)
			x := route.Candidate{Running: d.running, Slots: slots, Time: time, Turn: max(d.served, p.turns)}
			if d.troubled {
				x.Running += int(d.breaker.Failing(now) * float64(slots))
			}
			switch p.policy.Balance {
			case Cost:
				x.Cost = float64(d.policy.Price.Of(w.input, w.est.Output))
			case Quality:
				x.Quality = d.quality(w.task)
			case Score:
				x.Cost, x.Quality = float64(d.policy.Price.Of(w.input, w.est.Output)), d.quality(w.task)
			}
			p.cands = append(p.cands, x)
		}
	}
}

func (d *deployment) quality(task string) float64 {
	if q, ok := d.policy.Quality[task]; ok {
		return q
	}
	if q, ok := d.policy.Quality[""]; ok {
		return q
	}
	return defaultQuality
}

// turned books a call for the balances that go in turn. One that had none for
// a while does not catch up.
func (p *pool) turned(d *deployment) {
	start := max(d.served, p.turns)
	p.turns = start
	d.served = start + 1/float64(max(d.policy.Weight, 1))
}
