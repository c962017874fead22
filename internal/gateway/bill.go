package gateway

import (
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/store"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// bytesPerToken stands in for the tokens of a whole answer whose provider told
// no usage.
const bytesPerToken = 4

// attemptBill is what the present attempt took, as far as it is known.
type attemptBill struct {
	target   *target
	used     wire.Usage // as the provider told it
	events   int64      // of a stream, that count for tokens
	bytes    int64      // of a whole answer
	complete bool       // all of the answer came
	broken   bool       // it was broken off by us or by the caller
	cost     int64
	done     bool
}

// bill works out what the present attempt costs, once: before the end of its
// answer is sent, or when it has failed.
//
// An answer is paid as its provider counts it, or by estimate. A call that was
// cut off is paid as far as it got: its input, and the output that was seen. One
// that failed before anything came costs nothing. For one that was broken off
// before that, because its caller left or it took too long, the operator says
// what the provider takes.
func (x *exchange) bill(o *admit.Outcome) {
	b := &x.attempted
	if b.done {
		o.Cost = b.cost
		return
	}
	b.done = true
	t, ok := x.tokens(o)
	if !ok {
		return
	}
	if t.Output > o.Output {
		o.Output = t.Output
	}
	x.record.Input, x.record.Output, x.record.Cached, x.record.CacheWrite, x.record.Reasoning = t.Input, t.Output, t.Cached, t.CacheWrite, t.Reasoning
	if !b.target.price.Known {
		x.record.Priced = false
		return
	}
	b.cost = b.target.price.Cost(t, x.envelope.ServiceTier)
	o.Cost = b.cost
	x.record.Cost += b.cost
}

// tokens are what the attempt took; ok is false if it costs nothing.
func (x *exchange) tokens(o *admit.Outcome) (t admit.Tokens, ok bool) {
	b := &x.attempted
	switch {
	case b.used.Known:
		return admit.Tokens{Input: b.used.Input, Output: max(b.used.Output, o.Output), Cached: b.used.Cached, CacheWrite: b.used.CacheWrite, Reasoning: b.used.Reasoning}, true
	case b.complete || o.Input+o.Output > 0:
		return admit.Tokens{Input: o.Input, Output: max(o.Output, b.bytes/bytesPerToken)}, true
	case b.broken && b.target.settings.BillOnCancel == config.BillInput:
		return admit.Tokens{Input: x.envelope.Input}, true
	}
	return t, false
}

// brokenOff says that a call which ended so was still at work when we left it.
func brokenOff(k upstream.Kind) bool {
	switch k {
	case upstream.HeaderTimeout, upstream.FirstTokenTimeout, upstream.IdleTimeout, upstream.TotalTimeout, upstream.CallerGone, upstream.Deadline:
		return true
	}
	return false
}

// book writes the request into the ledger, once. An answer is there before its
// end is sent, so that nobody has one that the ledger knows nothing of.
func (x *exchange) book(outcome telemetry.Outcome) {
	if x.booked || x.g.ledger == nil {
		return
	}
	x.booked = true
	r := &x.record
	used := x.pool
	if x.decision.Model != "" {
		used = x.decision.Model
	}
	total := time.Since(r.Arrived)
	row := store.Row{
		ID: r.ID, Time: r.Arrived, Tenant: r.Tenant, Key: r.Key, User: r.User, Session: r.Session, Surface: x.surface.wire.String(),
		ModelAsked: r.AskedModel, ModelUsed: used, UpstreamModel: r.UpstreamModel, Deployment: r.Deployment, Class: r.Class.String(),
		Decision: x.verdictWord(), Rung: strings.Join(r.Rungs, ","), Outcome: outcome.String(), Status: r.Status, Attempts: x.sent,
		Input: r.Input, Output: r.Output, Cached: r.Cached, CacheWrite: r.CacheWrite, Reasoning: r.Reasoning,
		Cost: r.Cost, Priced: r.Priced, Estimated: !r.TokensKnown && r.Input+r.Output > 0, Queued: r.Waited, Service: max(total-r.Waited, 0), Total: total,
	}
	_ = x.g.ledger.Append(&row) // it has counted and told of what it lost
}
