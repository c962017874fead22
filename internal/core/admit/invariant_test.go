package admit

import (
	"fmt"
	"time"
)

// ledger checks, after every event, what must always hold.
type ledger struct {
	c    *Controller
	open map[ID]bool
	ran  map[ID]bool
}

func newLedger(c *Controller) *ledger {
	return &ledger{c: c, open: map[ID]bool{}, ran: map[ID]bool{}}
}

func (l *ledger) offered(id ID) { l.open[id] = true }

func (l *ledger) settled(id ID) {
	if !l.open[id] {
		panic(fmt.Sprintf("request %d settled twice", id))
	}
	delete(l.open, id)
	delete(l.ran, id)
}

// decided checks the controller itself.
func (l *ledger) decided(now time.Time) {
	if err := check(l.c, now); err != "" {
		panic(err)
	}
}

// check returns what is broken, "" if nothing.
func check(c *Controller, now time.Time) string {
	waiting, running := 0, 0
	active := map[*tenant]int{}
	type held struct {
		n           int
		work, bytes int64
	}
	queues := make([][NumClasses]held, len(c.pools))
	for _, k := range c.calls {
		active[k.tenant()]++
		switch {
		case k.running && k.item.Waiting(), k.parked && (k.running || k.item.Waiting()):
			return fmt.Sprintf("request %d waits and runs", k.id)
		case k.running:
			running++
			if k.pool().running[k.place] != k {
				return fmt.Sprintf("request %d is not in its place", k.id)
			}
		case k.parked:
			waiting++
		case k.item.Waiting():
			waiting++
			h := &queues[k.pool().index][k.lane.class]
			*h = held{h.n + 1, h.work + k.item.Cost, h.bytes + k.item.Bytes}
		default:
			return fmt.Sprintf("request %d neither waits nor runs", k.id)
		}
	}
	if waiting != c.Waiting() || running != c.Running() || waiting+running != len(c.calls) {
		return fmt.Sprintf("calls %d, waiting %d of %d, running %d of %d", len(c.calls), waiting, c.Waiting(), running, c.Running())
	}
	repeating := map[*tenant]int{}
	all := 0
	for _, k := range c.calls {
		if k.repeat {
			repeating[k.tenant()]++
			all++
		}
	}
	if all != c.repeating {
		return fmt.Sprintf("%d requests with further attempts, says %d", all, c.repeating)
	}
	for _, t := range c.tenants {
		if repeating[t] != t.repeating {
			return fmt.Sprintf("tenant %s has %d requests with further attempts, says %d", t.policy.Name, repeating[t], t.repeating)
		}
		if active[t] != t.active {
			return fmt.Sprintf("tenant %s has %d active, says %d", t.policy.Name, active[t], t.active)
		}
	}
	for _, p := range c.pools {
		taken := 0
		for _, d := range p.deployments {
			if d.running < 0 {
				return "a deployment runs less than nothing"
			}
			taken += d.running
		}
		if taken != len(p.running) {
			return fmt.Sprintf("deployments run %d, the pool %d", taken, len(p.running))
		}
		if p.waiting() > 0 && p.room(now) && p.wake.IsZero() {
			best, _ := p.class()
			k := p.queues[best].Next().Oldest().Value.lane.next(now)
			w := k.want(c.mostRank(k))
			if _, ok := p.any(now, &w); ok {
				return fmt.Sprintf("%d wait while a slot is free: base %d, over %d, lent %d, rank %d of %d, balance %v, parked %d, ranks %v", p.waiting(), p.base, p.over, p.lent, k.most, w.most, p.policy.Balance, len(p.parked), p.ranks)
			}
		}
		over := 0
		for _, q := range c.calls {
			if q.item.Waiting() && q.pool() == p && q.most == anyRank {
				over++
			}
		}
		if over != p.over || p.lent > p.over {
			return fmt.Sprintf("%d may use any rank, says %d, of which %d are lent", over, p.over, p.lent)
		}
		for class, q := range p.queues {
			h := queues[p.index][class]
			if says := (held{q.Len(), q.Work(), q.Bytes()}); says != h {
				return fmt.Sprintf("class %v holds %+v, says %+v", Class(class), h, says)
			}
			if h.n == 0 && q.Fresh() != 0 {
				return fmt.Sprintf("class %v is empty with fresh work %d", Class(class), q.Fresh())
			}
		}
	}
	if next := c.Next(); waiting > 0 && next.IsZero() {
		return "something waits and nothing is due"
	}
	if err := checkMoney(c); err != "" {
		return err
	}
	return ""
}

// checkMoney: what an account holds is what the requests alive hold of it.
func checkMoney(c *Controller) string {
	held, holders := map[*account]charge{}, map[*account]int{}
	every(c, func(a *account) { held[a], holders[a] = charge{}, 0 })
	for _, k := range c.calls {
		for _, a := range k.hold.payers {
			if a != nil {
				held[a] = charge{held[a].likely + k.hold.amount.likely, held[a].most + k.hold.amount.most}
				holders[a]++
			}
		}
	}
	for a := range held {
		if a.held != held[a].likely || a.bound != held[a].most || a.holders != holders[a] {
			return fmt.Sprintf("account %v %s %s holds %d for %d requests, they hold %d and are %d", a.scope, a.tenant, a.name, a.held, a.holders, held[a].likely, holders[a])
		}
	}
	return ""
}

// every visits all accounts.
func every(c *Controller, visit func(*account)) {
	c.eachAccount(visit)
	c.eachTable(func(t *accounts) { t.each(visit) })
}
