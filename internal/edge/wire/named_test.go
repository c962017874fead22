package wire

import (
	"encoding/json"
	"testing"
)

// Streams of messages and responses are passed on with the caller's model; usage
// comes from wherever it stands, and text is not looked into.
func TestNamed(t *testing.T) {
	type step struct {
		name, data string
		want       string // rewritten; "" is unchanged
		usage      Usage
		failed     bool
		finished   bool
	}
	for surface, steps := range map[Surface][]step{
		Messages: {
			{"message_start", `{"type":"message_start","message":{"id":"msg_1","model":"vendor-1","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}`,
				`{"type":"message_start","message":{"id":"msg_1","model":"alias","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}`, Usage{Input: 17, Output: 1, Cached: 5, CacheWrite: 2, Known: true}, false, false},
			{"content_block_delta", `{"type":"content_block_delta","delta":{"text":"\"model\":\"x\",\"usage\":{\"output_tokens\":9}"}}`, "", Usage{}, false, false},
			{"ping", `{"type":"ping"}`, "", Usage{}, false, false},
			{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":44,"output_tokens_details":{"thinking_tokens":30}}}`, "", Usage{Input: 17, Output: 44, Cached: 5, CacheWrite: 2, Reasoning: 30, Known: true}, false, false},
			{"message_delta", `{"type":"message_delta","usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":45}}`, "", Usage{Input: 17, Output: 45, Cached: 5, CacheWrite: 2, Reasoning: 30, Known: true}, false, false}, // of servers that tell the input only at the start
			{"message_delta", `{"type":"message_delta","usage":{"input_tokens":11,"output_tokens":46}}`, "", Usage{Input: 18, Output: 46, Cached: 5, CacheWrite: 2, Reasoning: 30, Known: true}, false, false},
			{"message_stop", `{"type":"message_stop"}`, "", Usage{}, false, true},
			{"error", `{"type":"error","error":{"type":"overloaded_error"}}`, "", Usage{}, true, false},
			{"message_start", `not json`, "", Usage{}, false, false},
		},
		Responses: {
			{"response.created", `{"type":"response.created","response":{"model":"vendor-1","usage":null}}`, `{"type":"response.created","response":{"model":"alias","usage":null}}`, Usage{}, false, false},
			{"response.output_text.delta", `{"delta":"\"model\":1"}`, "", Usage{}, false, false},
			{"response.completed", `{"response":{"model":"alias","usage":{"input_tokens":7,"output_tokens":3,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"output_tokens_details":{"reasoning_tokens":1}}}}`, "", Usage{Input: 7, Output: 3, Cached: 4, CacheWrite: 2, Reasoning: 1, Known: true}, false, true},
			{"response.failed", `{"response":{"model":"vendor-1"}}`, "", Usage{}, true, false},
		},
	} {
		n := Named{Surface: surface}
		for _, s := range steps {
			e := n.Read([]byte(s.name), []byte(s.data))
			want := s.want
			if want == "" {
				want = s.data
			}
			if got := string(e.Rewrite("alias", nil)); got != want || e.Usage != s.usage || e.Failed != s.failed || e.Finished != s.finished {
				t.Errorf("%v %s: %+v, as %s", surface, s.name, e, got)
			}
		}
	}
	body := []byte(`{"id":"msg_1","model":"v","usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":6,"output_tokens":5}}`)
	if u, ok := Messages.AnswerUsage(body); !ok || u != (Usage{Input: 13, Output: 5, Cached: 4, CacheWrite: 6, Known: true}) {
		t.Errorf("usage of a whole message %+v", u)
	}
}

// A stream of an event's name costs nothing when it carries text.
func BenchmarkNamedDelta(b *testing.B) {
	data := []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few words of an answer"}}`)
	n := Named{Surface: Messages}
	b.ReportAllocs()
	for b.Loop() {
		e := n.Read([]byte("content_block_delta"), data)
		e.Rewrite("alias", nil)
	}
}

// TestErrorForms: each surface has its own shape, status and header.
func TestErrorForms(t *testing.T) {
	for _, tt := range []struct {
		e      Error
		status int
		kind   string
	}{
		{Error{Status: 429, Code: "overloaded"}, 529, "overloaded_error"},
		{Error{Status: 429, Code: "rate_limit_exceeded"}, 429, "rate_limit_error"},
		{Error{Status: 503, Code: "service_unavailable"}, 529, "overloaded_error"},
		{Error{Status: 402, Code: "insufficient_quota"}, 402, "billing_error"},
		{Error{Status: 504}, 504, "timeout_error"},
		{Error{Status: 400}, 400, "invalid_request_error"},
		{Error{Status: 401}, 401, "authentication_error"},
		{Error{Status: 403}, 403, "permission_error"},
		{Error{Status: 404}, 404, "not_found_error"},
		{Error{Status: 413}, 413, "request_too_large"},
		{Error{Status: 500}, 500, "api_error"},
		{Error{Status: 502}, 502, "api_error"},
	} {
		e := tt.e
		e.Surface, e.Message, e.RequestID = Messages, "why", "req_1"
		var body struct {
			Type  string
			Error struct{ Type, Message string }
			ID    string `json:"request_id"`
		}
		if err := json.Unmarshal(e.Body(), &body); err != nil {
			t.Fatal(err)
		}
		if body.Type != "error" || body.Error.Type != tt.kind || body.Error.Message != "why" || body.ID != "req_1" || e.HTTPStatus() != tt.status {
			t.Errorf("%+v: %d %+v", tt.e, e.HTTPStatus(), body)
		}
	}
	e := Error{Surface: Responses, Code: "server_error", Message: "m"}
	if got := string(e.Event()); got != "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"m\",\"param\":null,\"sequence_number\":0}\n\n" {
		t.Errorf("%q", got)
	}
}

// TestNewSurfaces: what is read of bodies of messages and responses.
func TestNewSurfaces(t *testing.T) {
	e, err := Parse(Messages, []byte(`{"model":"m","max_tokens":50,"system":"be kind","messages":[{"role":"user","content":"hi"}],"stream":true,"tools":[{"name":"f","input_schema":{}}]}`))
	if err != nil || e.MaxOutput != 50 || !e.Stream || e.Input < 5 {
		t.Errorf("%+v %v", e, err)
	}
	e, err = Parse(Responses, []byte(`{"model":"m","max_output_tokens":60,"instructions":"be kind","input":"hi","background":false}`))
	if err != nil || e.MaxOutput != 60 || e.Input < 2 {
		t.Errorf("%+v %v", e, err)
	}
	for _, tt := range []struct {
		s           Surface
		body, param string
	}{
		{Messages, `{"model":"m","messages":[{}]}`, "max_tokens"},
		{Messages, `{"model":"m","max_tokens":5,"messages":"hi"}`, "messages"},
		{Responses, `{"model":"m","input":"hi","background":true}`, "background"},
		{Responses, `{"model":"m"}`, "input"},
	} {
		if _, err := Parse(tt.s, []byte(tt.body)); err == nil || err.Param != tt.param {
			t.Errorf("%s: %v", tt.body, err)
		}
	}
	if _, err := Parse(CountTokens, []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)); err != nil {
		t.Errorf("count_tokens needs no max_tokens: %v", err)
	}
}
