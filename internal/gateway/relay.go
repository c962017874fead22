package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// maxAnswer bounds an answer that is not streamed, in bytes.
const maxAnswer = 64 << 20

// scratch is the memory of one relay: what its chunks have in common, and room
// for events that must be rewritten.
type scratch struct {
	chunks      wire.Chunks
	named       wire.Named
	data, frame []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// relay passes a stream on, event by event. The status is sent with the first
// content: before it everything can still be retried, by us or by the caller.
func (x *exchange) relay(d *admit.Decision, resp *upstream.Response, asked bool, o *admit.Outcome, start time.Time) error {
	x.begin(d, resp, o, start)
	buf := scratches.Get().(*scratch)
	defer scratches.Put(buf)
	buf.chunks.Reset()
	buf.named = wire.Named{Surface: x.surface.wire}
	finished := false
	events := &x.attempted.events
	*events = -int64(resp.Held()) // those are no tokens
	for {
		ev, err := resp.Next()
		if err != nil {
			return x.streamEnd(err, finished, *events, o)
		}
		raw := ev.Raw
		if !ev.Done {
			var keep bool
			if raw, keep = x.event(ev, asked, buf, o, &finished); !keep {
				continue
			}
			if raw == nil {
				x.estimate(*events, o)
				return lost(ev.Data)
			}
			*events++
		}
		if finished = finished || ev.Done; finished && (ev.Done || x.surface.named()) {
			x.complete(*events, o) // the caller may take this event for the end
		}
		if err := x.pass(raw, resp); err != nil {
			x.estimate(*events, o)
			return err
		}
	}
}

// pass sends a part of a stream on. Where a call is drained for its usage, the
// caller's leaving is kept until its end.
func (x *exchange) pass(raw []byte, resp *upstream.Response) error {
	if x.left != nil {
		return nil
	}
	err := x.write(raw)
	if err == nil && !resp.Buffered() {
		err = x.rc.Flush()
	}
	if err != nil && x.drains {
		x.left, err = err, nil
	}
	return err
}

// begin sends the head of a stream: from here on the caller has a part of it.
func (x *exchange) begin(d *admit.Decision, resp *upstream.Response, o *admit.Outcome, start time.Time) {
	x.g.gate.FirstByte(d.ID)
	x.record.TTFT = time.Since(x.record.Arrived)
	x.g.history.streamed(x.record.Arrived.Add(x.record.TTFT), x.record.TTFT)
	o.Status = resp.Status
	h := x.w.Header()
	if x.translation == nil { // those of another API mean nothing to the caller
		wire.RelayHeaders(h, resp.Header)
	}
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	x.dropped()
	x.headers(d, time.Since(start))
	x.committed, x.streaming, x.record.Status = true, true, http.StatusOK
	x.drains = x.drain(d)
	x.w.WriteHeader(http.StatusOK)
	x.body, x.neutral = nil, nil // nothing is sent again: a long prompt need not be kept as long as its answer
	if x.translation != nil {
		x.translation.body = nil
	}
}

// drain says whether the call goes on without its caller.
func (x *exchange) drain(d *admit.Decision) bool {
	t := x.state.targets[d.Deployment]
	return t != nil && t.settings.OnDisconnect == config.Drain
}

// lost is the failure that an event in the midst of a stream stands for.
func lost(data []byte) error {
	if wire.ReadChunk(data).Broken() {
		return &upstream.Failure{Kind: upstream.BadResponse, Status: http.StatusOK, Retryable: true, Sent: true, Err: errBroken}
	}
	return &upstream.Failure{Kind: upstream.StreamError, Body: bytes.Clone(data), Sent: true}
}

var errBroken = errors.New("an event is no JSON")

// event reads what accounting needs of one event and makes it fit for the
// caller: nil bytes mean that it is an error, or a piece of the answer that is
// lost. Both end the stream.
func (x *exchange) event(ev wire.Event, asked bool, buf *scratch, o *admit.Outcome, finished *bool) (raw []byte, keep bool) {
	if s := x.surface.wire; s == wire.Messages || s == wire.Responses {
		return x.named(ev, buf, o, finished)
	}
	if len(ev.Name) == 0 {
		var alike bool
		if buf.frame, alike = buf.chunks.Pass(buf.frame[:0], ev.Data, x.answersAs); alike {
			return buf.frame, true
		}
	}
	c := buf.chunks.Read(ev.Data)
	if u, ok := c.Usage(); ok {
		x.usage(u, o)
		if asked && !x.envelope.IncludeUsage && c.UsageOnly() {
			return nil, false
		}
	}
	if _, bad := c.Failure(); bad || c.Broken() {
		return nil, true
	}
	if c.Finished() {
		*finished = true
		x.record.Finish = telemetry.ParseFinish(x.surface.wire.FinishOf(ev.Data))
	}
	return buf.fit(ev, c.Rewrite(x.answersAs, buf.data[:0])), true
}

// named is event for surfaces whose events have names.
func (x *exchange) named(ev wire.Event, buf *scratch, o *admit.Outcome, finished *bool) (raw []byte, keep bool) {
	e := buf.named.Read(ev.Name, ev.Data)
	if e.Usage.Known {
		x.usage(e.Usage, o)
	}
	if e.Failed {
		return nil, true
	}
	if *finished = *finished || e.Finished; e.Finished || string(ev.Name) == "message_delta" {
		if f := x.surface.wire.FinishOf(ev.Data); f != "" {
			x.record.Finish = telemetry.ParseFinish(f)
		}
	}
	return buf.fit(ev, e.Rewrite(x.answersAs, buf.data[:0])), true
}

// fit is the event with the data as it was rewritten, or as it came.
func (b *scratch) fit(ev wire.Event, data []byte) []byte {
	if len(data) == len(ev.Data) && (len(data) == 0 || &data[0] == &ev.Data[0]) {
		return ev.Raw
	}
	b.data = data
	b.frame = frame(b.frame[:0], ev.Name, data)
	return b.frame
}

// frame appends an event of rewritten data to b.
func frame(b, name, data []byte) []byte {
	if len(name) > 0 {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	return append(b, '\n')
}

// streamEnd judges how the upstream ended its stream. Without an end mark and
// without a finish reason it was cut, however cleanly it was closed.
func (x *exchange) streamEnd(err error, finished bool, events int64, o *admit.Outcome) error {
	x.estimate(events, o)
	if !errors.Is(err, io.EOF) {
		return err
	}
	if !finished {
		return &upstream.Failure{Kind: upstream.Truncated, Sent: true}
	}
	x.complete(events, o)
	if x.left != nil {
		return x.left
	}
	if err := x.allow(); err != nil { // the end may come long after the last event
		return err
	}
	return x.rc.Flush()
}

// breakOff ends a committed stream with an error event; the connection is
// then broken, so that nobody takes it for a complete answer.
func (x *exchange) breakOff(e *wire.Error) {
	if !x.streaming {
		return
	}
	e.RequestID, e.Surface = x.record.ID, x.surface.wire
	if x.write(e.Event()) == nil {
		x.rc.Flush()
	}
	x.broken = true
}

// estimate stands in for usage that the upstream did not tell: an event is
// about a token. Some tell a usage at the beginning and again at the end: of an
// answer that was cut off between the two, the events that came are better known.
func (x *exchange) estimate(events int64, o *admit.Outcome) {
	early := o.Known && x.record.Finish == telemetry.FinishNone && o.Output < events
	if events <= 0 || o.Known && !early {
		return
	}
	if !o.Known {
		o.Input = x.envelope.Input
	}
	o.Output, x.record.TokensKnown = events, false
	x.record.Input, x.record.Output = o.Input, o.Output
}

// complete settles what a complete answer took, before its caller has its end.
func (x *exchange) complete(events int64, o *admit.Outcome) {
	if x.attempted.complete = true; !o.Known {
		x.estimate(events, o)
		o.Input = x.envelope.Input // also of an answer without a word
		x.record.Input = o.Input
	}
	x.bill(o)
	x.book(telemetry.Answered)
}

func (x *exchange) usage(u wire.Usage, o *admit.Outcome) {
	o.Input, o.Output, o.Known = u.Input, u.Output, true
	x.attempted.used = u
	x.record.Input, x.record.Output, x.record.Cached, x.record.TokensKnown = u.Input, u.Output, u.Cached, true
	x.record.CacheWrite, x.record.Reasoning = u.CacheWrite, u.Reasoning
}

// whole passes on an answer that is not streamed.
func (x *exchange) whole(d *admit.Decision, resp *upstream.Response, o *admit.Outcome, start time.Time) error {
	body, err := resp.ReadAll(maxAnswer)
	if err != nil {
		return err
	}
	o.Status = resp.Status
	if u, ok := x.surface.wire.AnswerUsage(body); ok {
		x.usage(u, o)
	} else {
		x.unknown(body, o)
	}
	x.record.Finish = telemetry.ParseFinish(x.surface.wire.FinishOf(body))
	body = wire.ResponseModel(body, x.answersAs)
	if x.envelope.Base64 {
		body = wire.EncodeEmbeddings(body)
	}
	h := x.w.Header()
	wire.RelayHeaders(h, resp.Header)
	x.headers(d, time.Since(start))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.committed, x.record.Status = true, resp.Status
	x.attempted.complete = true
	x.bill(o)
	x.book(telemetry.Answered)
	x.w.WriteHeader(resp.Status)
	x.keeps.Whole(body)
	if err := x.put(body); err != nil {
		return err
	}
	return x.rc.Flush()
}

// unknown stands in for the usage of a whole answer that does not tell it.
func (x *exchange) unknown(body []byte, o *admit.Outcome) {
	o.Input = x.envelope.Input
	if x.surface.wire != wire.Embeddings { // those have no output
		x.attempted.bytes = int64(len(body))
	}
	x.record.Input = o.Input
}
