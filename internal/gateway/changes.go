package gateway

import "github.com/spillway-llm/spillway/internal/core/admit"

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
