package compat

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
)

// B154: an embedding is a list of numbers, or base64 of the same numbers when
// that was asked for, as the Python and npm clients do by default.
func TestEmbeddings(t *testing.T) {
	r := start(t, setup{})
	p := openai.EmbeddingNewParams{
		Model: "chat", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a ship", "a café"}}, Dimensions: openai.Int(8),
	}
	floats, err := r.client.Embeddings.New(limit(t), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(floats.Data) != 2 || len(floats.Data[1].Embedding) != 8 || floats.Model != "chat" || floats.Usage.TotalTokens == 0 {
		t.Fatalf("embeddings: %s", floats.RawJSON())
	}
	// The client has no type for base64, so the raw answer of a twin is read.
	twin := r.twin(quick())
	p.EncodingFormat = openai.EmbeddingNewParamsEncodingFormatFloat
	want, err := twin.Embeddings.New(limit(t), p)
	if err != nil {
		t.Fatal(err)
	}
	fresh := start(t, setup{})
	p.EncodingFormat = openai.EmbeddingNewParamsEncodingFormatBase64
	var raw struct {
		Data []struct{ Embedding string }
	}
	if _, err := fresh.client.Embeddings.New(limit(t), p, option.WithResponseBodyInto(&raw)); err != nil {
		t.Fatal(err)
	}
	for i, d := range raw.Data {
		b, err := base64.StdEncoding.DecodeString(d.Embedding)
		if err != nil || len(b) != 4*8 {
			t.Fatalf("embedding %d: %d bytes, %v", i, len(b), err)
		}
		for k, w := range want.Data[i].Embedding {
			if x := math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:])); x != float32(w) {
				t.Fatalf("embedding %d, number %d is %v in base64 and %v as a list", i, k, x, w)
			}
		}
	}
}

func TestModels(t *testing.T) {
	r := start(t, setup{})
	page, err := r.client.Models.List(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Data) != 1 || page.Data[0].ID != "chat" || page.Data[0].Object != "model" {
		t.Errorf("models: %s; the one is chat, and no name of the upstream's", page.RawJSON())
	}
	m, err := r.client.Models.Get(limit(t), "chat")
	if err != nil || m.ID != "chat" {
		t.Errorf("get chat: %v, %v", m, err)
	}
	_, err = r.client.Models.Get(limit(t), "no-such-model")
	if e := apiError(t, err); e.StatusCode != http.StatusNotFound || e.Code != "model_not_found" {
		t.Errorf("get an unknown model: %d %s", e.StatusCode, e.Code)
	}
}

// Every error is one that the client understands, and tells an id to ask about.
// None of these is tried again.
func TestErrors(t *testing.T) {
	r := start(t, setup{rest: "limits: {body: 8KiB}"})
	unknown, large := ask(""), ask("")
	unknown.Model = "gpt-unknown"
	large.Messages[0] = openai.UserMessage(strings.Repeat("words ", 4000))
	for _, tt := range []struct {
		name   string
		key    string
		params openai.ChatCompletionNewParams
		option option.RequestOption
		status int
		code   string
		says   string
	}{
		{"key", "sk-of-nobody", ask(""), nil, 401, "invalid_api_key", "key"},
		{"model", key, unknown, nil, 404, "model_not_found", "gpt-unknown"},
		{"type", key, ask(""), option.WithJSONSet("n", "two"), 400, "", "n"},
		{"spelling", key, ask(""), option.WithJSONSet("Model", "x"), 400, "", "case"},
		{"size", key, large, nil, 413, "request_too_large", "8192"},
		// B061: the only upstream's own refusal, in its own words
		{"upstream", key, ask("400"), nil, 400, "context_length_exceeded", "400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a attempts
			options := []option.RequestOption{a.watch(), option.WithMaxRetries(2)}
			if tt.option != nil {
				options = append(options, tt.option)
			}
			c := r.dial(tt.key)
			_, err := c.Chat.Completions.New(limit(t), tt.params, options...)
			e := apiError(t, err)
			if e.StatusCode != tt.status || tt.code != "" && e.Code != tt.code || !strings.Contains(e.Message, tt.says) {
				t.Errorf("%d %q %q; want %d %q and a word about %q", e.StatusCode, e.Code, e.Message, tt.status, tt.code, tt.says)
			}
			if e.Type == "" || !e.JSON.Param.Valid() && e.JSON.Param.Raw() != "null" {
				t.Errorf("type and param are part of every error: %s", e.RawJSON())
			}
			if e.Response.Header.Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
			if n := len(a.list()); n != 1 {
				t.Errorf("%d attempts; the client should not try again", n)
			}
			s := c.Chat.Completions.NewStreaming(limit(t), tt.params, options...)
			defer s.Close()
			if s.Next() {
				t.Fatal("a stream began")
			}
			if e := apiError(t, s.Err()); e.StatusCode != tt.status {
				t.Errorf("asked for a stream: %d", e.StatusCode)
			}
		})
	}
}

// An image or a list of parts is nobody's business but the upstream's.
func TestParts(t *testing.T) {
	bodies := make(chan map[string]json.RawMessage, 1)
	r := start(t, setup{upstream: capture(bodies)})
	p := ask("")
	p.Messages = []openai.ChatCompletionMessageParamUnion{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("What is this?"),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64,iVBORw0KGgo="}),
	})}
	p.ServiceTier = openai.ChatCompletionNewParamsServiceTierFlex
	p.Seed = param.NewOpt[int64](3)
	if _, err := r.client.Chat.Completions.New(limit(t), p); err != nil {
		t.Fatal(err)
	}
	got := <-bodies
	if !strings.Contains(string(got["messages"]), "data:image/png;base64,iVBORw0KGgo=") {
		t.Errorf("upstream got %s", got["messages"])
	}
}
