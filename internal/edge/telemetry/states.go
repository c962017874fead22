package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// States are what the decision core holds at the moment of a scrape.
type States struct {
	Pools     []PoolState
	Upstreams []UpstreamState
	Money     MoneyState
	Ladders   []LadderState // models without one need not be in it
	Quotas    []QuotaState
	MaxWait   [admit.NumClasses]time.Duration // by configuration
}

// WatchStates has snapshot called at each scrape, once. It may be called once,
// and panics after that. The snapshot must be quick, bounded and safe to call
// from any goroutine.
func (m *Metrics) WatchStates(snapshot func() States) {
	m.reg.MustRegister(&stateCollector{
		snapshot: snapshot, queues: newQueueCollector(), upstreams: newUpstreamCollector(m), money: newMoneyCollector(), ladders: newLadderCollector(), quotas: newQuotaCollector(),
		maxWait: prometheus.NewDesc("spillway_class_max_wait_seconds", "Longest time in the queue that a class may have: classes.CLASS.max_wait.", []string{"class"}, nil),
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
	quotas    *quotaCollector
	maxWait   *prometheus.Desc
}

func (c *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	c.queues.Describe(ch)
	c.upstreams.Describe(ch)
	c.money.Describe(ch)
	c.ladders.Describe(ch)
	c.quotas.Describe(ch)
	ch <- c.maxWait
}

func (c *stateCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.snapshot()
	c.queues.tell(ch, s.Pools)
	c.upstreams.tell(ch, s.Upstreams)
	c.money.tell(ch, &s.Money)
	c.ladders.tell(ch, s.Ladders)
	c.quotas.tell(ch, s.Quotas)
	for class, d := range s.MaxWait {
		if d > 0 {
			ch <- prometheus.MustNewConstMetric(c.maxWait, prometheus.GaugeValue, d.Seconds(), admit.Class(class).String())
		}
	}
}
