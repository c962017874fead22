package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

func (r *rig) apply(conf string) {
	r.t.Helper()
	if err := r.g.Apply(parse(r.t, conf)); err != nil {
		r.t.Fatal(err)
	}
}

// New configurations while requests queue and stream: none of them notices.
func TestReloadUnderLoad(t *testing.T) { // B178
	bubble(t, func(t *testing.T) {
		up := inTurn(func(w http.ResponseWriter, q *http.Request) {
			events(chunk("a"))(w, q)
			time.Sleep(time.Second)
			send(w, finish, done)
		})
		other := fmt.Sprintf(provider, "") + `
models:
  else: {deployments: [{provider: up, model: vendor/n, concurrency: 1}]}
`
		r := setup(t, one(2), up)
		var all []<-chan answer
		for range 10 {
			all = append(all, r.background(t.Context(), chatPath, streamAsk))
		}
		synctest.Wait()
		for range 5 {
			r.apply(one(2)) // nothing new
			r.apply(one(2, "log: {level: warn}"))
			r.apply(one(2))
		}
		if running, waiting := r.state("chat"); running != 2 || waiting != 8 {
			t.Errorf("%d running, %d waiting", running, waiting)
		}
		time.Sleep(500 * time.Millisecond)
		r.apply(other) // the model and its deployment are gone
		if a := r.ask(chatPath, plainAsk); a.status != 404 {
			t.Errorf("a model that is gone: %d %s", a.status, a.body)
		}
		r.apply(one(2)) // and back, while the two still run
		if running, _ := r.state("chat"); running < 0 || running > 2 {
			t.Errorf("%d running", running)
		}
		served := 0
		for _, c := range all {
			switch a := <-c; {
			case a.status == 200 && a.err == nil && strings.HasSuffix(a.body, done):
				served++
			case a.status == 503 || a.status == 404: // it waited for a model that went away
				errorOf(t, a.body)
			default:
				t.Errorf("%d %v %q", a.status, a.err, a.body)
			}
		}
		if served < 10 {
			t.Errorf("%d of 10 served: the model was back before anybody had to go", served)
		}
		if a := r.ask(chatPath, streamAsk); a.status != 200 || a.err != nil {
			t.Errorf("afterwards: %d %v", a.status, a.err)
		}
		synctest.Wait()
		r.idle()
	})
}

// Fewer slots drop nobody, and more are used at once.
func TestReloadOfSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1, "classes: {interactive: {max_wait: 200s}}"), quick())
		begin := time.Now()
		var all []<-chan answer
		for range 6 {
			all = append(all, r.background(t.Context(), chatPath, plainAsk))
		}
		synctest.Wait()
		r.apply(one(6, "classes: {interactive: {max_wait: 200s}}"))
		for _, c := range all {
			if a := <-c; a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("six took %v, with six slots", took)
		}
	})
}

// Reading the same limits again refills nothing, and lower ones hold at once.
func TestReloadKeepsLimits(t *testing.T) { // B181, B182
	bubble(t, func(t *testing.T) {
		limit := func(n int) string {
			return one(8, tenantsOf(fmt.Sprintf("{name: a, keys: [KEY], limits: {rpm: %d}}", n)))
		}
		r := setup(t, limit(100), reply(200, "application/json", wholeAnswer))
		for range 10 {
			r.ask(chatPath, plainAsk, secret...)
		}
		r.apply(limit(10))
		if a := r.ask(chatPath, plainAsk, secret...); a.status != 429 {
			t.Errorf("the eleventh of ten: %d", a.status)
		}
		for range 5 {
			r.apply(limit(10))
			if a := r.ask(chatPath, plainAsk, secret...); a.status != 429 {
				t.Errorf("after the same limits again: %d", a.status)
			}
		}
		r.apply(limit(5))
		if a := r.ask(chatPath, plainAsk, secret...); a.status != 429 {
			t.Errorf("after lower ones: %d", a.status)
		}
		r.apply(limit(11))
		if a := r.ask(chatPath, plainAsk, secret...); a.status != 200 {
			t.Errorf("after higher ones: %d", a.status)
		}
	})
}

// A configuration that cannot be used changes nothing.
func TestReloadRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		bad := parse(t, `
providers: {up: {kind: simulated}}
models: {else: {deployments: [{provider: up}]}}
`)
		if err := r.g.Apply(bad); err == nil { // nothing simulates here
			t.Fatal("no error")
		}
		if a := r.ask(chatPath, plainAsk); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if _, err := config.Parse("x", []byte("models: {"), nil); err == nil {
			t.Error("no error")
		}
	})
}

// A provider's new address holds for new calls only.
func TestReloadOfProvider(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := &halt{at: beforeHeaders, gone: make(chan time.Time, 1)}
		r := setup(t, one(1), up)
		ctx, cancel := context.WithCancel(t.Context())
		a := r.background(ctx, chatPath, plainAsk)
		synctest.Wait()
		l := r.net.listen("127.0.0.1:8002")
		second := &http.Server{Handler: reply(200, "application/json", wholeAnswer)}
		go second.Serve(l)
		defer second.Close()
		r.apply(strings.Replace(one(2), ":8001", ":8002", 1))
		if b := r.ask(chatPath, plainAsk); b.status != 200 {
			t.Errorf("%d %s", b.status, b.body)
		}
		cancel()
		<-a
		<-up.gone
		synctest.Wait()
		r.idle()
	})
}
