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

func (l *ledger) took(now time.Time, ds []Decision) {
	for _, d := range ds {
		if !l.open[d.ID] {
			panic(fmt.Sprintf("decision %v on request %d, which has ended", d.Verdict, d.ID))
		}
		if d.Verdict == Reject && d.RetryAfter < 0 {
			panic("a refusal asks to come back in the past")
		}
	}
	if err := check(l.c, now); err != "" {
		panic(err)
	}
}

// check returns what is broken, "" if nothing.
func check(c *Controller, now time.Time) string {
	waiting, running := 0, 0
	active := map[*tenant]int{}
	for _, k := range c.calls {
		active[k.tenant()]++
		switch {
		case k.running && k.item.Waiting():
			return fmt.Sprintf("request %d waits and runs", k.id)
		case k.running:
			running++
			if k.pool().running[k.place] != k {
				return fmt.Sprintf("request %d is not in its place", k.id)
			}
		case k.item.Waiting():
			waiting++
		default:
			return fmt.Sprintf("request %d neither waits nor runs", k.id)
		}
	}
	if waiting != c.Waiting() || running != c.Running() || waiting+running != len(c.calls) {
		return fmt.Sprintf("calls %d, waiting %d of %d, running %d of %d", len(c.calls), waiting, c.Waiting(), running, c.Running())
	}
	for _, t := range c.tenants {
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
		if p.waiting() > 0 && p.pick() != nil && len(p.running) < p.slots {
			return fmt.Sprintf("%d wait while a slot is free", p.waiting())
		}
		for class, q := range p.queues {
			n, work, bytes := 0, int64(0), int64(0)
			for _, k := range c.calls {
				if k.item.Waiting() && k.pool() == p && int(k.lane.class) == class {
					n, work, bytes = n+1, work+k.item.Cost, bytes+k.item.Bytes
				}
			}
			if n != q.Len() || work != q.Work() || bytes != q.Bytes() {
				return fmt.Sprintf("class %v holds %d/%d/%d, says %d/%d/%d", Class(class), n, work, bytes, q.Len(), q.Work(), q.Bytes())
			}
			if n == 0 && q.Fresh() != 0 {
				return fmt.Sprintf("class %v is empty with fresh work %d", Class(class), q.Fresh())
			}
		}
	}
	if next := c.Next(); waiting > 0 && next.IsZero() {
		return "something waits and nothing is due"
	}
	return ""
}
