package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// ghost is a request that was refused, followed in hindsight: it stands behind
// whoever was last in its tenant's queue, and would have been served when the
// next of that queue was. So the order is the one in which things were really
// served, later arrivals that overtake included; that there would have been
// one more request is neglected. If nobody else of the tenant waits, the next
// slot of the pool would have been its.
type ghost struct {
	counts   *counts
	deadline time.Time
	need     float64 // true work until what the deadline means, seconds
}

// lane is one tenant's queue in one class of one pool.
type lane struct {
	last  *visit  // who came last and waits
	front []ghost // nobody real is before them
}

type laneKey struct {
	tenant string
	class  admit.Class
}

func (p *room) lane(v *visit) *lane {
	if v.lane != nil {
		return v.lane
	}
	key := laneKey{v.arrival.Tenant, v.arrival.Class}
	l := p.lanes[key]
	if l == nil {
		l = &lane{}
		p.lanes[key] = l
	}
	v.lane = l
	return l
}

// haunt lets a refused request stand where it would have stood.
func (p *room) haunt(v *visit) {
	need := v.work.total
	if v.arrival.Stream {
		need = v.work.first
	}
	g := ghost{v.counts, v.intended.Add(v.arrival.Deadline), need}
	l := p.lane(v)
	switch {
	case l.last != nil:
		l.last.ghosts = append(l.last.ghosts, g)
	default:
		p.front = append(p.front, g)
	}
}

// joined puts a visit at the end of its lane.
func (p *room) joined(v *visit) {
	l := p.lane(v)
	v.ahead, v.behind = l.last, nil
	if l.last != nil {
		l.last.behind = v
	}
	l.last = v
}

// parted takes a visit out of its lane; those haunting it move up.
func (p *room) parted(v *visit) {
	l := p.lane(v)
	if v.behind != nil {
		v.behind.ahead = v.ahead
	} else {
		l.last = v.ahead
	}
	if v.ahead != nil {
		v.ahead.behind = v.behind
		v.ahead.ghosts = append(v.ahead.ghosts, v.ghosts...)
	} else {
		l.front = append(l.front, v.ghosts...)
	}
	v.ahead, v.behind, v.ghosts = nil, nil, nil
	if l.last == nil {
		p.front = append(p.front, l.front...)
		l.front = l.front[:0]
	}
}

// served tells the ghosts whose turn it was, as a visit gets a slot.
func (p *room) served(now time.Time, v *visit) {
	l := p.lane(v)
	p.judge(now, l.front)
	l.front = l.front[:0]
	p.judge(now, p.front)
	p.front = p.front[:0]
}

func (p *room) judge(now time.Time, gs []ghost) {
	speed := p.server.speed()
	for i := range gs {
		if g := &gs[i]; !now.Add(durationOf(g.need / speed)).After(g.deadline) {
			g.counts.feasible++
		}
	}
}
