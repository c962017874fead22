package admit

import (
	"container/list"
	"time"
)

// stay is where a session goes on that was moved to another model: it stays
// there until the pressure on its own has been gone for a while, and moves back
// where a turn begins. A conversation that went to and fro with every change of
// the wind would lose what the models make of it, and what their caches hold.
type stay struct {
	key      stayKey
	at       string // the model that serves it
	rungs    Rungs  // of the ladder of its own model; 0 for a fallback
	lastUsed time.Time
	place    *list.Element
}

type stayKey struct{ tenant, session, model string }

const (
	mostStays = 20_000    // sessions that are remembered
	stayMost  = time.Hour // and how long without a request
)

// stays are the sessions that were moved, by last use.
type stays struct {
	byKey map[stayKey]*stay
	order list.List // of *stay, the one used last in front
}

// moved notes that a session of a model is served by another.
func (s *stays) moved(now time.Time, key stayKey, at string, rungs Rungs) {
	if key.session == "" {
		return
	}
	if s.byKey == nil {
		s.byKey = map[stayKey]*stay{}
	}
	x := s.byKey[key]
	if x == nil {
		x = &stay{key: key}
		s.byKey[key] = x
		x.place = s.order.PushFront(x)
	} else {
		s.order.MoveToFront(x.place)
	}
	x.at, x.rungs, x.lastUsed = at, rungs, now
	for {
		last := s.order.Back().Value.(*stay)
		if len(s.byKey) <= mostStays && now.Sub(last.lastUsed) <= stayMost {
			return
		}
		s.back(last)
	}
}

// back ends a stay.
func (s *stays) back(x *stay) {
	s.order.Remove(x.place)
	delete(s.byKey, x.key)
}

// staying is the stay of the request's session, nil if it is served by its own
// model: because it was never moved, or because it may go back now.
func (c *Controller) staying(now time.Time, r *Request, home *pool) *stay {
	if r.Session == "" || len(c.stays.byKey) == 0 {
		return nil
	}
	x := c.stays.byKey[stayKey{r.Tenant, r.Session, home.policy.Name}]
	if x == nil || now.Sub(x.lastUsed) > stayMost || c.byModel[x.at] == nil {
		return nil
	}
	if x.rungs != 0 && r.May&MayModel == 0 { // it agrees no more
		return nil
	}
	home.current(now)
	hard := home.slots == 0 || home.paused(now) || home.pressedFor(now, r.Class)
	if r.Turn && !hard {
		return nil
	}
	return x
}

// pressedFor says that another model was needed of late, for the class or a
// better one.
func (p *pool) pressedFor(now time.Time, class Class) bool {
	for i := range min(class+1, NumClasses) {
		if now.Sub(p.levels[i].pressed) < p.policy.Ladder.Hold {
			return true
		}
	}
	return false
}

// paused says that every deployment pauses, as its provider asked for.
func (p *pool) paused(now time.Time) bool {
	for _, d := range p.deployments {
		if !d.left && !d.off && !d.resting(now) {
			return false
		}
	}
	return true
}

// settled notes where the session of an admitted request is served: elsewhere
// as long as its own model is under pressure, or at home again.
func (c *Controller) settled(now time.Time, k *call, r *Request) {
	if r.Session == "" || k.home == nil {
		return
	}
	key := stayKey{r.Tenant, r.Session, k.home.policy.Name}
	x := c.stays.byKey[key]
	switch p := k.pool(); {
	case p == k.home || !k.elsewhere():
		if x != nil {
			c.stays.back(x)
		}
	default:
		c.stays.moved(now, key, p.policy.Name, k.rungs)
	}
}

// elsewhere says that another model serves the call, and not only other
// deployments of its own.
func (k *call) elsewhere() bool {
	if k.rungs == 0 {
		return k.pool() != k.home
	}
	for i := range k.home.rungs {
		if k.rungs.Has(i) && k.home.policy.Ladder.Rungs[i].Kind == RungModel {
			return true
		}
	}
	return false
}
