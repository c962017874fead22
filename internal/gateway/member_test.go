package gateway

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// What a provider cannot be told is named as the caller wrote it.
func TestMember(t *testing.T) {
	for _, tt := range []struct {
		s          wire.Surface
		path, want string
	}{
		{wire.ChatCompletions, "parallel", "parallel_tool_calls"},
		{wire.ChatCompletions, "turns[3].parts[0].media", "messages"},
		{wire.ChatCompletions, "seed", "seed"},
		{wire.Messages, "stop[1]", "stop_sequences[1]"},
		{wire.Messages, "user", "metadata.user_id"},
		{wire.Responses, "system[0]", "instructions"},
		{wire.Responses, "", ""},
	} {
		if got := member(tt.s, tt.path); got != tt.want {
			t.Errorf("%s on surface %d is %s, want %s", tt.path, tt.s, got, tt.want)
		}
	}
}

// A refusal and a hint of a translated request use the caller's words; headers
// of a provider of another dialect mean nothing on the caller's surface.
func TestTranslatedWords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const answer = `{"candidates":[{"content":{"parts":[{"text":"hi"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":5,"totalTokenCount":9}}`
		up := inTurn(
			reply(200, "application/json", answer, "Openai-Version", "2020-10-01"),
			reply(200, "text/event-stream", "data: "+answer+"\n\n", "Openai-Version", "2020-10-01"),
		)
		r := setup(t, kind("gemini", ""), up)
		a := r.ask(messagesPath, `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`)
		if want := "tool_choice.disable_parallel_tool_use"; a.status != 400 || gjson.Get(a.body, "error.param").Str != want || !strings.HasPrefix(gjson.Get(a.body, "error.message").Str, want) {
			t.Errorf("%d %s", a.status, a.body)
		}
		for _, stream := range []string{"false", "true"} {
			a = r.ask(messagesPath, `{"model":"chat","stream":`+stream+`,"max_tokens":5,"messages":[{"role":"user","content":"hi"}],"metadata":{"user_id":"u"}}`)
			if a.status != 200 || a.header.Get("X-Spillway-Dropped") != "metadata.user_id" || a.header.Get("Openai-Version") != "" {
				t.Errorf("%d %v %s", a.status, a.header, a.body)
			}
		}
	})
}
