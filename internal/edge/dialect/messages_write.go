package dialect

import (
	"encoding/base64"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// messagesBody is a request as it is written.
type messagesBody struct {
	Model       string            `json:"model"`
	MaxTokens   int64             `json:"max_tokens"`
	Stream      bool              `json:"stream,omitzero"`
	System      []messagesBlock   `json:"system,omitempty"`
	Messages    []messagesTurn    `json:"messages"`
	Tools       []messagesTool    `json:"tools,omitempty"`
	ToolChoice  *messagesChoice   `json:"tool_choice,omitzero"`
	Temperature *float64          `json:"temperature,omitzero"`
	TopP        *float64          `json:"top_p,omitzero"`
	TopK        *int64            `json:"top_k,omitzero"`
	Stop        []string          `json:"stop_sequences,omitempty"`
	Thinking    *messagesThinking `json:"thinking,omitzero"`
	Config      *messagesConfig   `json:"output_config,omitzero"`
	Metadata    *messagesMetadata `json:"metadata,omitzero"`
}

type messagesTurn struct {
	Role    string          `json:"role"`
	Content []messagesBlock `json:"content"`
}

type messagesTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Schema      jsontext.Value `json:"input_schema"`
	Strict      *bool          `json:"strict,omitzero"`
}

type messagesChoice struct {
	Type   string `json:"type"`
	Name   string `json:"name,omitempty"`
	Single *bool  `json:"disable_parallel_tool_use,omitzero"`
}

type messagesConfig struct {
	Effort string          `json:"effort,omitempty"`
	Format *messagesFormat `json:"format,omitzero"`
}

type messagesFormat struct {
	Type   string         `json:"type"`
	Schema jsontext.Value `json:"schema"`
}

type messagesMetadata struct {
	User string `json:"user_id"`
}

// config is the output configuration, made where it is needed.
func (w *messagesBody) config() *messagesConfig {
	if w.Config == nil {
		w.Config = &messagesConfig{}
	}
	return w.Config
}

// messagesWriting lets through what models and callers have said, as it is:
// names that come twice in the arguments of a call, and bytes that are no UTF-8,
// which become U+FFFD.
var messagesWriting = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// WriteRequest makes the body for POST /v1/messages. Hints that it leaves out,
// such as thinking without a signature, are added to r.Dropped.
func (messages) WriteRequest(r *Request) ([]byte, error) {
	w := &messagesBody{
		Model: r.Model, Stream: r.Stream,
		Temperature: r.Temperature, TopP: r.TopP, TopK: r.TopK, Stop: r.Stop,
	}
	for _, write := range [...]func(*Request) *Error{w.check, w.writeTurns, w.writeTools, w.writeThinking, w.writeFormat} {
		if err := write(r); err != nil {
			return nil, err
		}
	}
	if r.User != "" {
		w.Metadata = &messagesMetadata{r.User}
	}
	b, err := json.Marshal(w, messagesWriting)
	if err != nil {
		return nil, malformed("", "write request: %v", err)
	}
	return b, nil
}

// check refuses what the API has no member for, or no such value.
func (w *messagesBody) check(r *Request) *Error {
	switch {
	case r.Seed != nil:
		return unsupported("seed", "the messages API has no seed; leave it out")
	case r.FrequencyPenalty != nil && *r.FrequencyPenalty != 0:
		return unsupported("frequency_penalty", "the messages API has no penalties; leave it out")
	case r.PresencePenalty != nil && *r.PresencePenalty != 0:
		return unsupported("presence_penalty", "the messages API has no penalties; leave it out")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return unsupported("temperature", "goes from 0 to 1 in the messages API")
	}
	for i, s := range r.Stop {
		if messagesBlank(s) {
			return within(atIndex(unsupported("", "the messages API takes no stop sequence of white space alone"), i), "stop")
		}
	}
	return nil
}

// writeTurns writes the system prompt and all turns. Turns of one side in a row
// become one: results of tools must come in the message right after the calls,
// and before all else in it.
func (w *messagesBody) writeTurns(r *Request) *Error {
	for _, p := range r.System {
		if p.Kind != Text {
			return unsupported("system", "the system prompt can only be text")
		}
		if !messagesBlank(p.Text) {
			w.System = append(w.System, messagesBlock{Type: "text", Text: &p.Text})
		}
	}
	for i := 0; i < len(r.Turns); {
		role := r.Turns[i].Role
		var results, others []messagesBlock
		for ; i < len(r.Turns) && r.Turns[i].Role == role; i++ {
			for j := range r.Turns[i].Parts {
				p := &r.Turns[i].Parts[j]
				b, err := messagesWriteBlock(r, p, role)
				switch {
				case err != nil:
					return within(atIndex(within(atIndex(err, j), "parts"), i), "turns")
				case b.Type == "tool_result":
					results = append(results, b)
				case b.Type != "":
					others = append(others, b)
				}
			}
		}
		if content := append(results, others...); len(content) > 0 {
			w.Messages = append(w.Messages, messagesTurn{messagesRole(role), content})
		}
	}
	if len(w.Messages) == 0 {
		return malformed("turns", "there is nothing in them to answer")
	}
	return nil
}

func messagesRole(r Role) string {
	if r == Assistant {
		return "assistant"
	}
	return "user"
}

// writeTools writes the tools and the choice among them. Without tools there is
// no choice to write.
func (w *messagesBody) writeTools(r *Request) *Error {
	for i, t := range r.Tools {
		at := func(err *Error) *Error { return within(atIndex(err, i), "tools") }
		if !messagesName(t.Name) || len(t.Name) > 128 {
			return at(unsupported("name", "the messages API takes names of 1 to 128 letters, digits, _ and -"))
		}
		tool := messagesTool{Name: t.Name, Description: t.Description, Schema: jsontext.Value(t.Schema), Strict: t.Strict}
		switch {
		case len(t.Schema) == 0:
			tool.Schema = jsontext.Value(`{"type":"object","properties":{}}`)
		case !messagesIsObject(t.Schema):
			return at(malformed("schema", "must be a JSON object"))
		}
		w.Tools = append(w.Tools, tool)
	}
	if len(r.Tools) == 0 {
		if r.Choice == ChoiceRequired || r.Choice == ChoiceNamed {
			return malformed("choice", "a tool must be called, but there are none")
		}
		return nil
	}
	c := &messagesChoice{Type: "auto"}
	switch r.Choice {
	case ChoiceDefault:
		if r.Parallel == nil {
			return nil
		}
	case ChoiceNone:
		w.ToolChoice = &messagesChoice{Type: "none"} // nothing to do in parallel
		return nil
	case ChoiceRequired:
		c.Type = "any"
	case ChoiceNamed:
		c.Type, c.Name = "tool", r.ChoiceName
	}
	if r.Parallel != nil {
		single := !*r.Parallel
		c.Single = &single
	}
	w.ToolChoice = c
	return nil
}

// writeFormat writes the form of the answer. The API has schemas, which it
// always keeps to and gives no name, but no word for any JSON object.
func (w *messagesBody) writeFormat(r *Request) *Error {
	switch r.Format.Kind {
	case FormatJSON:
		return unsupported("format", "the messages API has no JSON mode without a schema; give the schema")
	case FormatSchema:
		if !messagesIsObject(r.Format.Schema) {
			return malformed("format.schema", "must be a JSON object")
		}
		w.config().Format = &messagesFormat{"json_schema", jsontext.Value(r.Format.Schema)}
	}
	return nil
}

// messagesBlock is a block as it is written.
type messagesBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitzero"`
	Source    *messagesSource `json:"source,omitzero"`
	Title     string          `json:"title,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     jsontext.Value  `json:"input,omitzero"`
	ToolUse   string          `json:"tool_use_id,omitempty"`
	Content   any             `json:"content,omitzero"` // a string or blocks
	Failed    bool            `json:"is_error,omitzero"`
	Thinking  *string         `json:"thinking,omitzero"`
	Signature *string         `json:"signature,omitzero"`
	Data      string          `json:"data,omitempty"`
}

type messagesSource struct {
	Type  string `json:"type"`
	Media string `json:"media_type,omitempty"`
	Data  string `json:"data,omitempty"`
	URL   string `json:"url,omitempty"`
}

// messagesWriteBlock writes a part of a turn. A block without a type is one to
// leave out: empty text, which the API refuses, and thinking that nobody signed.
func messagesWriteBlock(r *Request, p *Part, role Role) (b messagesBlock, err *Error) {
	switch p.Kind {
	case Text, Refusal:
		if !messagesBlank(p.Text) {
			b = messagesBlock{Type: "text", Text: &p.Text}
		}
	case Image, Document:
		if role == Assistant {
			return b, unsupported("", "the messages API takes images and documents only from the user")
		}
		return messagesWriteFile(r, p)
	case ToolCall:
		b = messagesBlock{Type: "tool_use", ID: messagesID(p.ID), Name: p.Name, Input: jsontext.Value(p.Arguments)}
		switch {
		case p.ID == "":
			return b, unsupported("id", "the messages API wants an id for each tool call")
		case !messagesName(p.Name):
			return b, unsupported("name", "the messages API takes names of letters, digits, _ and -")
		case messagesNothing(p.Arguments):
			b.Input = jsontext.Value("{}")
		case !messagesIsObject(p.Arguments):
			return b, malformed("arguments", "must be a JSON object")
		}
	case ToolResult:
		if p.ID == "" {
			return b, unsupported("id", "the messages API wants the id of its tool call with each result")
		}
		b = messagesBlock{Type: "tool_result", ToolUse: messagesID(p.ID), Failed: p.Failed}
		b.Content, err = messagesWriteResult(r, p.Parts)
	case Thinking:
		if unsealed(p.Signature) || role != Assistant {
			r.drop("thinking")
			break
		}
		b = messagesBlock{Type: "thinking", Thinking: &p.Text, Signature: &p.Signature}
	case Redacted:
		if unsealed(p.Data) {
			r.drop("thinking")
			break
		}
		b = messagesBlock{Type: "redacted_thinking", Data: p.Data}
	}
	return b, err
}

// messagesWriteResult writes what a tool gave: nothing, text or blocks.
func messagesWriteResult(r *Request, parts []Part) (any, *Error) {
	if len(parts) == 1 && parts[0].Kind == Text {
		return parts[0].Text, nil
	}
	var blocks []messagesBlock
	for i := range parts {
		switch parts[i].Kind {
		case Text, Image, Document:
		default:
			return nil, within(atIndex(unsupported("", "a tool's result can only be text, images and documents"), i), "parts")
		}
		b, err := messagesWriteBlock(r, &parts[i], User)
		if err != nil {
			return nil, within(atIndex(err, i), "parts")
		}
		if b.Type != "" {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 0 {
		return nil, nil
	}
	return blocks, nil
}

// messagesWriteFile writes an image or a document. How closely to look at an
// image cannot be said here.
func messagesWriteFile(r *Request, p *Part) (messagesBlock, *Error) {
	b := messagesBlock{Type: "image", Source: &messagesSource{Type: "base64", Media: p.Media, Data: p.Data}}
	if p.Detail != "" && p.Detail != "auto" {
		r.drop("detail")
	}
	if p.Kind == Document {
		b.Type, b.Title = "document", p.Name
	}
	switch {
	case p.URL != "":
		b.Source = &messagesSource{Type: "url", URL: p.URL}
	case p.Data == "":
		return b, malformed("data", "is missing, and so is a URL")
	case p.Kind == Image:
		switch p.Media {
		case "image/jpeg", "image/png", "image/gif", "image/webp":
		default:
			return b, unsupported("media", "the messages API takes images as jpeg, png, gif and webp, not %.64q", p.Media)
		}
	case p.Media == "text/plain":
		text, err := base64.StdEncoding.DecodeString(p.Data)
		if err != nil {
			return b, malformed("data", "is not base64: %v", err)
		}
		b.Source.Type, b.Source.Data = "text", string(text)
	case p.Media != "application/pdf":
		return b, unsupported("media", "the messages API takes documents as PDF and plain text, not %.64q", p.Media)
	}
	return b, nil
}

// messagesNothing says whether a tool call has no arguments.
func messagesNothing(v Raw) bool { return messagesBlank(string(v)) || string(v) == "null" }

func messagesIsObject(v Raw) bool {
	return jsontext.Value(v).Kind() == '{' && jsontext.Value(v).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
