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
)

func (r route) String() string {
	return [...]string{"chat/completions", "completions", "embeddings"}[r]
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
	toolName     string // answer with a call of this tool; empty for text
	toolArgs     string // its arguments, JSON
	inputs       int    // embeddings asked for
	dimensions   int
	base64       bool
	fault        string // metadata.mock_fault
}

const (
	maxChoices    = 128
	maxInputs     = 2048
	maxDimensions = 4096
)

// parseCall reads a request body. Unknown fields are ignored.
func parseCall(r route, body []byte) (call, error) {
	if !gjson.ValidBytes(body) {
		return call{}, errors.New("the body is not valid JSON")
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return call{}, errors.New("the body is not a JSON object")
	}
	c := call{route: r, choices: 1, dimensions: 256}
	var tools, toolChoice, messages gjson.Result
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
			messages = v
		case "prompt", "input":
			var texts int
			texts, c.inputTokens = countInput(v)
			c.inputs = texts
		case "dimensions":
			c.dimensions = int(v.Int())
		case "encoding_format":
			c.base64 = v.Str == "base64"
		case "metadata":
			c.fault = v.Get("mock_fault").String()
		}
		return true
	})
	if err := c.check(messages); err != nil {
		return call{}, err
	}
	switch r {
	case chat:
		last := c.countMessages(messages)
		c.chooseTool(tools, toolChoice, last)
	case completions:
		c.choices *= max(1, c.inputs)
	case embeddings:
		c.stream, c.choices = false, 1
	}
	c.inputTokens = max(1, c.inputTokens)
	return c, nil
}

func (c *call) check(messages gjson.Result) error {
	switch {
	case c.model == "":
		return errors.New("model is missing")
	case c.route == chat && !messages.IsArray():
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

// countMessages counts the prompt, a token for every four bytes of message
// text, and returns the text of the last message if a user wrote it.
func (c *call) countMessages(messages gjson.Result) (last string) {
	bytes := 0
	messages.ForEach(func(_, message gjson.Result) bool {
		text := messageText(message.Get("content"))
		bytes += len(text)
		last = ""
		if message.Get("role").Str == "user" {
			last = text
		}
		return true
	})
	c.inputTokens = tokens(bytes)
	return last
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

// chooseTool decides whether the answer is a tool call: if the caller requires
// one or names it, or if the last message is a user's that says "use the tool".
func (c *call) chooseTool(tools, choice gjson.Result, last string) {
	named := choice.Get("function.name").Str
	wanted := named != "" || choice.Str == "required" ||
		(choice.Str != "none" && strings.Contains(strings.ToLower(last), "use the tool"))
	if !wanted {
		return
	}
	tools.ForEach(func(_, tool gjson.Result) bool {
		function := tool.Get("function")
		name := function.Get("name").Str
		if name == "" || (named != "" && name != named) {
			return true
		}
		c.toolName = name
		c.toolArgs = string(appendSample(nil, function.Get("parameters"), 0))
		return false
	})
}

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
	switch kind.Str {
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
