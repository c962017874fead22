package mock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// route is an inference endpoint.
type route uint8

const (
	chat route = iota
	completions
	embeddings
	messages
	responses
	generate
)

func (r route) String() string {
	return [...]string{"chat/completions", "completions", "embeddings", "messages", "responses", "generateContent"}[r]
}

// call is what the simulation needs to know of a request.
type call struct {
	route        route
	model        string
	stream       bool
	includeUsage bool
	choices      int
	inputTokens  int
	maxTokens    int // the caller's limit; 0 for none
	logprobs     bool
	topLogprobs  int
	toolName     string     // answer with a call of this tool; empty for text
	toolArgs     string     // its arguments, JSON
	more         []toolCall // in parallel with it
	thinks       bool       // it was asked to
	inputs       int        // embeddings asked for
	dimensions   int
	base64       bool
	fault        string // metadata.mock_fault, or labels.mock_fault
	prompt       prompt
}

const (
	maxChoices    = 128
	maxInputs     = 2048
	maxDimensions = 4096
)

// parseCall reads a request body. Unknown fields are ignored.
func parseCall(at endpoint, body []byte) (call, error) {
	r := at.route
	if !gjson.ValidBytes(body) {
		return call{}, errors.New("the body is not valid JSON")
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return call{}, errors.New("the body is not a JSON object")
	}
	c := call{route: r, choices: 1, dimensions: 256}
	var tools, toolChoice, list gjson.Result
	root.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "model":
			c.model = v.String()
		case "stream":
			c.stream = v.Bool()
		case "stream_options":
			c.includeUsage = v.Get("include_usage").Bool()
		case "n":
			if v.Type != gjson.Null {
				c.choices = int(v.Int())
			}
		case "max_tokens":
			if c.maxTokens == 0 {
				c.maxTokens = int(v.Int())
			}
		case "max_completion_tokens":
			if v.Type != gjson.Null {
				c.maxTokens = int(v.Int())
			}
		case "logprobs": // a switch for chat, the number of alternatives for completions
			c.logprobs = v.Bool() || v.Type == gjson.Number
			if v.Type == gjson.Number {
				c.topLogprobs = int(v.Int())
			}
		case "top_logprobs":
			c.topLogprobs = int(v.Int())
		case "tools":
			tools = v
		case "tool_choice":
			toolChoice = v
		case "messages":
			list = v
		case "thinking":
			c.thinks = v.Get("type").Str == "enabled" || v.Get("type").Str == "adaptive"
		case "reasoning_effort":
			c.thinks = v.Str != "" && v.Str != "none"
		case "prompt", "input":
			var texts int
			texts, c.inputTokens = countInput(v)
			c.inputs = texts
		case "dimensions":
			c.dimensions = int(v.Int())
		case "encoding_format":
			c.base64 = v.Str == "base64"
		case "metadata", "labels":
			c.fault = v.Get("mock_fault").String()
		}
		return true
	})
	if at.model != "" {
		c.model = at.model
	}
	if at.dialect == google {
		c.stream = at.stream
	}
	if r >= messages {
		c.choices, c.inputs, c.dimensions, c.logprobs, c.topLogprobs = 1, 0, 256, false, 0
	}
	if err := c.check(list); err != nil {
		return call{}, err
	}
	switch r {
	case chat:
		c.parseChat(list, tools, toolChoice)
	case messages, responses, generate:
		parse := [...]func(*call, gjson.Result) error{messages: (*call).parseMessages, responses: (*call).parseResponses, generate: (*call).parseGenerate}[r]
		if err := parse(&c, root); err != nil {
			return call{}, err
		}
		if r == messages && c.maxTokens == 0 && !at.count {
			return call{}, errors.New("max_tokens: Field required")
		}
		if err := c.check(list); err != nil { // also their own limit of tokens
			return call{}, err
		}
	case completions:
		c.choices *= max(1, c.inputs)
	case embeddings:
		c.stream, c.choices = false, 1
	}
	c.inputTokens = max(1, c.inputTokens)
	return c, nil
}

func (c *call) check(list gjson.Result) error {
	switch {
	case c.model == "":
		return errors.New("model is missing")
	case c.route == chat && !list.IsArray():
		return errors.New("messages is missing or not an array")
	case c.route == embeddings && c.inputs == 0:
		return errors.New("input is missing or empty")
	case c.inputs > maxInputs:
		return fmt.Errorf("%d inputs: at most %d", c.inputs, maxInputs)
	case c.choices < 1 || c.choices > maxChoices:
		return fmt.Errorf("n is %d: 1 to %d", c.choices, maxChoices)
	case c.maxTokens < 0:
		return fmt.Errorf("max tokens is %d: at least 1", c.maxTokens)
	case c.dimensions < 1 || c.dimensions > maxDimensions:
		return fmt.Errorf("dimensions is %d: 1 to %d", c.dimensions, maxDimensions)
	case c.topLogprobs < 0 || c.topLogprobs > 20:
		return fmt.Errorf("top logprobs is %d: 0 to 20", c.topLogprobs)
	}
	return nil
}

// parseChat counts the prompt, a token for every four bytes of message text, and
// decides whether the answer calls a tool.
func (c *call) parseChat(list, tools, choice gjson.Result) {
	var p prompt
	list.ForEach(func(_, message gjson.Result) bool {
		role := message.Get("role").Str
		p.say(role == "user", messageText(message.Get("content")), role == "tool" || role == "function")
		return true
	})
	tools.ForEach(func(_, t gjson.Result) bool {
		if function := t.Get("function"); function.Get("name").Str != "" {
			p.tools = append(p.tools, offer{function.Get("name").Str, function.Get("parameters")})
		}
		return true
	})
	p.required, p.none, p.named = choice.Str == "required", choice.Str == "none", choice.Get("function.name").Str
	c.inputTokens = tokens(p.bytes)
	c.choose(p)
}

// messageText is the text of a message: a string, or the text parts of an array.
func messageText(content gjson.Result) string {
	if !content.IsArray() {
		return content.Str
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		b.WriteString(part.Get("text").Str)
		return true
	})
	return b.String()
}

// countInput counts the inputs of an embedding or completion and their tokens:
// a string, a list of strings, a list of token ids, or a list of such lists.
func countInput(v gjson.Result) (inputs, total int) {
	if !v.IsArray() {
		if v.Type != gjson.String {
			return 0, 0
		}
		return 1, tokens(len(v.Str))
	}
	ids := 0
	v.ForEach(func(_, item gjson.Result) bool {
		switch {
		case item.Type == gjson.Number:
			ids++
		case item.IsArray():
			inputs++
			total += int(item.Get("#").Int())
		default:
			inputs++
			total += tokens(len(item.Str))
		}
		return true
	})
	if ids > 0 {
		inputs++
	}
	return inputs, total + ids
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

// appendSample appends a JSON value that fits a schema as far as types,
// properties and enums go, at most a few levels deep.
func appendSample(dst []byte, schema gjson.Result, depth int) []byte {
	if values := schema.Get("enum"); values.IsArray() && values.Get("#").Int() > 0 {
		return append(dst, values.Get("0").Raw...)
	}
	kind := schema.Get("type")
	if kind.IsArray() {
		kind = kind.Get("0")
	}
	switch strings.ToLower(kind.Str) { // Gemini writes types in capitals
	case "string":
		return append(dst, `"Zürich 北"`...)
	case "integer", "number":
		return append(dst, '1')
	case "boolean":
		return append(dst, "true"...)
	case "null":
		return append(dst, "null"...)
	case "array":
		return append(dst, "[]"...)
	}
	dst = append(dst, '{')
	if depth < 4 {
		schema.Get("properties").ForEach(func(key, value gjson.Result) bool {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(dst, key.Raw...)
			dst = append(dst, ':')
			dst = appendSample(dst, value, depth+1)
			return true
		})
	}
	return append(dst, '}')
}
