package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// stairs is a gateway before a model of one slot whose ladder has a rung of
// each kind: deployments of lower precision, and a smaller model of another
// provider.
type stairs struct {
	*till
	full, int8, small *calls
}

const stairsConf = `
providers:
  a: {kind: %s, base_url: "http://127.0.0.1:8001", api_key: key-a, http: "1.1"}
  b: {kind: %[1]s, base_url: "http://127.0.0.1:8002", api_key: key-b, http: "1.1"}
  c: {kind: %[2]s, base_url: "http://127.0.0.1:8003", api_key: key-c, http: "1.1"}
models:
  chat:
    cache: true
    deployments:
    - {name: full, provider: a, model: m-full, concurrency: 1, price: {input: 1, output: 10}}
    - {name: half, provider: b, model: m-int8, precision: int8, concurrency: 4, price: {input: 1, output: 5}}
    degrade:
    - {name: no-logprobs, drop: [logprobs]}
    - {name: calm, effort: low}
    - {name: brief, max_output_tokens: 512}
    - {name: short, max_turns: 2}
    - {name: trimmed, max_input_tokens: 60}
    - {name: int8, precision: int8}
    - {name: smaller, model: small}
    - {name: recent, max_age: 10m}
  small: {deployments: [{name: small, provider: c, model: m-small, concurrency: 8, price: {input: 0.1, output: 1}}]%[3]s}
answers: {size: 1MiB, ttl: 1h}
`

// wholeOf is a good answer of a kind of provider.
func wholeOf(kind string) http.HandlerFunc {
	if kind == "anthropic" {
		return reply(200, "application/json", wholeMessage)
	}
	return reply(200, "application/json", wholeAnswer)
}

// stairsOf joins it in memory. tenant is further settings of the only tenant,
// whose budget of an hour is a dollar, small those of the smaller model.
func stairsOf(t *testing.T, kind, other, tenant, small string) *stairs {
	t.Helper()
	if tenant != "" {
		tenant = ", " + tenant
	}
	conf := fmt.Sprintf(stairsConf, kind, other, small) + tenantsOf("{name: a, keys: [KEY], budget: {hour: 1, alert: off}"+tenant+"}")
	x := &stairs{till: &till{dir: t.TempDir()}, full: inTurn(wholeOf(kind)), int8: inTurn(wholeOf(kind)), small: inTurn(wholeOf(other))}
	x.ledger = ledgerIn(t, x.dir)
	n := &wires{}
	for addr, h := range map[string]http.Handler{"127.0.0.1:8002": x.int8, "127.0.0.1:8003": x.small} {
		host, l := &http.Server{Handler: h}, n.listen(addr)
		go host.Serve(l)
		t.Cleanup(func() { host.Close() })
	}
	x.rig = start(t, conf, x.full, n, n.listen("gateway:80"), n.listen("ops:80"), n.listen(upstreamAddr), func(o *Options) { o.Ledger = x.ledger })
	return x
}

// spend makes so many per cent of the budget be spent.
func (x *stairs) spend(percent int64) {
	x.g.gate.Restore([]admit.Deposit{{Scope: admit.ScopeTenant, Tenant: "a", At: time.Now(), Amount: percent * 10_000, Late: true}})
	synctest.Wait()
}

func (x *stairs) query(path, body string, header ...string) answer {
	x.t.Helper()
	time.Sleep(time.Millisecond) // rows stand in the order of time
	return x.ask(path, body, append([]string{"X-Api-Key", "secret"}, header...)...)
}

// got is how many calls each upstream had.
func (x *stairs) got() [3]int { return [3]int{x.full.count(), x.int8.count(), x.small.count()} }

// talk is a conversation of five turns in the words of a surface.
func talk(s wire.Surface, more string) string {
	var turns []string
	for i := range 9 {
		role := [2]string{"user", "assistant"}[i%2]
		turns = append(turns, fmt.Sprintf(`{"role":%q,"content":"turn %d of a conversation that is long enough to be cut, word by word by word by word"}`, role, i))
	}
	list := "[" + strings.Join(turns, ",") + "]"
	switch s {
	case wire.Messages:
		return `{"model":"chat","max_tokens":2000,"messages":` + list + more + `}`
	case wire.Responses:
		return `{"model":"chat","max_output_tokens":2000,"input":` + list + more + `}`
	}
	return `{"model":"chat","max_completion_tokens":2000,"messages":` + list + more + `}`
}

// What a level asks for reaches the upstream on every surface, and whoever pays
// or counts is told of it.
func TestRungsOnEverySurface(t *testing.T) {
	for _, tt := range []struct {
		path, kind, body string
		is               map[string]string // of what arrives with all features taken away
		gone             []string
		turns            string // where they are
		rungs            string
	}{
		{chatPath, "openai", talk(wire.ChatCompletions, `,"logprobs":true,"top_logprobs":2,"reasoning_effort":"high"`),
			map[string]string{"reasoning_effort": "low", "max_completion_tokens": "512"}, []string{"logprobs", "top_logprobs"}, "messages", "no-logprobs, calm, brief, short"},
		{messagesPath, "anthropic", talk(wire.Messages, ``), map[string]string{"max_tokens": "512"}, nil, "messages", "brief, short"},
		{responsesPath, "openai, responses: true", talk(wire.Responses, `,"reasoning":{"effort":"high"}`),
			map[string]string{"reasoning.effort": "low", "max_output_tokens": "512"}, nil, "input", "calm, brief, short"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := stairsOf(t, tt.kind, "openai", "degrade: any", "")
				if strings.Contains(tt.kind, "responses") {
					x.full.next, x.int8.next = reply(200, "application/json", wholeResponse), reply(200, "application/json", wholeResponse)
				}
				a := x.query(tt.path, tt.body)
				x.g.tokens = wire.NewEstimator() // the answers' counts are made up
				if sent := x.full.bodies[0]; a.status != 200 || a.header.Get("X-Spillway-Degraded") != "" || gjson.Get(sent, tt.turns+".#").Int() != 9 {
					t.Fatalf("calm: %d %v, sent %s", a.status, a.header, sent)
				}

				x.spend(82) // features
				a = x.query(tt.path, tt.body)
				if a.status != 200 || a.header.Get("X-Spillway-Degraded") != tt.rungs || a.header.Get("X-Spillway-Decision") != "degrade" || a.header.Get("X-Spillway-Model") != "m-full" ||
					gjson.Get(a.body, "model").Str != "chat" {
					t.Errorf("features: %d %v %s", a.status, a.header, a.body)
				}
				sent := x.full.bodies[1]
				for path, want := range tt.is {
					if got := gjson.Get(sent, path).String(); got != want {
						t.Errorf("%s is %q, want %q in %s", path, got, want, sent)
					}
				}
				for _, path := range tt.gone {
					if gjson.Get(sent, path).Exists() {
						t.Errorf("%s is still there: %s", path, sent)
					}
				}
				if n := gjson.Get(sent, tt.turns+".#").Int(); n != 3 || !strings.Contains(sent, "turn 8") {
					t.Errorf("%d messages of the last two turns: %s", n, sent)
				}

				x.spend(6) // work
				a = x.query(tt.path, tt.body)
				if a.status != 200 || a.header.Get("X-Spillway-Degraded") != tt.rungs+", trimmed, int8" || a.header.Get("X-Spillway-Model") != "m-int8" || a.header.Get("X-Spillway-Fallback") != "" ||
					gjson.Get(a.body, "model").Str != "chat" || x.got() != [3]int{2, 1, 0} {
					t.Errorf("work: %d %v %s", a.status, a.header, a.body)
				}
				if sent := x.int8.bodies[0]; len(sent) >= len(x.full.bodies[1]) || !strings.Contains(sent, "turn 8") {
					t.Errorf("trimmed to %s", sent)
				}

				x.spend(6) // the model
				a = x.query(tt.path, tt.body)
				if a.status != 200 || a.header.Get("X-Spillway-Degraded") != tt.rungs+", trimmed, smaller" || a.header.Get("X-Spillway-Model") != "m-small" || a.header.Get("X-Spillway-Fallback") != "" ||
					gjson.Get(a.body, "model").Str != "small" || x.got() != [3]int{2, 1, 1} {
					t.Errorf("model: %d %v %s", a.status, a.header, a.body)
				}

				rows := x.rows()
				words := func(s string) string { return strings.ReplaceAll(s, ", ", ",") }
				for i, want := range []row{
					{Model: "chat", Deployment: "full", Decision: "run"},
					{Model: "chat", Deployment: "full", Decision: "degrade", Rung: words(tt.rungs)},
					{Model: "chat@int8", Deployment: "half", Decision: "degrade", Rung: words(tt.rungs) + ",trimmed,int8"},
					{Model: "small", Deployment: "small", Decision: "degrade", Rung: words(tt.rungs) + ",trimmed,smaller"},
				} {
					if got := rows[i]; got.Model != want.Model || got.Asked != "chat" || got.Deployment != want.Deployment || got.Decision != want.Decision || got.Rung != want.Rung || got.Outcome != "answered" {
						t.Errorf("row %d: %+v, want %+v", i, got, want)
					}
				}
				if got := x.counters("spillway_degraded_requests_total", "rung"); got["brief"] != 3 || got["int8"] != 1 || got["smaller"] != 1 {
					t.Errorf("degraded %v", got)
				}
			})
		})
	}
}

// A smaller model may speak another language than the caller, both ways, and
// streamed or not.
func TestASmallerModelOfAnotherKind(t *testing.T) {
	for _, tt := range []struct {
		path, kind, other, body, stream, events, end string
	}{
		{chatPath, "openai", "anthropic", plainAsk, streamAsk, messageEvents, "data: [DONE]"},
		{messagesPath, "anthropic", "openai", strings.Replace(fmt.Sprintf(messageAsk, false), `,"x_new":{"keep":null}`, "", 1),
			strings.Replace(fmt.Sprintf(messageAsk, true), `,"x_new":{"keep":null}`, "", 1), chunk("a") + finish + usage + done, "event: message_stop"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := stairsOf(t, tt.kind, tt.other, "degrade: any", "")
				x.spend(95)
				a := x.query(tt.path, tt.body)
				if a.status != 200 || gjson.Get(a.body, "model").Str != "small" || a.header.Get("X-Spillway-Model") != "m-small" || !strings.Contains(a.header.Get("X-Spillway-Degraded"), "smaller") {
					t.Errorf("%d %v %s", a.status, a.header, a.body)
				}
				x.small.next = events(tt.events)
				a = x.query(tt.path, tt.stream)
				if a.status != 200 || a.err != nil || !strings.Contains(a.body, `"model":"small"`) || !strings.Contains(a.body, tt.end) {
					t.Errorf("%d %v %v %s", a.status, a.err, a.header, a.body)
				}
				if x.got() != [3]int{0, 0, 2} || gjson.Get(x.small.bodies[0], "model").Str != "m-small" {
					t.Errorf("calls %v, sent %s", x.got(), x.small.bodies)
				}
			})
		})
	}
}

// Who may be degraded, and by what, is for tenant and caller to say together.
func TestConsent(t *testing.T) { // B128
	const (
		nothing  = ""
		features = "brief"
		all      = "brief, smaller"
	)
	body := strings.Replace(plainAsk, "{", `{"max_tokens":2000,`, 1)
	for _, tt := range []struct{ tenant, header, pin, want string }{
		{"never", "", "", nothing}, {"never", "allow", "", nothing}, {"never", "features", "", nothing},
		{"ask", "", "", nothing}, {"ask", "allow", "", all}, {"ask", "features", "", features}, {"ask", "deny", "", nothing}, {"ask", "whatever", "", nothing},
		{"features", "", "", features}, {"features", "allow", "", all}, {"features", "deny", "", nothing}, {"features", "features", "", features},
		{"any", "", "", all}, {"any", "features", "", features}, {"any", "deny", "", nothing}, {"any", "allow", "", all},
		{"any", "", "chat", "brief, int8"}, {"ask", "allow", "chat", "brief, int8"}, {"ask", "", "chat", nothing},
	} {
		t.Run(tt.tenant+" "+tt.header+" "+tt.pin, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := stairsOf(t, "openai", "openai", "degrade: "+tt.tenant, "")
				x.spend(94)
				header := []string{"X-Spillway-Degrade", tt.header}
				if tt.pin != "" {
					header = append(header, "X-Model-Id", tt.pin)
				}
				a := x.query(chatPath, body, header...)
				if a.status != 200 || a.header.Get("X-Spillway-Degraded") != tt.want {
					t.Errorf("%d %v, want %q", a.status, a.header.Get("X-Spillway-Degraded"), tt.want)
				}
			})
		})
	}
}

// A request too dear for what is left, though nothing is near its mark yet, is
// served cheaper and not refused.
func TestADearRequestGoesDownTheLadder(t *testing.T) { // B128
	bubble(t, func(t *testing.T) {
		x := stairsOf(t, "openai", "openai", "degrade: any", "")
		x.spend(50)
		a := x.query(chatPath, strings.Replace(plainAsk, "hello", strings.Repeat("word ", 800_000), 1))
		if a.status != 200 || !strings.Contains(a.header.Get("X-Spillway-Degraded"), "smaller") {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
	})
}
