package telemetry

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Logger writes JSON lines: one for each request, and single ones for changes
// of state. Field names are those of the Elastic Common Schema where it has
// them, and ours under "spillway."; the unit is in the name (event.duration is
// in nanoseconds). A request's line has no body, no header, and of
// a key only its name. The end user is in "user.id" and nowhere else.
//
// Logger is safe for concurrent use. Each line is one Write, and a writer that
// blocks holds up the request.
type Logger struct {
	level slog.LevelVar
	slog  *slog.Logger
	out   *lockedWriter
	room  sync.Pool // of *line
}

// NewLogger logs to w from level info up.
func NewLogger(w io.Writer) *Logger {
	l := &Logger{out: &lockedWriter{w: w}}
	l.room.New = func() any { b := make(line, 0, 2048); return &b }
	l.slog = slog.New(slog.NewJSONHandler(l.out, &slog.HandlerOptions{Level: &l.level, ReplaceAttr: commonName}))
	return l
}

// SetLevel changes from which level up lines are written, at any time.
func (l *Logger) SetLevel(level slog.Level) { l.level.Set(level) }

// Slog is for lines that are not about one request.
func (l *Logger) Slog() *slog.Logger { return l.slog }

// lockedWriter keeps the lines of slog and of requests apart.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

const (
	timeKey    = "@timestamp"
	levelKey   = "log.level"
	messageKey = "message"
)

// commonName renames what slog adds by itself.
func commonName(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 {
		switch a.Key {
		case slog.TimeKey:
			a.Key = timeKey
		case slog.LevelKey:
			a.Key = levelKey
		case slog.MessageKey:
			a.Key = messageKey
		}
	}
	return a
}

// maxText bounds every logged string, in bytes: callers and upstreams choose
// some of them.
const maxText = 256

// Request writes the line of a request that has ended: at level warn if an
// upstream's failure reached the caller, else at info. Its time is the
// request's end. Fields that do not apply are left out.
func (l *Logger) Request(r *Record) {
	level := slog.LevelInfo
	if r.Outcome == Failed || r.Outcome == Cut {
		level = slog.LevelWarn
	}
	if !l.slog.Enabled(context.Background(), level) {
		return
	}
	b := l.room.Get().(*line)
	*b = (*b)[:0]
	b.time(timeKey, r.Arrived.Add(r.Total))
	b.text(levelKey, level.String())
	b.text(messageKey, "request")
	b.request(r)
	b.decision(r)
	b.answer(r)
	b.upstream(r)
	b.end()
	_, _ = l.out.Write(*b) // nowhere left to report to
	l.room.Put(b)
}

func (l *line) request(r *Record) {
	l.text("http.request.id", r.ID)
	l.text("trace.id", r.TraceID)
	l.span("span.id", r.SpanID)
	l.text("client.ip", r.ClientIP)
	l.text("url.path", r.Path)
	l.number("http.response.status_code", int64(r.Status))
	l.number("event.duration", int64(r.Total))
	l.number("http.request.body.bytes", r.BytesIn)
	l.number("http.response.body.bytes", r.BytesOut)
	l.text("spillway.outcome", r.Outcome.String())
	l.text("spillway.tenant", r.Tenant)
	l.text("spillway.key", r.Key)
	l.text("spillway.session", r.Session)
	l.text("user.id", r.User)
	l.text("spillway.model", r.Model)
	if r.AskedModel != r.Model {
		l.text("spillway.asked_model", r.AskedModel)
	}
	l.text("spillway.surface", r.Surface)
	l.mark("spillway.stream", r.Stream)
	l.number("spillway.attempt", int64(r.Attempt))
}

// decision says nothing of a request that was never offered to the core.
func (l *line) decision(r *Record) {
	if r.decisions == 0 {
		return
	}
	d := &r.Decision
	l.text("spillway.class", r.Class.String())
	l.text("spillway.verdict", d.Verdict.String())
	l.text("spillway.stage", d.Stage.String())
	l.number("spillway.predicted_wait_ms", r.PredictedWait.Milliseconds())
	l.number("spillway.wait_ms", r.Waited.Milliseconds())
	l.number("spillway.need_ms", d.Need.Milliseconds())
	l.mark("spillway.would_refuse", r.WouldRefuse)
	if d.Verdict == admit.Reject {
		l.text("spillway.limit", d.Limit)
		l.number("spillway.figure", d.Figure)
		l.number("spillway.bound", d.Bound)
		l.number("spillway.retry_after_ms", d.RetryAfter.Milliseconds())
		l.mark("spillway.no_retry", d.NoRetry)
	}
}

// answer is what was served, wherever it came from.
func (l *line) answer(r *Record) {
	l.list("spillway.rungs", r.Rungs)
	if r.Recalled {
		l.text("spillway.recalled", recalledNames[r.recalled()])
	}
	l.text("spillway.finish", r.Finish.String())
}

func (l *line) upstream(r *Record) {
	if r.Attempts == 0 {
		return
	}
	l.number("spillway.attempts", int64(r.Attempts))
	l.text("spillway.deployment", r.Deployment)
	l.text("spillway.upstream_model", r.UpstreamModel)
	l.text("spillway.kind", r.Kind)
	l.number("spillway.upstream_status", int64(r.UpstreamStatus))
	l.number("spillway.ttft_ms", r.TTFT.Milliseconds())
	l.number("spillway.tpot_us", int64(r.TPOT()/time.Microsecond))
	l.number("spillway.input_tokens", r.Input)
	l.number("spillway.output_tokens", r.Output)
	l.number("spillway.cached_tokens", r.Cached)
	l.number("spillway.cache_write_tokens", r.CacheWrite)
	l.number("spillway.reasoning_tokens", r.Reasoning)
	l.mark("spillway.tokens_estimated", !r.TokensKnown)
	l.number("spillway.cost_microdollars", r.Cost)
	l.mark("spillway.unpriced", r.unpriced())
}
