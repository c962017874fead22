package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

// Behind a call that takes much longer than was foreseen, requests run out of
// time while they wait. The one whose caller agreed to less is served by the
// quantised deployment, and told so; the other one is refused.
func TestALateRequestIsServedCheaper(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := stairsOf(t, "openai", "openai", "degrade: ask", "")
		x.full.next = slow(100*time.Second, wholeOf("openai"))
		hanging := x.background(t.Context(), chatPath, plainAsk, "X-Api-Key", "secret")
		synctest.Wait()
		key := []string{"X-Api-Key", "secret", "X-Spillway-Deadline-Ms", "20000"}
		willing := x.background(t.Context(), chatPath, plainAsk, append(key, "X-Spillway-Degrade", "allow")...)
		synctest.Wait()
		unwilling := x.background(t.Context(), chatPath, plainAsk, key...)
		synctest.Wait()
		if n := x.g.gate.Depth("chat", 0) + x.g.gate.Depth("chat", 1); n != 2 || x.got() != [3]int{1, 0, 0} {
			t.Fatalf("%d wait, calls %v: want both to wait as they are", n, x.got())
		}

		a := <-willing
		if a.status != 200 || a.header.Get("X-Spillway-Decision") != "degrade" || a.header.Get("X-Spillway-Degraded") != "brief, int8" || a.header.Get("X-Spillway-Model") != "m-int8" {
			t.Errorf("who is willing: %d %v %s", a.status, a.header, a.body)
		}
		if b := <-unwilling; b.status != 429 || gjson.Get(b.body, "error.stage").Str != "late" {
			t.Errorf("who is not: %d %v %s", b.status, b.header, b.body)
		}
		if x.got() != [3]int{1, 1, 0} || gjson.Get(x.int8.bodies[0], "max_completion_tokens").Int() != 512 {
			t.Errorf("calls %v, sent %v", x.got(), x.int8.bodies)
		}
		if got := x.counters("spillway_decisions_total", "stage"); got["late"] != 2 || got["dispatch"] != 0 {
			t.Errorf("decisions %v", got)
		}
		<-hanging
		synctest.Wait()
		if held := x.g.gate.Snapshot().Money.Held; held != 0 {
			t.Errorf("%d held", held)
		}
		for _, r := range x.rows() {
			if r.Rung == "int8" && (r.Model != "chat" || r.Deployment != "half" || r.Outcome != "answered") {
				t.Errorf("row %+v", r)
			}
		}
	})
}

// An answer from before that is young enough when a request comes must be so
// when its time is up, and its age is told as of then.
func TestALateRequestIsAnsweredFromBefore(t *testing.T) {
	for name, tt := range map[string]struct {
		most string
		want int
	}{"young enough": {"600", 200}, "too old by then": {"15", 429}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, `
providers:
  up: {base_url: "http://127.0.0.1:8001", api_key: upstream-secret, http: "1.1"}
models:
  chat:
    cache: true
    deployments: [{name: chat, provider: up, model: vendor-m, concurrency: 1, price: {input: 1, output: 10}}]
    degrade: [{name: recent, max_age: 10m}]
answers: {size: 1MiB, ttl: 1h}
`+tenantsOf("{name: a, keys: [KEY], degrade: any}"), inTurn(reply(200, "application/json", wholeAnswer), slow(100*time.Second, reply(200, "application/json", wholeAnswer))))
				key := []string{"X-Api-Key", "secret"}
				stale := append(key, "Cache-Control", "max-age=0, max-stale="+tt.most, "X-Spillway-Deadline-Ms", "20000")
				first := r.ask(chatPath, plainAsk, stale...)
				time.Sleep(5 * time.Second)
				hanging := r.background(t.Context(), chatPath, plainAsk, key...)
				synctest.Wait()
				a := r.ask(chatPath, plainAsk, stale...)
				if a.status != tt.want {
					t.Fatalf("%d %v %s", a.status, a.header, a.body)
				}
				if tt.want == 200 && (a.body != first.body || a.header.Get("X-Spillway-Degraded") != "recent" || a.header.Get("Age") < "15" || len(a.header.Get("Age")) != 2) {
					t.Errorf("%v %s, want the answer from before, as old as it is now", a.header, a.body)
				}
				<-hanging
			})
		})
	}
}
