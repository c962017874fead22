package sim

import (
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// ghost is a request that was refused, followed in hindsight: it stands behind
// all that waited in its tenant's queue when it was refused, first come first
// served whatever the policy's order is, and would have been served when the
// next of that queue was after as much work had left it. That there would have
// been one more request is neglected. If nobody else of the tenant waits, the
// next slot of the pool would have been its.
type ghost struct {
	counts   *counts
	deadline time.Time
	need     float64       // true work until what the deadline means, seconds
	turn     time.Duration // what must have left the lane
}

// lane is one tenant's queue in one class of one pool.
type lane struct {
	joined, left time.Duration // true work, over the whole run
	ghosts       []ghost       // by turn
}

type laneKey struct {
	tenant string
	class  admit.Class
}

func (p *room) lane(v *visit) *lane {
	if v.lane != nil && p == v.room {
		return v.lane
	}
	key := laneKey{v.arrival.Tenant, v.arrival.Class}
	l := p.lanes[key]
	if l == nil {
		l = &lane{}
		p.lanes[key] = l
	}
	if p == v.room {
		v.lane = l
	}
	return l
}

// haunt lets a refused request stand where it would have stood.
func (p *room) haunt(v *visit) {
	need := v.work.total
	if v.arrival.Stream {
		need = v.work.first
	}
	l := p.lane(v)
	g := ghost{v.counts, v.intended.Add(v.arrival.Deadline), need, l.joined}
	if l.left < l.joined {
		l.ghosts = append(l.ghosts, g)
	} else {
		p.front = append(p.front, g)
	}
}

// joined puts a visit into its lane.
func (p *room) joined(v *visit) { p.lane(v).joined += durationOf(v.work.total) }

// parted takes it out. In an empty lane nobody real is before the ghosts.
func (p *room) parted(v *visit) {
	l := p.lane(v)
	if l.left += durationOf(v.work.total); l.left == l.joined {
		p.front = append(p.front, l.ghosts...)
		l.ghosts = l.ghosts[:0]
	}
}

// served tells the ghosts whose turn it was, as a visit gets a slot.
func (p *room) served(now time.Time, v *visit) {
	l := p.lane(v)
	n := 0
	for n < len(l.ghosts) && l.ghosts[n].turn <= l.left {
		n++
	}
	p.judge(now, l.ghosts[:n])
	l.ghosts = slices.Delete(l.ghosts, 0, n)
	p.judge(now, p.front)
	p.front = p.front[:0]
}

func (p *room) judge(now time.Time, gs []ghost) {
	speed := p.first().speed()
	for i := range gs {
		if g := &gs[i]; !now.Add(durationOf(g.need / speed)).After(g.deadline) {
			g.counts.feasible++
		}
	}
}
