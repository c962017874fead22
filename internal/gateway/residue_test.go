package gateway

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// Callers who are never the same: users, sessions, models, keys, traces and request
// ids that are each new, and upstreams that fail in turn. Rounds of them leave no
// goroutine and no memory behind (B184, B186). The accounts of users and sessions are
// bounded by number: internal/core/admit/memory_test.go.
func TestStrangersLeaveNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const round = 1500
		conf := strings.Replace(one(64, `answers: {size: 1MiB}
tenants:
- {name: a, keys: [KEY]}
`), "KEY", `"`+config.HashKey("secret")+`"`, 1)
		conf = strings.Replace(conf, "models:\n", "models:\n  \"*\": {deployments: [{provider: up, concurrency: 64, price: free}]}\n", 1)
		conf = strings.Replace(conf, "concurrency: 64}]}\n", "concurrency: 64, price: free}], cache: true}\n", 1)
		turn := 0
		fails := []http.HandlerFunc{
			reply(200, "application/json", wholeAnswer), events(chunk("a"), finish, done), reply(500, "application/json", `{"error":{"message":"no"}}`),
			events(chunk("a")), reply(200, "text/html", "<html>"), reply(200, "application/json", "{"),
		}
		up := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			turn++
			i := turn % 50 // so that the breaker stays closed
			if i >= len(fails) {
				i %= 2
			}
			fails[i](w, q)
		})
		r := setup(t, conf, up)
		n := 0
		play := func() (goroutines int, heap uint64) {
			for range round {
				n++
				name := fmt.Sprintf("stranger-%d", n)
				body := fmt.Sprintf(`{"model":%q,"user":%q,"stream":%v,"messages":[{"role":"user","content":%q}]}`, []string{"chat", name}[n%2], name, n%3 == 0, name)
				key := "secret"
				if n%7 == 0 {
					key = name
				}
				r.ask(chatPath, body, "Authorization", "Bearer "+key, "X-Spillway-Session", name, "X-Request-Id", name, "Traceparent", fmt.Sprintf("00-%032x-%016x-01", n, n), "Cache-Control", "max-age=60")
				time.Sleep(50 * time.Millisecond)
			}
			time.Sleep(2 * time.Hour) // budgets, sessions and answers of before are of no use
			synctest.Wait()
			r.log.mu.Lock()
			r.log.all = nil
			r.log.mu.Unlock()
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return runtime.NumGoroutine(), m.HeapAlloc
		}
		for range 2 {
			play() // the flight recorder and the last refusals fill up
		}
		goroutines, heap := play()
		for range 2 {
			g, h := play()
			if g > goroutines || h > heap+heap/10+1<<20 {
				t.Errorf("%d goroutines and %d bytes, %d and %d two rounds before", g, h, goroutines, heap)
			}
		}
		if turn < round {
			t.Errorf("%d calls upstream", turn)
		}
	})
}
