package upstream

import (
	"net/http"
	"testing"

	"github.com/spillway-llm/spillway/internal/edge/wire"
)

func TestAPI(t *testing.T) {
	for _, tt := range []struct {
		api    API
		s      wire.Surface
		path   string // of the surface
		stream bool
		speaks Language
		want   string
	}{
		{OpenAI, wire.ChatCompletions, "/v1/chat/completions", true, Native, "/v1/chat/completions"},
		{OpenAI, wire.Embeddings, "/v1/embeddings", false, Native, "/v1/embeddings"},
		{OpenAI, wire.Messages, "/v1/messages", true, ChatLanguage, "/v1/chat/completions"},
		{OpenAI, wire.Responses, "/v1/responses", true, ChatLanguage, "/v1/chat/completions"},
		{Anthropic, wire.Messages, "/v1/messages", true, Native, "/v1/messages"},
		{Anthropic, wire.ChatCompletions, "/v1/chat/completions", true, MessagesLanguage, "/v1/messages"},
		{Anthropic, wire.Embeddings, "/v1/embeddings", false, NoLanguage, ""},
		{Gemini, wire.Messages, "/v1/messages", true, GeminiLanguage, "/v1beta/models/a/b:streamGenerateContent?alt=sse"},
		{Gemini, wire.Responses, "/v1/responses", false, GeminiLanguage, "/v1beta/models/a/b:generateContent"},
		{Azure, wire.ChatCompletions, "/v1/chat/completions", true, Native, "/openai/deployments/a/b/chat/completions?api-version=2024-10-21"},
		{Azure, wire.Messages, "/v1/messages", true, ChatLanguage, "/openai/deployments/a/b/chat/completions?api-version=2024-10-21"},
		{Azure, wire.Embeddings, "/v1/embeddings", false, Native, "/openai/deployments/a/b/embeddings?api-version=2024-10-21"},
	} {
		l := tt.api.Speaks(tt.s, false)
		if l != tt.speaks {
			t.Errorf("%d %v: speaks %d, want %d", tt.api, tt.s, l, tt.speaks)
		}
		if l == NoLanguage {
			continue
		}
		if got := tt.api.Path(tt.path, l, "a/b", tt.stream, ""); got != tt.want {
			t.Errorf("%d %v: %s, want %s", tt.api, tt.s, got, tt.want)
		}
	}
	if l := OpenAI.Speaks(wire.Responses, true); l != Native {
		t.Errorf("responses offered: %d", l)
	}
	h := http.Header{"Anthropic-Beta": {"x"}}
	OpenAI.Version(h, "")
	if len(h) != 0 {
		t.Errorf("what concerns another provider is sent on: %v", h)
	}
	Anthropic.Version(h, "")
	if h.Get("Anthropic-Version") != "2023-06-01" {
		t.Errorf("no version: %v", h)
	}
}
