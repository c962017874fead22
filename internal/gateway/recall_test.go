package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const fresh10 = "max-age=600"

// cached is a gateway whose answers may be given again; two tenants may call.
func cached(answers string) string {
	return `
providers:
  up: {base_url: "http://127.0.0.1:8001", api_key: upstream-secret, http: "1.1"}
models:
  chat: {cache: true, deployments: [{name: chat, provider: up, model: vendor-m, concurrency: 4, price: {input: 1, output: 10}}], fallback: {error: [other]}}
  other: {deployments: [{name: other, provider: up, model: vendor-o, concurrency: 4, price: {input: 1, output: 10}}]}
answers: ` + answers + "\n" + tenantsOf("{name: a, keys: [KEY]}", "{name: b, keys: [KEY2]}")
}

// A fresh answer is given again as it was, costs nothing, and is told of.
func TestRecallFresh(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		up   http.HandlerFunc
	}{"whole": {plainAsk, reply(200, "application/json", wholeAnswer)}, "stream": {streamAsk, events(chunk("a"), chunk("b"), finish, usage, done)}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				up := inTurn(tt.up)
				s := tillOf(t, cached("{size: 1MiB, ttl: 1h}"), up)
				ask := func(key string, header ...string) answer {
					time.Sleep(time.Second)
					return s.ask(chatPath, tt.body, append([]string{"X-Api-Key", key}, header...)...)
				}
				first := ask("secret", "Cache-Control", fresh10)
				again := ask("secret", "Cache-Control", fresh10)
				if again.status != 200 || again.body != first.body || up.count() != 1 || again.header.Get("Age") != "1" || again.header.Get("X-Spillway-Decision") != "recall" ||
					again.header.Get("Content-Type") != first.header.Get("Content-Type") || again.header.Get("X-Spillway-Model") != "vendor-m" {
					t.Errorf("%d %v %s\nwant %s", again.status, again.header, again.body, first.body)
				}
				rows := s.rows()
				if got := rows[1]; got.Cost != 0 || !got.Priced || got.Decision != "recall" || got.Outcome != "answered" || got.Status != 200 || got.Attempts != 0 || got.Input+got.Output != 0 {
					t.Errorf("row %+v", got)
				}
				if got := s.counters("spillway_recalled_total", "why"); got["fresh"] != 1 || got["stale"] != 0 {
					t.Errorf("recalled %v", got)
				}
				for i, header := range [][]string{{}, {"Cache-Control", "no-cache"}, {"Cache-Control", "max-age=1"}, {"Cache-Control", "max-age=1, max-stale=600"}} { // none takes it now
					time.Sleep(2 * time.Second)
					if a := ask("secret", header...); a.status != 200 || up.count() != i+2 || a.header.Get("X-Spillway-Decision") == "recall" {
						t.Errorf("%v: %d calls, %v", header, up.count(), a.header)
					}
				}
				before := up.count()
				if ask("other-secret", "Cache-Control", fresh10); up.count() != before+1 { // another tenant
					t.Errorf("%d calls", up.count()-before)
				}
			})
		})
	}
}

// What must not be given again is not kept.
func TestWhatIsNotRecalled(t *testing.T) {
	tools := strings.Replace(wholeAnswer, `"content":"hi"`, `"content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]`, 1)
	tools = strings.Replace(tools, `"stop"`, `"tool_calls"`, 1)
	for name, tt := range map[string]struct {
		body   string
		up     []http.HandlerFunc // for the first; then it is well
		header string
	}{
		"an error":        {plainAsk, []http.HandlerFunc{reply(400, "application/json", `{"error":{"message":"no"}}`)}, fresh10},
		"a cut stream":    {streamAsk, []http.HandlerFunc{events(chunk("a"))}, fresh10},
		"a failed stream": {streamAsk, []http.HandlerFunc{events(chunk("a"), `data: {"error":{"message":"x"}}`+"\n\n")}, fresh10},
		"too long":        {plainAsk, []http.HandlerFunc{reply(200, "application/json", strings.Replace(wholeAnswer, `"stop"`, `"length"`, 1))}, fresh10},
		"a tool call":     {plainAsk, []http.HandlerFunc{reply(200, "application/json", tools)}, fresh10},
		"no-store":        {plainAsk, []http.HandlerFunc{reply(200, "application/json", wholeAnswer)}, fresh10 + ", no-store"},
		"a fallback": {plainAsk, []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			reply(500, "application/json", `{"error":{"message":"x"}}`)(w, r)
		}}, fresh10},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				good := reply(200, "application/json", wholeAnswer)
				if tt.body == streamAsk {
					good = events(chunk("a"), finish, usage, done)
				}
				up := inTurn(append(tt.up, good)...)
				if name == "a fallback" {
					up = &calls{}
					up.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if up.count() > 0 && strings.Contains(up.bodies[len(up.bodies)-1], "vendor-m") {
							tt.up[0](w, r)
							return
						}
						good(w, r)
					})
				}
				s := tillOf(t, cached("{size: 1MiB, ttl: 1h}"), up)
				first := s.ask(chatPath, tt.body, "X-Api-Key", "secret", "Cache-Control", tt.header)
				if name == "a fallback" && (first.status != 200 || first.header.Get("X-Spillway-Fallback") != "other") {
					t.Fatalf("%d %v", first.status, first.header)
				}
				before := up.count()
				if a := s.ask(chatPath, tt.body, "X-Api-Key", "secret", "Cache-Control", fresh10); up.count() == before || a.header.Get("X-Spillway-Decision") == "recall" {
					t.Errorf("it was kept: %d %v", up.count(), a.header)
				}
			})
		})
	}
}

// An older answer is the last rung: given in place of a refusal, to who agreed.
func TestRecallStale(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := stairsOf(t, "openai", "openai", "degrade: ask", "")
		const stale = "max-age=1, max-stale=600"
		first := x.query(chatPath, plainAsk, "Cache-Control", stale)
		time.Sleep(10 * time.Second)
		x.spend(82)
		if a := x.query(chatPath, plainAsk, "Cache-Control", stale, "X-Spillway-Degrade", "allow"); a.header.Get("Age") != "" {
			t.Errorf("recalled while there is room: %v", a.header)
		}
		time.Sleep(10 * time.Second)
		x.spend(30)
		if a := x.query(chatPath, plainAsk, "Cache-Control", stale); a.status != 402 {
			t.Errorf("without consent: %d", a.status)
		}
		if a := x.query(chatPath, plainAsk, "Cache-Control", "max-age=1", "X-Spillway-Degrade", "allow"); a.status != 402 {
			t.Errorf("without max-stale: %d", a.status)
		}
		x.ask(x.ops+"/healthz", "")
		a := x.query(chatPath, plainAsk, "Cache-Control", stale, "X-Spillway-Degrade", "allow")
		if a.status != 200 || a.body != first.body || a.header.Get("X-Spillway-Degraded") != "recent" || a.header.Get("Age") == "" {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		rows := x.rows()
		if got := rows[len(rows)-1]; got.Cost != 0 || got.Rung != "recent" || got.Attempts != 0 || got.Outcome != "answered" {
			t.Errorf("row %+v", got)
		}
		if got := x.counters("spillway_recalled_total", "why"); got["stale"] != 1 {
			t.Errorf("recalled %v", got)
		}
		if held := x.g.gate.Snapshot().Money.Held; held != 0 {
			t.Errorf("%d held", held)
		}
	})
}

// Both settings of the cache may change while it runs.
func TestAnswersReload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := inTurn(reply(200, "application/json", wholeAnswer))
		s := tillOf(t, cached("{size: 1MiB, ttl: 1h}"), up)
		ask := func() string {
			return s.ask(chatPath, plainAsk, "X-Api-Key", "secret", "Cache-Control", fresh10).header.Get("X-Spillway-Decision")
		}
		apply := func(answers string) {
			t.Helper()
			if err := s.g.Apply(parse(t, cached(answers))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		got := fmt.Sprintln(ask(), ask())
		apply("{size: 0, ttl: 1h}")
		got += fmt.Sprintln(ask(), ask())
		apply("{size: 1MiB, ttl: 1h}")
		got += fmt.Sprintln(ask(), ask())
		time.Sleep(2 * time.Minute)
		apply("{size: 1MiB, ttl: 1m}") // it is older
		got += fmt.Sprintln(ask(), ask())
		if want := "run recall\nrun run\nrun recall\nrun recall\n"; got != want {
			t.Errorf("decisions\n%swant\n%s", got, want)
		}
	})
}
