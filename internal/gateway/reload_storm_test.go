package gateway

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A tenant that is taken out while its requests wait: they end with an error that
// says so, or with the answer they waited for, and hold nothing of the others.
func TestReloadTakesATenant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const a, b = "{name: a, keys: [KEY]}", "{name: b, keys: [KEY2]}"
		r := setup(t, one(1, "classes: {interactive: {max_wait: 200s}}", tenantsOf(a, b)), quick())
		var gone, stay []<-chan answer
		for range 4 {
			gone = append(gone, r.background(t.Context(), chatPath, plainAsk, "Authorization", "Bearer other-secret"))
			stay = append(stay, r.background(t.Context(), chatPath, plainAsk, secret...))
			synctest.Wait()
		}
		r.apply(one(1, "classes: {interactive: {max_wait: 200s}}", tenantsOf(a)))
		if x := r.ask(chatPath, plainAsk, "Authorization", "Bearer other-secret"); x.status != 401 {
			t.Errorf("a new request of the tenant that is gone: %d", x.status)
		}
		for _, c := range stay {
			if x := <-c; x.status != 200 {
				t.Errorf("a tenant that stays: %d %s", x.status, x.body)
			}
		}
		for _, c := range gone {
			if x := <-c; x.status != 200 && (x.status < 400 || errorOf(t, x.body).Message == "") {
				t.Errorf("a tenant that is gone: %d %q", x.status, x.body)
			}
		}
		synctest.Wait()
		r.idle()
		for _, x := range r.g.gate.Snapshot().Tenants {
			if x.Active != 0 || x.Waiting != 0 {
				t.Errorf("tenant %s: %d active, %d waiting", x.Name, x.Active, x.Waiting)
			}
		}
	})
}

// A thousand configurations a minute under load, in which tenants, models, slots
// and limits come and go: every caller has one answer or one error, no slot is
// lost, and a limit lets no more through than without all that.
func TestReloadStorm(t *testing.T) { // B101, B181, B182
	bubble(t, func(t *testing.T) {
		const rpm = 30
		rng := rand.New(rand.NewPCG(3, 5))
		conf := func(slots int, other, tenant bool) string {
			text := one(slots)
			if other {
				text = strings.Replace(text, "models:\n", "models:\n  other: {deployments: [{provider: up, model: vendor/n, concurrency: 2}]}\n", 1)
			}
			entries := []string{fmt.Sprintf("{name: a, keys: [KEY], limits: {rpm: %d}, weight: %d}", rpm, 1+rng.IntN(9))}
			if tenant {
				entries = append(entries, "{name: b, keys: [KEY2]}")
			}
			return text + tenantsOf(entries...)
		}
		r := setup(t, conf(4, true, true), quick())
		served, all := make(chan struct{}, 10_000), make(chan answer, 10_000)
		asked := 0
		ask := func(model, key string) {
			asked++
			go func() {
				a := r.askCtx(t.Context(), chatPath, strings.Replace(plainAsk, `"chat"`, `"`+model+`"`, 1), "Authorization", "Bearer "+key, "X-Spillway-Deadline-Ms", "5000")
				if all <- a; a.status == 200 && key == "secret" {
					served <- struct{}{}
				}
			}()
		}
		for range 1000 {
			r.apply(conf(1+rng.IntN(6), rng.IntN(4) > 0, rng.IntN(4) > 0))
			ask("chat", "secret")
			if rng.IntN(2) == 0 {
				ask([]string{"chat", "other"}[rng.IntN(2)], "other-secret")
			}
			time.Sleep(60 * time.Millisecond)
		}
		r.apply(conf(4, true, true))
		statuses := map[int]int{}
		for range asked {
			a := <-all
			statuses[a.status]++
			switch a.status {
			case 200:
			case http.StatusUnauthorized, http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
				errorOf(t, a.body)
			default:
				t.Errorf("%d %v %s", a.status, a.err, a.body)
			}
		}
		synctest.Wait()
		r.idle()
		if n := len(r.g.gate.waiters); n != 0 || r.g.active.Load() != 0 {
			t.Errorf("%d waiters, %d active", n, r.g.active.Load())
		}
		// In a minute and what is served after it. Some that were let in were too late.
		if n := len(served); n > rpm+rpm/4 || n < rpm/2 {
			t.Errorf("%d served of a limit of %d a minute: %v", n, rpm, statuses)
		}
		if a := r.ask(chatPath, plainAsk, "Authorization", "Bearer other-secret"); a.status != 200 {
			t.Errorf("afterwards: %d", a.status)
		}
	})
}
