package upstream

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// API is the kind of a provider: where its endpoints are, and how it takes a key.
type API uint8

const (
	OpenAI    API = iota // and all that is compatible: vLLM, SGLang, Ollama, llama.cpp
	Anthropic            // native messages
	Gemini               // native generateContent
	Azure                // OpenAI's models by deployment, with a version in the query
)

// Language is what a body to or from a provider is written in.
type Language uint8

const (
	Native            Language = iota // that of the surface itself: passed on byte for byte
	ChatLanguage                      // chat completions
	MessagesLanguage                  // Anthropic's
	ResponsesLanguage                 // OpenAI's responses
	GeminiLanguage                    // generateContent
	NoLanguage                        // the provider cannot serve the surface
)

// Speaks says in which language a request of the surface goes to the provider.
// responses says that it offers the Responses API.
func (a API) Speaks(s wire.Surface, responses bool) Language {
	switch a {
	case Anthropic:
		switch s {
		case wire.Messages:
			return Native
		case wire.ChatCompletions, wire.Responses:
			return MessagesLanguage
		}
	case Gemini:
		switch s {
		case wire.ChatCompletions, wire.Messages, wire.Responses:
			return GeminiLanguage
		}
	default:
		switch {
		case s == wire.ChatCompletions, s == wire.Completions, s == wire.Embeddings, s == wire.Responses && responses:
			return Native
		case s == wire.Messages, s == wire.Responses:
			return ChatLanguage
		}
	}
	return NoLanguage
}

// AuthHeader is where the key goes; Authorization means as a bearer token.
func (a API) AuthHeader() string {
	switch a {
	case Anthropic:
		return "X-Api-Key"
	case Gemini:
		return "X-Goog-Api-Key"
	case Azure:
		return "Api-Key"
	}
	return "Authorization"
}

// defaultVersion is the version of an API that is asked for if none is configured.
func (a API) defaultVersion() string {
	switch a {
	case Anthropic:
		return "2023-06-01"
	case Azure:
		return "2024-10-21"
	}
	return ""
}

// Path is the endpoint for a call: path is that of the surface, which holds for
// OpenAI's own.
func (a API) Path(path string, l Language, model string, stream bool, version string) string {
	if version == "" {
		version = a.defaultVersion()
	}
	switch {
	case a == Gemini:
		path = "/v1beta/models/" + segment(strings.TrimPrefix(model, "models/"))
		if stream {
			return path + ":streamGenerateContent?alt=sse"
		}
		return path + ":generateContent"
	case a == Anthropic:
		return "/v1/messages"
	}
	if l == ChatLanguage {
		path = "/v1/chat/completions"
	}
	if a == Azure {
		return "/openai/deployments/" + segment(model) + strings.TrimPrefix(path, "/v1") + "?api-version=" + url.QueryEscape(version)
	}
	return path
}

// segment is a model's name as a part of a path; what would end the path is cut.
func segment(model string) string {
	if i := strings.IndexAny(model, "?#"); i >= 0 {
		model = model[:i]
	}
	return model
}

// Version puts the version of the API into the headers of a call, where it
// belongs there and the caller named none.
func (a API) Version(h http.Header, version string) {
	if a != Anthropic {
		h.Del("Anthropic-Version")
		h.Del("Anthropic-Beta")
		return
	}
	if version == "" {
		version = a.defaultVersion()
	}
	if h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", version)
	}
}
