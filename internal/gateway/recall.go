package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/answers"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// remember finds what the answer cache has for the request, if operator and
// caller want it to. A fresh answer is given at once: true says that this was
// the end. An older one that the caller would take is kept for the case that
// the request must be refused.
func (x *exchange) remember() bool {
	_, m := x.state.config.ModelOf(x.pool)
	if m == nil || !m.Cache || x.state.config.Answers.Size == 0 {
		return false
	}
	fresh, stale, noStore := answers.Accepts(x.r.Header)
	if stale == 0 {
		return false
	}
	key, ok := answers.KeyOf(x.record.Tenant, x.surface.wire.String(), x.pool, x.body, x.r.Header.Get("Anthropic-Version"), x.r.Header.Get("Anthropic-Beta"), x.intent.Model)
	if !ok {
		return false
	}
	if x.key = key; !noStore {
		x.keeps = answers.NewRecorder(x.surface.wire.String(), 0)
	}
	a, age, ok := x.g.answers.Get(time.Now(), key)
	switch {
	case !ok || age > stale:
	case age <= fresh:
		x.recall(a, age)
		return true
	default:
		x.recent, x.recentSince, x.recentMost = a, time.Now().Add(-age), stale
	}
	return false
}

// recall gives an answer from before. It takes no slot and costs nothing.
func (x *exchange) recall(a *answers.Answer, age time.Duration) {
	x.keeps = nil
	r := &x.record
	r.Recalled, r.Deployment, r.UpstreamModel, r.Stream = true, a.Deployment, a.Model, a.Stream()
	h := x.w.Header()
	h.Set("Content-Type", a.ContentType)
	h.Set("Age", strconv.Itoa(int(age.Seconds())))
	x.headers(&x.decision, 0)
	if !a.Stream() {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	} else {
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
	}
	x.committed, r.Status = true, http.StatusOK
	x.book(telemetry.Answered)
	x.w.WriteHeader(http.StatusOK)
	err := a.Replay(writer{x}, func() error { return x.rc.Flush() })
	if r.Outcome = telemetry.Answered; err != nil {
		x.gone()
	}
}

// writer sends to the caller within its time.
type writer struct{ x *exchange }

func (w writer) Write(p []byte) (int, error) {
	if err := w.x.put(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// keep puts a complete answer into the cache, unless it is a lesser one than
// was asked for.
func (x *exchange) keep() {
	if x.keeps == nil || x.record.Outcome != telemetry.Answered || len(x.record.Rungs) > 0 || x.decision.Model != "" || x.instead != "" {
		return
	}
	a, ok := x.keeps.Answer(time.Now())
	if !ok {
		return
	}
	a.Model, a.Deployment, a.Input, a.Output = x.record.UpstreamModel, x.record.Deployment, x.record.Input, x.record.Output
	x.g.answers.Put(x.key, a)
}
