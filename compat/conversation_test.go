package compat

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
)

// agency is a gateway before a model of one kind of provider and a smaller one
// of another, whose upstreams refuse every conversation that providers would.
type agency struct {
	*rig
	gateway    *gateway.Gateway
	big, small *provider
	text       string
}

// money is a budget of a dollar, of which each call takes a cent: it leads down
// the ladder step by step, whatever the machine's speed.
const money = "{hour: 1, soft: 30%}"

func startAgency(t *testing.T, big, small string) *agency {
	t.Helper()
	a := &agency{rig: &rig{t: t}}
	s := tokenByToken()
	s.Strict, s.Thoughts, s.PerInput = true, true, time.Nanosecond
	a.big, a.small = a.provider(s), a.provider(s)
	a.text = fmt.Sprintf(`
providers:
  first: {base_url: "%s", api_key: %s, kind: %s}
  second: {base_url: "%s", api_key: %s, kind: %s}
models:
  chat:
    deployments: [{provider: first, model: vendor-big-1, concurrency: 8, price: {request: 0.01}}]
    prior: {first_token: 5ms, per_output_token: 500us, output_tokens: 40}
    ladder: {hold: 100ms}
    degrade:
      - {name: short-history, max_turns: 30}
      - {name: trim, max_input_tokens: 8000}
      - {name: smaller, model: small}
  small:
    deployments: [{provider: second, model: vendor-small-1, concurrency: 8, price: {request: 0.01}}]
    prior: {first_token: 5ms, per_output_token: 500us, output_tokens: 40}
tenants:
  - {name: team, keys: ["%s"], degrade: any, budget: BUDGET}
`, a.big.url, upstreamKey, big, a.small.url, upstreamKey, small, config.HashKey(key))
	g, err := gateway.New(a.config(money), gateway.Options{Log: telemetry.NewLogger(io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	public := httptest.NewServer(g.Handler())
	t.Cleanup(public.Close)
	t.Cleanup(public.CloseClientConnections)
	a.gateway, a.url = g, public.URL+"/v1"
	return a
}

func (a *agency) config(budget string) *config.Config {
	c, err := config.Parse("test", []byte(strings.Replace(a.text, "BUDGET", budget, 1)), func(string) (string, bool) { return "", false })
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// agent is a client that goes on with its conversation: it asks with text and
// perhaps a picture, and has the calls of tools that are wished for in the text
// answered until there is an answer in words.
type agent interface {
	turn(text string, picture, stream bool) (answer string, calls int, heads []http.Header)
}

// converse has a hundred turns and more: as asked, with less of the history,
// moved to the small model, and back at the big one when there is money again.
func (a *agency) converse(x agent) {
	t := a.t
	var stages []string
	raised, home := false, 0
	for n := 0; n < 100 || home < 10; n++ {
		if n > 300 {
			t.Fatalf("it does not come back: %v", stages)
		}
		text := fmt.Sprintf("Turn %d. %s", n, strings.Repeat("Some more of what the work is about. ", 30))
		want := 0
		switch n % 6 {
		case 2:
			text, want = text+` call:opening_hours`, 1
		case 5:
			text, want = text+` call:opening_hours call:opening_hours`, 2
		}
		answer, calls, heads := x.turn(text, n%10 == 4, n%2 == 1)
		if answer == "" || calls < min(want, 1) {
			t.Fatalf("turn %d: answer %q after %d calls of tools, want %d", n, answer, calls, want)
		}
		models := map[string]bool{}
		for _, h := range heads {
			models[h.Get("X-Spillway-Model")] = true
			stage := h.Get("X-Spillway-Degraded")
			if len(stages) == 0 || stages[len(stages)-1] != stage {
				stages = append(stages, stage)
			}
			if moved := strings.Contains(stage, "smaller"); moved != (h.Get("X-Spillway-Model") == "vendor-small-1") {
				t.Errorf("turn %d: %q by %s", n, stage, h.Get("X-Spillway-Model"))
			}
		}
		if raised && len(models) > 1 {
			t.Errorf("turn %d: it goes back in the midst of a turn", n)
		}
		if heads[0].Get("X-Spillway-Degraded") == "" && raised {
			home++
		}
		if n > 60 && !raised && strings.Contains(heads[len(heads)-1].Get("X-Spillway-Degraded"), "smaller") {
			raised = true
			if err := a.gateway.Apply(a.config("{hour: 1000}")); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := func(from int, is func(string) bool) int {
		i := slices.IndexFunc(stages[from:], is)
		if i < 0 {
			t.Fatalf("the conversation went through %q", stages)
		}
		return from + i
	}
	i := at(0, func(s string) bool { return s == "" })
	i = at(i, func(s string) bool { return strings.Contains(s, "trim") && !strings.Contains(s, "smaller") })
	i = at(i, func(s string) bool { return strings.Contains(s, "smaller") })
	at(i, func(s string) bool { return s == "" })
}

// hours is the result of a call, as long as those of agents are.
var hours = strings.Repeat("Monday to Friday "+toolResult+"; ", 60)

// dot is a picture of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Each client, from a provider that speaks its language and from one that does not.
func TestConversation(t *testing.T) {
	for _, pair := range [][2]string{{"openai", "anthropic"}, {"anthropic", "openai"}} {
		t.Run("chat, "+pair[0]+" to "+pair[1], func(t *testing.T) {
			a := startAgency(t, pair[0], pair[1])
			a.converse(&chatAgent{agency: a, client: a.dial(key, openaioption.WithHeader("X-Spillway-Session", "s"))})
		})
		t.Run("messages, "+pair[0]+" to "+pair[1], func(t *testing.T) {
			a := startAgency(t, pair[0], pair[1])
			a.converse(&claudeAgent{agency: a, client: a.dialClaude(key, option.WithHeader("X-Spillway-Session", "s"))})
		})
	}
}

type chatAgent struct {
	*agency
	client  openai.Client
	history []openai.ChatCompletionMessageParamUnion
}

func (x *chatAgent) turn(text string, picture, stream bool) (answer string, calls int, heads []http.Header) {
	if x.history == nil {
		x.history = append(x.history, openai.SystemMessage("You help at the office."))
	}
	parts := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(text)}
	if picture {
		parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + dot}))
	}
	x.history = append(x.history, openai.UserMessage(parts))
	for {
		m, head := x.ask(stream)
		heads = append(heads, head)
		x.history = append(x.history, m.ToParam())
		if len(m.ToolCalls) == 0 {
			return m.Content, calls, heads
		}
		for _, c := range m.ToolCalls {
			calls++
			x.history = append(x.history, openai.ToolMessage(hours, c.ID))
		}
	}
}

func (x *chatAgent) ask(stream bool) (openai.ChatCompletionMessage, http.Header) {
	p := openai.ChatCompletionNewParams{
		Model: "chat", Messages: x.history, MaxCompletionTokens: openai.Int(2000),
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: toolName, Parameters: openai.FunctionParameters{"type": "object", "properties": toolSchema, "required": toolNeeds},
		})},
	}
	var resp *http.Response
	if !stream {
		answer, err := x.client.Chat.Completions.New(limit(x.t), p, openaioption.WithResponseInto(&resp))
		if err != nil {
			x.t.Fatal(err)
		}
		return answer.Choices[0].Message, resp.Header
	}
	s := x.client.Chat.Completions.NewStreaming(limit(x.t), p, openaioption.WithResponseInto(&resp))
	var all openai.ChatCompletionAccumulator
	for s.Next() {
		if !all.AddChunk(s.Current()) {
			x.t.Fatalf("the client could not add %s", s.Current().RawJSON())
		}
	}
	if err := s.Err(); err != nil || len(all.Choices) == 0 {
		x.t.Fatalf("%v, %d choices", err, len(all.Choices))
	}
	return all.Choices[0].Message, resp.Header
}

type claudeAgent struct {
	*agency
	client  anthropic.Client
	history []anthropic.MessageParam
}

func (x *claudeAgent) turn(text string, picture, stream bool) (answer string, calls int, heads []http.Header) {
	content := []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(text)}
	if picture {
		content = append([]anthropic.ContentBlockParamUnion{anthropic.NewImageBlockBase64("image/png", dot)}, content...)
	}
	x.history = append(x.history, anthropic.NewUserMessage(content...))
	for {
		m, head := x.ask(stream)
		heads = append(heads, head)
		x.history = append(x.history, m.ToParam())
		var results []anthropic.ContentBlockParamUnion
		answer = ""
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				answer += b.Text
			case "tool_use":
				calls++
				results = append(results, anthropic.NewToolResultBlock(b.ID, hours, false))
			}
		}
		if len(results) == 0 {
			return answer, calls, heads
		}
		x.history = append(x.history, anthropic.NewUserMessage(results...))
	}
}

func (x *claudeAgent) ask(stream bool) (*anthropic.Message, http.Header) {
	p := anthropic.MessageNewParams{
		Model: "chat", MaxTokens: 4000, Messages: x.history, System: []anthropic.TextBlockParam{{Text: "You help at the office."}},
		Thinking: anthropic.ThinkingConfigParamOfEnabled(1024),
		Tools:    []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: toolSchema, Required: toolNeeds}, toolName)},
	}
	var resp *http.Response
	if !stream {
		m, err := x.client.Messages.New(limit(x.t), p, option.WithResponseInto(&resp))
		if err != nil {
			x.t.Fatal(err)
		}
		return m, resp.Header
	}
	s := x.client.Messages.NewStreaming(limit(x.t), p, option.WithResponseInto(&resp))
	var m anthropic.Message
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			x.t.Fatal(err)
		}
	}
	if err := s.Err(); err != nil || m.StopReason == "" {
		x.t.Fatalf("%v, stopped by %q", err, m.StopReason)
	}
	return &m, resp.Header
}
