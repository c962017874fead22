package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	claude "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// question is what a caller asks, in no client's words.
type question struct {
	system, user string
	image        string // a URL, or data:image/png;base64,...
	schema       bool   // the answer is to be JSON
	tool         bool   // one is offered
	before       *reply // whose calls were made, and have the results below
	set          map[string]any
}

const (
	toolName   = "opening_hours"
	toolResult = "from 9 to 17"
	schemaWord = "opens_at"
)

var (
	toolSchema   = map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer"}}
	toolNeeds    = []string{"city", "days"}
	answerSchema = map[string]any{
		"type": "object", "required": []string{schemaWord}, "additionalProperties": false,
		"properties": map[string]any{schemaWord: map[string]any{"type": "string"}},
	}
)

// reply is what a client made of an answer.
type reply struct {
	id, model, text string
	calls           []called
	stop            string // in the words of the surface
	in, out         int64  // tokens
	header          http.Header
	raw             string // the bytes of the answer
}

type called struct{ id, name, args string }

// refusal is what a client made of an error.
type refusal struct {
	status                int
	kind, code, param, id string
}

// speaker is an official client of one surface.
type speaker interface {
	ask(ctx context.Context, q question, stream bool) (*reply, error)
	refused(err error) (refusal, bool)
	// words of a surface: how an id begins, and why an answer stops at its end,
	// at its cap, and for a tool.
	words() (id, end, length, tool string)
}

// tape keeps the head and the bytes of the last answer.
type tape struct {
	next   http.RoundTripper
	header http.Header
	status int
	body   bytes.Buffer
}

func (t *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	t.body.Reset()
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		t.header, t.status = resp.Header, resp.StatusCode
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, &t.body), resp.Body}
	}
	return resp, err
}

// speakers are the clients of a gateway, by surface.
func (r *rig) speakers() map[string]func() (speaker, *tape) {
	dial := func() (*http.Client, *tape) {
		transport := &http.Transport{}
		r.t.Cleanup(transport.CloseIdleConnections)
		t := &tape{next: transport}
		return &http.Client{Transport: t}, t
	}
	return map[string]func() (speaker, *tape){
		"chat": func() (speaker, *tape) {
			c, t := dial()
			return chatSpeaker{r.dial(key, option.WithHTTPClient(c)), t}, t
		},
		"responses": func() (speaker, *tape) {
			c, t := dial()
			return responseSpeaker{r.dial(key, option.WithHTTPClient(c)), t}, t
		},
		"messages": func() (speaker, *tape) {
			c, t := dial()
			return messageSpeaker{r.dialClaude(key, claude.WithHTTPClient(c)), t}, t
		},
	}
}

// dialClaude makes a client of Anthropic's; an empty key is left to an option. It
// does not retry unless an option says so.
func (r *rig) dialClaude(key string, more ...claude.RequestOption) anthropic.Client {
	transport := &http.Transport{}
	r.t.Cleanup(transport.CloseIdleConnections)
	if key != "" {
		more = append(more, claude.WithAPIKey(key))
	}
	return anthropic.NewClient(append([]claude.RequestOption{
		claude.WithoutEnvironmentDefaults(), claude.WithBaseURL(strings.TrimSuffix(r.url, "/v1")),
		claude.WithMaxRetries(0), claude.WithHTTPClient(&http.Client{Transport: transport}),
	}, more...)...)
}

type chatSpeaker struct {
	client openai.Client
	*tape
}

func (chatSpeaker) words() (id, end, length, tool string) {
	return "chatcmpl-", "stop", "length", "tool_calls"
}

func (s chatSpeaker) ask(ctx context.Context, q question, stream bool) (*reply, error) {
	p := openai.ChatCompletionNewParams{Model: "chat"}
	if q.system != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(q.system))
	}
	if q.image == "" {
		p.Messages = append(p.Messages, openai.UserMessage(q.user))
	} else {
		p.Messages = append(p.Messages, openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart(q.user), openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: q.image}),
		}))
	}
	if q.before != nil {
		var said openai.ChatCompletionMessage
		if err := json.Unmarshal([]byte(q.before.raw), &said); err != nil {
			return nil, err
		}
		p.Messages = append(p.Messages, said.ToParam())
		for _, c := range q.before.calls {
			p.Messages = append(p.Messages, openai.ToolMessage(toolResult, c.id))
		}
	}
	if q.tool {
		p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: toolName, Description: openai.String("When the office is open."),
			Parameters: shared.FunctionParameters{"type": "object", "properties": toolSchema, "required": toolNeeds},
		})}
	}
	if q.schema {
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "hours", Schema: answerSchema, Strict: openai.Bool(true)},
		}
	}
	var answer *openai.ChatCompletion
	if stream {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
		st := s.client.Chat.Completions.NewStreaming(ctx, p, members(q)...)
		defer st.Close()
		var acc openai.ChatCompletionAccumulator
		for st.Next() {
			if !acc.AddChunk(st.Current()) {
				return nil, fmt.Errorf("a chunk does not follow: %s", st.Current().RawJSON())
			}
		}
		if err := st.Err(); err != nil {
			return nil, err
		}
		answer = &acc.ChatCompletion
	} else {
		var err error
		if answer, err = s.client.Chat.Completions.New(ctx, p, members(q)...); err != nil {
			return nil, err
		}
	}
	if len(answer.Choices) == 0 {
		return nil, errors.New("no choices")
	}
	m := answer.Choices[0].Message
	r := &reply{id: answer.ID, model: answer.Model, text: m.Content, stop: answer.Choices[0].FinishReason,
		in: answer.Usage.PromptTokens, out: answer.Usage.CompletionTokens, header: s.header}
	if answer.Usage.TotalTokens != r.in+r.out {
		return nil, fmt.Errorf("usage does not add up: %+v", answer.Usage)
	}
	said := map[string]any{"role": "assistant"}
	var calls []any
	for _, c := range m.ToolCalls {
		r.calls = append(r.calls, called{c.ID, c.Function.Name, c.Function.Arguments})
		calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Function.Name, "arguments": c.Function.Arguments}})
	}
	if calls != nil {
		said["tool_calls"] = calls
	} else {
		said["content"] = m.Content
	}
	b, err := json.Marshal(said)
	r.raw = string(b)
	return r, err
}

// members are the options that set further members of a body.
func members(q question) (out []option.RequestOption) {
	for name, v := range q.set {
		out = append(out, option.WithJSONSet(name, v))
	}
	return out
}

func (chatSpeaker) refused(err error) (refusal, bool) { return refusedByOpenAI(err) }

func refusedByOpenAI(err error) (refusal, bool) {
	var e *openai.Error
	if !errors.As(err, &e) {
		return refusal{}, false
	}
	return refusal{e.StatusCode, e.Type, e.Code, e.Param, e.Response.Header.Get("X-Request-Id")}, true
}

type responseSpeaker struct {
	client openai.Client
	*tape
}

func (responseSpeaker) words() (id, end, length, tool string) {
	return "resp_", "completed", "incomplete", "completed"
}

func (responseSpeaker) refused(err error) (refusal, bool) { return refusedByOpenAI(err) }

func (s responseSpeaker) ask(ctx context.Context, q question, stream bool) (*reply, error) {
	p := responses.ResponseNewParams{Model: "chat", Store: openai.Bool(false)}
	if q.system != "" {
		p.Instructions = openai.String(q.system)
	}
	content := responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText(q.user)}
	if q.image != "" {
		image := responses.ResponseInputContentParamOfInputImage("auto")
		image.OfInputImage.ImageURL = openai.String(q.image)
		content = append(content, image)
	}
	items := []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfMessage(content, "user")}
	if q.before != nil {
		for _, c := range q.before.calls {
			items = append(items, responses.ResponseInputItemParamOfFunctionCall(c.args, c.id, c.name))
		}
		for _, c := range q.before.calls {
			out := responses.ResponseInputItemParamOfFunctionCallOutput(toolResult)
			out.OfFunctionCallOutput.CallID = openai.String(c.id)
			items = append(items, out)
		}
	}
	p.Input.OfInputItemList = items
	if q.tool {
		p.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction(toolName, map[string]any{"type": "object", "properties": toolSchema, "required": toolNeeds, "additionalProperties": false}, true)}
	}
	if q.schema {
		p.Text.Format = responses.ResponseFormatTextConfigParamOfJSONSchema("hours", answerSchema)
	}
	var answer *responses.Response
	if stream {
		st := s.client.Responses.NewStreaming(ctx, p, members(q)...)
		defer st.Close()
		var acc responses.ResponseAccumulator
		var deltas, args strings.Builder
		next := int64(0)
		for st.Next() {
			e := st.Current()
			if e.SequenceNumber != next {
				return nil, fmt.Errorf("event %d has the number %d: %s", next, e.SequenceNumber, e.RawJSON())
			}
			next++
			var event responses.ResponsesServerEventUnion
			if err := json.Unmarshal([]byte(e.RawJSON()), &event); err != nil {
				return nil, err
			}
			if err := acc.AddEvent(event); err != nil {
				return nil, err
			}
			switch e.Type {
			case "response.output_text.delta":
				deltas.WriteString(e.Delta)
			case "response.function_call_arguments.delta":
				args.WriteString(e.Delta)
			}
		}
		if err := st.Err(); err != nil {
			return nil, err
		}
		var err error
		if answer, err = acc.ReconstructedResponse(); err != nil {
			return nil, err
		}
		if got := answer.OutputText(); got != deltas.String() || acc.Snapshot().OutputText() != got {
			return nil, fmt.Errorf("the deltas say %q, the end %q", deltas.String(), got)
		}
		for _, o := range answer.Output {
			if o.Type == "function_call" && o.Arguments.OfString != args.String() {
				return nil, fmt.Errorf("the deltas say %q, the end %q", args.String(), o.Arguments.OfString)
			}
		}
	} else {
		var err error
		if answer, err = s.client.Responses.New(ctx, p, members(q)...); err != nil {
			return nil, err
		}
	}
	r := &reply{id: answer.ID, model: answer.Model, text: answer.OutputText(), stop: string(answer.Status),
		in: answer.Usage.InputTokens, out: answer.Usage.OutputTokens, header: s.header}
	if answer.Usage.TotalTokens != r.in+r.out {
		return nil, fmt.Errorf("usage does not add up: %+v", answer.Usage)
	}
	for _, o := range answer.Output {
		if o.Type == "function_call" {
			r.calls = append(r.calls, called{o.CallID, o.Name, o.Arguments.OfString})
		}
	}
	return r, nil
}

type messageSpeaker struct {
	client anthropic.Client
	*tape
}

func (messageSpeaker) words() (id, end, length, tool string) {
	return "msg_", "end_turn", "max_tokens", "tool_use"
}

func (messageSpeaker) refused(err error) (refusal, bool) {
	var e *anthropic.Error
	if !errors.As(err, &e) {
		return refusal{}, false
	}
	var body struct {
		Error struct{ Code, Param string }
	}
	if err := json.Unmarshal([]byte(e.RawJSON()), &body); err != nil {
		return refusal{}, false
	}
	return refusal{e.StatusCode, string(e.Type()), body.Error.Code, body.Error.Param, e.RequestID}, true
}

func (s messageSpeaker) ask(ctx context.Context, q question, stream bool) (*reply, error) {
	content := []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(q.user)}
	if data, ok := strings.CutPrefix(q.image, "data:image/png;base64,"); ok {
		content = append(content, anthropic.NewImageBlockBase64("image/png", data))
	} else if q.image != "" {
		content = append(content, anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: q.image}))
	}
	p := anthropic.MessageNewParams{Model: "chat", MaxTokens: 2000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(content...)}}
	if q.system != "" {
		p.System = []anthropic.TextBlockParam{{Text: q.system}}
	}
	if q.before != nil {
		var said anthropic.Message
		if err := json.Unmarshal([]byte(q.before.raw), &said); err != nil {
			return nil, err
		}
		p.Messages = append(p.Messages, said.ToParam())
		var results []anthropic.ContentBlockParamUnion
		for _, c := range q.before.calls {
			results = append(results, anthropic.NewToolResultBlock(c.id, toolResult, false))
		}
		p.Messages = append(p.Messages, anthropic.NewUserMessage(results...))
	}
	if q.tool {
		t := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: toolSchema, Required: toolNeeds}, toolName)
		t.OfTool.Description = anthropic.String("When the office is open.")
		p.Tools = []anthropic.ToolUnionParam{t}
	}
	if q.schema {
		p.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: answerSchema}
	}
	var set []claude.RequestOption
	for name, v := range q.set {
		set = append(set, claude.WithJSONSet(name, v))
	}
	var answer *anthropic.Message
	if stream {
		st := s.client.Messages.NewStreaming(ctx, p, set...)
		defer st.Close()
		var acc anthropic.Message
		var types []string
		for st.Next() {
			types = append(types, st.Current().Type)
			if err := acc.Accumulate(st.Current()); err != nil {
				return nil, err
			}
		}
		if err := st.Err(); err != nil {
			return nil, err
		}
		if len(types) == 0 || types[0] != "message_start" || types[len(types)-1] != "message_stop" || !slices.Contains(types, "message_delta") {
			return nil, fmt.Errorf("events are %v", types)
		}
		answer = &acc
	} else {
		var err error
		if answer, err = s.client.Messages.New(ctx, p, set...); err != nil {
			return nil, err
		}
	}
	r := &reply{id: answer.ID, model: string(answer.Model), stop: string(answer.StopReason),
		in: answer.Usage.InputTokens, out: answer.Usage.OutputTokens, header: s.header, raw: answer.RawJSON()}
	for _, b := range answer.Content {
		switch b.Type {
		case "text":
			r.text += b.Text
		case "tool_use":
			r.calls = append(r.calls, called{b.ID, b.Name, string(b.Input)})
		}
	}
	return r, nil
}
