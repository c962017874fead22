package gateway

import (
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// countTokens answers how many tokens a request of messages would have. It is
// the gateway's own estimate, made without a call: it takes nothing from any
// limit and no place in any queue.
func (g *Gateway) countTokens(w http.ResponseWriter, r *http.Request) {
	x := &exchange{g: g, state: g.state.Load(), surface: surface{r.URL.Path, wire.CountTokens}, w: w, rc: http.NewResponseController(w), r: r}
	x.record.ID = requestID(time.Now())
	w.Header().Set(x.surface.wire.RequestIDHeader(), x.record.ID)
	x.intent = wire.ReadIntent(r.Header)
	fail := func(e *wire.Error) {
		e.RequestID, e.Surface = x.record.ID, x.surface.wire
		e.Write(w)
	}
	if _, e := x.tenant(); e != nil {
		fail(e)
		return
	}
	if e := x.readBody(); e != nil {
		fail(e)
		return
	}
	var e *wire.Error
	if x.envelope, e = wire.Parse(x.surface.wire, x.body); e != nil {
		fail(e)
		return
	}
	pool, ok := x.state.config.Pool(x.envelope.Model)
	if !ok {
		fail(unknownModel(x.envelope.Model))
		return
	}
	writeJSON(w, map[string]int64{"input_tokens": g.tokens.Tokens(pool, &x.envelope.Features)})
}

// notKept answers for responses that a caller wants back or wants to cancel:
// none is kept after it was answered.
func notKept(w http.ResponseWriter, r *http.Request) {
	e := wire.CodeResponseNotFound.Of("response_id", "responses are not kept here after they were answered; there is none to "+map[bool]string{true: "get", false: "change"}[r.Method == http.MethodGet])
	e.Surface, e.RequestID = wire.Responses, requestID(time.Now())
	e.Write(w)
}
