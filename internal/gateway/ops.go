package gateway

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Ops is the surface for operators: health, readiness, metrics, the last
// events of the core. It belongs on a listener of its own.
func (g *Gateway) Ops() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", g.health)
	mux.HandleFunc("GET /readyz", g.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(g.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /admin/v1/upstreams", g.upstreams)
	mux.HandleFunc("GET /debug/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jsonl")
		if err := g.gate.Dump(w); err != nil {
			g.log.Slog().Warn("write the flight recorder", "error", err.Error())
		}
	})
	return mux
}

// queueHealth is one model's state as health reports it.
type queueHealth struct {
	Model    string         `json:"model"`
	Slots    int            `json:"slots"`
	Running  int            `json:"running"`
	Waiting  map[string]int `json:"waiting"`
	MeanS    float64        `json:"service_mean_s"`
	Brownout float64        `json:"brownout"`
}

// health answers while the process lives, with what it holds.
func (g *Gateway) health(w http.ResponseWriter, _ *http.Request) {
	report := struct {
		Status string        `json:"status"`
		Active int64         `json:"active"`
		Models []queueHealth `json:"models"`
	}{Status: "ok", Active: g.active.Load(), Models: []queueHealth{}}
	if g.isDraining() {
		report.Status = "draining"
	}
	for _, p := range g.gate.Snapshot().Pools {
		q := queueHealth{Model: p.Model, Slots: p.Slots, Running: p.Running, Waiting: map[string]int{}, MeanS: p.Mean.Seconds(), Brownout: p.Brownout}
		for class, c := range p.Classes {
			if c.Waiting > 0 {
				q.Waiting[admit.Class(class).String()] = c.Waiting
			}
		}
		report.Models = append(report.Models, q)
	}
	writeJSON(w, report)
}

// ready says whether new requests are welcome.
func (g *Gateway) ready(w http.ResponseWriter, _ *http.Request) {
	if g.isDraining() {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	w.Write([]byte("ready\n"))
}
