package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

const (
	messagesPath  = "/v1/messages"
	responsesPath = "/v1/responses"

	messageAsk = `{"model":"chat","max_tokens":50,"stream":%t,"messages":[{"role":"user","content":"hello"}],"x_new":{"keep":null}}`
)

// kind is a gateway with one model at a provider of that kind.
func kind(kind, more string) string {
	return fmt.Sprintf(`
providers:
  up: {kind: %s, base_url: "http://127.0.0.1:8001", api_key: upstream-secret, http: "1.1"%s}
models:
  chat: {deployments: [{provider: up, model: vendor-m, concurrency: 2}]}
`, kind, more)
}

const messageEvents = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"vendor-m","content":[],"usage":{"input_tokens":9,"cache_read_input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`

// Messages for a provider of messages are passed on byte for byte but for the
// model, with its key and version, and its usage is read.
func TestMessagesPassThrough(t *testing.T) { // B016
	bubble(t, func(t *testing.T) {
		up := inTurn(reply(200, "text/event-stream", messageEvents, "Request-Id", "theirs", "Anthropic-Ratelimit-Requests-Limit", "50", "Anthropic-Organization-Id", "org"),
			reply(200, "application/json", `{"id":"msg_1","type":"message","model":"vendor-m","content":[],"usage":{"input_tokens":4,"output_tokens":5}}`))
		r := setup(t, kind("anthropic", ""), up)
		a := r.ask(messagesPath, fmt.Sprintf(messageAsk, true), "X-Api-Key", "caller", "Anthropic-Version", "2023-06-01", "Anthropic-Beta", "b1")
		want := strings.Replace(messageEvents, "vendor-m", "chat", 1)
		want = strings.Replace(want, "event: ping\ndata: {\"type\":\"ping\"}\n\n", "", 1)
		if a.status != 200 || a.err != nil || a.body != want {
			t.Errorf("%d %v:\n%s", a.status, a.err, a.body)
		}
		if id := a.header.Get("Request-Id"); !strings.HasPrefix(id, "req_") || a.header.Get("Anthropic-Organization-Id") != "" || a.header.Get("Anthropic-Ratelimit-Requests-Limit") != "" {
			t.Errorf("head %v", a.header)
		}
		sent := up.headers[0]
		if sent.Get("X-Api-Key") != "upstream-secret" || sent.Get("Authorization") != "" || sent.Get("Anthropic-Version") != "2023-06-01" || sent.Get("Anthropic-Beta") != "b1" {
			t.Errorf("sent %v", sent)
		}
		if got, want := up.bodies[0], strings.Replace(fmt.Sprintf(messageAsk, true), `"chat"`, `"vendor-m"`, 1); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
		if line := r.ended(1); line["spillway.input_tokens"] != 12.0 || line["spillway.output_tokens"] != 7.0 || line["spillway.tokens_estimated"] != nil || line["spillway.surface"] != "anthropic" {
			t.Errorf("record %v", line)
		}
		a = r.ask(messagesPath, fmt.Sprintf(messageAsk, false))
		if a.status != 200 || gjson.Get(a.body, "model").Str != "chat" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// A stream of messages that is cut ends in an error event and a broken connection.
func TestMessagesCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		part, _, _ := strings.Cut(messageEvents, "event: message_delta")
		r := setup(t, kind("anthropic", ""), inTurn(reply(200, "text/event-stream", part)))
		a := r.ask(messagesPath, fmt.Sprintf(messageAsk, true))
		if a.err == nil || !strings.Contains(a.body, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"") || strings.Contains(a.body, "message_stop") {
			t.Errorf("%v:\n%s", a.err, a.body)
		}
	})
}

// What fails before any content goes elsewhere: the announcement of an answer
// is held until there is some of it.
func TestMessagesFailOver(t *testing.T) { // B069
	for name, first := range map[string]string{
		"cut after the start":     messageEvents[:strings.Index(messageEvents, "event: content_block_delta")],
		"overloaded after a ping": messageEvents[:strings.Index(messageEvents, "event: content_block_start")] + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
		"an error instead of it":  "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}\n\n",
		"nothing but a status":    "",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				up := inTurn(reply(200, "text/event-stream", first), reply(200, "text/event-stream", messageEvents))
				r := setup(t, kind("anthropic", ""), up)
				a := r.ask(messagesPath, fmt.Sprintf(messageAsk, true))
				if a.status != 200 || a.err != nil || up.count() != 2 || strings.Count(a.body, "message_start") != 2 || !strings.Contains(a.body, "message_stop") {
					t.Errorf("%d %v after %d calls:\n%s", a.status, a.err, up.count(), a.body)
				}
			})
		})
	}
}

// Refusals on the surface of messages have its shape and statuses.
func TestMessagesErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, kind("anthropic", "")+tenantsOf("{name: a, keys: [KEY], limits: {rpm: 2}}"), inTurn(reply(529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)))
		key := []string{"X-Api-Key", "secret"}
		for _, tt := range []struct {
			path, body string
			header     []string
			status     int
			kind       string
		}{
			{messagesPath, "{}", nil, 401, "authentication_error"},
			{messagesPath, `{"model":"chat","messages":[{}]}`, key, 400, "invalid_request_error"},
			{messagesPath, `{"model":"none","max_tokens":5,"messages":[{}]}`, key, 404, "not_found_error"},
			{messagesPath, fmt.Sprintf(messageAsk, false), key, 529, "overloaded_error"},
			{messagesPath, fmt.Sprintf(messageAsk, true), key, 529, "overloaded_error"},
			{messagesPath, fmt.Sprintf(messageAsk, true), key, 429, "rate_limit_error"},
			{"/v1/messages/other", "{}", key, 404, "not_found_error"},
		} {
			a := r.ask(tt.path, tt.body, tt.header...)
			if a.status != tt.status || gjson.Get(a.body, "type").Str != "error" || gjson.Get(a.body, "error.type").Str != tt.kind {
				t.Errorf("%s %s: %d %s", tt.path, tt.body, a.status, a.body)
			}
			if a.header.Get("Request-Id") == "" || gjson.Get(a.body, "request_id").Str != a.header.Get("Request-Id") {
				t.Errorf("no id: %v %s", a.header, a.body)
			}
			if tt.status == 429 && (a.header.Get("Anthropic-Ratelimit-Requests-Limit") != "2" || a.header.Get("Anthropic-Ratelimit-Requests-Remaining") != "0" || !strings.Contains(a.header.Get("Ratelimit-Policy"), `"requests";q=2;w=60`)) {
				t.Errorf("head %v", a.header)
			}
		}
	})
}

// Counting tokens takes nothing from any limit, and models are listed in the
// form of whoever asks.
func TestCountTokensAndModels(t *testing.T) { // B093, B157
	bubble(t, func(t *testing.T) {
		r := setup(t, kind("anthropic", "")+tenantsOf("{name: a, keys: [KEY], limits: {rpm: 1}}"), inTurn(reply(500, "text/plain", "")))
		body := `{"model":"chat","system":"be kind","messages":[{"role":"user","content":"hello there, how many are these?"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`
		for range 3 {
			a := r.ask("/v1/messages/count_tokens?beta=true", body, "X-Api-Key", "secret")
			if n := gjson.Get(a.body, "input_tokens").Int(); a.status != 200 || n < 10 || n > 60 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		a := r.ask("/v1/models", "", "X-Api-Key", "secret", "Anthropic-Version", "2023-06-01")
		if a.status != 200 || gjson.Get(a.body, "data.0.type").Str != "model" || gjson.Get(a.body, "first_id").Str != "chat" {
			t.Errorf("%d %s", a.status, a.body)
		}
		for _, path := range []string{"/v1/responses/resp_1", "/v1/responses/resp_1/cancel"} {
			if a := r.ask(path, "{}", "X-Api-Key", "secret"); a.status != 404 || code(t, a.body) != "response_not_found" {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
	})
}

const responseEvents = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"vendor-m","usage":null}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":1,"delta":"hi"}

event: response.completed
data: {"type":"response.completed","sequence_number":2,"response":{"id":"resp_1","model":"vendor-m","usage":{"input_tokens":6,"output_tokens":2}}}

`

// Responses for a provider that offers them are passed on.
func TestResponsesPassThrough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, kind("openai", ", responses: true"), inTurn(reply(200, "text/event-stream", responseEvents)))
		a := r.ask(responsesPath, `{"model":"chat","stream":true,"input":"hello"}`)
		if a.status != 200 || a.err != nil || a.body != strings.ReplaceAll(responseEvents, "vendor-m", "chat") {
			t.Errorf("%d %v:\n%s", a.status, a.err, a.body)
		}
		if line := r.ended(1); line["spillway.input_tokens"] != 6.0 || line["spillway.output_tokens"] != 2.0 {
			t.Errorf("record %v", line)
		}
	})
}

// Usage of messages is told as a total so far; the last one counts, once.
func TestMessagesUsageIsCumulative(t *testing.T) { // B108
	bubble(t, func(t *testing.T) {
		more := strings.Replace(messageEvents, "event: message_delta", "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":null},\"usage\":{\"output_tokens\":10}}\n\nevent: message_delta", 1)
		more = strings.Replace(more, `"output_tokens":7`, `"output_tokens":25`, 1)
		r := setup(t, kind("anthropic", ""), inTurn(reply(200, "text/event-stream", more)))
		r.ask(messagesPath, fmt.Sprintf(messageAsk, true))
		if line := r.ended(1); line["spillway.input_tokens"] != 12.0 || line["spillway.output_tokens"] != 25.0 {
			t.Errorf("record %v", line)
		}
	})
}

// A translated stream has what the caller's surface needs: names of events, a
// last event that says it is complete where the provider only marked its end,
// and a failure where it was cut.
func TestTranslatedEnds(t *testing.T) { // B016, B155
	text := chunk("a") + chunk("b")
	for name, tt := range map[string]struct{ path, body, events, want, never string }{
		"messages":                             {messagesPath, fmt.Sprintf(messageAsk, true), text + finish + done, "event: message_stop\ndata: {\"type\":\"message_stop\"}", "error"},
		"responses":                            {responsesPath, `{"model":"chat","stream":true,"input":"x"}`, text + finish + done, "event: response.completed", "response.failed"},
		"responses, no reason but an end mark": {responsesPath, `{"model":"chat","stream":true,"input":"x"}`, text + done, "event: response.completed", "response.failed"},
		"responses, a reason and no end mark":  {responsesPath, `{"model":"chat","stream":true,"input":"x"}`, text + finish, "event: response.completed", "response.failed"},
		"messages, cut":                        {messagesPath, fmt.Sprintf(messageAsk, true), text, "event: error", "message_stop"},
		"responses, cut":                       {responsesPath, `{"model":"chat","stream":true,"input":"x"}`, text, "event: error", "response.completed"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ask := strings.Replace(tt.body, `,"x_new":{"keep":null}`, "", 1)
				r := setup(t, kind("openai", ""), inTurn(reply(200, "text/event-stream", tt.events)))
				a := r.ask(tt.path, ask)
				if a.status != 200 || !strings.Contains(a.body, tt.want) || strings.Contains(a.body, "event: "+tt.never) {
					t.Errorf("%d %v:\n%s", a.status, a.err, a.body)
				}
			})
		})
	}
}

// What a provider has no word for is refused before anything is sent, with the
// name of the member; hints that do not reach it are told.
func TestInexpressible(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := inTurn(reply(200, "application/json", wholeAnswer))
		r := setup(t, kind("openai", ""), up)
		a := r.ask(messagesPath, `{"model":"chat","max_tokens":5,"top_k":3,"messages":[{"role":"user","content":"x"}]}`)
		if a.status != 400 || gjson.Get(a.body, "error.code").Str != "unsupported_parameter" || gjson.Get(a.body, "error.param").Str != "top_k" || up.count() != 0 {
			t.Errorf("%d %s", a.status, a.body)
		}
		a = r.ask(messagesPath, `{"model":"chat","max_tokens":5,"x_new":1,"messages":[{"role":"user","content":"x"}]}`)
		if a.status != 400 || gjson.Get(a.body, "error.param").Str != "x_new" {
			t.Errorf("%d %s", a.status, a.body)
		}
		a = r.ask(messagesPath, `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`)
		if a.status != 200 || a.header.Get("X-Spillway-Dropped") != "cache_control" || gjson.Get(a.body, "type").Str != "message" {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		r2 := setup(t, kind("anthropic", ""), up)
		if a := r2.ask(embeddingPath, `{"model":"chat","input":"x"}`); a.status != 400 || code(t, a.body) != "unsupported_surface" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// A request that cannot fit the model's context is refused with the figures, or
// given to a model that holds it.
func TestContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conf := `
providers:
  up: {base_url: "http://127.0.0.1:8001", http: "1.1"}
models:
  chat: {context: 100, deployments: [{provider: up, model: small}]}
  both: {context: 100, fallback: {context: [large]}, deployments: [{provider: up, model: small}]}
  large: {context: 5000, deployments: [{provider: up, model: big}]}
`
		up := inTurn(reply(200, "application/json", wholeAnswer))
		r := setup(t, conf, up)
		long := `{"model":"%s","max_tokens":50,"messages":[{"role":"user","content":"` + strings.Repeat("many words ", 100) + `"}]}`
		a := r.ask(chatPath, fmt.Sprintf(long, "chat"))
		if a.status != 400 || code(t, a.body) != "context_length_exceeded" || !strings.Contains(a.body, "holds 100 tokens") || up.count() != 0 {
			t.Errorf("%d %s", a.status, a.body)
		}
		a = r.ask(chatPath, fmt.Sprintf(long, "both"))
		if a.status != 200 || a.header.Get("X-Spillway-Fallback") != "large" || gjson.Get(up.bodies[0], "model").Str != "big" || gjson.Get(a.body, "model").Str != "both" {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
	})
}

// A provider that bills what nobody reads is read to its end when the caller
// leaves, for its usage.
func TestDrainedForItsUsage(t *testing.T) {
	for _, how := range []string{"cancel", "drain"} {
		bubble(t, func(t *testing.T) {
			up := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, e := range []string{chunk("a"), chunk("b"), finish, `data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":99,"total_tokens":106}}` + "\n\n", done} {
					if q.Context().Err() != nil {
						return
					}
					io.WriteString(w, e)
					w.(http.Flusher).Flush()
					time.Sleep(time.Second)
				}
			})
			r := setup(t, kind("openai", ", on_disconnect: "+how), up)
			ctx, leave := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer leave()
			r.askCtx(ctx, chatPath, streamAsk)
			time.Sleep(10 * time.Second)
			line := r.ended(1)
			known := line["spillway.tokens_estimated"] == nil
			if line["spillway.outcome"] != "left" || known != (how == "drain") || known && line["spillway.output_tokens"] != 99.0 {
				t.Errorf("%s: record %v", how, line)
			}
			r.idle()
		})
	}
}

// What a model cannot do is refused at once.
func TestCapabilities(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, strings.Replace(kind("openai", ""), "chat: {", "chat: {streaming: false, tools: false, ", 1), inTurn(reply(200, "application/json", wholeAnswer)))
		for body, param := range map[string]string{
			streamAsk: "stream", `{"model":"chat","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}]}`: "tools",
		} {
			if a := r.ask(chatPath, body); a.status != 400 || gjson.Get(a.body, "error.param").Str != param || code(t, a.body) != "unsupported_parameter" {
				t.Errorf("%s: %d %s", param, a.status, a.body)
			}
		}
		if a := r.ask(chatPath, `{"model":"chat","messages":[{"role":"user","content":"x"}],"tools":[]}`); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
