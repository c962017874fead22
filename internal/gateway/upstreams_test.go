package gateway

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// upstreams asks the ops surface, and checks that no key, URL or hash is in it.
func (r *rig) upstreams() map[string]UpstreamReport {
	r.t.Helper()
	a := r.ask(r.ops+"/admin/v1/upstreams", "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		r.t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	for _, secret := range []string{"secret", "sha256", "127.0.0.1", "http"} {
		if strings.Contains(a.body, secret) {
			r.t.Errorf("%q is in the answer: %s", secret, a.body)
		}
	}
	var v struct{ Upstreams []UpstreamReport }
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		r.t.Fatal(err)
	}
	out := map[string]UpstreamReport{}
	for _, u := range v.Upstreams {
		out[u.Name] = u
	}
	return out
}

// second serves another upstream, on port 8002.
func (r *rig) second(h http.Handler) {
	s := &http.Server{Handler: h}
	l := r.net.listen("127.0.0.1:8002")
	go s.Serve(l)
	r.t.Cleanup(func() { s.Close() })
}

// pair is a model on two providers, of which the second is only for what the
// first cannot do.
func pair(model string, more ...string) string {
	return `
providers:
  up: {base_url: "http://127.0.0.1:8001/v1", api_keys: [upstream-secret-1, upstream-secret-2], region: here}
  far: {base_url: "http://127.0.0.1:8002/v1", api_key: upstream-secret-3}
models:
  chat:
    deployments:
      - {name: near, provider: up, model: vendor/m-2026, concurrency: 8, rpm: 600, tpd: 5000, precision: int8, price: {input: 2, output: 4, request: 0.001}}
      - {name: far, provider: far, model: vendor/m-2026, concurrency: 4, tier: 1, region: there}
    ` + model + "\n" + strings.Join(more, "\n")
}

// What the report says is what happened.
func TestUpstreamReport(t *testing.T) {
	bubble(t, func(t *testing.T) {
		good := func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(200 * time.Millisecond)
			reply(200, "application/json", wholeAnswer)(w, q)
		}
		stream := func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(100 * time.Millisecond)
			events(chunk("a"), finish, usage, done)(w, q)
			time.Sleep(300 * time.Millisecond) // after the end mark: the call is over
		}
		limited := reply(429, "application/json", `{"error":{"message":"too many"}}`, "Retry-After", "30")
		refused := reply(401, "application/json", `{"error":{"message":"no such key"}}`)
		up := inTurn(good, good, stream, limited, good, refused, good)
		r := setup(t, pair(""), up)
		r.second(reply(200, "application/json", wholeAnswer))

		u := r.upstreams()
		if got := slices.Sorted(maps.Keys(u)); !slices.Equal(got, []string{"far", "near"}) {
			t.Fatalf("%v", got)
		}
		near := u["near"]
		if near.Model != "chat" || near.Provider != "up" || near.Region != "here" || near.Precision != "int8" || near.Tier != 0 ||
			near.Concurrency != 8 || near.Learnt || near.Usable != 8 || near.Running != 0 || len(near.Keys) != 2 ||
			near.First != nil || near.Total != nil || near.Breaker != (BreakerReport{State: "closed", Share: 1, Step: 10}) {
			t.Errorf("before anything: %+v", near)
		}
		if far := u["far"]; far.Tier != 1 || far.Region != "there" || far.Advice != 0 || len(far.Keys) != 1 || far.Keys[0] != (KeyReport{}) {
			t.Errorf("before anything: %+v", far)
		}
		if _, far, _ := strings.Cut(r.ask(r.ops+"/admin/v1/upstreams", "").body, `"name":"far"`); far == "" || strings.Contains(far, "useful_concurrency") || strings.Contains(far, "tokens_daily_limit") {
			t.Errorf("nothing limits far, and it says %s", far)
		}
		if *near.Keys[1].Requests != 594 || near.Keys[1].Tokens != nil || near.Keys[1].Daily != 5000 { // 600 with a margin
			t.Errorf("keys: %+v", near.Keys)
		}

		ask := func(body string, want int) {
			t.Helper()
			if a := r.ask(chatPath, body); a.status != want {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		ask(plainAsk, 200)
		ask(plainAsk, 200)
		ask(streamAsk, 200)
		ask(plainAsk, 200) // its first attempt meets the limit, its second goes with the other key
		near = r.upstreams()["near"]
		if near.Sent != 5 || near.Good != 4 || !maps.Equal(near.Faults, map[string]int64{"throttled": 1}) || near.Limited != 0.2 {
			t.Errorf("sent %d, good %d, %v, limited %v", near.Sent, near.Good, near.Faults, near.Limited)
		}
		if near.Input != 28 || near.Output != 12 {
			t.Errorf("tokens %d and %d: four answers of 7 and 3", near.Input, near.Output)
		}
		if want := 4*0.001 + 28*2e-6 + 12*4e-6; near.Cost < want-1e-9 || near.Cost > want+1e-9 {
			t.Errorf("cost %v, want %v", near.Cost, want)
		}
		if near.Total == nil || near.Total.P50 < 0.18 || near.Total.P50 > 0.22 || near.First == nil || near.First.P50 < 0.09 || near.First.P50 > 0.11 {
			t.Errorf("times: %+v, %+v", near.Total, near.First)
		}
		paused := slices.IndexFunc(near.Keys, func(k KeyReport) bool { return k.Paused != nil })
		if paused < 0 {
			t.Fatalf("no key pauses: %+v", near.Keys)
		}
		if left := time.Until(*near.Keys[paused].Paused); left < 29*time.Second || left > 30*time.Second {
			t.Errorf("the key pauses for %v", left)
		}
		if sum := near.Keys[0].Today + near.Keys[1].Today; sum != 40 {
			t.Errorf("%d tokens of the day", sum)
		}

		ask(plainAsk, 200) // the other key is refused, and nothing is left there
		near, far := r.upstreams()["near"], r.upstreams()["far"]
		if k := near.Keys[1-paused]; k.Refused == nil || k.Paused != nil {
			t.Errorf("after 401: %+v", near.Keys)
		}
		if near.Faults["denied"] != 1 || far.Sent != 1 || far.Good != 1 {
			t.Errorf("%v; far %+v", near.Faults, far)
		}
		if text := r.metrics(); !strings.Contains(text, `spillway_upstream_refused_keys{deployment="near"} 1`) || !strings.Contains(text, `spillway_upstream_cost_dollars_total{deployment="near"} 0.004104`) ||
			!strings.Contains(text, `spillway_upstream_info{deployment="near",model="chat",precision="int8",provider="up",region="here",tier="0"} 1`) {
			t.Errorf("metrics: %s", text)
		}
		time.Sleep(31 * time.Second) // the pause is over
		if near := r.upstreams()["near"]; near.Keys[paused].Paused != nil || near.Usable != 8 {
			t.Errorf("after the pause: %+v", near)
		}
		r.idle()
	})
}

// metrics is a scrape.
func (r *rig) metrics() string {
	r.t.Helper()
	a := r.ask(r.ops+"/metrics", "")
	if a.status != http.StatusOK {
		r.t.Fatalf("%d", a.status)
	}
	return a.body
}

// said are the lines of the log with a message.
func (l *lines) said(message string) (found []map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.all {
		if v["message"] == message {
			found = append(found, v)
		}
	}
	return found
}

// A breaker that opens, probes in vain, recovers and closes is told once each,
// in the log, the metrics and the report, however many calls fail.
func TestBreakerIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var healthy bool
		r := setup(t, pair("breaker: {cooldown: 30s}"), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(50 * time.Millisecond)
			if healthy {
				reply(200, "application/json", wholeAnswer)(w, q)
			} else {
				reply(500, "application/json", `{"error":{"message":"broken"}}`)(w, q)
			}
		}))
		r.second(reply(200, "application/json", wholeAnswer))
		run := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
				if a := r.ask(chatPath, plainAsk); a.status != 200 { // far serves what near fails
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
		}
		run(10 * time.Second)
		opened := r.log.said("breaker opened")
		if len(opened) != 1 || opened[0]["deployment"] != "near" || opened[0]["reason"] != "consecutive" || opened[0]["was"] != "closed" || opened[0]["until"] == nil {
			t.Fatalf("the log: %v", opened)
		}
		b := r.upstreams()["near"].Breaker
		if b.State != "open" || b.Reason != "consecutive" || b.Share != 0 || b.Step != 0 || b.Until == nil || time.Until(*b.Until) > 30*time.Second || time.Until(*b.Until) < 15*time.Second {
			t.Errorf("the report: %+v", b)
		}
		if told, err := time.Parse(time.RFC3339Nano, opened[0]["until"].(string)); err != nil || !told.Equal(*b.Until) {
			t.Errorf("the log says %v, the report %v", opened[0]["until"], b.Until)
		}
		run(90 * time.Second) // probes in vain
		healthy = true
		run(5 * time.Minute) // a cooldown of twice the outage, and ten steps
		if b := r.upstreams()["near"].Breaker; b.State != "closed" || b.Reason != "" || b.Step != 10 || b.Until != nil {
			t.Errorf("healed: %+v", b)
		}
		for message, n := range map[string]int{"breaker opened": 1, "breaker recovering": 1, "breaker closed": 1, "breaker half_open": 0} {
			if got := r.log.said(message); len(got) != n {
				t.Errorf("%q was said %d times, want %d: %v", message, len(got), n, got)
			}
		}
		if got := r.counters("spillway_breaker_opened_total", "reason"); !maps.Equal(got, map[string]float64{"consecutive": 1}) {
			t.Errorf("counted %v", got)
		}
	})
}

// What was learnt of upstreams survives a reload, and no limit is refilled.
func TestReloadKeepsUpstreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var broken bool
		r := setup(t, pair(""), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if broken {
				reply(500, "application/json", `{}`)(w, q)
				return
			}
			w.Header().Set("X-Ratelimit-Limit-Tokens", "6000")
			w.Header().Set("X-Ratelimit-Remaining-Tokens", "3000")
			w.Header().Set("X-Ratelimit-Reset-Tokens", "30s")
			reply(200, "application/json", wholeAnswer)(w, q)
		}))
		r.second(reply(200, "application/json", wholeAnswer))
		for range 10 {
			r.ask(chatPath, plainAsk)
		}
		broken = true
		for range 10 {
			r.ask(chatPath, plainAsk)
		}
		before := r.upstreams()["near"]
		if before.Breaker.State != "open" || before.Keys[0].Tokens == nil || before.Good != 10 {
			t.Fatalf("before: %+v", before)
		}
		for range 3 {
			r.apply(pair("affinity: session"))
			r.apply(pair(""))
		}
		after := r.upstreams()["near"]
		if after.Breaker.State != "open" || !after.Breaker.Until.Equal(*before.Breaker.Until) || after.Good != 10 || after.Cost != before.Cost {
			t.Errorf("after: %+v", after)
		}
		for i, k := range after.Keys {
			b := before.Keys[i]
			if *k.Tokens != *b.Tokens || *k.Requests != *b.Requests || k.Today != b.Today {
				t.Errorf("key %d: %+v, before %+v", i, k, b)
			}
		}
		if n := len(r.log.said("breaker opened")); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// A provider's limit is not refilled by reading the configuration again.
func TestReloadRefillsNoUpstreamLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conf := strings.Replace(one(50), "concurrency: 50", "concurrency: 50, rpm: 60", 1)
		up := inTurn(reply(200, "application/json", wholeAnswer))
		r := setup(t, conf, up)
		for range 40 { // 20 s
			for range 4 {
				r.background(t.Context(), chatPath, plainAsk, "X-Spillway-Deadline-Ms", "1000")
			}
			r.apply(conf)
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := up.count(); n < 10 || n > 25 {
			t.Errorf("%d calls in 20 s of 60 a minute", n)
		}
	})
}

// A learnt concurrency stays learnt.
func TestReloadKeepsLearntConcurrency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conf := strings.Replace(one(1), "concurrency: 1", "concurrency: auto", 1)
		full := true
		r := setup(t, conf, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if full {
				reply(503, "application/json", `{"error":{"message":"the engine is overloaded, too many requests in queue","code":"engine_overloaded"}}`)(w, q)
				return
			}
			time.Sleep(time.Second)
			reply(200, "application/json", wholeAnswer)(w, q)
		}))
		r.ask(chatPath, plainAsk)
		full = false
		r.ask(chatPath, plainAsk)
		before := r.upstreams()["up/vendor/m-2026"]
		if !before.Learnt || before.Concurrency >= 16 {
			t.Fatalf("nothing was learnt: %+v", before)
		}
		r.apply(conf)
		if after := r.upstreams()["up/vendor/m-2026"]; after.Concurrency != before.Concurrency || !after.Learnt {
			t.Errorf("%d, before %d", after.Concurrency, before.Concurrency)
		}
	})
}

// The day of a provider begins an hour later or earlier with summer time: the
// configuration is applied again at that moment, and nothing else changes.
func TestSummerTime(t *testing.T) {
	bubble(t, func(t *testing.T) { // begins on January 1, 2000
		conf := strings.Replace(pair(""), "region: here", "day_zone: America/Los_Angeles", 1)
		r := setup(t, conf, reply(200, "application/json", wholeAnswer))
		r.second(reply(200, "application/json", wholeAnswer))
		left := func() time.Duration { // of the day
			t.Helper()
			for _, m := range r.g.state.Load().config.PolicyAt(time.Now()).Models {
				return m.Deployments[0].Keys[0].Midnight
			}
			return 0
		}
		if got := left(); got != 8*time.Hour {
			t.Fatalf("in winter the day begins at %v UTC", got)
		}
		spring := time.Date(2000, 4, 2, 10, 0, 0, 0, time.UTC) // clocks go forward
		time.Sleep(time.Until(spring.Add(12 * time.Hour)))
		r.ask(chatPath, plainAsk)
		if u := r.upstreams()["near"]; u.Keys[0].Today+u.Keys[1].Today != 10 {
			t.Errorf("%+v", u.Keys)
		}
		if got := left(); got != 7*time.Hour {
			t.Errorf("in summer the day begins at %v UTC", got)
		}
		next := time.Date(2000, 4, 3, 7, 0, 0, 0, time.UTC) // midnight there
		time.Sleep(time.Until(next.Add(-time.Minute)))
		if u := r.upstreams()["near"]; u.Keys[0].Today+u.Keys[1].Today != 10 {
			t.Errorf("a minute before midnight: %+v", u.Keys)
		}
		time.Sleep(2 * time.Minute)
		if u := r.upstreams()["near"]; u.Keys[0].Today+u.Keys[1].Today != 0 {
			t.Errorf("a minute after midnight: %+v", u.Keys)
		}
	})
}

// What docs/callers.md says of x-spillway-fallback and x-spillway-task.
func TestFallbackAndTaskAsCallersSeeThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conf := func(cause string) string {
			return strings.Replace(`
providers:
  up: {base_url: "http://127.0.0.1:8001/v1"}
  far: {base_url: "http://127.0.0.1:8002/v1"}
models:
  chat: {deployments: [{provider: up, model: vendor/m-2026}], fallback: {CAUSE: [small]}}
  small: {deployments: [{provider: far, model: vendor/s}]}
  both:
    balance: quality
    deployments:
      - {name: coder, provider: far, model: coder, quality: {code: 0.9, default: 0.1}}
      - {name: poet, provider: far, model: poet, quality: {code: 0.2, default: 0.5}}
`, "CAUSE", cause, 1)
		}
		r := setup(t, conf("error"), reply(400, "application/json", `{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`))
		r.second(reply(200, "application/json", wholeAnswer))
		if a := r.ask(chatPath, plainAsk); a.status != 400 || a.header.Get("X-Spillway-Fallback") != "" {
			t.Errorf("too long, and only errors fall back: %d %v", a.status, a.header)
		}
		r.apply(conf("context"))
		a := r.ask(chatPath, plainAsk)
		var body struct{ Model string }
		if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != 200 || body.Model != "chat" ||
			a.header.Get("X-Spillway-Fallback") != "small" || a.header.Get("X-Spillway-Model") != "vendor/s" {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		for task, want := range map[string]string{"code": "coder", "verse": "poet", "": "poet"} {
			a := r.ask(chatPath, strings.Replace(plainAsk, `"chat"`, `"both"`, 1), "X-Spillway-Task", task)
			if a.header.Get("X-Spillway-Model") != want || a.header.Get("X-Spillway-Fallback") != "" {
				t.Errorf("task %q: %v", task, a.header)
			}
		}
	})
}

// A deployment is held against the others of its model that are in use.
func TestCompare(t *testing.T) {
	of := func(model string, speed float64, good int64, state string) UpstreamReport {
		return UpstreamReport{Model: model, Speed: speed, Good: good, State: state}
	}
	for _, tt := range []struct {
		name string
		list []UpstreamReport
		want []float64
	}{
		{"one of two is slow", []UpstreamReport{of("chat", 2.6, 9, "enabled"), of("chat", 0.65, 9, "enabled")}, []float64{4, 0.25}},
		{"of others the median", []UpstreamReport{of("chat", 2, 9, "enabled"), of("chat", 1, 9, "enabled"), of("chat", 9, 9, "enabled"), of("chat", 1, 9, "enabled")}, []float64{2, 0.5, 9, 0.5}},
		{"alone", []UpstreamReport{of("chat", 9, 9, "enabled")}, []float64{0}},
		{"of another model", []UpstreamReport{of("chat", 9, 9, "enabled"), of("code", 1, 9, "enabled")}, []float64{0, 0}},
		{"the other is drained", []UpstreamReport{of("chat", 9, 9, "enabled"), of("chat", 1, 9, "drained")}, []float64{0, 0}},
		{"of the other nothing is known", []UpstreamReport{of("chat", 9, 9, "enabled"), of("chat", 1, 0, "enabled")}, []float64{0, 0}},
	} {
		compare(tt.list)
		for i, u := range tt.list {
			if u.Slower != tt.want[i] {
				t.Errorf("%s: %d is %v, want %v", tt.name, i, u.Slower, tt.want[i])
			}
		}
	}
}
