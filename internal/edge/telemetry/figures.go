package telemetry

import "github.com/prometheus/client_golang/prometheus"

// figure is one number of a state, a series without labels.
type figure[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*T) float64
}

// figureCollector asks for the state only when somebody wants to know it.
type figureCollector[T any] struct {
	snapshot func() T
	prefix   string
	figures  []figure[T]
}

func (c *figureCollector[T]) add(kind prometheus.ValueType, name, help string, of func(*T) float64) {
	c.figures = append(c.figures, figure[T]{prometheus.NewDesc(c.prefix+name, help, nil, nil), kind, of})
}

func (c *figureCollector[T]) counter(name, help string, of func(*T) float64) {
	c.add(prometheus.CounterValue, name, help, of)
}

func (c *figureCollector[T]) gauge(name, help string, of func(*T) float64) {
	c.add(prometheus.GaugeValue, name, help, of)
}

func (c *figureCollector[T]) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		ch <- f.desc
	}
}

func (c *figureCollector[T]) Collect(ch chan<- prometheus.Metric) {
	s := c.snapshot()
	for _, f := range c.figures {
		ch <- prometheus.MustNewConstMetric(f.desc, f.kind, f.of(&s))
	}
}
