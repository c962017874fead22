package gateway

import (
	"log/slog"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

const (
	clockEvery = time.Minute // the wall clock is looked at
	clockStep  = time.Second // by which it must be elsewhere to be followed
)

// ahead is by how much the wall clock is ahead of the core's time, as it was
// last, unless it is elsewhere by a step: it was set, or the machine was asleep,
// which the monotonic clock does not count.
func (g *Gate) ahead(last time.Duration) time.Duration {
	now := g.wall().Sub(g.now())
	if (now - last).Abs() < clockStep {
		return last
	}
	return now.Round(clockStep)
}

// policy is what a configuration means for the core at present.
func (g *Gateway) policy(c *config.Config) *admit.Policy {
	p := c.PolicyAt(g.gate.wall())
	g.followed = g.gate.ahead(g.followed)
	p.Ahead(g.followed)
	return p
}

// followClock keeps the calendars of budgets and providers on the wall clock,
// wherever that is set to. Waits, limits and deadlines have nothing to do with it.
func (g *Gateway) followClock() {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		select {
		case <-g.life.Done():
			return
		case <-tick.C:
			g.follow()
		}
	}
}

func (g *Gateway) follow() {
	g.applying.Lock()
	defer g.applying.Unlock()
	was, c := g.followed, g.state.Load().config
	if g.gate.ahead(was) == was {
		return
	}
	g.gate.Configure(g.policy(c))
	g.holds(c) // its timer has counted another time
	g.log.Slog().Warn("the wall clock was set, or the machine was asleep: hours, days and months of budgets follow it", slog.String("by", (g.followed-was).String()))
}
