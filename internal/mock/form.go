package mock

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// form is how the answers of a route are worded, made for one answer.
type form interface {
	// whole appends an answer that is not a stream; work is its own times.
	whole(dst []byte, created time.Time, work []byte) []byte
	// begin writes what comes before the first token.
	begin(out *output) error
	// delta writes tokens [from,to) of one choice.
	delta(out *output, choice, from, to int) error
	// end ends one choice; the last, which has work, ends the stream.
	end(out *output, choice int, work []byte) error
}

// form is the form of the answer's route.
func (a *answer) form() form {
	switch a.call.route {
	case messages:
		return &message{answer: a}
	case responses:
		return &response{answer: a}
	case generate:
		return &generation{answer: a}
	}
	return a
}

// args are fragments [from,to) of the arguments of a tool call.
func (a *answer) args(from, to int) string {
	return strings.Join(fragments(a.call.toolArgs)[from:to], "")
}

// appendCallID appends the id of the answer's tool call.
func (a *answer) appendCallID(dst []byte, prefix string) []byte {
	return appendHex(append(dst, prefix...), a.job.id)
}

// offer is a function that the caller offers.
type offer struct {
	name   string
	schema gjson.Result
}

// ToolHeader asks for a call of a tool in one request: "<name>", or "<name>
// <arguments as JSON>". A last message of a user with "call:<name>" and perhaps
// the arguments behind it does the same, for requests that pass a gateway which
// drops unknown headers.
const ToolHeader = "X-Mock-Tool"

// prompt is what is said to the model, in whatever dialect.
type prompt struct {
	bytes    int
	last     string // text of the last message, if a user wrote it
	answered bool   // the last message is, or holds, the result of a tool
	tools    []offer
	required bool   // a tool must be called
	named    string // this one
	none     bool   // none may be
}

// say adds a message to the prompt.
func (p *prompt) say(user bool, text string, result bool) {
	p.bytes += len(text)
	p.last, p.answered = "", result
	if user {
		p.last = text
	}
}

// choose decides whether the answer is a tool call: if the caller requires one,
// names it, or says "use the tool" or "call:<name>" in the last message. Behind
// the result of a tool the answer is text, so that a conversation ends.
func (c *call) choose(p prompt) {
	c.prompt = p
	if p.answered || len(p.tools) == 0 {
		return
	}
	if _, wish, ok := strings.Cut(p.last, "call:"); ok && !p.none && c.wish(wish) {
		return
	}
	if p.named == "" && !p.required && (p.none || !strings.Contains(strings.ToLower(p.last), "use the tool")) {
		return
	}
	for _, t := range p.tools {
		if p.named == "" || p.named == t.name {
			c.toolName, c.toolArgs = t.name, string(appendSample(nil, t.schema, 0))
			return
		}
	}
}

// wish makes the answer a call of a tool that is offered: its name, and perhaps
// its arguments. Behind them further calls may be wished for, "call:<name>" each,
// which chat completions and messages make in parallel. It says whether there is
// such a tool.
func (c *call) wish(text string) bool {
	first, rest, ok := c.wished(text)
	if !ok {
		return false
	}
	c.toolName, c.toolArgs = first.name, first.args
	for c.route == chat || c.route == messages {
		_, next, more := strings.Cut(rest, "call:")
		if !more {
			break
		}
		var also toolCall
		if also, rest, ok = c.wished(next); !ok {
			break
		}
		c.more = append(c.more, also)
	}
	return true
}

// toolCall is one call of a tool, with its arguments as JSON.
type toolCall struct{ name, args string }

// wished is the call that a text begins with, and what follows it.
func (c *call) wished(text string) (w toolCall, rest string, ok bool) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	name, _, _ = strings.Cut(name, "\n")
	for _, t := range c.prompt.tools {
		if t.name != name || c.prompt.answered {
			continue
		}
		w = toolCall{name, string(appendSample(nil, t.schema, 0))}
		var args json.RawMessage // the first value; more text may follow
		if d := json.NewDecoder(strings.NewReader(rest)); d.Decode(&args) == nil && args[0] == '{' {
			w.args, rest = string(args), rest[d.InputOffset():]
		}
		return w, rest, true
	}
	return toolCall{}, "", false
}
