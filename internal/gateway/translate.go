package gateway

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/dialect"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// languages are the dialects that providers speak.
var languages = map[upstream.Language]dialect.Dialect{
	upstream.ChatLanguage:      dialect.Chat(),
	upstream.MessagesLanguage:  dialect.Messages(),
	upstream.ResponsesLanguage: dialect.Responses(),
	upstream.GeminiLanguage:    dialect.Gemini(),
}

// stops are the reasons of dialects in the words of telemetry.
var stops = map[dialect.StopReason]telemetry.Finish{
	dialect.StopUnknown: telemetry.FinishNone, dialect.StopEnd: telemetry.FinishStop, dialect.StopSequence: telemetry.FinishStop,
	dialect.StopLength: telemetry.FinishLength, dialect.StopContext: telemetry.FinishLength, dialect.StopTool: telemetry.FinishToolCalls,
	dialect.StopFilter: telemetry.FinishFilter, dialect.StopRefusal: telemetry.FinishRefusal, dialect.StopPause: telemetry.FinishOther,
}

// spoken is the dialect of a caller's surface, nil if it is never translated.
func spoken(s wire.Surface) dialect.Dialect {
	switch s {
	case wire.ChatCompletions:
		return languages[upstream.ChatLanguage]
	case wire.Messages:
		return languages[upstream.MessagesLanguage]
	case wire.Responses:
		return languages[upstream.ResponsesLanguage]
	}
	return nil
}

// translation is a request in the provider's own words.
type translation struct {
	language upstream.Language
	body     []byte
	dropped  []string // hints that it has no word for
}

// speaks is the language in which a request of this exchange goes to a target.
func (x *exchange) speaks(t *target) upstream.Language {
	return t.api.Speaks(x.surface.wire, t.settings.Responses)
}

// expressible refuses a request that none of the model's deployments could be
// told, before it takes a place anywhere.
func (x *exchange) expressible() *wire.Error {
	var first *wire.Error
	for _, name := range x.state.pools[x.pool] {
		t := x.state.targets[name]
		if t == nil {
			return nil
		}
		if x.speaks(t) == upstream.Native {
			return nil
		}
		_, e := x.translated(t, t.model)
		if e == nil {
			return nil
		}
		if first == nil {
			first = e
		}
	}
	return first
}

// translated is the request in the target's language, made once for each
// language and model.
func (x *exchange) translated(t *target, model string) (*translation, *wire.Error) {
	l := x.speaks(t)
	if l == upstream.NoLanguage {
		return nil, wire.CodeUnsupportedSurface.Of("model", x.surface.path+" is not offered for model "+x.record.AskedModel+": its provider has nothing like it")
	}
	if x.translation != nil && x.translation.language == l && x.neutral.Model == model {
		return x.translation, nil
	}
	if x.neutral == nil {
		r, err := spoken(x.surface.wire).ReadRequest(x.body)
		if err != nil {
			return nil, inexpressible(err)
		}
		x.neutral, x.hints = r, len(r.Dropped)
	}
	x.neutral.Model, x.neutral.Dropped = model, x.neutral.Dropped[:x.hints]
	body, err := languages[l].WriteRequest(x.neutral)
	if err != nil {
		return nil, inexpressible(inWords(x.surface.wire, err))
	}
	dropped := slices.Clone(x.neutral.Dropped)
	for i := x.hints; i < len(dropped); i++ {
		dropped[i] = member(x.surface.wire, dropped[i])
	}
	x.translation = &translation{l, body, dropped}
	return x.translation, nil
}

// inexpressible is what the caller is told of a translation that failed.
func inexpressible(err error) *wire.Error {
	e := wire.CodeInvalid.New(err.Error())
	var d *dialect.Error
	if errors.As(err, &d) {
		e.Param = d.Field
		if d.Unsupported {
			e.Become(wire.CodeUnsupportedParameter)
		}
	}
	return e
}

// errInexpressible is an attempt that could not even be said.
type errInexpressible struct{ e *wire.Error }

func (e errInexpressible) Error() string { return e.e.Message }

// dropped tells the caller which of its hints did not reach the provider.
func (x *exchange) dropped() {
	if x.translation != nil && len(x.translation.dropped) > 0 {
		x.w.Header().Set(wire.HeaderDropped, strings.Join(x.translation.dropped, ", "))
	}
}

// relayTranslated passes a stream on in the caller's own words.
func (x *exchange) relayTranslated(d *admit.Decision, resp *upstream.Response, o *admit.Outcome, start time.Time) error {
	reader := languages[x.translation.language].NewReader()
	writer := spoken(x.surface.wire).NewWriter(dialect.WriterOptions{
		Model: x.answersAs, ID: x.answerID(), Created: x.record.Arrived.Unix(), Usage: x.envelope.IncludeUsage,
	})
	x.begin(d, resp, o, start)
	buf := scratches.Get().(*scratch)
	defer scratches.Put(buf)
	pieces, ended := &x.attempted.events, false
	for {
		ev, err := resp.Next()
		if err != nil {
			x.estimate(*pieces, o)
			if !errors.Is(err, io.EOF) {
				return err
			}
			if !reader.Finished() {
				return &upstream.Failure{Kind: upstream.Truncated, Sent: true}
			}
			x.complete(*pieces, o)
			if x.left != nil {
				return x.left
			}
			if !ended { // some providers send no mark of the end
				if err := x.write(writer.Write(buf.frame[:0], &dialect.Event{Kind: dialect.End})); err != nil {
					return err
				}
			}
			if err := x.allow(); err != nil {
				return err
			}
			return x.rc.Flush()
		}
		events, err := reader.Read(ev.Name, ev.Data)
		if err != nil {
			x.estimate(*pieces, o)
			return &upstream.Failure{Kind: upstream.BadResponse, Status: http.StatusOK, Retryable: true, Sent: true, Err: err}
		}
		buf.frame = buf.frame[:0]
		for i := range events {
			e := &events[i]
			switch {
			case e.Kind == dialect.Fault:
				x.estimate(*pieces, o)
				return &upstream.Failure{Kind: upstream.StreamError, Body: append([]byte(nil), ev.Data...), Sent: true}
			case e.Usage.Known:
				x.usage(usageOf(e.Usage), o)
			}
			switch e.Kind {
			case dialect.Delta:
				*pieces++
			case dialect.Finish:
				x.record.Finish = stops[e.Stop]
			case dialect.End:
				ended = true
				x.complete(*pieces, o)
			}
			buf.frame = writer.Write(buf.frame, e)
		}
		if len(buf.frame) == 0 {
			continue
		}
		if err := x.pass(buf.frame, resp); err != nil {
			x.estimate(*pieces, o)
			return err
		}
	}
}

// wholeTranslated passes on an answer that is not streamed.
func (x *exchange) wholeTranslated(d *admit.Decision, resp *upstream.Response, o *admit.Outcome, start time.Time) error {
	body, err := resp.ReadAll(maxAnswer)
	if err != nil {
		return err
	}
	a, err := languages[x.translation.language].ReadAnswer(body)
	if err != nil {
		return &upstream.Failure{Kind: upstream.BadResponse, Status: resp.Status, Retryable: true, Sent: true, Err: err}
	}
	o.Status = resp.Status
	if a.Usage.Known {
		x.usage(usageOf(a.Usage), o)
	} else {
		x.unknown(body, o)
	}
	x.record.Finish = stops[a.Stop]
	a.Model, a.ID = x.answersAs, x.answerID()
	if a.Created == 0 {
		a.Created = x.record.Arrived.Unix()
	}
	if body, err = spoken(x.surface.wire).WriteAnswer(a); err != nil {
		return &upstream.Failure{Kind: upstream.BadResponse, Status: resp.Status, Sent: true, Err: err}
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	x.dropped()
	x.headers(d, time.Since(start))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.committed, x.record.Status = true, http.StatusOK
	x.attempted.complete = true
	x.bill(o)
	x.book(telemetry.Answered)
	x.w.WriteHeader(http.StatusOK)
	x.keeps.Whole(body)
	if err := x.put(body); err != nil {
		return err
	}
	return x.rc.Flush()
}

// answerID is the id of an answer in the form of the caller's surface.
func (x *exchange) answerID() string {
	id := strings.TrimPrefix(x.record.ID, "req_")
	switch x.surface.wire {
	case wire.Messages:
		return "msg_" + id
	case wire.Responses:
		return "resp_" + id
	}
	return "chatcmpl-" + id
}

func usageOf(u dialect.Usage) wire.Usage {
	return wire.Usage{Input: u.Input, Output: u.Output, Cached: u.Cached, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning, Known: u.Known}
}
