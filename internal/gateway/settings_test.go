package gateway

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// set puts changes beside a file in force, as an operator does.
func (r *rig) set(file string, pairs ...string) {
	r.t.Helper()
	o := config.Overlay{}
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i]] = jsontext.Value(pairs[i+1])
	}
	c, err := o.Apply("f.yaml", []byte(file), func(string) (string, bool) { return "", false })
	if err == nil {
		err = r.g.Apply(c)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// A smaller queue takes no more, and lets those wait that it took before; a
// shorter wait and a smaller weight do the same.
func TestLoweredBoundsDropNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		file := one(1, "classes: {interactive: {max_wait: 200s}}")
		r := setup(t, file, quick())
		var all []<-chan answer
		for range 6 {
			all = append(all, r.background(t.Context(), chatPath, plainAsk))
		}
		synctest.Wait()
		for _, pairs := range [][]string{
			{"models.chat.queue.total", "1"}, {"models.chat.queue.per_tenant", "1"}, {"models.chat.queue.bytes", "1024"}, {"models.chat.queue.work", `"1ms"`},
			{"models.chat.queue.low", `"1ms"`, "models.chat.queue.high", `"2ms"`}, {"models.chat.queue.depth_low", "1", "models.chat.queue.depth_high", "2"},
			{"classes.interactive.max_wait", `"1ms"`}, {"classes.interactive.deadline", `"1s"`}, {"limits.body", "1024"},
		} {
			r.set(file, pairs...)
			if running, waiting := r.state("chat"); running != 1 || waiting != 5 {
				t.Errorf("%v: %d running and %d waiting", pairs, running, waiting)
			}
		}
		r.set(file, "models.chat.queue.total", "1")
		if a := r.ask(chatPath, plainAsk); a.status != 503 && a.status != 429 {
			t.Errorf("one more: %d %s", a.status, a.body)
		}
		for i, c := range all {
			if a := <-c; a.status != 200 {
				t.Errorf("%d, who waited before: %d %s", i, a.status, a.body)
			}
		}
		synctest.Wait()
		r.idle()
	})
}

// A drained deployment gets no new calls, and what runs on it ends well. Where it
// was alone, what waits stays in its place until it is back.
func TestDrained(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		const state = "models.chat.deployments[up/vendor/m-2026].state"
		first := r.background(t.Context(), chatPath, plainAsk)
		synctest.Wait()
		second := r.background(t.Context(), chatPath, plainAsk)
		synctest.Wait()
		r.set(one(1), state, `"drained"`)
		if a := <-first; a.status != 200 {
			t.Errorf("it ran: %d %s", a.status, a.body)
		}
		synctest.Wait()
		if running, waiting := r.state("chat"); running != 0 || waiting != 1 {
			t.Errorf("%d running, %d waiting", running, waiting)
		}
		if a := r.ask(chatPath, plainAsk); a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("a new one: %d %s", a.status, a.body)
		}
		time.Sleep(5 * time.Second)
		if u := r.g.Upstreams()[0]; u.State != "drained" || u.Usable != 0 {
			t.Errorf("%+v", u)
		}
		begin := time.Now()
		r.set(one(1))
		if a := <-second; a.status != 200 || time.Since(begin) != time.Second {
			t.Errorf("it waited: %d after %v", a.status, time.Since(begin))
		}
		synctest.Wait()
		r.idle()
	})
}

// With another one beside it nobody notices.
func TestDrainedBesideAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		file := fmt.Sprintf(provider, "") + "models: {chat: {deployments: [{provider: up, name: a, concurrency: 2}, {provider: up, name: b, concurrency: 2}]}}\n"
		r := setup(t, file, quick())
		var all []<-chan answer
		for range 8 {
			all = append(all, r.background(t.Context(), chatPath, plainAsk))
		}
		synctest.Wait()
		r.set(file, "models.chat.deployments[a].state", `"disabled"`)
		sent := map[string]int64{}
		for _, u := range r.g.Upstreams() {
			sent[u.Name] = u.Sent
		}
		for _, c := range all {
			if a := <-c; a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		synctest.Wait()
		for _, u := range r.g.Upstreams() {
			if want := sent[u.Name] + map[string]int64{"b": 4}[u.Name]; u.Sent != want {
				t.Errorf("%s got %d calls, want %d", u.Name, u.Sent, want)
			}
		}
		r.idle()
	})
}

// Settings change all the time while callers come, wait, stream and leave: every
// request has one end, none is lost, and none gets an answer that no setting explains.
func TestChangesUnderLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		file := one(2, tenantsOf("{name: a, keys: [KEY]}", "{name: b, keys: [KEY2]}"))
		r := setup(t, file, inTurn(func(w http.ResponseWriter, q *http.Request) {
			events(chunk("a"))(w, q)
			time.Sleep(300 * time.Millisecond)
			send(w, finish, done)
		}))
		const dep = "models.chat.deployments[up/vendor/m-2026]"
		rng := rand.New(rand.NewPCG(1, 2))
		choices := [][]string{
			{"models.chat.queue.total", "3"}, {"models.chat.queue.order", `"lifo"`}, {dep + ".concurrency", "1"}, {dep + ".concurrency", "5"}, {dep + ".concurrency", `"auto"`}, {dep + ".state", `"drained"`},
			{"tenants[a].limits.rpm", "30"}, {"tenants[a].weight", "9"}, {"tenants[b].concurrency", "1"}, {"admission", `"observe"`}, {"classes.interactive.floor", "20"}, {"log.level", `"error"`},
			{"tenants[new]", `{"keys":["` + config.HashKey("new") + `"]}`}, {"tenants[b].keys[" + config.HashKey("other-secret")[7:19] + "].until", `"2001-01-01T00:00:00Z"`}, {"retry.attempts", "1"}, {},
		}
		var all []<-chan answer
		for range 300 {
			key := []string{"secret", "other-secret"}[rng.IntN(2)]
			all = append(all, r.background(t.Context(), chatPath, streamAsk, "Authorization", "Bearer "+key))
			if rng.IntN(3) == 0 {
				var pairs []string
				for range rng.IntN(3) {
					pairs = append(pairs, choices[rng.IntN(len(choices))]...)
				}
				r.set(file, pairs...)
			}
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		}
		r.set(file)
		count := map[int]int{}
		for _, c := range all {
			a := <-c
			if a.err != nil || a.status == 200 && !hasEnd(a.body) {
				t.Fatalf("cut: %d %v %q", a.status, a.err, a.body)
			}
			count[a.status]++
		}
		if count[200] < 150 || count[200]+count[401]+count[429]+count[503] != 300 {
			t.Errorf("%v", count)
		}
		synctest.Wait()
		r.idle()
		if a := r.ask(chatPath, streamAsk, secret...); a.status != 200 {
			t.Errorf("afterwards: %d %s", a.status, a.body)
		}
	})
}

func hasEnd(body string) bool { return len(body) >= len(done) && body[len(body)-len(done):] == done }

// A configuration that waited for its turn at midnight must not come back after
// another one.
func TestMidnightComesLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		old, next := r.g.Config(), parse(t, one(1, "log: {level: warn}"))
		if err := r.g.Apply(next); err != nil {
			t.Fatal(err)
		}
		if r.g.again(old); r.g.Config() != next {
			t.Error("the old configuration is back")
		}
		if r.g.again(next); r.g.Config() != next {
			t.Error("and the one in force is gone")
		}
	})
}
