package telemetry

import "github.com/prometheus/client_golang/prometheus"

// States are what the decision core holds at the moment of a scrape.
type States struct {
	Pools     []PoolState
	Upstreams []UpstreamState
	Money     MoneyState
	Ladders   []LadderState // models without one need not be in it
}

// WatchStates has snapshot called at each scrape, once. It may be called once,
// and panics after that. The snapshot must be quick, bounded and safe to call
// from any goroutine.
func (m *Metrics) WatchStates(snapshot func() States) {
	m.reg.MustRegister(&stateCollector{
		snapshot: snapshot, queues: newQueueCollector(), upstreams: newUpstreamCollector(m), money: newMoneyCollector(), ladders: newLadderCollector(),
	})
}

// stateCollector asks for the state only when somebody wants to know it, and
// then once for all that is told of it.
type stateCollector struct {
	snapshot  func() States
	queues    *queueCollector
	upstreams *upstreamCollector
	money     *moneyCollector
	ladders   *ladderCollector
}

func (c *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	c.queues.Describe(ch)
	c.upstreams.Describe(ch)
	c.money.Describe(ch)
	c.ladders.Describe(ch)
}

func (c *stateCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.snapshot()
	c.queues.tell(ch, s.Pools)
	c.upstreams.tell(ch, s.Upstreams)
	c.money.tell(ch, &s.Money)
	c.ladders.tell(ch, s.Ladders)
}
