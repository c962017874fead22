package admit

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Lane is what waits of one tenant, in one pool and class.
type Lane struct {
	Tenant  string
	Model   string // the pool
	Class   Class
	Waiting int
	Oldest  time.Duration // how long the oldest has waited
	Wait    time.Duration // predicted for one more of it
}

// Lanes collects the longest lanes of all pools, at most Limit of them. Make
// one with its limit, hand it to View for each pool, and read Longest.
type Lanes struct {
	Limit int
	Left  int // lanes that are not among them; right once Longest was called
	list  []Lane
	bar   Lane // the last of a full list: what comes after it need not be looked at
}

// compare is below 0 if a comes before b: more waiting, then the older, then by name.
func (a *Lane) compare(b *Lane) int {
	return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Oldest, a.Oldest),
		strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Model, b.Model), cmp.Compare(a.Class, b.Class))
}

// Longest are the lanes, the longest first.
func (l *Lanes) Longest() []Lane {
	slices.SortFunc(l.list, func(a, b Lane) int { return a.compare(&b) })
	if over := len(l.list) - l.Limit; over > 0 {
		l.list, l.Left = l.list[:l.Limit], l.Left+over
	}
	if n := len(l.list); n == l.Limit && n > 0 {
		l.bar = l.list[n-1]
	}
	return l.list
}

// collect adds the lanes of a pool that something waits in. Predictions are made
// only for those that may be among the longest.
func (l *Lanes) collect(now time.Time, p *pool) {
	for class, list := range p.lanes {
		for _, x := range list {
			n := x.flow.Len()
			if n == 0 {
				continue
			}
			if l.Limit == 0 || n < l.bar.Waiting {
				l.Left++
				continue
			}
			next := Lane{
				Tenant: x.member.tenant.policy.Name, Model: p.policy.Name, Class: Class(class), Waiting: n,
				Oldest: now.Sub(x.flow.Oldest().Value.queued),
			}
			if l.bar.Waiting > 0 && l.bar.compare(&next) < 0 {
				l.Left++
				continue
			}
			if len(l.list) >= 2*l.Limit {
				l.Longest()
			}
			next.Wait = p.ahead(now, x)
			l.list = append(l.list, next)
		}
	}
}

// View is one pool as operators see it.
type View struct {
	PoolState
	Deployments []DeploymentState
	Queue       QueuePolicy               // its bounds
	Entry       [NumClasses]time.Duration // wait predicted for a tenant that comes now and has nothing waiting; 0 if it would run at once
	Marks       [NumClasses]Marks
}

// Marks are the predicted waits above which a class is held back; both are 0
// where that depends on each request's deadline.
type Marks struct {
	Low  time.Duration // for tenants of the low tier
	High time.Duration // for all others
}

// Pools is how many View can be asked for. The number never falls.
func (c *Controller) Pools() int { return len(c.pools) }

// View reads the pool of a number below Pools; false if it is no longer there.
// It predicts as an offer at now would, and changes nothing: a refresh for the
// sake of looking is taken back, as it would move the next one. Without lanes
// nothing is predicted. It is one pool at a time, so that whoever holds a lock
// around the controller can let go of it.
func (c *Controller) View(now time.Time, number int, lanes *Lanes) (v View, ok bool) {
	p := c.pools[number]
	if p.gone() {
		return v, false
	}
	v = View{PoolState: p.state(now), Queue: p.policy.Queue, Deployments: p.deploymentStates(now)}
	if lanes == nil {
		return v, true
	}
	if p.outdated(now) || p.due(now, p.events+1) {
		defer p.asWas()()
		p.current(now)
		p.refresh(now)
	}
	full := p.waiting() > 0 || !p.room(now)
	for class := range Class(NumClasses) {
		if full {
			fresh := lane{class: class, demand: -1, flow: p.queues[class].NewFlow(1)}
			v.Entry[class] = p.ahead(now, &fresh)
		}
		if q := &p.policy.Queue; q.High > 0 {
			rank := func(low bool) time.Duration { return watermark(q.Low, q.High, shedRank(class, low)) }
			v.Marks[class] = Marks{Low: rank(true), High: rank(false)}
		}
	}
	lanes.collect(now, p)
	return v, true
}
