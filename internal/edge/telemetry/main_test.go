package telemetry

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var names = Names{
	Tenants:     []string{"bank", "shop"},
	Models:      []string{"chat", "embed"},
	Deployments: []string{"gpu/big", "hosted/big"},
	Kinds:       []string{"ok", "status", "dial", "reset"},
	Rungs:       []string{"no-tools", "half-context", "small", "recent"},
}

// newRecord is a streamed chat request of the tenant bank.
func newRecord() *Record {
	return &Record{
		ID: "req_1", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", ClientIP: "192.0.2.7", Path: "/v1/chat/completions", Surface: "openai",
		Tenant: "bank", Model: "chat", AskedModel: "chat", UpstreamModel: "big-1", Class: admit.Interactive, Stream: true,
		Arrived: t0, BytesIn: 512, BytesOut: 4096, Depth: 3,
	}
}

var (
	queueIt  = admit.Decision{ID: 1, Verdict: admit.Queue, Stage: admit.StageQueue, Wait: 800 * time.Millisecond, Need: 300 * time.Millisecond}
	dispatch = admit.Decision{ID: 1, Verdict: admit.Run, Stage: admit.StageDispatch, Deployment: "gpu/big", Wait: time.Second, Need: 300 * time.Millisecond}
	runIt    = admit.Decision{ID: 1, Verdict: admit.Run, Stage: admit.StageFree, Deployment: "gpu/big", Need: 300 * time.Millisecond}
	refuseIt = admit.Decision{ID: 1, Verdict: admit.Reject, Stage: admit.StageWait, Wait: 9 * time.Second, Need: 300 * time.Millisecond,
		RetryAfter: 4 * time.Second, Limit: "predicted wait of model chat", Figure: 9000, Bound: 8000}
	late   = admit.Decision{ID: 1, Verdict: admit.Reject, Stage: admit.StageLate, Wait: 8 * time.Second}
	recall = admit.Decision{ID: 1, Verdict: admit.Recall, Stage: admit.StageLadder}
)

// answer fills in a good end: first token after 1.3 s, 101 tokens, 3.3 s in
// all, for half a cent.
func answer(r *Record) {
	r.Outcome, r.Status = Answered, 200
	r.TTFT, r.First, r.Total = 1300*time.Millisecond, 300*time.Millisecond, 3300*time.Millisecond
	r.Input, r.Output, r.Cached, r.TokensKnown = 900, 101, 600, true
	r.CacheWrite, r.Reasoning, r.Cost, r.Priced, r.Finish = 200, 40, 5000, true, FinishStop
}
