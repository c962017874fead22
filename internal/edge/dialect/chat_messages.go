package dialect

import (
	"slices"

	"github.com/tidwall/gjson"
)

// chatMessage is one message with its members apart.
type chatMessage struct {
	role, callID, name, refusal, thinking string
	content, calls                        gjson.Result
	set                                   []string // members that not every role has
}

func (p *chatRequestReader) messages(v gjson.Result) *Error {
	if v.IsArray() && chatEmpty(v) {
		return malformed("", "must not be empty")
	}
	afterTool := false
	return eachItem(v, func(_ int, v gjson.Result) *Error {
		m, err := p.message(v)
		if err != nil {
			return err
		}
		wasTool := afterTool
		afterTool = m.role == "tool"
		switch m.role {
		case "system", "developer":
			return p.system(&m)
		case "user":
			return p.user(&m)
		case "assistant":
			return p.assistant(&m)
		case "tool":
			return p.result(&m, wasTool)
		case "":
			return malformed("role", "you must provide a role")
		case "function":
			return unsupported("role", "functions were replaced by tools: use the role tool")
		}
		return unsupported("role", "must be system, developer, user, assistant or tool")
	})
}

// message takes one message apart, before its role is known to matter.
func (p *chatRequestReader) message(v gjson.Result) (m chatMessage, err *Error) {
	var other string // reasoning, which some write for reasoning_content
	err = eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "role":
			return readString(v, &m.role)
		case "content":
			m.content = v
			return nil
		case "cache_control":
			p.r.drop(name)
			return nil
		}
		m.set = append(m.set, name)
		switch name {
		case "name":
			return readString(v, &m.name)
		case "tool_call_id":
			return readString(v, &m.callID)
		case "refusal":
			return readString(v, &m.refusal)
		case "reasoning_content":
			return readString(v, &m.thinking)
		case "reasoning":
			return readString(v, &other)
		case "tool_calls":
			m.calls = v
			return nil
		case "annotations":
			if !chatEmpty(v) {
				p.r.drop(name) // where a text came from, which the model has no need of
			}
			return nil
		case "function_call":
			return unsupported("", "functions were replaced by tools: use tool_calls")
		}
		return chatUnknown()
	})
	if m.thinking == "" {
		m.thinking = other
	}
	return m, err
}

// only refuses members that messages of another role have.
func (m *chatMessage) only(names ...string) *Error {
	for _, n := range m.set {
		if !slices.Contains(names, n) {
			if n == "name" {
				return unsupported(n, "the name of who speaks cannot be said: write it into the content")
			}
			return malformed(n, "a message of role %s does not have this member", m.role)
		}
	}
	return nil
}

func (p *chatRequestReader) system(m *chatMessage) *Error {
	if err := m.only(); err != nil {
		return err
	}
	parts, err := p.content(m, Text)
	if err != nil {
		return err
	}
	if len(p.r.Turns) == 0 {
		p.r.System = append(p.r.System, parts...)
		return nil
	}
	p.r.drop("messages[].role")
	if len(parts) > 0 {
		p.r.Turns = append(p.r.Turns, Turn{User, parts})
	}
	return nil
}

func (p *chatRequestReader) user(m *chatMessage) *Error {
	if err := m.only(); err != nil {
		return err
	}
	parts, err := p.content(m, Text, Image, Document)
	if err != nil {
		return err
	}
	p.r.Turns = append(p.r.Turns, Turn{User, chatSaid(parts)})
	return nil
}

func (p *chatRequestReader) assistant(m *chatMessage) *Error {
	if err := m.only("refusal", "reasoning_content", "reasoning", "tool_calls", "annotations"); err != nil {
		return err
	}
	var parts []Part
	if m.thinking != "" {
		parts = append(parts, Part{Kind: Thinking, Text: m.thinking})
	}
	if m.content.Exists() || m.refusal == "" && !m.calls.Exists() {
		said, err := p.content(m, Text, Refusal)
		if err != nil {
			return err
		}
		parts = append(parts, said...)
	}
	if m.refusal != "" {
		parts = append(parts, Part{Kind: Refusal, Text: m.refusal})
	}
	if m.calls.Exists() {
		calls, err := p.toolCalls(m.calls)
		if err != nil {
			return within(err, "tool_calls")
		}
		parts = append(parts, calls...)
	}
	p.r.Turns = append(p.r.Turns, Turn{Assistant, chatSaid(parts)})
	return nil
}

func (p *chatRequestReader) result(m *chatMessage, more bool) *Error {
	if err := m.only("tool_call_id", "name"); err != nil {
		return err
	}
	if m.callID == "" {
		return malformed("tool_call_id", "you must provide the id of the call")
	}
	said, err := p.content(m, Text, Image, Document)
	if err != nil {
		return err
	}
	part := Part{Kind: ToolResult, ID: m.callID, Name: p.calls[m.callID], Parts: said}
	if part.Name == "" {
		part.Name = m.name
	}
	if more {
		last := &p.r.Turns[len(p.r.Turns)-1]
		last.Parts = append(last.Parts, part)
	} else {
		p.r.Turns = append(p.r.Turns, Turn{User, []Part{part}})
	}
	return nil
}

// chatSaid keeps a turn that says nothing from having no part at all.
func chatSaid(parts []Part) []Part {
	if len(parts) == 0 {
		return []Part{{Kind: Text}}
	}
	return parts
}
