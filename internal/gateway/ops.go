package gateway

import (
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

// What operators are shown, as values. The package ops says it over HTTP.

// Config is the configuration in force. It must not be changed.
func (g *Gateway) Config() *config.Config { return g.state.Load().config }

// Metrics is what the gateway counts and measures.
func (g *Gateway) Metrics() prometheus.Gatherer { return g.registry }

// Dump writes the last events of the core, one JSON object a line.
func (g *Gateway) Dump(w io.Writer) error { return g.gate.Dump(w) }

// Draining says that no new requests are taken.
func (g *Gateway) Draining() bool { return g.isDraining() }

// Health is what the gateway holds.
type Health struct {
	Status string        `json:"status"` // ok or draining
	Active int64         `json:"active"` // requests that hold or want a slot
	Models []QueueHealth `json:"models"`
}

// QueueHealth is one model's part of Health.
type QueueHealth struct {
	Model    string         `json:"model"`
	Slots    int            `json:"slots"`
	Running  int            `json:"running"`
	Waiting  map[string]int `json:"waiting"` // by class
	MeanS    float64        `json:"service_mean_s"`
	Brownout float64        `json:"brownout"`
}

// Health says what the gateway holds.
func (g *Gateway) Health() Health {
	h := Health{Status: "ok", Active: g.active.Load(), Models: []QueueHealth{}}
	if g.isDraining() {
		h.Status = "draining"
	}
	for _, p := range g.gate.views() {
		q := QueueHealth{Model: p.Model, Slots: p.Slots, Running: p.Running, Waiting: map[string]int{}, MeanS: p.Mean.Seconds(), Brownout: p.Brownout}
		for class, c := range p.Classes {
			if c.Waiting > 0 {
				q.Waiting[admit.Class(class).String()] = c.Waiting
			}
		}
		h.Models = append(h.Models, q)
	}
	return h
}
