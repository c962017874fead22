package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// PoolState is one pool: its slots and queues.
type PoolState struct {
	Model    string
	Slots    int
	Running  int
	Classes  [NumClasses]QueueState
	Bytes    int64         // held by what waits
	Mean     time.Duration // service time measured of late
	Factor   float64       // what predictions are multiplied with now: calibration and brownout
	Brownout float64       // the part of Factor that running calls' ages add; 1 when all is well
	Rungs    []RungState   // of its ladder, in order
	Levels   [NumClasses]LevelState
}

// RungState is one rung of a pool's ladder.
type RungState struct {
	Name   string
	Kind   RungKind
	Served int64         // good calls whose lowest rung it was
	Took   time.Duration // their mean slot time
	Usual  time.Duration // what they would have taken as asked, by prediction
	Asleep bool          // it did not help, and is left out for a while
}

// LevelState is how far down its ladder one class of a pool is.
type LevelState struct {
	Level    int
	Pressure float64                  // predicted wait over what it may be at most, smoothed
	Held     [NumLevels]time.Duration // time spent at each level
}

func (p *pool) rungStates(now time.Time) (list []RungState) {
	for i := range p.rungs {
		x, policy := &p.rungs[i], &p.policy.Ladder.Rungs[i]
		mean := func(m *meter.Mean) time.Duration { return time.Duration(m.Shrunk(0, 1e-9) * float64(time.Second)) }
		list = append(list, RungState{policy.Name, policy.Kind, x.served, mean(&x.took), mean(&x.usual), now.Before(x.asleep)})
	}
	return list
}

// state reads a level without changing it.
func (l *level) state(now time.Time) LevelState {
	s := LevelState{Level: int(l.at), Pressure: l.pressure, Held: l.held}
	if !l.counted.IsZero() && now.After(l.counted) {
		s.Held[l.at] += now.Sub(l.counted)
	}
	return s
}

// AccountState is one limit of one account; those of users and sessions are too
// many to be told of.
type AccountState struct {
	Scope        Scope
	Tenant, Name string // Name is the model or the key
	Span         Span
	Limit        int64 // micro-dollars, in force now
	Used, Held   int64
	PerMinute    int64 // spent in the last minute
	Alarm        Alarm
	Level        int           // of the ladder, that it asks for
	Lasts        time.Duration // until the limit is reached at that rate; the largest duration if never
}

// states adds the limits of an account to a list.
func (a *account) states(now time.Time, list []AccountState) []AccountState {
	if a.outdated(now) {
		defer a.asWas(now)() // else nobody would notice that the override has ended
		a.current(now)
	}
	for i := range a.limits {
		l := &a.limits[i]
		if l.pace || l.most == 0 {
			continue
		}
		used := l.purse.Sum(now)
		if a.scope == ScopeModel && used+a.held == 0 {
			continue // a pair of tenant and model that never came is not told of
		}
		list = append(list, AccountState{
			Scope: a.scope, Tenant: a.tenant, Name: a.name, Span: l.span, Limit: l.most, Used: used, Held: a.held,
			PerMinute: a.last.Sum(now), Alarm: a.alarm, Level: int(a.level), Lasts: a.lasts(now, l),
		})
	}
	return list
}

// MoneyState is what is held of budgets by all accounts, and how much of that
// belongs to requests that are alive: less would be a leak.
type MoneyState struct {
	Held, Alive int64 // micro-dollars, summed over the accounts of each request but for its user and session
	Forgotten   int64 // accounts of users and sessions that had to give way
}

// Money is what is held of all budgets. It looks at every living request.
func (c *Controller) Money() (s MoneyState) {
	if !c.counts {
		return s
	}
	c.eachAccount(func(a *account) { s.Held += a.held })
	for _, k := range c.calls {
		for _, a := range k.hold.payers[:ScopeUser] {
			if a != nil {
				s.Alive += k.hold.amount.likely
			}
		}
	}
	c.eachTable(func(t *accounts) { s.Forgotten += t.forgotten })
	return s
}

// QueueState is one class of a pool.
type QueueState struct {
	Waiting int
	Running int
	Bytes   int64         // held by what waits
	Work    time.Duration // predicted slot time of what waits
}

// TenantState is one tenant over all pools.
type TenantState struct {
	Name       string
	Active     int // waiting or running
	Waiting    int
	Distrusted bool // predictions are not believed for it at the moment, in some pool
	Came       bool // it has asked for something since the controller began
}

// gone says that the pool is no longer in the policy and that its calls are over.
func (p *pool) gone() bool { return p.retired && len(p.running)+p.waiting() == 0 }

func (p *pool) state(now time.Time) PoolState {
	s := PoolState{
		Model: p.policy.Name, Slots: p.slots, Running: len(p.running), Bytes: p.waitingBytes(),
		Mean: p.service.Mean(), Factor: p.service.Factor(), Brownout: p.service.Slow(), Rungs: p.rungStates(now),
	}
	for class := range p.levels {
		s.Levels[class] = p.levels[class].state(now)
	}
	for class, q := range p.queues {
		s.Classes[class] = QueueState{Waiting: q.Len(), Bytes: q.Bytes(), Work: p.service.Slots(time.Duration(q.Work()))}
	}
	for _, k := range p.running {
		s.Classes[k.lane.class].Running++
	}
	return s
}

func (p *pool) deploymentStates(now time.Time) []DeploymentState {
	list := make([]DeploymentState, 0, len(p.deployments))
	for _, d := range p.deployments {
		list = append(list, d.state(now))
	}
	return list
}

func (t *tenant) state(now time.Time) TenantState {
	s := TenantState{Name: t.policy.Name, Active: t.active, Came: t.came}
	for _, m := range t.members {
		if m != nil {
			s.Waiting += m.waiting
			s.Distrusted = s.Distrusted || now.Before(m.distrust)
		}
	}
	return s
}

// Allowance is how much of a tenant's own limit is left.
type Allowance struct {
	Limit, Remaining int64         // Limit 0: no such limit
	Reset            time.Duration // until all of it is back
}

// Quota is the tenant's own limits for a model, what is reserved taken as used.
func (c *Controller) Quota(now time.Time, tenant, model string) (requests, tokens Allowance) {
	t, p := c.tenants[tenant], c.poolOf(model)
	if t == nil || p == nil || p.index >= len(t.members) || t.members[p.index] == nil {
		return
	}
	m := t.members[p.index]
	return allowance(now, m.requests), allowance(now, m.tokens)
}

func allowance(now time.Time, w *meter.Window) Allowance {
	if w == nil || w.Limit() == 0 {
		return Allowance{}
	}
	return Allowance{w.Limit(), max(w.Limit()-w.Used(now), 0), w.Empty(now)}
}

// Depth is how many requests of a class wait for a model.
func (c *Controller) Depth(model string, class Class) int {
	if p := c.poolOf(model); p != nil && class < NumClasses {
		return p.queues[class].Len()
	}
	return 0
}
