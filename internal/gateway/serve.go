package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/answers"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/dialect"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// surface is one endpoint and its place upstream.
type surface struct {
	path string
	wire wire.Surface
}

var surfaces = []surface{
	{"/v1/chat/completions", wire.ChatCompletions},
	{"/v1/completions", wire.Completions},
	{"/v1/embeddings", wire.Embeddings},
	{"/v1/responses", wire.Responses},
	{"/v1/messages", wire.Messages},
}

// named says that the events of a stream have names, and one of them is the end.
func (s surface) named() bool { return s.wire == wire.Messages || s.wire == wire.Responses }

// asksUsage says that the usage of a stream must be asked for.
func (s surface) asksUsage() bool {
	return s.wire == wire.ChatCompletions || s.wire == wire.Completions
}

// exchange is one request from its arrival to its end. It belongs to the
// goroutine of its handler.
type exchange struct {
	g       *Gateway
	state   *state
	surface surface
	w       http.ResponseWriter
	rc      *http.ResponseController
	r       *http.Request

	ctx    context.Context // ends when the caller leaves or the gateway stops
	cancel context.CancelCauseFunc

	id       admit.ID       // in the core; zero before the offer
	asked    *admit.Request // as it was offered; nil if it runs
	decision admit.Decision // the last one
	record   telemetry.Record
	intent   wire.Intent
	envelope wire.Envelope
	body     []byte
	neutral  *dialect.Request // the body taken apart, when it must be translated
	hints    int              // of what its reading dropped
	// translation is the body of the present attempt in the provider's words; nil
	// when it is sent as it came.
	translation *translation
	pool        string
	answersAs   string // the model that answers name
	attempted   attemptBill
	sent        int  // attempts
	booked      bool // it is in the ledger
	offered     bool // it is in the traffic of the last minutes, under number
	number      int64
	tenantOf    *config.Tenant
	outline     *wire.Outline     // of the body, for its edits; nil until it is needed
	became      form              // what the request has been made
	recent      *answers.Answer   // an answer from before, that the caller takes in place of a refusal
	recentSince time.Time         // when that was given
	recentMost  time.Duration     // how old it may be
	key         answers.Key       // of the request in the answer cache
	keeps       *answers.Recorder // of what the caller is sent; nil if it is not to be kept
	instead     string            // the model that serves it because its own cannot; else empty
	explicit    time.Time         // the deadline the caller named; zero if none
	held        admit.ID          // under which it waits or runs; zero when it does neither
	committed   bool              // the status was sent
	streaming   bool              // and the answer is a stream
	drains      bool              // the call is read to its end although the caller has left
	left        error             // how it was seen to leave, while the call is drained
	broken      bool              // the answer ended in an error event: break the connection
	stallAt     time.Time         // until when the last write deadline runs
}

// serve answers one request.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, s surface) {
	x := &exchange{g: g, state: g.state.Load(), surface: s, w: w, rc: http.NewResponseController(w), r: r}
	record := &x.record // field by field: a literal would be half a kilobyte of the stack of each stream
	record.Arrived = time.Now()
	record.ID = requestID(record.Arrived)
	x.joinTrace()
	record.Path, record.Surface, record.ClientIP, record.Depth, record.Priced = r.URL.Path, "openai", clientIP(r), -1, true
	if s.wire.Anthropic() {
		record.Surface = "anthropic"
	}
	w.Header().Set(s.wire.RequestIDHeader(), x.record.ID)
	g.active.Add(1)
	defer g.active.Add(-1)
	x.ctx, x.cancel = context.WithCancelCause(r.Context())
	defer x.cancel(nil)
	defer context.AfterFunc(g.life, func() { x.cancel(errDraining) })()
	defer x.finish()

	if e := x.read(); e != nil {
		x.record.Outcome = telemetry.Invalid
		if e.Status >= 500 || e.Status == http.StatusTooManyRequests {
			x.record.Outcome = telemetry.Refused
		}
		x.fail(e)
	} else if !x.remember() {
		x.admit()
		x.keep()
	}
}

// finish tells telemetry of the end. A panic in our own code costs the one
// request: it must not keep its slot.
func (x *exchange) finish() {
	if fault := recover(); fault != nil {
		x.g.log.Slog().Error("panic while serving a request", "request", x.record.ID, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
		switch {
		case x.held == 0:
		case x.decision.Verdict == admit.Run:
			o := admit.Outcome{Input: x.attempted.used.Input, Output: x.attempted.used.Output, Known: x.attempted.used.Known}
			x.estimate(x.attempted.events, &o)
			x.bill(&o) // what it took is paid, whatever has become of it here
			x.g.gate.Finish(x.held, o)
		default:
			x.g.gate.Cancel(x.held)
		}
		x.record.Outcome, x.broken = telemetry.Failed, x.committed
		x.fail(wire.CodeInternal.New("the gateway failed"))
	}
	if x.record.TokensKnown && x.record.Model == x.pool && x.decision.Model == "" { // by the model that was estimated for
		x.g.tokens.Learn(x.pool, &x.envelope.Features, x.record.Input)
	}
	if x.sent > 0 {
		x.book(x.record.Outcome)
	}
	x.record.Total = time.Since(x.record.Arrived)
	x.g.tracer.Finished(&x.record) // metrics name the traces that are kept
	x.g.metrics.Finished(&x.record)
	x.g.history.ended(x.record.Arrived.Add(x.record.Total), &x.record, x.id != 0)
	if x.offered {
		x.g.passed.end(x.number, &x.record, x.sent)
	}
	x.g.log.Request(&x.record)
	if x.broken {
		panic(http.ErrAbortHandler)
	}
}

// read takes everything in that a decision needs.
func (x *exchange) read() *wire.Error {
	x.intent = wire.ReadIntent(x.r.Header)
	tenant, e := x.tenant()
	if e != nil {
		return e
	}
	x.tenantOf, x.record.Tenant, x.record.Attempt = tenant, tenant.Name, x.intent.Attempt
	if x.g.isDraining() {
		return drainingError(x.g.drainLeft())
	}
	if e := x.readBody(); e != nil {
		return e
	}
	return x.understand()
}

// understand takes from the body what a decision needs.
func (x *exchange) understand() (e *wire.Error) {
	if x.envelope, e = wire.Parse(x.surface.wire, x.body); e != nil {
		return e
	}
	asked := x.envelope.Model
	if x.intent.Model != "" {
		asked = x.intent.Model
	}
	x.record.AskedModel, x.record.Stream, x.answersAs = asked, x.envelope.Stream, asked
	x.record.User, x.record.Session = x.envelope.User, x.intent.Session
	pool, ok := x.state.config.Pool(asked)
	if !ok {
		return unknownModel(asked)
	}
	x.pool, x.record.Model = pool, pool
	x.envelope.Input = x.g.tokens.Tokens(pool, &x.envelope.Features)
	if e := x.able(); e != nil {
		return e
	}
	if e := x.fits(); e != nil {
		return e
	}
	if e := x.expressible(); e != nil {
		return e
	}
	return x.classify(x.tenantOf)
}

// readBody reads the request's body within its limit.
func (x *exchange) readBody() *wire.Error {
	limit := int64(x.state.config.Limits.Body)
	tooLarge := func() *wire.Error {
		return wire.CodeTooLarge.New(fmt.Sprintf("the request body is larger than the limit of %d bytes", limit))
	}
	if x.r.ContentLength > limit {
		x.w.Header().Set("Connection", "close") // rather than read it all
		return tooLarge()
	}
	var b bytes.Buffer
	if n := x.r.ContentLength; n > 0 {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, limit))
	x.body, x.record.BytesIn = b.Bytes(), int64(b.Len())
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &over):
		return tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return wire.CodeRequestTimeout.New("the request body did not arrive in time")
	default:
		return wire.CodeInvalidBody.New("the request body could not be read to its end")
	}
}

// fail answers with an error, unless an answer has begun.
func (x *exchange) fail(e *wire.Error) {
	if x.committed {
		return
	}
	x.committed = true
	x.allow() // should the caller not read, it is told nothing
	e.RequestID, e.Surface = x.record.ID, x.surface.wire
	x.record.Status = e.HTTPStatus()
	if x.intent.AcceptProblem {
		e.WriteProblem(x.w)
	} else {
		e.Write(x.w)
	}
}

// gone ends the record of a caller who left. Its connection is broken: one
// that only stopped sending must not take what it got for the whole answer.
func (x *exchange) gone() {
	if context.Cause(x.ctx) == errDraining {
		x.record.Outcome = telemetry.Failed
		x.fail(drainingError(time.Second))
		return
	}
	x.record.Outcome = telemetry.Left
	x.broken = true
}

// headers puts what every admitted answer says into its head.
func (x *exchange) headers(d *admit.Decision, service time.Duration) {
	if x.record.TTFT > 0 { // a stream: its head is sent with the first event
		x.record.First = service
	}
	h := x.w.Header()
	h.Set("Server-Timing", "queue;dur="+durationMS(x.record.Waited)+", upstream;dur="+durationMS(service))
	x.verdict(x.verdictWord())
	h.Set(wire.HeaderModel, x.record.UpstreamModel)
	if len(x.record.Rungs) > 0 {
		h.Set(wire.HeaderDegraded, strings.Join(x.record.Rungs, ", "))
	}
	if x.instead != "" {
		h.Set(wire.HeaderFallback, x.instead)
	}
	if d.Observed {
		h.Set(wire.HeaderObserved, "would-refuse")
	}
}

// verdictWord is what was decided, in one word for callers and the ledger.
func (x *exchange) verdictWord() string {
	switch {
	case len(x.record.Rungs) > 0:
		return "degrade"
	case x.record.Recalled:
		return "recall"
	case x.record.Waited > 0 && x.record.PredictedWait > 0:
		return "queue"
	}
	return "run"
}

// verdict tells what was decided, so that a caller can slow down before it is
// told to.
func (x *exchange) verdict(decision string) {
	h := x.w.Header()
	h.Set(wire.HeaderDecision, decision)
	h.Set(wire.HeaderEstimatedWait, strconv.FormatInt(x.record.PredictedWait.Milliseconds(), 10))
}

// allow gives the caller the time of write_stall to take what is sent next.
func (x *exchange) allow() error {
	stall := x.state.config.Limits.WriteStall
	if time.Until(x.stallAt) >= stall*3/4 { // not for each event: a deadline costs
		return nil
	}
	x.stallAt = time.Now().Add(stall)
	return x.rc.SetWriteDeadline(x.stallAt)
}

// write sends a part of a stream.
func (x *exchange) write(p []byte) error {
	err := x.put(p)
	x.keeps.Write(p)
	return err
}

// put sends p.
func (x *exchange) put(p []byte) error {
	if err := x.allow(); err != nil {
		return err
	}
	n, err := x.w.Write(p)
	x.record.BytesOut += int64(n)
	return err
}

func clientIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func durationMS(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64)
}

func wrongMethod(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		e := wire.CodeMethod.New(fmt.Sprintf("%s takes %s, not %s", r.URL.Path, allow, r.Method))
		e.Surface, e.RequestID = surfaceOf(r), requestID(time.Now())
		e.Write(w)
		io.Copy(io.Discard, io.LimitReader(r.Body, 1<<16))
	}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	e := wire.CodeUnknownURL.New(fmt.Sprintf("unknown path %s; there are /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/responses, /v1/messages and /v1/models", r.URL.Path))
	e.Surface, e.RequestID = surfaceOf(r), requestID(time.Now())
	e.Write(w)
}

// surfaceOf guesses in whose words a request wants an error that belongs to no
// surface: every client of Anthropic's names a version.
func surfaceOf(r *http.Request) wire.Surface {
	if strings.HasPrefix(r.URL.Path, "/v1/messages") || r.Header.Get("Anthropic-Version") != "" {
		return wire.Messages
	}
	return wire.ChatCompletions
}
