package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// observe adds a time to a histogram, with the trace of the request as the
// example of its bucket if that trace is kept.
func (r *Record) observe(h prometheus.Observer, d time.Duration) {
	e, ok := h.(prometheus.ExemplarObserver)
	if r.kept == notKept || !ok {
		h.Observe(d.Seconds())
		return
	}
	e.ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": r.TraceID})
}
