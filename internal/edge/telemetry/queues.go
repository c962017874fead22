package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spillway-llm/spillway/internal/core/admit"
)

// PoolState is one model's queues and slots at the moment of a scrape.
type PoolState struct {
	Model    string
	Capacity int // calls at once over all deployments in use
	Classes  [admit.NumClasses]ClassState
	Most     int           // requests that may wait
	High     time.Duration // predicted wait above which nobody queues; 0 if that is left to deadlines
}

// ClassState is one class in one pool.
type ClassState struct {
	Waiting int           // requests
	Running int           // requests
	Work    time.Duration // slot time predicted to serve all that waits
	Bytes   int64         // held by requests that wait
}

// queueCollector tells of queues and slots.
type queueCollector struct {
	waiting, running, work, bytes, capacity *prometheus.Desc
	most, high                              *prometheus.Desc
}

func newQueueCollector() *queueCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("spillway_"+name, help, labels, nil)
	}
	return &queueCollector{
		waiting:  desc("queue_waiting", "Requests that wait.", "model", "class"),
		running:  desc("running", "Requests that hold a slot.", "model", "class"),
		work:     desc("queue_work_seconds", "Slot time predicted to serve all that waits.", "model", "class"),
		bytes:    desc("queue_bytes", "Memory held by requests that wait.", "model", "class"),
		capacity: desc("capacity", "Slots of all deployments in use.", "model"),
		most:     desc("queue_limit_requests", "Requests that may wait: queue.depth_high, or queue.total where there is none.", "model"),
		high:     desc("queue_high_seconds", "Predicted wait above which nobody queues: queue.high. Left out where that is left to deadlines.", "model"),
	}
}

func (q *queueCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{q.waiting, q.running, q.work, q.bytes, q.capacity, q.most, q.high} {
		ch <- d
	}
}

// tell skips a second pool of the same label, which would spoil the whole
// scrape: two names may differ only after the cap.
func (q *queueCollector) tell(ch chan<- prometheus.Metric, pools []PoolState) {
	seen := map[string]bool{}
	for _, p := range pools {
		model := label(p.Model)
		if seen[model] {
			continue
		}
		seen[model] = true
		set := func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
		}
		set(q.capacity, float64(p.Capacity), model)
		set(q.most, float64(p.Most), model)
		if p.High > 0 {
			set(q.high, p.High.Seconds(), model)
		}
		for i, c := range p.Classes {
			class := admit.Class(i).String()
			set(q.waiting, float64(c.Waiting), model, class)
			set(q.running, float64(c.Running), model, class)
			set(q.work, c.Work.Seconds(), model, class)
			set(q.bytes, float64(c.Bytes), model, class)
		}
	}
}
