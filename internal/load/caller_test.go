package load

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

// liveOne lets one caller live against h, who intended to start at once.
func liveOne(t *testing.T, s Settings, a arrival, h http.HandlerFunc) result {
	t.Helper()
	p := planOf(t, s)
	r := newRunner(p, serve(t, h), nil)
	c := &caller{tenant: p.tenants[0], make: r.makers[0], transport: r.transport, plan: &p, arrival: a, intended: time.Now()}
	return c.live(t.Context())
}

const ms = time.Millisecond

func TestCallerOutcomes(t *testing.T) {
	reset := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	status := func(status int, pairs ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { answerStatus(w, status, pairs...) }
	}
	after := func(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // else the server does not notice that the caller goes
			if sleep(r.Context(), d) {
				h(w, r)
			}
		}
	}
	ok := func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 0.5) }
	typed := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name     string
		settings Settings
		leave    time.Duration
		answers  []http.HandlerFunc // the last one goes on
		outcome  outcome
		statuses []int
		ended    time.Duration // by jitter up to a quarter less
		message  string
	}{
		{"on time", Settings{Deadline: time.Second, Retries: 2}, 0, []http.HandlerFunc{after(300*ms, ok)}, onTime, []int{200}, 300 * ms, ""},
		{"no deadline, no lateness", Settings{}, 0, []http.HandlerFunc{after(time.Hour, ok)}, onTime, []int{200}, time.Hour, ""},
		{"gives up at the deadline", Settings{Deadline: time.Second, Retries: 2}, 0, []http.HandlerFunc{after(5*time.Second, ok)}, late, []int{0}, time.Second, ""},
		{"leaves early", Settings{Deadline: time.Second, Retries: 2}, 400 * ms, []http.HandlerFunc{after(5*time.Second, ok)}, left, []int{0}, 400 * ms, ""},
		{"leaves in the pause", Settings{Deadline: 9 * time.Second, Retries: 2}, 400 * ms, []http.HandlerFunc{status(429, "retry-after", "2")}, left, []int{429}, 400 * ms, ""},
		{"refused as often as it tries", Settings{Retries: 2}, 0, []http.HandlerFunc{status(429, "retry-after", "2")}, refused, []int{429, 429, 429}, 4 * time.Second, ""},
		{"refused, then served", Settings{Retries: 2, Deadline: 4 * time.Second}, 0, []http.HandlerFunc{status(503, "retry-after-ms", "700"), ok}, onTime, []int{503, 200}, 700 * ms, ""},
		{"no retries", Settings{}, 0, []http.HandlerFunc{status(529)}, refused, []int{529}, 0, ""},
		{"told not to retry", Settings{Retries: 2}, 0, []http.HandlerFunc{status(429, "x-should-retry", "false")}, refused, []int{429}, 0, ""},
		{"money is spent", Settings{Retries: 2}, 0, []http.HandlerFunc{status(402)}, refused, []int{402}, 0, ""},
		{"B164: a retry would start after the deadline", Settings{Retries: 2, Deadline: 2 * time.Second}, 0, []http.HandlerFunc{status(429, "retry-after", "2")}, refused, []int{429}, 0, ""},
		{"the second retry would", Settings{Retries: 2, Deadline: 3 * time.Second}, 0, []http.HandlerFunc{status(429, "retry-after", "2")}, refused, []int{429, 429}, 2 * time.Second, ""},
		{"backoff", Settings{Retries: 2}, 0, []http.HandlerFunc{status(500)}, failed, []int{500, 500, 500}, 1500 * ms, "status 500: c500: not today"},
		{"the server gave up", Settings{Deadline: time.Second}, 0, []http.HandlerFunc{after(900*ms, status(504))}, late, []int{504}, 900 * ms, ""},
		{"504 without a deadline", Settings{}, 0, []http.HandlerFunc{status(504)}, failed, []int{504}, 0, "status 504"},
		{"a wrong request", Settings{Retries: 2}, 0, []http.HandlerFunc{status(404)}, failed, []int{404}, 0, "status 404: c404"},
		{"deferred", Settings{Retries: 2}, 0, []http.HandlerFunc{status(202)}, failed, []int{202}, 0, "status 202"},
		{"connection reset, then served", Settings{Retries: 1}, 0, []http.HandlerFunc{reset, ok}, onTime, []int{0, 200}, 500 * ms, ""},
		{"connection reset", Settings{Retries: 1}, 0, []http.HandlerFunc{reset}, failed, []int{0, 0}, 500 * ms, "EOF"},
		{"B058: attempts time out", Settings{Retries: 2, Timeout: 2 * time.Second}, 0, []http.HandlerFunc{after(5*time.Second, ok)}, failed, []int{0, 0, 0}, 7500 * ms, "the attempt timed out"},
		{"B051: and the deadline ends them", Settings{Retries: 2, Timeout: 2 * time.Second, Deadline: 3 * time.Second}, 0, []http.HandlerFunc{after(5*time.Second, ok)}, late, []int{0, 0}, 3 * time.Second, ""},
		{"HTML", Settings{Retries: 2}, 0, []http.HandlerFunc{typed("text/html", "<h1>busy")}, failed, []int{200}, 0, `content type "text/html" instead of json: "<h1>busy"`},
		{"empty", Settings{Retries: 2}, 0, []http.HandlerFunc{typed("application/json", "")}, failed, []int{200}, 0, "no valid JSON"},
		{"cut JSON", Settings{}, 0, []http.HandlerFunc{typed("application/json", `{"choices":[{"`)}, failed, []int{200}, 0, "no valid JSON"},
		{"no choices", Settings{}, 0, []http.HandlerFunc{typed("application/json", `{"id":1}`)}, failed, []int{200}, 0, "without choices"},
		{"an error as success", Settings{}, 0, []http.HandlerFunc{typed("application/json", `{"error":{"message":"boom"}}`)}, failed, []int{200}, 0, "status 200: boom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				start := time.Now()
				got := liveOne(t, c.settings, arrival{leave: c.leave, input: 4}, func(w http.ResponseWriter, r *http.Request) {
					h := c.answers[min(n, len(c.answers)-1)]
					n++
					h(w, r)
				})
				took := time.Since(start)
				if got.outcome != c.outcome || !reflect.DeepEqual(got.statuses, c.statuses) {
					t.Errorf("%v after %v, want %v after %v (%s)", got.outcome, got.statuses, c.outcome, c.statuses, got.message)
				}
				if took > c.ended || took < c.ended*3/4 {
					t.Errorf("took %v, want %v", took, c.ended)
				}
				if c.outcome == failed && !strings.Contains(got.message, c.message) {
					t.Errorf("message %q, want %q in it", got.message, c.message)
				}
				if (got.outcome == onTime) != got.answered {
					t.Errorf("answered is %v", got.answered)
				}
			})
		})
	}
}

func TestCallerStreams(t *testing.T) {
	s := time.Second
	whole := []any{s, roleChunk, s, tokenChunk, 5 * s, finishChunk, usageChunk, "[DONE]"}
	for _, c := range []struct {
		name         string
		settings     Settings
		parts        []any
		outcome      outcome
		first, total time.Duration
		message      string
	}{
		{"no deadline", Settings{}, whole, onTime, 2 * s, 7 * s, ""},
		{"the deadline is for the first token", Settings{Deadline: 3 * s}, whole, onTime, 2 * s, 7 * s, ""},
		{"the role is no token", Settings{Deadline: 1500 * ms}, whole, late, 0, 0, ""},
		{"the deadline is for the whole", Settings{Deadline: 3 * s, DeadlineOf: Total}, whole, late, 0, 0, ""},
		{"a tool call is a token", Settings{Deadline: 3 * s}, []any{s, toolChunk, 3 * s, finishChunk, "[DONE]"}, onTime, s, 4 * s, ""},
		{"B007: comments", Settings{}, []any{": PROCESSING", s, tokenChunk, finishChunk, "[DONE]"}, onTime, s, s, ""},
		{"an open end after [DONE]", Settings{}, []any{s, tokenChunk, finishChunk, "[DONE]", time.Hour}, onTime, s, s, ""},
		{"B040: an error event", Settings{Retries: 2}, []any{`{"error":{"message":"long text"}}`}, failed, 0, 0, "error event in the stream: long text"},
		{"B014: a ping and an error", Settings{Retries: 2}, []any{`{"type":"ping"}`, `{"type":"error","error":{"type":"rate_limit_error","message":"busy"}}`}, failed, 0, 0, "busy"},
		{"an event named error", Settings{}, []any{tokenChunk, "event: error\ndata: {}"}, failed, 0, 0, "error event"},
		{"B066: an error after the first token is not retried", Settings{Retries: 2}, []any{tokenChunk, `{"error":{"message":"broke"}}`}, failed, 0, 0, "broke"},
		{"no [DONE]", Settings{}, []any{tokenChunk, finishChunk}, failed, 0, 0, "stream ended without [DONE]"},
		{"cut", Settings{}, []any{tokenChunk}, failed, 0, 0, "stream ended without finish_reason and [DONE]"},
		{"no finish_reason", Settings{}, []any{tokenChunk, "[DONE]"}, failed, 0, 0, "stream without finish_reason"},
		{"malformed", Settings{}, []any{tokenChunk, `{"choices":[`}, failed, 0, 0, "no valid JSON"},
		{"B010: empty data", Settings{}, []any{tokenChunk, ""}, failed, 0, 0, "no valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.settings.Stream = true
				got := liveOne(t, c.settings, arrival{input: 4}, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if !gjson.GetBytes(body, "stream").Bool() {
						t.Errorf("no stream was asked for: %s", body)
					}
					stream(w, r, c.parts...)
				})
				if got.outcome != c.outcome || len(got.statuses) != 1 {
					t.Fatalf("%v after %v, want %v after one attempt (%s)", got.outcome, got.statuses, c.outcome, got.message)
				}
				if !strings.Contains(got.message, c.message) {
					t.Errorf("message %q, want %q in it", got.message, c.message)
				}
				if c.outcome == onTime && (got.first != c.first || got.total != c.total || got.service != 500*ms) {
					t.Errorf("first token after %v, all after %v, service %v; want %v, %v, 0.5 s", got.first, got.total, got.service, c.first, c.total)
				}
			})
		})
	}
}

func TestCallerRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Settings{Key: "key", Class: "batch", Model: `my "model"`, Deadline: 2500 * ms, Retries: 1, Header: map[string]string{"x-mock-fault": "none"}}
		var bodies []string
		var heads []http.Header
		liveOne(t, s, arrival{n: 17, input: 100, output: 9}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies, heads = append(bodies, string(body)), append(heads, r.Header)
			if r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			answerStatus(w, 429, "retry-after-ms", "600")
		})
		if len(bodies) != 2 || bodies[0] != bodies[1] || !gjson.Valid(bodies[0]) {
			t.Fatalf("bodies %q", bodies)
		}
		b := gjson.Parse(bodies[0])
		prompt := b.Get("messages.0.content").String()
		if b.Get("model").String() != s.Model || b.Get("max_tokens").Int() != 9 || b.Get("stream").Exists() || len(prompt) != 400 || !strings.HasPrefix(prompt, "Request 17. ") {
			t.Errorf("body %s", bodies[0])
		}
		for i, want := range []map[string]string{
			{"X-Stainless-Retry-Count": "0", "X-Spillway-Deadline-Ms": "2500"},
			{"X-Stainless-Retry-Count": "1", "X-Spillway-Deadline-Ms": "1900"}, // what remains
		} {
			for name, value := range map[string]string{"Authorization": "Bearer key", "X-Spillway-Class": "batch", "X-Stainless-Timeout": "2", "X-Mock-Fault": "none", "Content-Type": "application/json"} {
				want[name] = value
			}
			for name, value := range want {
				if got := heads[i].Get(name); got != value {
					t.Errorf("attempt %d: %s is %q, want %q", i, name, got, value)
				}
			}
		}
	})
}

// The intended start counts: a caller that the generator started late has less time, and tells it.
func TestCallerCountsFromTheIntendedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := planOf(t, Settings{Deadline: 2 * time.Second})
		r := newRunner(p, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("X-Spillway-Deadline-Ms"); got != "500" {
				t.Errorf("deadline header %s", got)
			}
			time.Sleep(100 * ms)
			answerJSON(w, 0.1)
		})), nil)
		c := &caller{tenant: p.tenants[0], make: r.makers[0], transport: r.transport, plan: &p, intended: time.Now().Add(-1500 * ms)}
		if got := c.live(context.Background()); got.outcome != onTime || got.total != 1600*ms {
			t.Errorf("%v after %v", got.outcome, got.total)
		}
		c = &caller{tenant: p.tenants[0], make: r.makers[0], transport: r.transport, plan: &p, intended: time.Now().Add(-3 * time.Second)}
		if got := c.live(context.Background()); got.outcome != late || len(got.statuses) != 0 {
			t.Errorf("a caller past its deadline is %v after %d attempts", got.outcome, len(got.statuses))
		}
	})
}

func TestQueueTime(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"queue;dur=12.5, upstream;dur=300":       12500 * time.Microsecond,
		`upstream;dur=300, queue;desc=q;dur="7"`: 7 * ms,
		"queue;dur=0":                            0,
		"queue":                                  -1,
		"queue;dur=-1":                           -1,
		"queue;dur=NaN":                          -1,
		"queues;dur=4":                           -1,
		"upstream;dur=300":                       -1,
		"":                                       -1,
	} {
		if got := queueTime(header("Server-Timing", value)); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
