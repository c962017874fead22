package compat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// read drains a stream and returns what it adds up to, with its chunks.
func read(t *testing.T, s *ssestream.Stream[openai.ChatCompletionChunk]) (*openai.ChatCompletion, []openai.ChatCompletionChunk) {
	t.Helper()
	defer s.Close()
	var acc openai.ChatCompletionAccumulator
	var chunks []openai.ChatCompletionChunk
	for s.Next() {
		chunks = append(chunks, s.Current())
		if !acc.AddChunk(s.Current()) {
			t.Fatalf("chunk %d does not follow: %s", len(chunks), s.Current().RawJSON())
		}
	}
	if err := s.Err(); err != nil {
		t.Fatalf("stream, after %d chunks: %v", len(chunks), err)
	}
	return &acc.ChatCompletion, chunks
}

// The answer is the upstream's, under the name the caller used.
func TestChat(t *testing.T) {
	r := start(t, setup{})
	got, err := r.client.Chat.Completions.New(limit(t), ask(""))
	if err != nil {
		t.Fatal(err)
	}
	twin := r.twin(quick())
	want, err := twin.Chat.Completions.New(limit(t), ask(""))
	if err != nil {
		t.Fatal(err)
	}
	if got.Choices[0].Message.Content != want.Choices[0].Message.Content || got.ID != want.ID {
		t.Errorf("answer %q, upstream says %q", got.Choices[0].Message.Content, want.Choices[0].Message.Content)
	}
	if got.Model != "chat" {
		t.Errorf("model is %q, the caller asked for chat", got.Model)
	}
	if got.Usage.TotalTokens != want.Usage.TotalTokens || got.Usage.PromptTokens == 0 {
		t.Errorf("usage is %+v, upstream says %+v", got.Usage, want.Usage)
	}
	if got.Choices[0].FinishReason != "stop" {
		t.Errorf("finish reason is %q", got.Choices[0].FinishReason)
	}
}

// What an answer says in its head reaches the caller through the SDK.
func TestHeaders(t *testing.T) {
	r := start(t, setup{tenant: "limits: {rpm: 60, tpm: 100000}"})
	var a attempts
	if _, err := r.client.Chat.Completions.New(limit(t), ask(""), a.watch()); err != nil {
		t.Fatal(err)
	}
	h := a.list()[0].header
	for _, name := range []string{"X-Request-Id", "Server-Timing", "X-Spillway-Decision", "X-Spillway-Estimated-Wait-Ms", "X-Spillway-Model",
		"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens"} {
		if h.Get(name) == "" {
			t.Errorf("header %s is missing", name)
		}
	}
	if got := h.Get("X-Ratelimit-Remaining-Requests"); got != "59" {
		t.Errorf("%s requests remain of 60 after one", got)
	}
}

func TestChatStream(t *testing.T) {
	for _, usage := range []bool{true, false} {
		r := start(t, setup{})
		p := ask("")
		if usage {
			p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		}
		got, chunks := read(t, r.client.Chat.Completions.NewStreaming(limit(t), p))
		twin := r.twin(quick())
		want, err := twin.Chat.Completions.New(limit(t), ask(""))
		if err != nil {
			t.Fatal(err)
		}
		if got.Choices[0].Message.Content != want.Choices[0].Message.Content {
			t.Errorf("streamed %q, whole %q", got.Choices[0].Message.Content, want.Choices[0].Message.Content)
		}
		empty := 0
		for _, c := range chunks {
			if len(c.Choices) == 0 {
				empty++
			}
			if c.Model != "chat" {
				t.Errorf("model of a chunk is %q", c.Model)
			}
		}
		switch { // B025, B031: the usage chunk comes if it was asked for, and only then
		case usage && (empty != 1 || got.Usage.TotalTokens != want.Usage.TotalTokens):
			t.Errorf("usage asked for: %d usage chunks, %+v; want %+v", empty, got.Usage, want.Usage)
		case !usage && (empty != 0 || got.Usage.TotalTokens != 0):
			t.Errorf("usage not asked for: %d chunks without choices, usage %+v", empty, got.Usage)
		}
		r.idle()
		if n := r.metric("spillway_tokens_total", `direction="output"`); n != float64(want.Usage.CompletionTokens) {
			t.Errorf("include_usage %v: %v output tokens counted, upstream says %d", usage, n, want.Usage.CompletionTokens)
		}
	}
}

func TestChoices(t *testing.T) {
	r := start(t, setup{})
	p := ask("")
	p.N = openai.Int(2)
	streamed, _ := read(t, r.client.Chat.Completions.NewStreaming(limit(t), p))
	twin := r.twin(quick())
	whole, err := twin.Chat.Completions.New(limit(t), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(streamed.Choices) != 2 || len(whole.Choices) != 2 {
		t.Fatalf("%d and %d choices, want 2", len(streamed.Choices), len(whole.Choices))
	}
	for i := range whole.Choices {
		got, want := streamed.Choices[i], whole.Choices[i]
		if got.Message.Content != want.Message.Content || got.FinishReason != want.FinishReason {
			t.Errorf("choice %d: streamed %q (%s), whole %q (%s)", i, got.Message.Content, got.FinishReason, want.Message.Content, want.FinishReason)
		}
	}
	if whole.Choices[0].Message.Content == whole.Choices[1].Message.Content {
		t.Error("both choices are the same: nothing was tested")
	}
}

func TestLogprobs(t *testing.T) {
	r := start(t, setup{})
	p := ask("")
	p.Logprobs, p.TopLogprobs = openai.Bool(true), openai.Int(3)
	streamed, _ := read(t, r.client.Chat.Completions.NewStreaming(limit(t), p))
	whole, err := r.client.Chat.Completions.New(limit(t), p)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*openai.ChatCompletion{"streamed": streamed, "whole": whole} {
		var text strings.Builder
		for _, l := range c.Choices[0].Logprobs.Content {
			text.WriteString(l.Token)
			if len(l.TopLogprobs) != 3 {
				t.Fatalf("%s: %d alternatives for %q, want 3", name, len(l.TopLogprobs), l.Token)
			}
		}
		if text.String() != c.Choices[0].Message.Content || text.Len() == 0 {
			t.Errorf("%s: tokens of the logprobs are %q, the text %q", name, text.String(), c.Choices[0].Message.Content)
		}
	}
	plain, err := r.client.Chat.Completions.New(limit(t), ask(""))
	if err != nil {
		t.Fatal(err)
	}
	if raw := plain.Choices[0].JSON.Logprobs.Raw(); raw != "null" {
		t.Errorf("logprobs that were not asked for are %s, want null", raw)
	}
}

// A tool call arrives in fragments and adds up to valid arguments; its result
// goes back in a second request.
func TestTools(t *testing.T) {
	r := start(t, setup{mock: tokenByToken()})
	p := ask("")
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "opening_hours",
		Parameters: shared.FunctionParameters{"type": "object", "required": []string{"city", "days"}, "properties": map[string]any{
			"city": map[string]string{"type": "string"}, "days": map[string]string{"type": "integer"},
		}},
	})}
	p.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: param.NewOpt("required")}
	streamed, chunks := read(t, r.client.Chat.Completions.NewStreaming(limit(t), p))
	whole, err := r.client.Chat.Completions.New(limit(t), p)
	if err != nil {
		t.Fatal(err)
	}
	fragments := 0
	for _, c := range chunks {
		for _, choice := range c.Choices {
			for _, call := range choice.Delta.ToolCalls {
				if call.Function.Arguments != "" {
					fragments++
				}
			}
		}
	}
	if fragments < 2 {
		t.Errorf("arguments came in %d fragments: nothing was tested", fragments)
	}
	for name, c := range map[string]*openai.ChatCompletion{"streamed": streamed, "whole": whole} {
		if c.Choices[0].FinishReason != "tool_calls" || len(c.Choices[0].Message.ToolCalls) != 1 {
			t.Fatalf("%s: finish reason %q, %d calls", name, c.Choices[0].FinishReason, len(c.Choices[0].Message.ToolCalls))
		}
		call := c.Choices[0].Message.ToolCalls[0]
		var args struct {
			City string `json:"city"`
			Days int    `json:"days"`
		}
		if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil || args.City != "Zürich 北" || args.Days != 1 {
			t.Errorf("%s: arguments %q: %+v, %v", name, call.Function.Arguments, args, err)
		}
		if call.Function.Name != "opening_hours" || call.ID == "" {
			t.Errorf("%s: call %q of %q", name, call.ID, call.Function.Name)
		}
	}
	next := ask("")
	next.Messages = append(next.Messages, whole.Choices[0].Message.ToParam(), openai.ToolMessage("9 to 17", whole.Choices[0].Message.ToolCalls[0].ID))
	next.Tools = p.Tools
	answer, err := r.client.Chat.Completions.New(limit(t), next)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Choices[0].Message.Content == "" {
		t.Error("no text after the tool's result")
	}
}

func TestCompletions(t *testing.T) {
	r := start(t, setup{})
	p := openai.CompletionNewParams{
		Model: "chat", Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once upon a time")}, MaxTokens: openai.Int(12),
	}
	s := r.client.Completions.NewStreaming(limit(t), p)
	defer s.Close()
	var text, reason string
	for s.Next() {
		for _, c := range s.Current().Choices {
			text += c.Text
			if c.FinishReason != "" {
				reason = string(c.FinishReason)
			}
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	twin := r.twin(quick())
	whole, err := twin.Completions.New(limit(t), p)
	if err != nil {
		t.Fatal(err)
	}
	if text != whole.Choices[0].Text || text == "" || reason != "length" {
		t.Errorf("streamed %q (%s), whole %q (%s)", text, reason, whole.Choices[0].Text, whole.Choices[0].FinishReason)
	}
}

// Fields that the gateway does not know, and explicit nulls, reach the upstream.
func TestUnknownFields(t *testing.T) {
	bodies := make(chan map[string]json.RawMessage, 1)
	r := start(t, setup{upstream: capture(bodies)})
	_, err := r.client.Chat.Completions.New(limit(t), ask(""), option.WithJSONSet("field_of_tomorrow", map[string]int{"depth": 3}), option.WithJSONSet("seed", nil))
	if err != nil {
		t.Fatal(err)
	}
	got := <-bodies
	if string(got["field_of_tomorrow"]) != `{"depth":3}` || string(got["seed"]) != "null" || string(got["model"]) != `"big-1-int8"` {
		t.Errorf("upstream got %s", got)
	}
}
