package telemetry

import (
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func BenchmarkFinished(b *testing.B) {
	m := NewMetrics(prometheus.NewRegistry())
	m.Configure(names)
	r := newRecord()
	m.Decided(r, &runIt)
	answer(r)
	b.ReportAllocs()
	for b.Loop() {
		r.series = series{} // as for a new record: the names are looked up again
		m.Finished(r)
	}
}

// A request that went down two rungs, at a price that is not known.
func BenchmarkFinishedDegraded(b *testing.B) {
	m := NewMetrics(prometheus.NewRegistry())
	m.Configure(names)
	r := newRecord()
	m.Decided(r, &runIt)
	m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true})
	answer(r)
	r.Rungs, r.Lowest, r.Priced = []string{"no-tools", "small"}, admit.RungModel, false
	b.ReportAllocs()
	for b.Loop() {
		r.series = series{}
		m.Finished(r)
	}
}

// The whole life of a request that waited: every observation there is.
func BenchmarkRequest(b *testing.B) {
	m := NewMetrics(prometheus.NewRegistry())
	m.Configure(names)
	a := Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true, Service: 2 * time.Second}
	r := newRecord()
	b.ReportAllocs()
	for b.Loop() {
		r.series, r.decisions, r.queued, r.ran = series{}, 0, false, false
		m.Arrived(r)
		m.Decided(r, &queueIt)
		m.Decided(r, &dispatch)
		m.Attempted(r, &a)
		answer(r)
		m.Finished(r)
	}
}

func BenchmarkRefused(b *testing.B) {
	m := NewMetrics(prometheus.NewRegistry())
	m.Configure(names)
	r := newRecord()
	r.Outcome, r.Status, r.Total = Refused, 429, 40*time.Microsecond
	b.ReportAllocs()
	for b.Loop() {
		r.series, r.decisions = series{}, 0
		m.Arrived(r)
		m.Decided(r, &refuseIt)
		m.Finished(r)
	}
}

func BenchmarkLogRequest(b *testing.B) {
	l := NewLogger(io.Discard)
	r := newRecord()
	m := NewMetrics(prometheus.NewRegistry())
	m.Decided(r, &queueIt)
	m.Decided(r, &dispatch)
	m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true})
	answer(r)
	b.ReportAllocs()
	for b.Loop() {
		l.Request(r)
	}
}

func BenchmarkRecorder(b *testing.B) {
	r := NewRecorder(DefaultEvents)
	q := admit.Request{ID: 1, Tenant: "bank", Model: "chat", Arrived: t0, Deadline: t0.Add(time.Minute)}
	ds := []admit.Decision{runIt}
	o := admit.Outcome{Status: 200, OK: true}
	b.Run("offer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Offer(t0, &q)
		}
	})
	b.Run("decision", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Decisions(t0, ds)
		}
	})
	b.Run("finish", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Finish(t0, 1, &o)
		}
	})
}
