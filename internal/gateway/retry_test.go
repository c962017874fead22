package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

func fails(status int, header ...string) http.HandlerFunc {
	return reply(status, "application/json", `{"error":{"message":"busy","type":"server_error","param":null,"code":null}}`, header...)
}

// What fails before anything was sent is tried again: once by default, and
// only if it can help.
func TestOwnRetries(t *testing.T) { // B057, B059, B060, B066, B094, B014, B040
	good := then(events(chunk("a"), finish, usage, done))
	errorFirst := events(`data: {"type": "ping"}` + "\n\n" + `data: {"type":"error","error":{"type":"rate_limit_error","message":"busy"}}` + "\n\n")
	for _, c := range []struct {
		name   string
		conf   string
		up     []http.HandlerFunc
		calls  int
		status int
		code   string
	}{
		{"reset", "", []http.HandlerFunc{abort, good}, 2, 200, ""},
		{"503", "", []http.HandlerFunc{fails(503), good}, 2, 200, ""},
		{"500", "", []http.HandlerFunc{fails(500), good}, 2, 200, ""},
		{"HTML", "", []http.HandlerFunc{reply(200, "text/html", "<h1>service overloaded</h1>"), good}, 2, 200, ""},
		{"empty", "", []http.HandlerFunc{reply(200, "application/json", ""), good}, 2, 200, ""},
		{"error in a 200 stream", "", []http.HandlerFunc{errorFirst, good}, 2, 200, ""},
		{"HTML for ever", "", []http.HandlerFunc{reply(200, "text/html", "<h1>service overloaded</h1>")}, 3, 502, "upstream_error"},
		{"reset for ever", "", []http.HandlerFunc{abort}, 3, 502, "upstream_error"},
		{"the last error counts", "", []http.HandlerFunc{abort, fails(503)}, 3, 503, "service_unavailable"},
		{"two attempts", "retry: {attempts: 2}", []http.HandlerFunc{fails(500)}, 2, 500, "upstream_error"},
		{"no budget", "retry: {failover: {percent: 0, reserve: 0}}", []http.HandlerFunc{fails(503)}, 1, 503, "service_unavailable"},
		{"one attempt", "retry: {attempts: 1}", []http.HandlerFunc{fails(503), good}, 1, 503, "service_unavailable"},
		{"its own wish", "", []http.HandlerFunc{fails(503, "Retry-After", "2"), good}, 2, 200, ""},
		{"429", "", []http.HandlerFunc{fails(429, "Retry-After", "2"), good}, 2, 200, ""},
		{"a wish beyond the deadline", "classes: {interactive: {deadline: 10s}}", []http.HandlerFunc{fails(429, "Retry-After", "20"), good}, 1, 503, "upstream_rate_limited"},
		{"400", "", []http.HandlerFunc{fails(400), good}, 1, 400, ""},
		{"401 of ours", "", []http.HandlerFunc{fails(401), good}, 1, 502, "upstream_unauthorized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				up := inTurn(c.up...)
				r := setup(t, one(1, c.conf), up)
				a := r.ask(chatPath, streamAsk)
				if a.status != c.status || up.count() != c.calls || a.err != nil {
					t.Errorf("%d %v after %d calls, want %d after %d: %s", a.status, a.err, up.count(), c.status, c.calls, a.body)
				}
				if c.status != 200 && code(t, a.body) != c.code {
					t.Errorf("code %s, want %s", a.body, c.code)
				}
				if strings.Contains(a.body, "service overloaded") {
					t.Error("the page was relayed")
				}
				all := 0.0
				for _, n := range r.counters("spillway_upstream_attempts_total", "kind") {
					all += n
				}
				if line := r.ended(1); line["spillway.attempts"] != float64(c.calls) || all != float64(c.calls) {
					t.Errorf("%v attempts in the record, %v in the metrics, want %d", line["spillway.attempts"], all, c.calls)
				}
				if by := r.counters("spillway_retries_total", "by"); by["gateway"] != float64(c.calls-1) {
					t.Errorf("retries %v", by)
				}
				r.idle()
			})
		})
	}
}

// An error inside a 200 that is no stream is a failure like any other.
func TestErrorInsideWholeAnswer(t *testing.T) { // B040
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), reply(200, "application/json", `{ "error": {"message":"long text","type":"server_error","code":"internal_error"}}`))
		a := r.ask(chatPath, plainAsk)
		if a.status != 502 || code(t, a.body) != "internal_error" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if line := r.ended(1); line["spillway.outcome"] != "failed" || line["spillway.output_tokens"] != nil {
			t.Errorf("nothing was delivered, nothing is billed: %v", line)
		}
	})
}

// A retry that could not be in time is not made.
func TestNoRetryBeyondTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const known = 50 // answers, after which the speed is known
		answered := 0
		up := inTurn(func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(900 * time.Millisecond)
			if answered++; answered <= known {
				reply(200, "application/json", wholeAnswer)(w, q)
				return
			}
			fails(503)(w, q)
		})
		r := setup(t, one(1), up)
		for range known {
			r.ask(chatPath, plainAsk)
		}
		if a := r.ask(chatPath, plainAsk, "X-Spillway-Deadline-Ms", "1000"); a.status != 503 || up.count() != known+1 {
			t.Errorf("%d after %d calls", a.status, up.count()-known)
		}
		if a := r.ask(chatPath, plainAsk, "X-Spillway-Deadline-Ms", "5000"); a.status != 503 || up.count() != known+4 {
			t.Errorf("with time for it: %d after %d calls", a.status, up.count()-known-1)
		}
	})
}

// A request that is tried again keeps its arrival and its deadline, and goes
// before what waits as soon as it may: its pause holds no slot.
func TestRetryKeepsItsPlace(t *testing.T) { // B161
	bubble(t, func(t *testing.T) {
		up := inTurn(func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(time.Second)
			fails(529)(w, q)
		}, reply(200, "application/json", wholeAnswer))
		r := setup(t, one(1), up)
		a := r.background(t.Context(), chatPath, strings.Replace(plainAsk, "hello", "first", 1))
		time.Sleep(500 * time.Millisecond)
		b := r.background(t.Context(), chatPath, strings.Replace(plainAsk, "hello", "second", 1))
		if a, b := <-a, <-b; a.status != 200 || b.status != 200 {
			t.Errorf("%d %d", a.status, b.status)
		}
		var order []string
		for _, body := range up.bodies {
			order = append(order, gjson.Get(body, "messages.0.content").Str)
		}
		if fmt.Sprint(order) != "[first second first]" {
			t.Errorf("order %v", order)
		}
	})
}

// An upstream that refuses stream_options is asked without, and is not asked
// again.
func TestUsageQuestionRefused(t *testing.T) { // B028, B027
	bubble(t, func(t *testing.T) {
		up := inTurn(func(w http.ResponseWriter, q *http.Request) {
			if b, _ := io.ReadAll(q.Body); strings.Contains(string(b), "stream_options") {
				reply(400, "application/json", `{"error":{"message":"Unrecognized request argument: stream_options","type":"invalid_request_error"}}`)(w, q)
				return
			}
			events(chunk("a"), chunk("b"), finish, done)(w, q)
		})
		r := setup(t, one(1), up)
		for range 2 {
			if a := r.ask(chatPath, streamAsk); a.status != 200 || a.err != nil {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		if up.count() != 3 {
			t.Errorf("%d calls, want 2 for the first request and 1 for the second", up.count())
		}
		if line := r.ended(2); line["spillway.output_tokens"] != 3.0 || line["spillway.tokens_estimated"] != true {
			t.Errorf("record %v", line)
		}
		// A caller that asks itself gets the upstream's answer.
		asked := `{"model":"chat","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`
		if a := r.ask(chatPath, asked); a.status != 400 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// A deployment can be configured never to be asked.
func TestUsageNeverAsked(t *testing.T) { // B028
	bubble(t, func(t *testing.T) {
		up := inTurn(events(chunk("a"), finish, done))
		conf := fmt.Sprintf(provider, "stream_usage: false") + "models: {chat: {deployments: [{provider: up, model: vendor/m-2026}]}}\n"
		r := setup(t, conf, up)
		r.ask(chatPath, streamAsk)
		if strings.Contains(up.bodies[0], "stream_options") {
			t.Errorf("sent %s", up.bodies[0])
		}
	})
}

// A retry while others run does not take a slot beyond the limit.
func TestRetriesStayWithinTheSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var now, most int
		up := inTurn(func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(time.Second)
			fails(503)(w, q)
		})
		gauge := &calls{next: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			up.mu.Lock()
			now++
			most = max(most, now)
			up.mu.Unlock()
			defer func() { up.mu.Lock(); now--; up.mu.Unlock() }()
			time.Sleep(time.Second)
			fails(503)(w, q)
		})}
		r := setup(t, one(2, "retry: {percent: 100, attempts: 3}"), gauge)
		var as []<-chan answer
		for range 3 {
			as = append(as, r.background(t.Context(), chatPath, plainAsk))
		}
		for _, a := range as {
			if got := <-a; got.status != 503 {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		synctest.Wait()
		if most != 2 || gauge.count() > 9 {
			t.Errorf("%d at once, want 2; %d calls", most, gauge.count())
		}
		r.idle()
	})
}

// A limit of the upstream's that is told inside a 200 is no more the caller's
// than one that is told by the status.
func TestLimitInsideAStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1, "retry: {attempts: 1}"), inTurn(events(`data: {"error":{"message":"Rate limit reached for org","type":"rate_limit_error","code":"rate_limit_exceeded"}}`+"\n\n")))
		if a := r.ask(chatPath, streamAsk); a.status != 503 || code(t, a.body) != "upstream_rate_limited" || strings.Contains(a.body, "org") {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
