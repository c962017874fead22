package gateway

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// A rung that would not serve the request is left out.
func TestRungsThatCannotServe(t *testing.T) {
	long := strings.Replace(plainAsk, "hello", strings.Repeat("word ", 300), 1)
	for name, tt := range map[string]struct{ small, body string }{
		"no tools":      {", tools: false", strings.Replace(plainAsk, "{", `{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],`, 1)},
		"small context": {", context: 200", long},
		"no stream":     {", streaming: false", streamAsk},
		"able":          {"", long},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := stairsOf(t, "openai", "openai", "degrade: any", tt.small)
				if tt.body == streamAsk {
					x.int8.next = events(chunk("a"), finish, usage, done)
				}
				x.spend(94)
				a := x.query(chatPath, tt.body)
				want := [3]int{0, 1, 0}
				if name == "able" {
					want = [3]int{0, 0, 1}
				}
				if a.status != 200 || x.got() != want {
					t.Errorf("%d, calls %v, want %v: %v %s", a.status, x.got(), want, a.header, a.body)
				}
			})
		})
	}
}

// Another attempt sends what the first one was made, and says so.
func TestAnotherAttemptStaysDegraded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := stairsOf(t, "openai", "openai", "degrade: any", "")
		x.full.next = inTurn(reply(503, "application/json", `{"error":{"message":"busy"}}`), reply(200, "application/json", wholeAnswer)).next
		x.spend(82)
		a := x.query(chatPath, strings.Replace(plainAsk, "{", `{"max_tokens":2000,`, 1))
		if a.status != 200 || a.header.Get("X-Spillway-Degraded") != "brief" || x.full.count() != 2 || x.full.bodies[0] != x.full.bodies[1] || gjson.Get(x.full.bodies[1], "max_tokens").Int() != 512 {
			t.Errorf("%d %v, sent %s", a.status, a.header, x.full.bodies)
		}
		if got := x.only(); got.Attempts != 2 || got.Rung != "brief" || got.Cost != 37 {
			t.Errorf("row %+v", got)
		}
	})
}

// A fallback needs no consent and takes nothing away but the thoughts that only
// the first model can read; its answer keeps the name that was asked for.
func TestAFallbackLosesThoughtsOnly(t *testing.T) { // B129
	bubble(t, func(t *testing.T) {
		up := &calls{}
		up.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(up.bodies[len(up.bodies)-1], "vendor-m") {
				reply(529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`)(w, r)
				return
			}
			reply(200, "application/json", wholeMessage)(w, r)
		})
		conf := strings.ReplaceAll(strings.Replace(cached("{size: 1MiB, ttl: 1h}"), "base_url", "kind: anthropic, base_url", 1), "{error: [other]}", "{error: [other], overloaded: [other]}")
		s := tillOf(t, conf, up)
		a := s.ask(messagesPath, `{"model":"chat","max_tokens":50,"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"hi"}]},{"role":"user","content":"and?"}]}`,
			"X-Api-Key", "secret")
		last := up.bodies[len(up.bodies)-1]
		if a.status != 200 || a.header.Get("X-Spillway-Fallback") != "other" || a.header.Get("X-Spillway-Degraded") != "" || gjson.Get(a.body, "model").Str != "chat" ||
			strings.Contains(last, "signature") || !strings.Contains(up.bodies[0], "signature") || !strings.Contains(last, "and?") {
			t.Errorf("%d %v %s, sent %s", a.status, a.header, a.body, last)
		}
		if got := s.only(); got.Model != "other" || got.Asked != "chat" || got.Rung != "" {
			t.Errorf("row %+v", got)
		}
	})
}

// A session that was moved stays where it is until the pressure is gone and a
// turn begins.
func TestASessionGoesBackAtATurn(t *testing.T) { // B129
	bubble(t, func(t *testing.T) {
		x := stairsOf(t, "openai", "openai", "degrade: any", "")
		turn := `{"model":"chat","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`
		tool := `{"model":"chat","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"r"}]}`
		ask := func(session, body string) string {
			a := x.query(chatPath, body, "X-Spillway-Session", session)
			return fmt.Sprint(a.status, " ", a.header.Get("X-Spillway-Model"))
		}
		x.spend(94)
		got := []string{ask("s", turn)}
		time.Sleep(75 * time.Minute) // the money is there again
		got = append(got, ask("t", turn))
		x.spend(94)
		got = append(got, ask("s", turn))
		time.Sleep(30 * time.Minute)
		got = append(got, ask("s", turn))
		time.Sleep(50 * time.Minute)
		got = append(got, ask("s", tool), ask("s", tool), ask("s", turn), ask("s", tool))
		want := []string{"200 m-small", "200 m-full", "200 m-small", "200 m-small", "200 m-small", "200 m-small", "200 m-full", "200 m-full"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("served by\n%v, want\n%v", got, want)
		}
	})
}

// What was decided with money and rungs is decided again in a replay.
func TestMoneyAndRungsReplay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := stairsOf(t, "openai", "openai", "degrade: any", "")
		slow := func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(300 * time.Millisecond)
				h.ServeHTTP(w, r)
			})
		}
		x.full.next, x.int8.next, x.small.next = slow(x.full.next), slow(x.int8.next), slow(x.small.next)
		rng := rand.New(rand.NewPCG(1, 2))
		var all []<-chan answer
		for i := range 400 {
			if i%60 == 59 {
				x.spend(20)
			}
			all = append(all, x.background(t.Context(), chatPath, strings.Replace(plainAsk, "{", `{"max_tokens":2000,`, 1), "X-Api-Key", "secret", "X-Spillway-Session", fmt.Sprint(rng.IntN(5)),
				"X-Spillway-Degrade", []string{"allow", "deny", "features"}[rng.IntN(3)]))
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		}
		for _, c := range all {
			<-c
		}
		var dump bytes.Buffer
		if err := x.g.gate.Dump(&dump); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"Stage":"spend"`, `"Stage":"queue"`, `"Stage":"dispatch"`, `"Model":"small"`, `"Model":"chat@int8"`, `"Rungs":`} {
			if !strings.Contains(dump.String(), want) {
				t.Errorf("%s never came: too tame", want)
			}
		}
		if got, err := Replay(&dump); err != nil || got.Requests != 400 {
			t.Errorf("%+v %v", got, err)
		}
	})
}
