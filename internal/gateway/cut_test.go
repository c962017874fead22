package gateway

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// abort breaks the connection.
func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func hang(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// then runs one handler after the other.
func then(hs ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, h := range hs {
			h(w, r)
		}
	}
}

// After the first event a failure is an error event and a broken connection:
// never a clean end, never a second try.
func TestCutStream(t *testing.T) { // B012, B013, B040, B042, B049, B066
	errorEvent := `data: {"error":{"message":"long text about busy servers","type":"server_error","code":"rate_limit_exceeded"}}` + "\n\n"
	for _, c := range []struct {
		name   string
		up     http.HandlerFunc
		events int
		code   string
		kind   string
		after  time.Duration
	}{
		{"reset", then(events(chunk("a"), chunk("b"), chunk("c")), abort), 3, "upstream_error", "truncated", 0},
		{"inside an event", then(events(chunk("a"), chunk("b")[:30]), abort), 1, "upstream_error", "truncated", 0},
		{"closed inside an event", events(chunk("a"), chunk("b")[:30]), 1, "upstream_error", "truncated", 0},
		{"closed too early", events(chunk("a"), chunk("b")), 2, "upstream_error", "truncated", 0},
		{"error event", events(chunk("a"), errorEvent), 1, "rate_limit_exceeded", "stream_error", 0},
		{"malformed event", events(chunk("a"), `data: {"choices":[{"delta":`+"\n\n", chunk("c"), finish, done), 1, "upstream_error", "bad_response", 0},
		{"stall", then(events(chunk("a"), chunk("b")), hang), 2, "upstream_timeout", "idle_timeout", 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				up := inTurn(c.up)
				r := setup(t, timeouts("idle: 3s"), up)
				begin := time.Now()
				a := r.ask(chatPath, streamAsk)
				if took := time.Since(begin); took != c.after {
					t.Errorf("took %v, want %v", took, c.after)
				}
				if a.status != 200 || !errors.Is(a.err, io.ErrUnexpectedEOF) {
					t.Errorf("status %d, the end is %v", a.status, a.err)
				}
				p := payloads(a.body)
				if len(p) != c.events+1 || gjson.Get(p[c.events], "error.code").Str != c.code || !strings.HasSuffix(a.body, "}\n\n") {
					t.Fatalf("got %q", a.body)
				}
				if id := gjson.Get(p[c.events], "error.request_id").Str; id != a.header.Get("X-Request-Id") {
					t.Errorf("request_id %q", id)
				}
				line := r.ended(1)
				if line["spillway.outcome"] != "cut" || line["spillway.kind"] != c.kind || line["spillway.output_tokens"] != float64(c.events) || line["spillway.tokens_estimated"] != true {
					t.Errorf("record %v", line)
				}
				if up.count() != 1 {
					t.Errorf("%d calls after the caller had seen a part", up.count())
				}
				r.idle()
			})
		})
	}
}

// Before anything was sent, the same faults are a status.
func TestTimeoutsBeforeCommit(t *testing.T) { // B041, B044
	for _, c := range []struct {
		name, limits string
		up           http.HandlerFunc
		kind         string
		only         string // route; "" is all
		after        time.Duration
	}{
		{"silence", "first_token: 2s, headers: 2s", hang, "", "", 2 * time.Second},
		{"headers, no event", "first_token: 2s", then(events(": k\n\n"), hang), "first_token_timeout", "stream", 2 * time.Second},
		{"half a body", "idle: 3s", then(reply(200, "application/json", `{"id":`), flush, hang), "idle_timeout", "whole", 3 * time.Second},
	} {
		for _, route := range routes {
			if c.only == "stream" && !route.stream || c.only == "whole" && route.stream {
				continue
			}
			t.Run(c.name+" "+route.name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := setup(t, timeouts(c.limits)+"retry: {attempts: 1}", c.up)
					a := r.ask(route.path, route.body)
					if a.status != 504 || code(t, a.body) != "upstream_timeout" || a.took != c.after {
						t.Errorf("%d after %v: %s", a.status, a.took, a.body)
					}
					if line := r.ended(1); line["spillway.outcome"] != "failed" || c.kind != "" && line["spillway.kind"] != c.kind {
						t.Errorf("record %v", line)
					}
					r.idle()
				})
			})
		}
	}
}

func flush(w http.ResponseWriter, _ *http.Request) { http.NewResponseController(w).Flush() }

// The time to the first event does not bound a stream that has begun.
func TestLongStream(t *testing.T) { // B053; longer than any time to read a request, too
	bubble(t, func(t *testing.T) {
		r := setup(t, timeouts("first_token: 2s, headers: 2s, idle: 11s"), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			events(chunk("a"))(w, q)
			for range 20 {
				time.Sleep(10 * time.Second)
				send(w, chunk("b"))
			}
			send(w, finish, done)
		}))
		a := r.ask(chatPath, streamAsk, "X-Stainless-Timeout", "3")
		if a.err != nil || !strings.HasSuffix(a.body, done) || a.took != 200*time.Second {
			t.Errorf("after %v: %v %q", a.took, a.err, a.body)
		}
	})
}

// The time that an SDK sends is cut to whole seconds. It counts for admission;
// the SDK itself leaves when it is over.
func TestSDKTimeoutEndsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), then(func(http.ResponseWriter, *http.Request) { time.Sleep(1900 * time.Millisecond) }, reply(200, "application/json", wholeAnswer)))
		if a := r.ask(chatPath, plainAsk, "X-Stainless-Timeout", "1"); a.status != 200 {
			t.Errorf("%d after %v: %s", a.status, a.took, a.body)
		}
	})
}

// An end that comes long after the last event is still an end.
func TestLateEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1, "limits: {write_stall: 2s}"), then(events(chunk("a"), finish), func(http.ResponseWriter, *http.Request) { time.Sleep(40 * time.Second) }))
		if a := r.ask(chatPath, streamAsk); a.err != nil || a.body != alias(chunk("a")+finish) || a.took != 40*time.Second {
			t.Errorf("after %v: %v %q", a.took, a.err, a.body)
		}
	})
}

// A deadline that passes while the request runs is the caller's own, and says
// nothing about the deployment.
func TestDeadlineAfterDispatch(t *testing.T) { // B122
	bubble(t, func(t *testing.T) {
		up := &halt{at: beforeHeaders, gone: make(chan time.Time, 32)}
		r := setup(t, one(1), up)
		for _, route := range routes {
			for _, header := range [][2]string{{"X-Litellm-Timeout", "0.1"}, {"Grpc-Timeout", "200m"}, {"X-Spillway-Deadline-Ms", "1500"}} {
				a := r.ask(route.path, route.body, header[0], header[1])
				if a.status != 504 || code(t, a.body) != "deadline_exceeded" || a.took > 1500*time.Millisecond {
					t.Errorf("%s %v: %d after %v: %s", route.name, header, a.status, a.took, a.body)
				}
			}
		}
		if line := r.ended(1); line["spillway.outcome"] != "timed_out" || line["spillway.kind"] != "deadline" {
			t.Errorf("record %v", line)
		}
		if n := r.counters("spillway_upstream_attempts_total", "kind"); n["deadline"] != 15 {
			t.Errorf("attempts by kind: %v", n)
		}
		if running, _ := r.state("chat"); running != 0 {
			t.Error("a slot is still held")
		}
	})
}
