package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/sim"
)

// What the gateway writes today is what the readers read.
func TestTraceOfTelemetry(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct {
		name  string
		write func(*bytes.Buffer) error
		want  sim.Arrival
	}{
		{"log", func(b *bytes.Buffer) error {
			l := telemetry.NewLogger(b)
			l.Slog().Info("listening", "address", "127.0.0.1:1")
			r := telemetry.Record{Tenant: "acme", Model: "large", Class: admit.Batch, Stream: true, Arrived: t0, Total: 3 * time.Second, Attempts: 1, Input: 70, Output: 30}
			m := telemetry.NewMetrics(prometheus.NewRegistry())
			m.Decided(&r, &admit.Decision{Verdict: admit.Run})
			l.Request(&r)
			return nil
		}, sim.Arrival{Tenant: "acme", Model: "large", Class: admit.Batch, Stream: true, Input: 70, Output: 30}},
		{"dump", func(b *bytes.Buffer) error {
			r := telemetry.NewRecorder(10)
			r.Configure(t0, &admit.Policy{})
			r.Offer(t0, &admit.Request{ID: 3, Tenant: "acme", Model: "large", Class: admit.Batch, Stream: true, Input: 50, Arrived: t0, Deadline: t0.Add(time.Second)})
			r.Decisions(t0, []admit.Decision{{ID: 3, Verdict: admit.Run, Deployment: "gpu/large"}})
			r.Finish(t0.Add(time.Second), 3, &admit.Outcome{Status: 200, OK: true, Input: 70, Output: 30})
			return r.Dump(b)
		}, sim.Arrival{Tenant: "acme", Model: "large", Class: admit.Batch, Stream: true, Input: 70, Output: 30, Deadline: time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := c.write(&b); err != nil {
				t.Fatal(err)
			}
			took, err := sim.Measured("x", bytes.NewReader(b.Bytes()))
			if want := time.Second; err != nil || c.name == "dump" && took["gpu/large"] != want || c.name != "dump" && len(took) > 0 {
				t.Errorf("measured %v, %v", took, err)
			}
			s, err := sim.Trace("x", &b, sim.TraceOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a, ok, err := s.Next()
			if err != nil || !ok || a != c.want {
				t.Errorf("got  %+v, %v, %v\nwant %+v", a, ok, err, c.want)
			}
			if _, ok, err := s.Next(); ok || err != nil {
				t.Errorf("then %v, %v, want the end", ok, err)
			}
		})
	}
}
