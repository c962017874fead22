package gateway

import (
	"io"
	"testing"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// What keeping a refusal adds to it, in a storm of them.
func BenchmarkKeepRefusal(b *testing.B) {
	c, err := config.Parse("bench", []byte(one(1)), nil)
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(c, Options{Log: telemetry.NewLogger(io.Discard)})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	q, d := &admit.Request{Tenant: "open", Model: "chat"}, &admit.Decision{Verdict: admit.Reject, Stage: admit.StageWait}
	b.ReportAllocs()
	for b.Loop() {
		g.refused.keep(g.gate, "req_0", q, d)
	}
}

// A dry run costs about what an offer does.
func BenchmarkExplainAgain(b *testing.B) {
	c, err := config.Parse("bench", []byte(one(1)), nil)
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(c, Options{Log: telemetry.NewLogger(io.Discard)})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	x := Refusal{Request: admit.Request{Tenant: "open", Model: "chat", Input: 1000, MaxOutput: 100}}
	b.ReportAllocs()
	for b.Loop() {
		g.ExplainAgain(x)
	}
}
