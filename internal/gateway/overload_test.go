package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

var secret = []string{"Authorization", "Bearer secret"}

// Every refusal says which limit, whose, the figure, and the time to come back.
func TestRefusals(t *testing.T) { // B073, B074, B080
	busy := `models: {chat: {deployments: [{provider: up, model: vendor/m-2026, concurrency: 1}], %s}}` + "\n"
	for _, c := range []struct {
		name   string
		model  string // settings of the model
		conf   string
		before int // requests before it
		header []string
		status int
		code   string
		stage  string
		scope  string
		figure string
		may    bool // retry: the honest time is below a minute, and it helps
	}{
		{"concurrency", "", tenantsOf("{name: a, keys: [KEY], concurrency: 2}"), 2, nil, 429, "rate_limit_exceeded", "concurrency", "tenant a", "2 of 2", true},
		{"requests", "", tenantsOf("{name: a, keys: [KEY], limits: {rpm: 2}}"), 2, nil, 429, "rate_limit_exceeded", "requests", "tenant a", "2 of 2", false},
		{"tokens", "", tenantsOf("{name: a, keys: [KEY], limits: {tpm: 300}}"), 1, nil, 429, "rate_limit_exceeded", "tokens", "tenant a", "of 300", false},
		{"wait", "", tenantsOf("{name: a, keys: [KEY]}"), 2, []string{"X-Spillway-Deadline-Ms", "5000"}, 429, "overloaded", "wait", "model chat", " of ", true},
		{"shed", "queue: {low: 1ms, high: 20s}", tenantsOf("{name: a, keys: [KEY]}"), 3, []string{"X-Spillway-Class", "speculative"}, 429, "overloaded", "shed", "model chat", " of 1", false},
		{"full", "queue: {total: 1}", tenantsOf("{name: a, keys: [KEY]}"), 2, nil, 429, "overloaded", "bound", "model chat", "1 of 1", true},
		{"retries", "", "retry: {percent: 0, reserve: 0}\n" + tenantsOf("{name: a, keys: [KEY]}"), 1, []string{"X-Stainless-Retry-Count", "1"}, 429, "overloaded", "retry", "model chat", "0 of 0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, fmt.Sprintf(provider, "")+fmt.Sprintf(busy, c.model)+c.conf, quick())
				var others []<-chan answer
				for range c.before {
					others = append(others, r.background(t.Context(), chatPath, plainAsk, secret...))
					synctest.Wait()
				}
				for _, route := range routes[:2] {
					a := r.ask(route.path, route.body, append(c.header, secret...)...)
					if a.status != c.status || a.took != 0 {
						t.Fatalf("%d after %v, want %d at once: %s", a.status, a.took, c.status, a.body)
					}
					e := errorOf(t, a.body)
					if code(t, a.body) != c.code || e.Stage != c.stage || e.Scope != c.scope || !strings.Contains(e.Figure, c.figure) || e.Limit == "" {
						t.Errorf("%s", a.body)
					}
					if a.header.Get("X-Spillway-Decision") != "reject" || a.header.Get("X-Spillway-Estimated-Wait-Ms") == "" {
						t.Errorf("head %v", a.header)
					}
					checkRetry(t, &a, e.RetryAfterMs)
					if may := a.header.Get("X-Should-Retry") != "false"; may != c.may {
						t.Errorf("may retry: %v, want %v", may, c.may)
					}
				}
				for _, o := range others {
					if a := <-o; a.status != 200 {
						t.Errorf("one before: %d %s", a.status, a.body)
					}
				}
				synctest.Wait()
				r.idle()
			})
		})
	}
}

// checkRetry checks that clients survive the times they are told.
func checkRetry(t *testing.T, a *answer, honest float64) {
	t.Helper()
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || after < 1 || after > 59 {
		t.Errorf("Retry-After %q, want whole seconds from 1 to 59", a.header.Get("Retry-After"))
	}
	ms, err := strconv.Atoi(a.header.Get("Retry-After-Ms"))
	if err != nil || ms < 200 || ms > after*1000 || (ms+999)/1000 != after {
		t.Errorf("retry-after-ms %q with Retry-After %d", a.header.Get("Retry-After-Ms"), after)
	}
	if honest <= 0 || honest < 59_000 && honest > float64(ms) || honest > 59_000 && a.header.Get("X-Should-Retry") != "false" {
		t.Errorf("the true wait is %v ms, the header says %d ms", honest, ms)
	}
}

// A limit that frees soon says so, and not everybody comes back at once.
func TestRetryAfterOfALimit(t *testing.T) { // B079
	bubble(t, func(t *testing.T) {
		r := setup(t, one(4, tenantsOf("{name: a, keys: [KEY], limits: {rpm: 2}}")), quick())
		r.ask(chatPath, plainAsk, secret...)
		r.ask(chatPath, plainAsk, secret...)
		time.Sleep(46 * time.Second) // the first leaves the window 60 s after it came
		seen := map[string]bool{}
		for range 20 {
			a := r.ask(chatPath, plainAsk, secret...)
			after, _ := strconv.Atoi(a.header.Get("Retry-After"))
			if a.status != 429 || after < 12 || after > 20 {
				t.Errorf("%d, Retry-After %d", a.status, after)
			}
			seen[a.header.Get("Retry-After-Ms")] = true
		}
		if len(seen) < 5 {
			t.Errorf("%d different times: no jitter", len(seen))
		}
		time.Sleep(20 * time.Second)
		if a := r.ask(chatPath, plainAsk, secret...); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// Before the upstream's first event the caller gets nothing at all, queued or
// running, so that it can still be refused.
func TestNothingBeforeTheFirstEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := &halt{at: beforeToken, gone: make(chan time.Time, 2)}
		r := setup(t, one(1), up)
		for range 2 { // the first runs, the second waits
			conn, err := r.net.dial(t.Context(), "", "gateway:80")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: g\r\nContent-Length: %d\r\n\r\n%s", chatPath, len(streamAsk), streamAsk)
			conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			if n, _ := conn.Read(make([]byte, 1)); n != 0 {
				t.Error("something was written")
			}
			defer conn.Close()
		}
	})
}

func TestQueueTellsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		a := r.background(t.Context(), chatPath, plainAsk)
		synctest.Wait()
		b := r.ask(chatPath, streamAsk)
		if <-a; b.status != 200 || b.header.Get("X-Spillway-Decision") != "queue" || !strings.HasPrefix(b.header.Get("Server-Timing"), "queue;dur=1000.0, upstream;dur=200.0") {
			t.Errorf("%d %v", b.status, b.header)
		}
		if ms, err := strconv.Atoi(b.header.Get("X-Spillway-Estimated-Wait-Ms")); err != nil || ms < 500 {
			t.Errorf("estimated wait %d %v", ms, err)
		}
	})
}

// In the mode that only observes nothing predicted is refused, but marked.
func TestObserve(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1, "admission: observe", tenantsOf("{name: a, keys: [KEY], limits: {rpm: 3}}")), quick())
		a := r.background(t.Context(), chatPath, plainAsk, secret...)
		b := r.background(t.Context(), chatPath, plainAsk, secret...)
		synctest.Wait()
		c := r.ask(chatPath, plainAsk, append([]string{"X-Spillway-Deadline-Ms", "5000"}, secret...)...)
		if c.status != 200 || c.header.Get("X-Spillway-Observed") != "would-refuse" {
			t.Errorf("%d %v %s", c.status, c.header, c.body)
		}
		for _, o := range []<-chan answer{a, b} {
			if got := <-o; got.status != 200 || got.header.Get("X-Spillway-Observed") != "" {
				t.Errorf("%d %v", got.status, got.header)
			}
		}
		if n := r.counters("spillway_would_refuse_total", "tenant"); n["a"] != 1 {
			t.Errorf("would refuse: %v", n)
		}
		if d := r.ask(chatPath, plainAsk, secret...); d.status != 429 {
			t.Errorf("a hard limit must hold: %d", d.status)
		}
	})
}

// The better class goes first.
func TestClassOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := inTurn(func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(time.Second)
			reply(200, "application/json", wholeAnswer)(w, q)
		})
		r := setup(t, one(1), up)
		var all []<-chan answer
		for _, class := range []string{"interactive", "speculative", "batch", "standard", "interactive"} {
			all = append(all, r.background(t.Context(), chatPath, strings.Replace(plainAsk, "hello", class, 1), "X-Spillway-Class", class))
			synctest.Wait()
		}
		for _, a := range all {
			if got := <-a; got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		order := ""
		for _, body := range up.bodies {
			order += gjson.Get(body, "messages.0.content").Str[:2] + " "
		}
		if order != "in in st ba sp " {
			t.Errorf("order %s", order)
		}
	})
}

// The tenant's limits are on every answer, its reservation included.
func TestRateLimitHeaders(t *testing.T) { // B095, B096
	for _, route := range routes {
		t.Run(route.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(2, tenantsOf("{name: a, keys: [KEY], limits: {rpm: 100, tpm: 10000}}")), quick())
				body := `{"max_tokens":150,` + route.body[1:]
				ctx, cancel := context.WithCancel(t.Context())
				other := r.background(ctx, route.path, body, secret...)
				synctest.Wait()
				a := r.ask(route.path, body, secret...)
				if a.header.Get("X-Ratelimit-Limit-Requests") != "100" || a.header.Get("X-Ratelimit-Remaining-Requests") != "98" || a.header.Get("X-Ratelimit-Limit-Tokens") != "10000" {
					t.Errorf("head %v", a.header)
				}
				most := 9700 // two reservations of 150, and the input
				if route.path == embeddingPath {
					most = 9998
				}
				if left, err := strconv.Atoi(a.header.Get("X-Ratelimit-Remaining-Tokens")); err != nil || left >= most || left < most-200 {
					t.Errorf("remaining tokens %d %v, want a little below %d", left, err, most)
				}
				for _, name := range []string{"X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens"} {
					if d, err := time.ParseDuration(a.header.Get(name)); err != nil || d <= 0 || d > time.Minute {
						t.Errorf("%s: %q", name, a.header.Get(name))
					}
				}
				cancel()
				<-other
			})
		})
	}
}

// However a request ends, what it reserved is exchanged for what it used.
func TestQuotaSettles(t *testing.T) { // B099
	mid := then(events(chunk("a"), chunk("b")), hang)
	for _, c := range []struct {
		name  string
		up    http.HandlerFunc
		body  string
		leave time.Duration
		least int64
		most  int64
	}{
		{"answered", reply(200, "application/json", wholeAnswer), plainAsk, 0, 10, 10},
		{"streamed", events(chunk("a"), finish, usage, done), streamAsk, 0, 10, 10},
		{"failed", fails(400), plainAsk, 0, 0, 0},
		{"left before the answer", hang, plainAsk, time.Second, 0, 100},
		{"left mid-stream", mid, streamAsk, time.Second, 3, 100},
		{"cut", then(events(chunk("a"), chunk("b")), abort), streamAsk, 0, 3, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(1, tenantsOf("{name: a, keys: [KEY], limits: {tpm: 10000}}")), c.up)
				ctx, cancel := context.WithCancel(t.Context())
				a := r.background(ctx, chatPath, c.body, secret...)
				if c.leave > 0 {
					time.Sleep(c.leave)
					cancel()
				}
				<-a
				cancel()
				r.ended(1)
				synctest.Wait()
				_, tokens := r.g.gate.Quota("a", "chat")
				if used := tokens.Limit - tokens.Remaining; used < c.least || used > c.most {
					t.Errorf("%d tokens used, want %d to %d", used, c.least, c.most)
				}
			})
		})
	}
}

// Callers at the same moment cannot spend one budget twice, and one that asks
// for more than the whole budget is let in while it is untouched.
func TestBudgetRace(t *testing.T) { // B112, B114
	for name, body := range map[string]string{"capped": `{"max_tokens":175,` + plainAsk[1:], "no cap": plainAsk} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(8, tenantsOf("{name: a, keys: [KEY], limits: {tpm: 100}}")), quick())
				var all []<-chan answer
				for range 5 {
					all = append(all, r.background(t.Context(), chatPath, body, secret...))
				}
				served := 0
				for _, c := range all {
					a := <-c
					switch a.status {
					case 200:
						served++
					case 429:
						if e := errorOf(t, a.body); e.Stage != "tokens" {
							t.Errorf("%s", a.body)
						}
					default:
						t.Errorf("%d %s", a.status, a.body)
					}
				}
				synctest.Wait()
				if served != 1 {
					t.Errorf("%d served, want 1", served)
				}
				if a := r.ask(chatPath, `{"max_tokens":11,`+plainAsk[1:], secret...); a.status != 200 {
					t.Errorf("the reservation must be given back: %s", a.body)
				}
			})
		})
	}
}
