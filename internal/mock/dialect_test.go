package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

// The paths of the dialects, each with a shortest request and the same streamed.
const (
	messagesPath  = "/v1/messages"
	responsesPath = "/v1/responses"
	geminiPath    = "/v1beta/models/g-1:generateContent"
	geminiStream  = "/v1beta/models/g-1:streamGenerateContent?alt=sse"
	azurePath     = "/openai/deployments/d-1/chat/completions?api-version=2024-10-21"

	messagesAsk  = `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"hello you"}]}`
	responsesAsk = `{"model":"m","input":"hello you"}`
	geminiAsk    = `{"contents":[{"role":"user","parts":[{"text":"hello you"}]}]}`
	azureAsk     = `{"messages":[{"role":"user","content":"hello you"}]}`
)

// streaming is the same request with stream set.
func streaming(body string) string { return `{"stream":true,` + body[1:] }

// wants compares members of a JSON body.
func wants(t *testing.T, body []byte, want map[string]string) {
	t.Helper()
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	for path, value := range want {
		if v := gjson.GetBytes(body, path); !v.Exists() || v.String() != value && v.Raw != value {
			t.Errorf("%s is %q, want %q in %s", path, v.Raw, value, body)
		}
	}
}

func TestDialectAnswers(t *testing.T) {
	for _, test := range []struct {
		name, path, body string
		text             string // path of the text, of 11 words
		want             map[string]string
		header           string
	}{
		{"messages", messagesPath, messagesAsk, "content.0.text", map[string]string{
			"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": "",
			"usage.input_tokens": "3", "usage.output_tokens": "11", "mock.service_s": "1.0000"}, "Request-Id"},
		{"messages, cut short", messagesPath, strings.Replace(messagesAsk, "99", "11", 1), "content.0.text", map[string]string{"stop_reason": "max_tokens"}, "Request-Id"},
		{"responses", responsesPath, responsesAsk, "output.0.content.0.text", map[string]string{
			"object": "response", "status": "completed", "model": "m", "output.0.type": "message", "output.0.content.0.type": "output_text",
			"usage.input_tokens": "3", "usage.output_tokens": "11", "usage.total_tokens": "14", "mock.service_s": "1.0000"}, "X-Request-Id"},
		{"responses, cut short", responsesPath, `{"model":"m","max_output_tokens":11,"input":[{"role":"user","content":[{"type":"input_text","text":"hello you"}]}]}`,
			"output.0.content.0.text", map[string]string{"status": "incomplete", "incomplete_details.reason": "max_output_tokens", "usage.input_tokens": "3"}, "X-Request-Id"},
		{"gemini", geminiPath, geminiAsk, "candidates.0.content.parts.0.text", map[string]string{
			"candidates.0.content.role": "model", "candidates.0.finishReason": "STOP", "modelVersion": "g-1",
			"usageMetadata.promptTokenCount": "3", "usageMetadata.candidatesTokenCount": "11", "usageMetadata.totalTokenCount": "14", "mock.service_s": "1.0000"}, "Server-Timing"},
		{"gemini, cut short", geminiPath, `{"contents":[{"parts":[{"text":"x"}]}],"generation_config":{"max_output_tokens":11}}`,
			"candidates.0.content.parts.0.text", map[string]string{"candidates.0.finishReason": "MAX_TOKENS"}, "Server-Timing"},
		{"azure", azurePath, azureAsk, "choices.0.message.content", map[string]string{
			"model": "d-1", "choices.0.finish_reason": "stop", "prompt_filter_results.0.prompt_index": "0"}, "Apim-Request-Id"},
		{"azure, v1", "/openai/v1/chat/completions", plainAsk, "choices.0.message.content", map[string]string{"model": "m"}, "Apim-Request-Id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setup(t, constant())
				p := ask(t.Context(), s, "POST", test.path, test.body)
				if p.status != 200 || p.end != time.Second {
					t.Fatalf("%d after %v: %s", p.status, p.end, p.body)
				}
				wants(t, p.body, test.want)
				if text := gjson.GetBytes(p.body, test.text).Str; len(strings.Fields(text)) != 11 {
					t.Errorf("%q is not 11 words", text)
				}
				if p.header.Get(test.header) == "" {
					t.Errorf("no %s in %v", test.header, p.header)
				}
				if st := s.Stats(); st.Started != 1 || st.Finished != 1 {
					t.Errorf("stats %+v", st)
				}
			})
		})
	}
}

// names are the kinds of a stream's events, the same in a row once.
func (p *tape) names() []string {
	var out []string
	for line := range strings.SplitSeq(string(p.body), "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "event: "); ok {
			out = append(out, name)
		}
	}
	return slices.Compact(out)
}

// joined joins a string member of all events.
func (p *tape) joined(path string) string {
	var b strings.Builder
	for _, event := range p.events() {
		b.WriteString(gjson.Get(event, path).Str)
	}
	return b.String()
}

func TestDialectStreams(t *testing.T) {
	for _, test := range []struct {
		name, path, body string
		names            string
		text             string            // path of the text in its events
		last             map[string]string // of the last event but skip
		skip             int
	}{
		{"messages", messagesPath, streaming(messagesAsk),
			"message_start content_block_start ping content_block_delta content_block_stop message_delta message_stop", "delta.text",
			map[string]string{"delta.stop_reason": "end_turn", "usage.output_tokens": "11", "mock.queue_s": "0.0000"}, 1},
		{"responses", responsesPath, streaming(responsesAsk),
			"response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta response.output_text.done response.content_part.done response.output_item.done response.completed", "delta",
			map[string]string{"response.status": "completed", "response.usage.output_tokens": "11", "sequence_number": "18", "mock.queue_s": "0.0000"}, 0},
		{"gemini", geminiStream, geminiAsk, "", "candidates.0.content.parts.0.text",
			map[string]string{"candidates.0.finishReason": "STOP", "usageMetadata.candidatesTokenCount": "11", "mock.queue_s": "0.0000"}, 0},
		{"azure", azurePath, streaming(azureAsk), "", "choices.0.delta.content",
			map[string]string{"choices.0.finish_reason": "stop", "mock.queue_s": "0.0000"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setup(t, constant())
				p := ask(t.Context(), s, "POST", test.path, test.body)
				if got := strings.Join(p.names(), " "); got != test.names {
					t.Errorf("events are %s", got)
				}
				if n := len(strings.Fields(p.joined(test.text))); n != 11 {
					t.Errorf("%d words", n)
				}
				events := p.events()
				wants(t, []byte(events[len(events)-1-test.skip]), test.last)
				for i := range 11 { // the times of chat completions
					near(t, "a token's time", p.flushes[i].at.Seconds(), 0.2+0.08*float64(i), 1e-6)
				}
				if p.end.Round(time.Microsecond) != time.Second || p.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
					t.Errorf("took %v, %v", p.end, p.header)
				}
			})
		})
	}
}

func TestGeminiFraming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		p := ask(t.Context(), s, "POST", "/v1beta/models/g-1:streamGenerateContent", geminiAsk)
		wants(t, p.body, map[string]string{"#": "12", "11.candidates.0.finishReason": "STOP"})
		if got := p.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
			t.Errorf("content type %q", got)
		}
		p = ask(t.Context(), s, "POST", "/v1beta/models/g-1:streamGenerateContent", geminiAsk, FaultHeader, "error-event=1")
		wants(t, p.body, map[string]string{"#": "2", "1.error.status": "INTERNAL"})
		p = ask(t.Context(), s, "POST", geminiStream, geminiAsk)
		if !strings.Contains(string(p.body), "}\r\n\r\ndata: {") {
			t.Errorf("events do not end as Google's do:\n%s", p.body)
		}
	})
}

func TestAzureTellsFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		p := ask(t.Context(), s, "POST", azurePath, streaming(azureAsk))
		wants(t, []byte(p.events()[0]), map[string]string{"choices.#": "0", "prompt_filter_results.#": "1"})
		if p := ask(t.Context(), s, "POST", "/openai/deployments/d-1/chat/completions", azureAsk); p.status != 404 {
			t.Errorf("without api-version: %d", p.status)
		}
	})
}

func TestDialectErrors(t *testing.T) {
	for _, test := range []struct {
		path, body, fault string
		status            int
		want              map[string]string
	}{
		{messagesPath, messagesAsk, "529", 529, map[string]string{"type": "error", "error.type": "overloaded_error", "error.message": "Overloaded"}},
		{messagesPath, messagesAsk, "429", 429, map[string]string{"error.type": "rate_limit_error"}},
		{messagesPath, messagesAsk, "401", 401, map[string]string{"error.type": "authentication_error"}},
		{messagesPath, messagesAsk, "400", 400, map[string]string{"error.type": "invalid_request_error", "error.message": "prompt is too long: 210000 tokens > 200000 maximum"}},
		{messagesPath, messagesAsk, "503", 503, map[string]string{"error.type": "api_error"}},
		{messagesPath, messagesAsk, "504", 504, map[string]string{"error.type": "timeout_error"}},
		{messagesPath, `{"model":"m","messages":[]}`, "", 400, map[string]string{"error.message": "Invalid request: max_tokens: Field required."}},
		{messagesPath, `{"model":"x","max_tokens":1,"messages":[]}`, "", 404, map[string]string{"error.type": "not_found_error"}},
		{responsesPath, responsesAsk, "503", 503, map[string]string{"error.code": "server_is_overloaded"}},
		{responsesPath, `{"model":"m"}`, "", 400, map[string]string{"error.message": "Invalid request: input is missing."}},
		{geminiPath, geminiAsk, "429;retry-after=34", 429, map[string]string{"error.code": "429", "error.status": "RESOURCE_EXHAUSTED", "error.details.1.retryDelay": "34s", "error.details.0.violations.0.quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}},
		{geminiPath, geminiAsk, "unpaid", 429, map[string]string{"error.details.0.violations.0.quotaId": "GenerateRequestsPerDayPerProjectPerModel"}},
		{geminiPath, geminiAsk, "503", 503, map[string]string{"error.status": "UNAVAILABLE"}},
		{geminiPath, `{}`, "", 400, map[string]string{"error.status": "INVALID_ARGUMENT"}},
		{"/v1beta/models/x:generateContent", geminiAsk, "", 404, map[string]string{"error.status": "NOT_FOUND"}},
		{"/v1beta/models/m:paint", geminiAsk, "", 404, map[string]string{"error.message": "Unknown method: paint."}},
		{azurePath, azureAsk, "429;retry-after=3", 429, map[string]string{"error.code": "429"}},
		{azurePath, azureAsk, "filter", 400, map[string]string{"error.code": "content_filter", "error.status": "400"}},
		{"/openai/deployments/x/chat/completions?api-version=1", azureAsk, "", 404, map[string]string{"error.code": "DeploymentNotFound"}},
	} {
		t.Run(test.path+" "+test.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				settings := constant()
				settings.Models = []string{"m", "g-1", "d-1"}
				s := setup(t, settings)
				var header []string
				if test.fault != "" {
					header = []string{FaultHeader, test.fault}
				}
				p := ask(t.Context(), s, "POST", test.path, test.body, header...)
				if p.status != test.status {
					t.Errorf("status %d: %s", p.status, p.body)
				}
				wants(t, p.body, test.want)
				if id := gjson.GetBytes(p.body, "request_id").Str; id != p.header.Get("Request-Id") {
					t.Errorf("request id %q, in the header %q", id, p.header.Get("Request-Id"))
				}
			})
		})
	}
}

func TestDialectFaultsInStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		for _, test := range []struct{ path, body, fault, without, last string }{
			{messagesPath, streaming(messagesAsk), "error-event=3", "message_delta", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			{messagesPath, streaming(messagesAsk), "no-finish", "event: message_delta", `{"type":"message_stop"}`},
			{messagesPath, streaming(messagesAsk), "no-done", "event: message_stop", ""},
			{responsesPath, streaming(responsesAsk), "error-event=5", "response.completed", `{"type":"error","code":"server_error","message":"The server had an error while processing your request.","param":null,"sequence_number":0}`},
			{responsesPath, streaming(responsesAsk), "no-done", "response.completed", ""},
			{geminiStream, geminiAsk, "error-event=1", "finishReason", `{"error":{"code":500,"message":"The server had an error while processing your request.","status":"INTERNAL"}}`},
			{geminiStream, geminiAsk, "no-finish", "finishReason", ""},
		} {
			p := ask(t.Context(), s, "POST", test.path, test.body, FaultHeader, test.fault)
			events := p.events()
			if strings.Contains(string(p.body), test.without) || p.status != 200 {
				t.Errorf("%s: %s", test.fault, p.body)
			}
			if test.last != "" && events[len(events)-1] != test.last {
				t.Errorf("%s: ends with %s", test.fault, events[len(events)-1])
			}
		}
	})
}

func TestDialectLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := constant()
		settings.RateLimitHeaders = true
		s := setup(t, settings)
		p := ask(t.Context(), s, "POST", messagesPath, messagesAsk)
		if h := p.header; h.Get("Anthropic-Ratelimit-Requests-Limit") != "2" || h.Get("Anthropic-Ratelimit-Requests-Remaining") != "2" || h.Get("X-Ratelimit-Limit-Requests") != "" {
			t.Errorf("headers %v", h)
		}
		if _, err := time.Parse(time.RFC3339, p.header.Get("Anthropic-Ratelimit-Requests-Reset")); err != nil {
			t.Error(err)
		}
		p = ask(t.Context(), s, "POST", messagesPath, messagesAsk, FaultHeader, "429;remaining-tokens=0;reset-tokens=2025-01-01T00:00:00Z;retry-after=7")
		if h := p.header; h.Get("Anthropic-Ratelimit-Tokens-Remaining") != "0" || h.Get("Anthropic-Ratelimit-Tokens-Reset") == "" || h.Get("Retry-After") != "7" {
			t.Errorf("headers %v", h)
		}
		p = ask(t.Context(), s, "POST", azurePath, azureAsk)
		if h := p.header; h.Get("X-Ratelimit-Remaining-Requests") != "2" || h.Get("X-Ratelimit-Reset-Requests") != "" {
			t.Errorf("headers %v", h)
		}
		p = ask(t.Context(), s, "POST", geminiPath, geminiAsk, FaultHeader, "429;retry-after=7;remaining-requests=0")
		if h := p.header; h.Get("Retry-After") != "" || h.Get("X-Ratelimit-Remaining-Requests") != "" {
			t.Errorf("headers %v", h)
		}
	})
}

func TestCountTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := constant()
		settings.Models = []string{"m", "g-1"}
		s := setup(t, settings)
		for _, test := range []struct {
			path, body, at, want string
			status               int
		}{
			{messagesPath + "/count_tokens?beta=true", `{"model":"m","system":"12345678","messages":[{"role":"user","content":"1234"}]}`, "input_tokens", "3", 200},
			{messagesPath + "/count_tokens", `{"model":"m"}`, "error.type", "invalid_request_error", 400},
			{messagesPath + "/count_tokens", `{"model":"x","messages":[]}`, "error.type", "not_found_error", 404},
			{"/v1beta/models/g-1:countTokens", geminiAsk, "totalTokens", "3", 200},
			{"/v1beta/models/g-1:countTokens", `{"generateContentRequest":` + geminiAsk + `}`, "totalTokens", "3", 200},
		} {
			p := ask(t.Context(), s, "POST", test.path, test.body)
			if p.status != test.status || p.end != 0 {
				t.Errorf("%s: %d after %v", test.path, p.status, p.end)
			}
			wants(t, p.body, map[string]string{test.at: test.want})
		}
		if st := s.Stats(); st.Started != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

// A tool is called when the last message says so, and behind its result the
// answer is text, in every dialect.
func TestDialectTools(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"}}}`
	for _, d := range []struct {
		name, path, stream string
		body               string // %s: the last text; %s: more messages
		result             string
		call, args         string // paths in a whole answer
		piece              string // path of arguments in a stream
	}{
		{"chat", chatPath, chatPath, `{"model":"m","tools":[{"type":"function","function":{"name":"weather","parameters":` + schema + `}}],"messages":[{"role":"user","content":"%s"}%s]}`,
			`,{"role":"tool","tool_call_id":"x","content":"use the tool"}`, "choices.0.message.tool_calls.0.function.name", "choices.0.message.tool_calls.0.function.arguments", "choices.0.delta.tool_calls.0.function.arguments"},
		{"messages", messagesPath, messagesPath, `{"model":"m","max_tokens":99,"tools":[{"name":"weather","input_schema":` + schema + `}],"messages":[{"role":"user","content":"%s"}%s]}`,
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"fine"},{"type":"text","text":"call:weather"}]}`, "content.0.name", "content.0.input", "delta.partial_json"},
		{"responses", responsesPath, responsesPath, `{"model":"m","tools":[{"type":"function","name":"weather","parameters":` + schema + `}],"input":[{"role":"user","content":"%s"}%s]}`,
			`,{"type":"function_call_output","call_id":"x","output":"fine"}`, "output.0.name", "output.0.arguments", "delta"},
		{"gemini", geminiPath, geminiStream, `{"tools":[{"functionDeclarations":[{"name":"weather","parameters":` + strings.ReplaceAll(schema, `"string"`, `"STRING"`) + `}]}],"contents":[{"role":"user","parts":[{"text":"%s"}]}%s]}`,
			`,{"role":"user","parts":[{"functionResponse":{"name":"weather","response":{}}}]}`, "candidates.0.content.parts.0.functionCall.name", "candidates.0.content.parts.0.functionCall.args", ""},
	} {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setup(t, constant())
				for _, test := range []struct {
					name, text, wish, more string
					args                   string // empty: no call
				}{
					{"asked for", `call:weather {\"city\":\"Paris\"} now`, "", "", `{"city":"Paris"}`},
					{"without arguments", `please call:weather`, "", "", `{"city":"Zürich 北"}`},
					{"in so many words", `use the tool`, "", "", `{"city":"Zürich 北"}`},
					{"by the header", `hello`, `weather {"city":"Oslo"}`, "", `{"city":"Oslo"}`},
					{"a tool that is not there", `call:nothing {}`, "nothing", "", ""},
					{"after its result", `call:weather`, "weather", d.result, ""},
				} {
					body := fmt.Sprintf(d.body, test.text, test.more)
					var header []string
					if test.wish != "" {
						header = []string{ToolHeader, test.wish}
					}
					p := ask(t.Context(), s, "POST", d.path, body, header...)
					name, args := gjson.GetBytes(p.body, d.call).Str, gjson.GetBytes(p.body, d.args).String()
					if args != test.args || (name == "weather") != (test.args != "") {
						t.Errorf("%s: %s %s in %s", test.name, name, args, p.body)
					}
					if d.path == d.stream {
						body = streaming(body)
					}
					p = ask(t.Context(), s, "POST", d.stream, body, header...)
					if d.piece == "" {
						events := p.events()
						args = gjson.Get(events[len(events)-1], d.args).String()
					} else if args = p.joined(d.piece); test.args == "" && d.name == "responses" {
						args = "" // its text has the same path
					}
					if args != test.args {
						t.Errorf("%s: streamed %q in\n%s", test.name, args, p.body)
					}
				}
			})
		})
	}
}

func BenchmarkDialects(b *testing.B) {
	for _, d := range []struct{ name, path, body string }{
		{"messages", messagesPath, streaming(messagesAsk)}, {"responses", responsesPath, streaming(responsesAsk)}, {"gemini", geminiStream, geminiAsk},
	} {
		b.Run(d.name, func(b *testing.B) { benchmarkPath(b, d.path, d.body, 200) })
	}
}
