package compat

import (
	"net/http/httptest"
	"testing"

	"google.golang.org/genai"

	"github.com/spillway-llm/spillway/internal/mock"
)

// Gemini has no surface here. Its client talks to the mock, so that what the
// gateway is tested against is what the client takes for Gemini.
func TestMockSpeaksGemini(t *testing.T) {
	m, err := mock.New(tokenByToken())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	srv := httptest.NewServer(m)
	defer srv.Close()
	ctx := limit(t)
	c, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: upstreamKey, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: srv.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := c.Models.GenerateContent(ctx, "m", genai.Text(user.user), nil)
	if err != nil {
		t.Fatal(err)
	}
	u := whole.UsageMetadata
	if whole.Text() == "" || whole.Candidates[0].FinishReason != genai.FinishReasonStop || u.PromptTokenCount == 0 || u.CandidatesTokenCount != 40 {
		t.Errorf("%q %s %+v", whole.Text(), whole.Candidates[0].FinishReason, u)
	}
	var text string
	var last *genai.GenerateContentResponse
	for r, err := range c.Models.GenerateContentStream(ctx, "m", genai.Text(user.user), nil) {
		if err != nil {
			t.Fatal(err)
		}
		text += r.Text()
		last = r
	}
	if last == nil || text == "" || last.Candidates[0].FinishReason != genai.FinishReasonStop || last.UsageMetadata.CandidatesTokenCount != 40 {
		t.Errorf("%q %+v", text, last)
	}
	tools := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: toolName, Parameters: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}}},
	}}}}}
	r, err := c.Models.GenerateContent(ctx, "m", genai.Text(call), tools)
	if err != nil {
		t.Fatal(err)
	}
	if calls := r.FunctionCalls(); len(calls) != 1 || calls[0].Name != toolName || calls[0].Args["city"] != `Zürich "北"` {
		t.Errorf("calls %+v", calls)
	}
	if n, err := c.Models.CountTokens(ctx, "m", genai.Text(user.user), nil); err != nil || n.TotalTokens == 0 {
		t.Errorf("count %+v %v", n, err)
	}
}
