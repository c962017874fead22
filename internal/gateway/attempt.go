package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/bits"
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/dialect"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// admit follows the core's decisions until the request has ended.
func (x *exchange) admit() {
	next := x.offer()
	d := &x.decision
	var last *wire.Error // what the last failed attempt would be answered with
	for {
		switch d.Verdict {
		case admit.Queue:
			var ok bool
			if *d, ok = x.wait(x.id, d, next); !ok {
				return
			}
			x.decided(d)
		case admit.Reject:
			x.held = 0
			if last == nil {
				last = refusal(d, x.record.Tenant, x.record.AskedModel)
			}
			x.record.Outcome = telemetry.Refused
			if x.asked != nil {
				x.g.refused.keep(x.g.gate, x.record.ID, x.asked, d)
			}
			x.verdict(d.Verdict.String())
			x.fail(last)
			return
		case admit.Recall:
			x.held = 0
			x.record.Rungs, x.record.Lowest = []string{x.state.config.Models[x.pool].Degrade[bits.Len8(uint8(d.Rungs))-1].Name}, admit.RungRecent
			x.recall(x.recent, time.Since(x.recentSince))
			return
		case admit.Run:
			x.become(d)
			x.asked = nil
			o, e := x.attempt(d)
			x.held = 0
			now, more, again := x.g.gate.Finish(x.id, o)
			if !again { // the last decision stays: it says who served the request
				x.end(&o, e)
				return
			}
			x.held, last = x.id, e
			*d, next = now, more
			x.decided(d)
		}
	}
}

// offer asks for the first decision.
func (x *exchange) offer() <-chan admit.Decision {
	g := x.g
	x.record.Depth = g.gate.Depth(x.pool, x.record.Class)
	x.record.Deadline = cmp.Or(x.intent.Deadline, x.state.config.Classes.DeadlineOf(x.record.Class))
	g.metrics.Arrived(&x.record)
	req := x.request()
	var next <-chan admit.Decision
	x.decision, next = g.gate.Offer(&req)
	x.id, x.held = req.ID, req.ID
	if v := x.decision.Verdict; v == admit.Reject || v == admit.Queue {
		kept := req // most requests run at once: they pay nothing for it
		x.asked = &kept
	}
	x.decided(&x.decision)
	x.noticed(&req)
	x.quotaHeaders()
	return next
}

// decided counts a decision. After a failed attempt there is no new wait to
// predict: only the dispatch of the next one counts, as a retry.
func (x *exchange) decided(d *admit.Decision) {
	if x.record.Attempts > 0 {
		switch d.Verdict {
		case admit.Queue:
			return
		case admit.Run:
			d.Stage = admit.StageAgain
		}
	}
	first := x.record.Decision.ID == 0
	x.g.metrics.Decided(&x.record, d)
	x.g.history.decided(time.Now(), &x.record, d, first)
}

// wait waits for the next decision. ok is false when there will be none.
func (x *exchange) wait(id admit.ID, d *admit.Decision, next <-chan admit.Decision) (admit.Decision, bool) {
	draining := x.g.draining
	since := time.Now()
	for {
		select {
		case n := <-next:
			return n, true
		case <-x.ctx.Done():
			x.held = 0
			x.g.gate.Cancel(id)
			x.gone()
			return admit.Decision{}, false
		case <-draining:
			draining = nil
			if left := x.g.drainLeft(); d.Wait-time.Since(since)+d.Need > left {
				x.held = 0
				x.g.gate.Cancel(id)
				x.record.Outcome = telemetry.Refused
				x.fail(drainingError(left))
				return admit.Decision{}, false
			}
		}
	}
}

// end ends the record, and tells a caller whose last attempt failed.
func (x *exchange) end(o *admit.Outcome, e *wire.Error) {
	switch {
	case e == nil && o.CallerGone:
		x.gone()
	case e == nil:
		x.record.Outcome = telemetry.Answered
	case x.committed:
		x.record.Outcome = telemetry.Cut
	case e.Code == wire.CodeDeadline.String():
		x.record.Outcome = telemetry.TimedOut
	case e.Status < 500:
		x.record.Outcome = telemetry.Invalid
	default:
		x.record.Outcome = telemetry.Failed
	}
	if e != nil {
		x.fail(e)
	}
	x.book(x.record.Outcome)
}

// attempt sends the request to the deployment that the core chose, and relays
// the answer. The outcome is for the core, the error for the caller if nothing
// reached it.
func (x *exchange) attempt(d *admit.Decision) (o admit.Outcome, e *wire.Error) {
	t := x.state.targets[d.Deployment]
	if t == nil { // the configuration is newer than the request
		t = x.g.state.Load().targets[d.Deployment]
	}
	x.record.Deployment = d.Deployment
	x.attempted = attemptBill{target: t}
	x.sent++
	start := time.Now()
	behind := x.g.lag.Begin()
	defer x.g.lag.End()
	parent := x.ctx
	if t.settings.OnDisconnect == config.Drain {
		parent = x.g.life // a caller who leaves does not end it
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var timer *time.Timer
	if x.intent.Exact > 0 {
		timer = time.AfterFunc(time.Until(x.record.Arrived.Add(x.intent.Exact)), func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
	}
	span := x.newSpan()
	resp, asked, err := x.send(ctx, t, d.Key, span)
	if o.Delay = x.g.lag.Delay(time.Now()); o.Delay >= 0 {
		o.Delay = max(o.Delay, x.g.lag.Since(behind))
	}
	x.learn(d, resp, err)
	if err == nil {
		if resp.Events {
			if timer != nil {
				timer.Stop() // a stream's deadline is its first event
			}
			if x.translation != nil {
				err = x.relayTranslated(d, resp, &o, start)
			} else {
				err = x.relay(d, resp, asked, &o, start)
			}
		} else if x.translation != nil {
			err = x.wholeTranslated(d, resp, &o, start)
		} else {
			err = x.whole(d, resp, &o, start)
		}
		resp.Close()
		if x.g.lag.Saturated(time.Now()) {
			o.Delay = -1
		}
	}
	o.OK, o.Sent = err == nil, x.committed
	kind := "ok"
	if err != nil {
		e, kind = x.judge(ctx, err, &o)
	}
	x.bill(&o)
	x.record.Kind, x.record.UpstreamStatus = kind, o.Status
	took := time.Since(start)
	a := telemetry.Attempt{Deployment: d.Deployment, Kind: kind, Status: o.Status, OK: o.OK, Service: took}
	if o.CallerGone {
		a.Wasted = took
	}
	a.SpanID, a.Started, a.Model, a.Provider, a.Host, a.Port = span, start, x.record.UpstreamModel, providerNames[t.settings.Kind], t.host, t.port
	x.g.metrics.Attempted(&x.record, &a)
	return o, e
}

// judge says what a failure means for the core and for the caller.
func (x *exchange) judge(ctx context.Context, err error, o *admit.Outcome) (*wire.Error, string) {
	var unsaid errInexpressible
	if errors.As(err, &unsaid) { // another deployment may have the words
		o.Fault, o.Retryable = admit.Invalid, true
		return unsaid.e, upstream.Rejected.String()
	}
	var f *upstream.Failure
	if !errors.As(err, &f) { // the caller's side broke: it left or stopped reading
		o.CallerGone, x.attempted.broken = true, true
		return nil, upstream.CallerGone.String()
	}
	if f.Status != 0 {
		o.Status = f.Status
	}
	o.RetryAfter, o.Fault, o.Scarce = f.RetryAfter, f.Fault(), f.Scarce
	x.attempted.broken = context.Cause(ctx) != nil || brokenOff(f.Kind)
	switch cause := context.Cause(ctx); {
	case cause == context.DeadlineExceeded:
		o.CallerGone = true // the caller's own limit says nothing about the upstream
		return deadlinePassed(), upstream.Deadline.String()
	case cause == errDraining:
		e := drainingError(time.Second)
		x.breakOff(e)
		return e, upstream.CallerGone.String()
	case cause != nil || f.Kind == upstream.CallerGone:
		o.CallerGone = true
		return nil, upstream.CallerGone.String()
	}
	o.Retryable = f.Retryable
	if f.Kind == upstream.StreamError && o.Fault == admit.Throttled && !x.committed {
		f.Kind = upstream.RateLimited // in a 200, but as good as the status
	}
	f.Body = x.attempted.target.client.WithoutSecrets(f)
	e := failure(err)
	x.breakOff(e)
	return e, f.Kind.String()
}

// learn tells the core what the provider said of its limits, if it did.
func (x *exchange) learn(d *admit.Decision, resp *upstream.Response, err error) {
	var s admit.Sample
	var f *upstream.Failure
	if resp != nil {
		s = resp.Limits()
	} else if errors.As(err, &f) {
		s = f.Limits
	}
	if s.Requests.Limit > 0 || s.Tokens.Limit > 0 {
		x.g.gate.Observe(d.Deployment, d.Key, s)
	}
}

// send makes the upstream call with one of the provider's keys. asked says that the usage of a stream was
// asked for although the caller did not. An upstream that refuses the question
// is asked without it once, and never again.
func (x *exchange) send(ctx context.Context, t *target, key int, span uint64) (resp *upstream.Response, asked bool, err error) {
	model := t.model
	if model == "" && x.intent.Model != "" {
		model = x.intent.Model
	}
	x.record.UpstreamModel = model
	if model == "" {
		x.record.UpstreamModel = x.envelope.Model
	}
	header := http.Header{}
	wire.ForwardHeaders(header, x.r.Header)
	x.passTrace(header, span)
	t.api.Version(header, t.settings.APIVersion)
	call := upstream.Call{Header: header, Stream: x.envelope.Stream, Key: key}
	l := x.speaks(t)
	call.Path = t.api.Path(x.surface.path, l, x.record.UpstreamModel, x.envelope.Stream, t.settings.APIVersion)
	if l != upstream.Native {
		said, e := x.translated(t, x.record.UpstreamModel)
		if e != nil {
			return nil, false, errInexpressible{e}
		}
		call.Body = said.body
		resp, err = t.client.Do(ctx, call)
		return resp, false, err
	}
	x.translation = nil
	for {
		asked = x.envelope.Stream && !t.noUsage.Load() && x.surface.asksUsage()
		call.Body, err = x.surface.wire.Forward(x.body, x.envelope, model, wire.ForwardOptions{AskUsage: asked})
		if err != nil {
			return nil, false, err
		}
		switch x.surface.wire { // others may have answered before
		case wire.Messages:
			call.Body = wire.SettleThoughts(call.Body, dialect.Unsealed)
		case wire.Responses:
			call.Body = wire.SettleReasoning(call.Body, dialect.Unowned)
		}
		resp, err = t.client.Do(ctx, call)
		var f *upstream.Failure
		if asked && !x.envelope.IncludeUsage && errors.As(err, &f) && f.Status == http.StatusBadRequest && bytes.Contains(f.Body, []byte("stream_options")) {
			t.noUsage.Store(true)
			continue
		}
		return resp, asked, err
	}
}
