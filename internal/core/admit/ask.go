package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// ask is what requests of a class ask for at a level, in slot-seconds before
// calibration: of their model, and where a rung moves them of the pool that they
// go to, beside what they would take of their model.
type ask struct {
	here, there, back meter.Rate
	to                *pool // where the last of them went
}

// ask books what a request asks for at a level.
func (c *Controller) ask(now time.Time, r *Request, home *pool, m *member, at uint8, a *ask) {
	set := home.upTo(now, r, at)
	if set == 0 {
		a.here.Add(now, home.service.Estimate(&m.known, r.Input, r.MaxOutput).Raw.Seconds())
		return
	}
	q := c.degraded(r, home, set)
	raw := home.service.Estimate(&m.known, q.Input, q.MaxOutput).Raw.Seconds() * home.factor(set&^home.moving)
	x := c.byModel[q.Model]
	if set&home.moving == 0 || x == nil {
		a.here.Add(now, raw)
		return
	}
	known := &c.memberOf(now, x, m.tenant).known
	a.there.Add(now, x.service.Estimate(known, q.Input, q.MaxOutput).Raw.Seconds())
	a.back.Add(now, raw)
	a.to = x
}

// load is what a class would ask of the model a level higher, and better classes
// as they are, over all its slots. What other pools have no room for is counted
// here.
func (p *pool) load(now time.Time, class Class) float64 {
	sum := 0.0
	var rooms [NumClasses]struct {
		pool *pool
		left float64
	}
	for k := range class + 1 {
		a := &p.levels[k].asked
		if k == class {
			a = &p.levels[k].above
		}
		sum += a.here.PerSecond(now)
		if a.to == nil {
			continue
		}
		i := 0
		for rooms[i].pool != nil && rooms[i].pool != a.to {
			i++
		}
		room := &rooms[i]
		if room.pool == nil {
			room.pool, room.left = a.to, p.roomAt(now, a.to)
		}
		moved := a.there.PerSecond(now) * a.to.service.Factor()
		over := max(moved-room.left, 0)
		room.left -= moved - over
		if over > 0 {
			sum += a.back.PerSecond(now) * over / moved
		}
	}
	return sum * p.service.Factor() / p.size()
}

// roomAt is the slots that another pool has beside its own work.
func (p *pool) roomAt(now time.Time, x *pool) float64 {
	own := 0.0
	for k := range x.rates {
		own += x.rates[k].PerSecond(now)
		if a := &p.levels[k].asked; a.to == x {
			own -= a.there.PerSecond(now)
		}
	}
	return max(fits*x.size()-max(own, 0)*x.service.Factor(), 0)
}
