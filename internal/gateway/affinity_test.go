package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// BenchmarkAffinity finds what a body of 32 KB has in common with others.
func BenchmarkAffinity(b *testing.B) {
	body := []byte(`{"model":"chat","stream":true,"messages":[{"role":"system","content":"` + strings.Repeat("You are helpful. ", 1900) + `"},{"role":"user","content":"hi"}]}`)
	env, e := wire.Parse(wire.ChatCompletions, body)
	if e != nil {
		b.Fatal(e)
	}
	for _, affinity := range []config.Affinity{config.AffinityPrefix, config.AffinitySession} {
		b.Run(affinity.String(), func(b *testing.B) {
			m := &config.Model{Affinity: affinity, AffinityPrefix: 4096}
			x := &exchange{state: &state{config: &config.Config{Models: map[string]*config.Model{"chat": m}}}, pool: "chat", envelope: env, body: body}
			x.record.Tenant, x.intent.Session = "bank", "a-session-of-a-user"
			b.ReportAllocs()
			for b.Loop() {
				if x.affinity() == 0 {
					b.Fatal("none")
				}
			}
		})
	}
}

// replicas are a gateway of four deployments of one model on as many servers,
// which count their calls.
func replicas(t *testing.T, slots int, model string, more ...string) (*rig, *[4]atomic.Int32) {
	t.Helper()
	var calls [4]atomic.Int32
	handler := func(i int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			calls[i].Add(1)
			time.Sleep(time.Second)
			reply(200, "application/json", wholeAnswer)(w, q)
		})
	}
	conf := "providers:\n"
	var list []string
	for i := range calls {
		conf += fmt.Sprintf("  p%d: {base_url: \"http://127.0.0.1:%d/v1\"}\n", i, 8001+i)
		list = append(list, fmt.Sprintf("{provider: p%d, concurrency: %d}", i, slots))
	}
	conf += "models: {chat: {deployments: [" + strings.Join(list, ", ") + "]" + model + "}}\n" + strings.Join(more, "\n")
	r := setup(t, conf, handler(0))
	for i := 1; i < len(calls); i++ {
		s := &http.Server{Handler: handler(i)}
		l := r.net.listen(fmt.Sprintf("127.0.0.1:%d", 8001+i))
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
	}
	return r, &calls
}

// used is how many servers had calls, since the last time.
func used(calls *[4]atomic.Int32) (n int) {
	for i := range calls {
		if calls[i].Swap(0) > 0 {
			n++
		}
	}
	return n
}

// ten asks ten times, one after the other, and says on how many servers.
func ten(r *rig, calls *[4]atomic.Int32, body string, header ...string) int {
	r.t.Helper()
	for range 10 {
		if a := r.ask(chatPath, body, header...); a.status != 200 {
			r.t.Fatalf("%d %s", a.status, a.body)
		}
	}
	return used(calls)
}

func TestSessionAffinity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, calls := replicas(t, 8, ", affinity: session")
		places := 0
		for i := range 8 {
			if n := ten(r, calls, plainAsk, "X-Spillway-Session", fmt.Sprint("s", i)); n != 1 {
				t.Errorf("session %d went to %d servers", i, n)
			}
			r.ask(chatPath, plainAsk, "X-Spillway-Session", fmt.Sprint("s", i))
			places |= 1 << first(calls)
		}
		if places&(places-1) == 0 {
			t.Error("all sessions went to one server")
		}
		if n := ten(r, calls, plainAsk); n < 2 {
			t.Errorf("without a session all went to %d server", n)
		}
	})
}

// first is the server that had a call.
func first(calls *[4]atomic.Int32) int {
	for i := range calls {
		if calls[i].Swap(0) > 0 {
			return i
		}
	}
	return -1
}

// Requests that begin alike go to one place; what comes after the prefix, and
// what stands beside the prompt, does not matter.
func TestPrefixAffinity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, calls := replicas(t, 8, ", affinity: prefix, affinity_prefix: 200")
		ask := func(rest, system, question string) string {
			return fmt.Sprintf(`{"model":"chat",%s"messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`, rest, strings.Repeat(system+" ", 60), question)
		}
		places := 0
		for i := range 8 {
			system := fmt.Sprint("instructions ", i)
			ten(r, calls, ask("", system, "q"))
			for _, rest := range []string{"", `"temperature":0.5,`, `"user":"x","max_tokens":5,`} {
				for q := range 3 {
					r.ask(chatPath, ask(rest, system, fmt.Sprint("question ", q)))
				}
			}
			r.ask(completionPath, `{"model":"chat","prompt":"another surface"}`)
			r.ask(completionPath, `{"model":"chat","prompt":"another surface"}`)
			if n := used(calls); n > 2 {
				t.Errorf("prefix %d and another went to %d servers", i, n)
			}
			r.ask(chatPath, ask("", system, "q"))
			places |= 1 << first(calls)
		}
		if places&(places-1) == 0 {
			t.Error("all prefixes went to one server")
		}
	})
}

// A caller who says which prompts belong together is believed, however they begin;
// he cannot say it to a model that goes by sessions.
func TestCacheKeyIsAPrefix(t *testing.T) {
	ask := func(r *rig, key string, calls *[4]atomic.Int32) int {
		for q := range 10 {
			body := fmt.Sprintf(`{"model":"chat","prompt_cache_key":%q,"messages":[{"role":"user","content":"%d is where it begins"}]}`, key, q)
			if a := r.ask(chatPath, body); a.status != 200 {
				r.t.Fatalf("%d %s", a.status, a.body)
			}
		}
		return used(calls)
	}
	bubble(t, func(t *testing.T) {
		r, calls := replicas(t, 8, ", affinity: prefix")
		for i := range 8 {
			if n := ask(r, fmt.Sprint("k", i), calls); n != 1 {
				t.Errorf("key %d went to %d servers", i, n)
			}
		}
		if n := ask(r, "", calls); n < 2 {
			t.Errorf("without a key all went to %d server", n)
		}
	})
	bubble(t, func(t *testing.T) {
		r, calls := replicas(t, 8, ", affinity: session")
		if n := ask(r, "k", calls); n < 2 {
			t.Errorf("a key was taken for a session: all went to %d server", n)
		}
	})
}

// Two tenants have nothing in common, whatever they name their sessions: where
// one's go tells nothing of the other's.
func TestAffinityKeepsTenantsApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, calls := replicas(t, 8, ", affinity: session", tenantsOf("{name: a, keys: [KEY]}", "{name: b, keys: [KEY2]}"))
		apart := 0
		for i := range 12 {
			session := []string{"X-Spillway-Session", fmt.Sprint("s", i), "Authorization"}
			r.ask(chatPath, plainAsk, append(session, "Bearer secret")...)
			a := first(calls)
			r.ask(chatPath, plainAsk, append(session, "Bearer other-secret")...)
			if b := first(calls); a != b {
				apart++
			}
		}
		if apart < 3 { // 9 of 12 by chance
			t.Errorf("only %d of 12 sessions of the same name went to different servers", apart)
		}
	})
}

func TestNoAffinityUnlessConfigured(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, calls := replicas(t, 8, "")
		if n := ten(r, calls, plainAsk, "X-Spillway-Session", "s"); n < 2 {
			t.Errorf("all went to %d server", n)
		}
	})
}

// A session that asks much at once does not queue at its place while others idle.
func TestAffinityYieldsToLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, calls := replicas(t, 4, ", affinity: session")
		var all []<-chan answer
		for range 12 { // of 16 slots
			all = append(all, r.background(t.Context(), chatPath, plainAsk, "X-Spillway-Session", "s"))
			synctest.Wait()
		}
		begin := time.Now()
		for _, c := range all {
			if a := <-c; a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("they took %v: some waited", took)
		}
		if n := used(calls); n < 3 {
			t.Errorf("they went to %d servers", n)
		}
		synctest.Wait() // the answers are there before their calls have ended
		if n := ten(r, calls, plainAsk, "X-Spillway-Session", "s"); n != 1 {
			t.Errorf("afterwards it goes to %d servers", n)
		}
	})
}
