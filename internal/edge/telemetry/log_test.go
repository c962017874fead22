package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestRequestLine(t *testing.T) {
	tests := []struct {
		name string
		tell func(m *Metrics, r *Record)
		want string
	}{
		{"answered after a wait", func(m *Metrics, r *Record) {
			m.Decided(r, &queueIt)
			m.Decided(r, &dispatch)
			m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true})
			answer(r)
		}, `{"@timestamp":"2026-03-01T12:00:03.3Z","log.level":"INFO","message":"request",` +
			`"http.request.id":"req_1","trace.id":"4bf92f3577b34da6a3ce929d0e0e4736","client.ip":"192.0.2.7","url.path":"/v1/chat/completions",` +
			`"http.response.status_code":200,"event.duration":3300000000,"http.request.body.bytes":512,"http.response.body.bytes":4096,` +
			`"spillway.outcome":"answered","spillway.tenant":"bank","spillway.model":"chat","spillway.surface":"openai","spillway.stream":true,` +
			`"spillway.class":"interactive","spillway.verdict":"run","spillway.stage":"dispatch","spillway.predicted_wait_ms":800,"spillway.wait_ms":1000,"spillway.need_ms":300,"spillway.finish":"stop",` +
			`"spillway.attempts":1,"spillway.deployment":"gpu/big","spillway.upstream_model":"big-1","spillway.kind":"ok","spillway.upstream_status":200,` +
			`"spillway.ttft_ms":1300,"spillway.tpot_us":20000,"spillway.input_tokens":900,"spillway.output_tokens":101,"spillway.cached_tokens":600,` +
			`"spillway.cache_write_tokens":200,"spillway.reasoning_tokens":40,"spillway.cost_microdollars":5000}`},
		{"refused: which limit, whose, the figure and the time", func(m *Metrics, r *Record) {
			r.AskedModel, r.Attempt, r.Stream, r.BytesOut = "chat-latest", 1, false, 0
			m.Decided(r, &refuseIt)
			r.Outcome, r.Status, r.Total = Refused, 429, 40*time.Microsecond
		}, `{"@timestamp":"2026-03-01T12:00:00.00004Z","log.level":"INFO","message":"request",` +
			`"http.request.id":"req_1","trace.id":"4bf92f3577b34da6a3ce929d0e0e4736","client.ip":"192.0.2.7","url.path":"/v1/chat/completions",` +
			`"http.response.status_code":429,"event.duration":40000,"http.request.body.bytes":512,` +
			`"spillway.outcome":"refused","spillway.tenant":"bank","spillway.model":"chat","spillway.asked_model":"chat-latest","spillway.surface":"openai","spillway.attempt":1,` +
			`"spillway.class":"interactive","spillway.verdict":"reject","spillway.stage":"wait","spillway.predicted_wait_ms":9000,"spillway.need_ms":300,` +
			`"spillway.limit":"predicted wait of model chat","spillway.figure":9000,"spillway.bound":8000,"spillway.retry_after_ms":4000}`},
		{"degraded, at a price that is not known: who it was for, and what was done", func(m *Metrics, r *Record) {
			*r = Record{Tenant: "bank", Key: "till", User: "anna", Session: "s1", Model: "chat", Arrived: t0, Status: 200}
			r.Rungs, r.Lowest, r.Finish = []string{"no-tools", "half \"context"}, admit.RungCompute, FinishLength
			m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true})
			r.Input, r.Output, r.TokensKnown = 900, 101, true
		}, `{"@timestamp":"2026-03-01T12:00:00Z","log.level":"INFO","message":"request","http.response.status_code":200,` +
			`"spillway.outcome":"answered","spillway.tenant":"bank","spillway.key":"till","spillway.session":"s1","user.id":"anna","spillway.model":"chat",` +
			`"spillway.rungs":"no-tools,half \"context","spillway.finish":"length",` +
			`"spillway.attempts":1,"spillway.deployment":"gpu/big","spillway.kind":"ok","spillway.upstream_status":200,` +
			`"spillway.input_tokens":900,"spillway.output_tokens":101,"spillway.unpriced":true}`},
		{"an answer from before in place of a refusal", func(m *Metrics, r *Record) {
			*r = Record{Tenant: "bank", Model: "chat", Class: admit.Interactive, Arrived: t0, Status: 200, Depth: -1}
			m.Decided(r, &recall)
			r.Recalled, r.Rungs, r.Lowest, r.Finish = true, []string{"recent"}, admit.RungRecent, FinishStop
		}, `{"@timestamp":"2026-03-01T12:00:00Z","log.level":"INFO","message":"request","http.response.status_code":200,` +
			`"spillway.outcome":"answered","spillway.tenant":"bank","spillway.model":"chat",` +
			`"spillway.class":"interactive","spillway.verdict":"recall","spillway.stage":"ladder",` +
			`"spillway.rungs":"recent","spillway.recalled":"stale","spillway.finish":"stop"}`},
		{"cut after the answer had begun", func(m *Metrics, r *Record) {
			*r = Record{Tenant: "bank", Arrived: t0, Outcome: Cut, Status: 200}
			m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "reset"})
		}, `{"@timestamp":"2026-03-01T12:00:00Z","log.level":"WARN","message":"request","http.response.status_code":200,` +
			`"spillway.outcome":"cut","spillway.tenant":"bank",` +
			`"spillway.attempts":1,"spillway.deployment":"gpu/big","spillway.kind":"reset","spillway.tokens_estimated":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			m := NewMetrics(prometheus.NewRegistry())
			r := newRecord()
			tt.tell(m, r)
			NewLogger(&b).Request(r)
			if got := strings.TrimSuffix(b.String(), "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// What a caller writes cannot make a second line, an invalid one or a long one.
func TestCallersTextIsHarmless(t *testing.T) {
	for _, s := range []string{
		"a\nb", `quote " and \ backslash`, "\x00\x1b[31mred", "\x7f and \u009b31m", "\xff\xfe", "\u2028", "日本語",
		strings.Repeat("x", 100_000), strings.Repeat("é", 100_000), strings.Repeat("a", maxText-1) + "é",
	} {
		checkLine(t, s)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\nb\"\\\x80")
	f.Fuzz(checkLine)
}

func checkLine(t *testing.T, s string) {
	var b bytes.Buffer
	l := NewLogger(&b)
	r := newRecord()
	r.ID, r.AskedModel, r.Path, r.TraceID, r.Key, r.User, r.Session, r.Rungs = s, s, s, s, s, s, s, []string{s, s}
	l.Request(r)
	if n := bytes.Count(b.Bytes(), []byte("\n")); n != 1 {
		t.Fatalf("%d lines for %.60q", n, s)
	}
	var fields map[string]any
	if err := json.Unmarshal(b.Bytes(), &fields); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	if !utf8.Valid(b.Bytes()) || b.Len() > 6*9*maxText+1000 {
		t.Errorf("%d bytes, valid UTF-8 %v", b.Len(), utf8.Valid(b.Bytes()))
	}
	for _, c := range b.String() {
		if c != '\n' && (c < ' ' || c >= 0x7f && c < 0xa0) {
			t.Errorf("control character %U in the line", c)
		}
	}
	if utf8.ValidString(s) && plain(s) && len(s) <= maxText && s != "" && fields["http.request.id"] != s {
		t.Errorf("%q became %q", s, fields["http.request.id"])
	}
}

func TestLevels(t *testing.T) {
	var b bytes.Buffer
	l := NewLogger(&b)
	lines := func(o Outcome) int {
		b.Reset()
		l.Request(&Record{Outcome: o, Arrived: t0})
		return bytes.Count(b.Bytes(), []byte("\n"))
	}
	if lines(Answered) != 1 || lines(Failed) != 1 {
		t.Error("at first every request has a line")
	}
	l.SetLevel(slog.LevelWarn)
	if lines(Answered) != 0 || lines(Refused) != 0 || lines(Failed) != 1 || lines(Cut) != 1 {
		t.Error("at warn only upstream failures have a line")
	}
	l.SetLevel(slog.LevelInfo)
	if lines(Answered) != 1 {
		t.Error("the level can go back")
	}
}

func TestStateLine(t *testing.T) {
	var b bytes.Buffer
	l := NewLogger(&b)
	l.Slog().Warn("configuration refused", "spillway.file", "a.yaml", "error", errors.New("line 3"), "level", 7)
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got["@timestamp"] == nil || got["log.level"] == nil || got["message"] != "configuration refused" || got["error"] != "line 3" {
		t.Errorf("got %s", b.Bytes())
	}
	b.Reset()
	l.Slog().Debug("not shown")
	if b.Len() != 0 {
		t.Errorf("got %s", b.Bytes())
	}
}

// badWriter fails a test if two lines are written at once.
type badWriter struct {
	busy sync.Mutex
	t    *testing.T
	n    int
}

func (w *badWriter) Write(b []byte) (int, error) {
	if !w.busy.TryLock() {
		w.t.Error("two writes at once")
		return 0, errors.New("busy")
	}
	defer w.busy.Unlock()
	w.n++
	if !json.Valid(b) {
		w.t.Errorf("mixed line %s", b)
	}
	return 0, errors.New("disk full") // lost lines must not matter to requests
}

func TestLinesFromManyGoroutines(t *testing.T) {
	w := &badWriter{t: t}
	l := NewLogger(w)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				r := newRecord()
				r.Class = admit.Class(i % admit.NumClasses)
				l.Request(r)
				l.Slog().Info("state")
			}
		})
	}
	wg.Wait()
	if w.n != 8*200*2 {
		t.Errorf("%d lines", w.n)
	}
}

func TestLogDoesNotAllocate(t *testing.T) {
	l := NewLogger(io.Discard)
	r := newRecord()
	answer(r)
	if n := testing.AllocsPerRun(100, func() { l.Request(r) }); n > 1 { // the pool may be emptied under the race detector
		t.Errorf("%v allocations a line", n)
	}
}
