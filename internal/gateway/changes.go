package gateway

import (
	"log/slog"
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// watch tells the operator what happens to deployments: each change once in
// the log and in the metrics, and the wish for more capacity to the webhook.
func (g *Gateway) watch() {
	for {
		select {
		case <-g.life.Done():
			return
		case c := <-g.gate.Changes():
			g.changed(&c)
		}
	}
}

// changed tells one change. Probes of an open breaker are no news: while a
// provider is down there may be one every other second.
func (g *Gateway) changed(c *admit.Change) {
	switch {
	case c.Spending != nil:
		g.metrics.BudgetAlarm(c.Spending.Scope, c.Spending.To)
		g.spending(c.Spending)
		return
	case c.Level != nil:
		g.metrics.LadderStepped(c.Level.Model, c.Level.Class, c.Level.From, c.Level.To)
		g.log.Slog().Info("ladder level changed", "model", c.Level.Model, "class", c.Level.Class.String(), "level", c.Level.To, "was", c.Level.From,
			"pressure", math.Round(c.Level.Pressure*100)/100, "load", math.Round(c.Level.Load*100)/100)
		return
	}
	log := g.log.Slog().With("deployment", c.Deployment)
	switch {
	case c.ScaleUp:
		g.metrics.ScaleUp(c.Deployment)
		log.Warn("a call took so long that more capacity is needed")
		if s := g.state.Load().config.ScaleUp; s.Webhook != "" {
			g.hooks.call(g.life, log, s, c)
		}
	case c.Warning:
		log.Warn("latency is near the point where the breaker opens")
	case c.To == admit.BreakerOpen && c.From == admit.BreakerHalfOpen:
		log.Debug("probe failed, the breaker stays open", "reason", c.Why.String(), "until", g.gate.clock().future(c.Until))
	case c.To == admit.BreakerOpen:
		g.metrics.BreakerOpened(c.Deployment, c.Why.String())
		log.Warn("breaker opened", "reason", c.Why.String(), "was", c.From.String(), "until", g.gate.clock().future(c.Until))
	case c.To == admit.BreakerHalfOpen:
		log.Debug("breaker half_open")
	default:
		log.Info("breaker "+c.To.String(), "was", c.From.String())
	}
}

// spending tells of an account whose state changed: before its money is gone,
// with the time that it will last at the present rate.
func (g *Gateway) spending(s *admit.Spending) {
	level := slog.LevelWarn
	if s.To == admit.Calm {
		level = slog.LevelInfo
	}
	at := []slog.Attr{
		slog.String("scope", s.Scope.String()), slog.String("tenant", s.Tenant), slog.String("name", s.Name), slog.String("state", s.To.String()), slog.String("was", s.From.String()),
		slog.String("span", s.Span.String()), slog.String("limit", dollars(s.Limit)), slog.String("spent", dollars(s.Used)), slog.String("held", dollars(s.Held)),
		slog.String("last_minute", dollars(s.PerMinute)),
	}
	if s.Lasts < 365*24*time.Hour {
		at = append(at, slog.String("lasts", s.Lasts.Round(time.Second).String()))
	}
	g.log.Slog().LogAttrs(g.life, level, "budget "+s.To.String(), at...)
}
