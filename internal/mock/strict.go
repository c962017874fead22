package mock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// strict says what a provider refuses of a conversation, in its own words, as far
// as they are known from its reference and its 400s; "" if it takes it. The body
// has been parsed before.
func strict(r route, model string, body []byte) string {
	root := gjson.ParseBytes(body)
	switch r {
	case chat:
		return strictChat(root.Get("messages").Array())
	case messages:
		return strictMessages(root, model)
	case responses:
		return strictResponses(root.Get("input").Array())
	}
	return ""
}

// mostCallID is how long the id of a call can be in chat completions, in bytes.
const mostCallID = 40

// strictChat checks that every message of a tool answers a call of the
// assistant's message before it, and that every call is answered there.
func strictChat(list []gjson.Result) string {
	var open []string // calls that have no answer yet
	unanswered := func() string {
		if len(open) == 0 {
			return ""
		}
		return fmt.Sprintf("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
	for i, m := range list {
		role, id := m.Get("role").Str, m.Get("tool_call_id").Str
		if role != "tool" {
			if bad := unanswered(); bad != "" {
				return bad
			}
		}
		calls := m.Get("tool_calls")
		switch role {
		case "system", "developer", "user":
			if !said(m.Get("content")) {
				return fmt.Sprintf("Invalid value for 'content': expected a string or a list of parts at messages.[%d]", i)
			}
		case "assistant":
			if !calls.Exists() && !m.Get("refusal").Exists() && !said(m.Get("content")) {
				return fmt.Sprintf("Invalid value for 'content': expected a string, got null at messages.[%d]", i)
			}
			if calls.Exists() && len(calls.Array()) == 0 {
				return fmt.Sprintf("Invalid 'messages[%d].tool_calls': empty array. Expected an array with minimum length 1", i)
			}
			for k, c := range calls.Array() {
				call := c.Get("id").Str
				switch {
				case call == "" || slices.Contains(open, call):
					return fmt.Sprintf("Missing or duplicate 'messages[%d].tool_calls[%d].id'", i, k)
				case len(call) > mostCallID:
					return fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length %d, but got one with length %d", i, k, mostCallID, len(call))
				case !gjson.Valid(c.Get("function.arguments").Str):
					return fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].function.arguments': not valid JSON", i, k)
				}
				open = append(open, call)
			}
		case "tool":
			at := slices.Index(open, id)
			if at < 0 {
				return fmt.Sprintf("messages.[%d]: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'", i)
			}
			open = slices.Delete(open, at, at+1)
		default:
			return fmt.Sprintf("Invalid value: %q at messages.[%d].role", role, i)
		}
	}
	return unanswered()
}

// said says whether a content is there: a string, which may be empty, or parts.
func said(v gjson.Result) bool {
	return v.Type == gjson.String || v.IsArray() && len(v.Array()) > 0
}

// block is a block of a message with what it belongs to.
type block struct {
	kind, id string
	gjson.Result
}

// strictMessages checks the order of roles, that calls and results are in
// messages that follow each other, and that thoughts are the model's own.
func strictMessages(root gjson.Result, model string) string {
	var calls []string // of the message before
	thinks := root.Get("thinking.type").Str
	roles, all := turnsOf(root.Get("messages"))
	if len(all) == 0 || roles[0] != "user" {
		return `messages: first message must use the "user" role`
	}
	for i, blocks := range all {
		if len(blocks) == 0 {
			return fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		var made []string
		behind := false // something that is no result was said
		for k, b := range blocks {
			at := fmt.Sprintf("messages.%d.content.%d", i, k)
			switch b.kind {
			case "text":
				if b.Get("text").Str == "" {
					return fmt.Sprintf("messages: text content blocks must be non-empty (%s)", at)
				}
			case "tool_use":
				switch {
				case roles[i] != "assistant":
					return fmt.Sprintf("%s: `tool_use` blocks can only be in `assistant` messages", at)
				case !wordly(b.id):
					return fmt.Sprintf("%s.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
				case slices.Contains(made, b.id):
					return fmt.Sprintf("messages: `tool_use` ids must be unique (%s)", at)
				case !b.Get("input").IsObject():
					return fmt.Sprintf("%s.input: Input should be a valid dictionary", at)
				}
				made = append(made, b.id)
			case "tool_result":
				n := slices.Index(calls, b.id)
				if roles[i] != "user" || n < 0 {
					return fmt.Sprintf("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message", at, b.id)
				}
				if behind {
					return fmt.Sprintf("%s: `tool_result` blocks must come first in the content", at)
				}
				calls = slices.Delete(calls, n, n+1)
			case "thinking":
				if roles[i] != "assistant" || !strings.HasPrefix(b.Get("signature").Str, signature(model)) {
					return fmt.Sprintf("%s: Invalid `signature` in `thinking` block", at)
				}
			}
			behind = behind || b.kind != "tool_result"
		}
		if len(calls) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message", i-1, strings.Join(calls, ", "))
		}
		calls = made
		if final := i == len(all)-2 && all[i+1][0].kind == "tool_result"; thinks == "enabled" && final && blocks[0].kind != "thinking" && blocks[0].kind != "redacted_thinking" {
			return fmt.Sprintf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", i, blocks[0].kind)
		}
	}
	if len(calls) > 0 {
		return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", len(all)-1, strings.Join(calls, ", "))
	}
	return ""
}

// turnsOf are the blocks of messages. Messages of one role in a row are one, as
// the API takes them.
func turnsOf(list gjson.Result) (roles []string, all [][]block) {
	for _, m := range list.Array() {
		role, content := m.Get("role").Str, m.Get("content")
		if len(roles) == 0 || roles[len(roles)-1] != role {
			roles, all = append(roles, role), append(all, nil)
		}
		last := &all[len(all)-1]
		if content.Type == gjson.String {
			*last = append(*last, block{"text", "", gjson.Parse(`{"text":` + content.Raw + `}`)})
			continue
		}
		for _, b := range content.Array() {
			id := b.Get("id").Str
			if b.Get("type").Str == "tool_result" {
				id = b.Get("tool_use_id").Str
			}
			*last = append(*last, block{b.Get("type").Str, id, b})
		}
	}
	return roles, all
}

// wordly says whether an id has letters, digits, _ and - alone.
func wordly(id string) bool {
	return id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// strictResponses checks that calls and their outputs come in pairs.
func strictResponses(items []gjson.Result) string {
	open := map[string]bool{} // by the id of a call: it has no output yet
	for _, item := range items {
		id := item.Get("call_id").Str
		switch item.Get("type").Str {
		case "function_call":
			open[id] = true
		case "function_call_output":
			if !open[id] {
				return fmt.Sprintf("No tool call found for function call output with call_id %s.", id)
			}
			open[id] = false
		}
	}
	for _, item := range items {
		if id := item.Get("call_id").Str; open[id] {
			return fmt.Sprintf("No tool output found for function call %s.", id)
		}
	}
	return ""
}
