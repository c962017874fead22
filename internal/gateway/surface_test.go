package gateway

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestSurfaces(t *testing.T) { // also B153: the alias in and out on every path
	for _, c := range []struct {
		name, path, body, object string
		events                   bool
	}{
		{"chat", chatPath, plainAsk, "chat.completion", false},
		{"chat stream", chatPath, streamAsk, "chat.completion.chunk", true},
		{"completions", completionPath, `{"model":"chat","prompt":"once"}`, "text_completion", false},
		{"completions stream", completionPath, `{"model":"chat","prompt":"once","stream":true}`, "text_completion", true},
		{"embeddings", embeddingPath, `{"model":"chat","input":"text"}`, "list", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(2), quick())
				a := r.ask(c.path, c.body)
				if a.status != 200 || a.err != nil {
					t.Fatalf("%d %v %s", a.status, a.err, a.body)
				}
				head := map[string]string{
					"X-Spillway-Decision": "run", "X-Spillway-Estimated-Wait-Ms": "0", "X-Spillway-Model": "vendor/m-2026",
					"Set-Cookie": "", "Openai-Organization": "", "Content-Type": "application/json",
				}
				first := a.body
				if c.events {
					head["Content-Type"], head["X-Accel-Buffering"], head["Cache-Control"] = "text/event-stream; charset=utf-8", "no", "no-cache"
					head["Content-Length"] = ""
					p := payloads(a.body)
					if first = p[0]; p[len(p)-1] != "[DONE]" {
						t.Errorf("the stream ends with %q", p[len(p)-1])
					}
					for _, data := range p[:len(p)-1] {
						if m := gjson.Get(data, "model").Str; m != "chat" {
							t.Errorf("model %q in %s", m, data)
						}
					}
				} else {
					head["Content-Length"] = strconv.Itoa(len(a.body))
				}
				for name, want := range head {
					if got := a.header.Get(name); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
				if got := gjson.Get(first, "object").Str; got != c.object {
					t.Errorf("object %q, want %q", got, c.object)
				}
				if m := gjson.Get(first, "model").Str; m != "chat" {
					t.Errorf("model %q, want the alias", m)
				}
				if id := a.header.Get("X-Request-Id"); len(id) != 36 || !strings.HasPrefix(id, "req_") {
					t.Errorf("x-request-id %q", id)
				}
				if v := a.header.Get("Server-Timing"); !strings.HasPrefix(v, "queue;dur=0.0, upstream;dur=") {
					t.Errorf("Server-Timing %q", v)
				}
				line := r.ended(1)
				if line["spillway.outcome"] != "answered" || line["spillway.tokens_estimated"] != nil || line["spillway.upstream_model"] != "vendor/m-2026" {
					t.Errorf("record %v", line)
				}
				r.idle()
			})
		})
	}
}

func TestModels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		if a := r.ask("/v1/models", ""); a.status != 200 || gjson.Get(a.body, "data.#.id").Raw != `["chat"]` || gjson.Get(a.body, "object").Str != "list" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := r.ask("/v1/models/chat", ""); a.status != 200 || gjson.Get(a.body, "id").Str != "chat" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := r.ask("/v1/models/vendor/other", ""); a.status != 404 || code(t, a.body) != "model_not_found" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

func TestUpstreamHeadersStayOutside(t *testing.T) {
	for kind, text := range map[string]string{"application/json": wholeAnswer, "text/event-stream": chunk("a") + finish + done} {
		bubble(t, func(t *testing.T) {
			up := inTurn(reply(200, kind, text, "Set-Cookie", "a=b", "Openai-Organization", "org-secret", "Openai-Project", "p",
				"X-Ratelimit-Remaining-Requests", "5", "X-Request-Id", "theirs", "Openai-Processing-Ms", "12", "Server", "vendor"))
			r := setup(t, one(1), up)
			ask := plainAsk
			if kind == "text/event-stream" {
				ask = streamAsk
			}
			a := r.ask(chatPath, ask, "Authorization", "Bearer caller-key", "Cookie", "c=d", "Accept-Encoding", "br", "X-Stainless-Lang", "go",
				"Traceparent", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", "Idempotency-Key", "k1")
			for _, name := range []string{"Set-Cookie", "Openai-Organization", "Openai-Project", "X-Ratelimit-Remaining-Requests", "Server"} {
				if v := a.header.Get(name); v != "" {
					t.Errorf("relayed %s: %s", name, v)
				}
			}
			if a.header.Get("Openai-Processing-Ms") != "12" || !strings.HasPrefix(a.header.Get("X-Request-Id"), "req_") {
				t.Errorf("head %v", a.header)
			}
			sent := up.headers[0]
			for name, want := range map[string]string{
				"Authorization": "Bearer upstream-secret", "Cookie": "", "X-Stainless-Lang": "", "Idempotency-Key": "k1",
				"Traceparent": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
			} {
				if got := sent.Get(name); got != want {
					t.Errorf("sent %s: %q, want %q", name, got, want)
				}
			}
			if strings.Contains(sent.Get("Accept-Encoding"), "br") {
				t.Error("the caller's Accept-Encoding was forwarded")
			}
			if line := r.ended(1); line["trace.id"] != "0123456789abcdef0123456789abcdef" {
				t.Errorf("trace.id %v", line["trace.id"])
			}
		})
	}
}

// What the upstream gets is what the caller sent but for the model, and for the
// question for usage on streams.
func TestBodyIsForwardedAsItIs(t *testing.T) { // B098, B146, B147, B149, B027
	odd := `"enable_thinking":false,  "x_vendor":{"a":[1,2]},"big":9007199254740993,"small":1e-7,"tools":null,"text":"\u5317 北",` +
		`"messages":[{"role":"assistant","content":null,"tool_calls":null},{"role":"user","content":"x"}]}`
	for _, c := range []struct{ name, body, want string }{
		{"plain", `{"model":"chat",` + odd, `{"model":"vendor/m-2026",` + odd},
		{"stream", `{"model":"chat","stream":true,` + odd, `{"stream_options":{"include_usage":true},"model":"vendor/m-2026","stream":true,` + odd},
		{"usage asked", `{"model":"chat","stream_options":{"include_usage":true},"stream":true,` + odd, `{"model":"vendor/m-2026","stream_options":{"include_usage":true},"stream":true,` + odd},
		{"stream false", `{"stream":false,"model":"chat",` + odd, `{"stream":false,"model":"vendor/m-2026",` + odd},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				up := inTurn(reply(200, "application/json", wholeAnswer))
				r := setup(t, one(1), up)
				if a := r.ask(chatPath, c.body); a.status != 200 {
					t.Fatalf("%d %s", a.status, a.body)
				}
				if up.bodies[0] != c.want {
					t.Errorf("sent\n%s\nwant\n%s", up.bodies[0], c.want)
				}
			})
		})
	}
}

func TestUsageChunkOnlyIfAsked(t *testing.T) { // B025, B030, B031
	preamble := `data: {"id":"","choices":[],"prompt_filter_results":[]}` + "\n\n"
	for _, c := range []struct {
		name, body string
		want       string
	}{
		{"not asked", streamAsk, preamble + chunk("a") + finish + done},
		{"refused", `{"model":"chat","stream":true,"stream_options":{"include_usage":false},"messages":[{"role":"user","content":"x"}]}`, preamble + chunk("a") + finish + done},
		{"asked", `{"model":"chat","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`, preamble + chunk("a") + finish + usage + done},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(1), events(preamble, chunk("a"), finish, usage, done))
				a := r.ask(chatPath, c.body)
				if want := alias(c.want); a.body != want {
					t.Errorf("got\n%s\nwant\n%s", a.body, want)
				}
				if line := r.ended(1); line["spillway.input_tokens"] != 7.0 || line["spillway.output_tokens"] != 3.0 || line["spillway.tokens_estimated"] != nil {
					t.Errorf("accounting must be exact either way: %v", line)
				}
			})
		})
	}
}

// alias is a stream as the caller sees it.
func alias(s string) string { return strings.ReplaceAll(s, "vendor/m-2026", "chat") }

func TestCallersFaults(t *testing.T) {
	tenants := tenantsOf("{name: a, keys: [KEY], classes: [standard, batch]}")
	key := []string{"Authorization", "Bearer secret"}
	for _, c := range []struct {
		name, path, body string
		header           []string
		status           int
		code             string
		says             string
	}{
		{"no key", chatPath, plainAsk, nil, 401, "invalid_api_key", "Bearer"},
		{"wrong key", chatPath, plainAsk, []string{"Authorization", "Bearer other"}, 401, "invalid_api_key", ""},
		{"models without key", "/v1/models", "", nil, 401, "invalid_api_key", ""},
		{"unknown model", chatPath, strings.Replace(plainAsk, "chat", "chatt", 1), key, 404, "model_not_found", "chatt"},
		{"unknown override", chatPath, plainAsk, append([]string{"X-Model-Id", "gone"}, key...), 404, "model_not_found", "gone"},
		{"wrong class", chatPath, plainAsk, append([]string{"X-Spillway-Class", "interactive"}, key...), 400, "invalid_class", "standard"},
		{"no such class", chatPath, plainAsk, append([]string{"X-Spillway-Class", "urgent"}, key...), 400, "invalid_class", "urgent"},
		{"no JSON", chatPath, `{"model":`, key, 400, "", "JSON"},
		{"twice", chatPath, `{"model":"chat","model":"chat","messages":[]}`, key, 400, "", "model"},
		{"case trick", chatPath, `{"Model":"chat","model":"chat","messages":[{}]}`, key, 400, "", "case"},
		{"no messages", chatPath, `{"model":"chat"}`, key, 400, "", "messages"},
		{"too large", chatPath, `{"model":"chat","messages":[{"role":"user","content":"` + strings.Repeat("x", 4096) + `"}]}`, key, 413, "request_too_large", "2048"},
		{"method", chatPath, "", key, 405, "method_not_allowed", "POST"},
		{"models take GET", "/v1/models", "{}", key, 405, "method_not_allowed", "GET"},
		{"path", "/v1/audio/speech", "{}", key, 404, "unknown_url", "/v1/chat/completions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				up := inTurn(reply(200, "application/json", wholeAnswer))
				r := setup(t, one(1, "limits: {body: 2048}", tenants), up)
				a := r.ask(c.path, c.body, c.header...)
				if a.status != c.status || a.err != nil {
					t.Fatalf("status %d (%v), want %d: %s", a.status, a.err, c.status, a.body)
				}
				e := errorOf(t, a.body)
				if code(t, a.body) != c.code || !strings.Contains(e.Message, c.says) {
					t.Errorf("%s", a.body)
				}
				if id := a.header.Get("X-Request-Id"); id == "" || id != e.RequestID {
					t.Errorf("x-request-id %q, in the body %q", id, e.RequestID)
				}
				if c.status == 405 && a.header.Get("Allow") != c.says {
					t.Errorf("Allow %q", a.header.Get("Allow"))
				}
				if up.count() != 0 {
					t.Error("the upstream was called")
				}
				r.idle()
			})
		})
	}
}

func TestProblemJSON(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		a := r.ask(chatPath, `{"model":"none","messages":[{}]}`, "Accept", "application/problem+json")
		if a.header.Get("Content-Type") != "application/problem+json" || gjson.Get(a.body, "status").Int() != 404 || gjson.Get(a.body, "code").Str != "model_not_found" {
			t.Errorf("%v %s", a.header, a.body)
		}
	})
}

func TestLargeBodies(t *testing.T) { // B090
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), events(chunk("a"), finish, done))
		body := `{"model":"chat","stream":true,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("A", 1_400_000) + `"}}]}]}`
		if a := r.ask(chatPath, body); a.status != 200 {
			t.Errorf("%d %.200s", a.status, a.body)
		}
	})
}

// A hint can lower the class, and raise it as far as the tenant may.
func TestClassHints(t *testing.T) {
	for _, c := range []struct {
		name, body string
		header     []string
		want       string
	}{
		{"default", plainAsk, nil, "standard"},
		{"own word", plainAsk, []string{"X-Spillway-Class", "speculative"}, "speculative"},
		{"priority beyond the tenant", `{"service_tier":"priority",` + plainAsk[1:], nil, "standard"},
		{"urgency of a browser", plainAsk, []string{"Priority", "u=1"}, "standard"},
		{"flex, without batch: the next below", `{"service_tier":"flex",` + plainAsk[1:], nil, "speculative"},
		{"lowest", plainAsk, []string{"Priority", "u=7"}, "speculative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(1, tenantsOf("{name: a, keys: [KEY], classes: [standard, speculative]}")), inTurn(reply(200, "application/json", wholeAnswer)))
				if a := r.ask(chatPath, c.body, append(c.header, "Authorization", "bearer secret")...); a.status != 200 {
					t.Fatalf("%d %s", a.status, a.body)
				}
				line := r.ended(1)
				if got := line["spillway.class"]; got != c.want {
					t.Errorf("class %v, want %s", got, c.want)
				}
			})
		})
	}
}
