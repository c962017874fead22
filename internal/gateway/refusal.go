package gateway

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// refusal is a decision of the core in the words of the surface: which limit,
// whose, the figure, and the time to come back.
func refusal(d *admit.Decision, tenant, model string) *wire.Error {
	e := wire.CodeOverloaded.New("")
	e.Stage, e.Limit, e.Scope, e.Figure = d.Stage.String(), d.Limit, "model "+model, fmt.Sprintf("%d of %d", d.Figure, d.Bound)
	e.RetryAfter, e.NoRetry, e.EstimatedWait = d.RetryAfter, d.NoRetry, d.Wait
	when := ""
	if d.RetryAfter > 0 {
		when = fmt.Sprintf("; try again in %s", d.RetryAfter.Round(100*time.Millisecond))
	}
	own := func(unit string) {
		e.Become(wire.CodeRateLimit)
		e.Scope = "tenant " + tenant
		e.Message = fmt.Sprintf("tenant %s has %d %s, and its limit is %d%s", tenant, d.Figure, unit, d.Bound, when)
	}
	switch d.Stage {
	case admit.StageConcurrency:
		own("requests waiting or running")
	case admit.StageRequests:
		own("requests in the last minute for " + model)
	case admit.StageTokens:
		own("tokens in the last minute for " + model)
		e.Message += "; tokens of running requests are counted by estimate"
	case admit.StageSpend:
		e.Become(wire.CodeQuota)
		e.Scope = "tenant " + tenant
		e.Figure = fmt.Sprintf("%s of %s", dollars(d.Figure), dollars(d.Bound))
		e.Message = fmt.Sprintf("%s is used up for requests of this class: %s of %s are spent or held by running requests", d.Limit, dollars(d.Figure), dollars(d.Bound))
		if d.RetryAfter > 0 {
			e.Message += fmt.Sprintf("; there is room again in %s", d.RetryAfter.Round(time.Second))
		}
		e.RetryAfter = 0 // coming back by itself is what the caller must not do
	case admit.StagePace:
		e.Become(wire.CodeRateLimit)
		e.Scope = "tenant " + tenant
		e.Figure = fmt.Sprintf("%s of %s", dollars(d.Figure), dollars(d.Bound))
		e.Message = fmt.Sprintf("money is spent too fast: %s allows %s for a while, and %s are spent or held by running requests%s", d.Limit, dollars(d.Bound), dollars(d.Figure), when)
	case admit.StageRetry:
		e.Message = fmt.Sprintf("model %s is busy, and tenant %s has used its retry budget: %d of %d retries in ten seconds", model, tenant, d.Figure, d.Bound)
	case admit.StageShed:
		e.Message = fmt.Sprintf("model %s is busy: the predicted wait is %d ms, and requests of this class are held back above %d ms%s", model, d.Figure, d.Bound, when)
	case admit.StageWait:
		e.Message = fmt.Sprintf("model %s is busy: the predicted wait is %d ms, and the deadline leaves %d ms for it%s", model, d.Figure, d.Bound, when)
	case admit.StageBound:
		e.Message = fmt.Sprintf("the queue for model %s is full: %s, %d of %d%s", model, d.Limit, d.Figure, d.Bound, when)
	case admit.StageEvicted:
		e.Message = fmt.Sprintf("the queue for model %s is full, and the place was given to a request of higher rank%s", model, when)
	case admit.StageLate:
		e.Message = fmt.Sprintf("the request waited %d ms for model %s and could no longer be answered in time%s", d.Figure, model, when)
	case admit.StageDeadline:
		e.Become(wire.CodeDeadline)
		e.Message = "the deadline had passed before the request could be considered"
	case admit.StageCapacity:
		e.Become(wire.CodeUnavailable)
		e.Message = fmt.Sprintf("nothing serves model %s at the moment%s", model, when)
		if d.NoRetry {
			e.Code = wire.CodeUpstreamUnauthorized.String()
			e.Message = fmt.Sprintf("nothing serves model %s: the provider refused the gateway's credentials; only the operator can mend this", model)
		}
	default:
		e = unknownModel(model)
	}
	return e
}

// dollars is an amount of micro-dollars for people.
func dollars(micros int64) string {
	s := fmt.Sprintf("%d.%06d", micros/1_000_000, micros%1_000_000)
	s = strings.TrimRight(s, "0")
	if i := strings.IndexByte(s, '.'); len(s)-i <= 2 {
		s += strings.Repeat("0", 3-(len(s)-i))
	}
	return "$" + s
}

func unknownModel(model string) *wire.Error {
	return wire.CodeModelNotFound.Of("model", fmt.Sprintf("the model %q does not exist here; GET /v1/models lists those that do", model))
}

func drainingError(left time.Duration) *wire.Error {
	e := wire.CodeDraining.New("the gateway is shutting down; try again")
	e.RetryAfter = min(max(left, time.Second), 5*time.Second)
	return e
}

// failure is what a caller is told of an upstream's failure. Nothing of the
// upstream's account is passed on: its rate limit is not the caller's.
func failure(err error) *wire.Error {
	var f *upstream.Failure
	if !errors.As(err, &f) {
		return wire.CodeUpstreamError.New("the upstream failed")
	}
	e := wire.CodeUpstreamError.New("")
	e.RetryAfter = f.RetryAfter
	switch f.Kind {
	case upstream.RateLimited:
		e.Become(wire.CodeUpstreamRateLimited)
		e.Message = "the upstream limits its rate; no limit of yours was met"
	case upstream.Unpaid:
		e.Become(wire.CodeUpstreamUnavailable)
		e.Message = "the upstream's account is exhausted; only the operator can mend this"
	case upstream.Unauthorized:
		e.Become(wire.CodeUpstreamUnauthorized)
		e.Message = "the upstream refused the gateway's credentials; only the operator can mend this"
	case upstream.Rejected, upstream.ServerError, upstream.Unavailable, upstream.StreamError:
		n := wire.Normalize(f.Status, f.Header.Get("Content-Type"), f.Body)
		n.RetryAfter = f.RetryAfter
		e = &n
	case upstream.HeaderTimeout, upstream.FirstTokenTimeout, upstream.IdleTimeout, upstream.TotalTimeout:
		e.Become(wire.CodeUpstreamTimeout)
		e.Message = "the upstream did not answer in time: " + f.Kind.String()
	case upstream.Deadline:
		return deadlinePassed()
	default:
		e.Message = "the upstream failed: " + f.Kind.String()
	}
	return e
}

func deadlinePassed() *wire.Error {
	return wire.CodeDeadline.New("the request was running when its deadline passed")
}
