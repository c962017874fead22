package dialect

import (
	"slices"
	"strings"

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
	return chatItems(v, func(_ int, v gjson.Result) *Error {
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
	err = chatMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "role":
			return chatString(v, &m.role)
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
			return chatString(v, &m.name)
		case "tool_call_id":
			return chatString(v, &m.callID)
		case "refusal":
			return chatString(v, &m.refusal)
		case "reasoning_content":
			return chatString(v, &m.thinking)
		case "reasoning":
			return chatString(v, &other)
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
			return chatWithin(err, "tool_calls")
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

// content reads the content of a message, of which only some kinds are allowed.
// Empty texts are left out: they say nothing, and some providers refuse them.
func (p *chatRequestReader) content(m *chatMessage, kinds ...PartKind) (parts []Part, err *Error) {
	switch {
	case !m.content.Exists():
		return nil, malformed("content", "you must provide content")
	case m.content.Type == gjson.String:
		if m.content.Str == "" {
			return nil, nil
		}
		return []Part{{Kind: Text, Text: m.content.Str}}, nil
	case !m.content.IsArray():
		return nil, malformed("content", "must be a string or an array of parts")
	}
	err = chatItems(m.content, func(_ int, v gjson.Result) *Error {
		part, err := p.part(v)
		if err == nil && !slices.Contains(kinds, part.Kind) {
			err = unsupported("type", "a message of role %s cannot hold this", m.role)
		}
		if err == nil && (part.Kind != Text || part.Text != "") {
			parts = append(parts, part)
		}
		return err
	})
	if err != nil {
		return nil, chatWithin(err, "content")
	}
	return parts, nil
}

func (p *chatRequestReader) part(v gjson.Result) (part Part, err *Error) {
	var kind string
	var value gjson.Result
	err = chatMembers(v, func(name string, v gjson.Result) *Error {
		if name == "type" {
			return chatString(v, &kind)
		}
		return nil
	})
	if err != nil {
		return part, err
	}
	switch kind {
	case "text", "refusal", "image_url", "file":
	case "":
		return part, malformed("type", "you must provide a type")
	default:
		return part, unsupported("type", "only text, image_url and file can be passed on")
	}
	err = chatMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "type":
		case kind:
			value = v
		case "cache_control":
			p.r.drop(name)
		default:
			return chatUnknown()
		}
		return nil
	})
	switch {
	case err != nil:
		return part, err
	case !value.Exists():
		return part, malformed(kind, "you must provide it")
	case kind == "text":
		err = chatString(value, &part.Text)
	case kind == "refusal":
		part.Kind = Refusal
		err = chatString(value, &part.Text)
	case kind == "image_url":
		part.Kind = Image
		err = chatImage(value, &part)
	case kind == "file":
		part.Kind = Document
		err = chatFile(value, &part)
	}
	if err != nil {
		return part, chatWithin(err, kind)
	}
	return part, nil
}

func chatImage(v gjson.Result, part *Part) *Error {
	var url string
	err := chatMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "url":
			return chatString(v, &url)
		case "detail":
			if err := chatString(v, &part.Detail); err != nil {
				return err
			}
			if d := part.Detail; d != "low" && d != "high" && d != "auto" {
				return unsupported("", "must be low, high or auto")
			}
			return nil
		}
		return chatUnknown()
	})
	switch {
	case err != nil:
		return err
	case url == "":
		return malformed("url", "you must provide a URL")
	case len(url) > 8 && strings.EqualFold(url[:8], "https://"):
		part.URL = url
		return nil
	case len(url) > 5 && strings.EqualFold(url[:5], "data:"):
		err = chatDataURL(url, part)
	default:
		err = unsupported("", "must be an https or a data URL")
	}
	if err != nil {
		return chatWithin(err, "url")
	}
	return nil
}

func chatFile(v gjson.Result, part *Part) *Error {
	var data string
	err := chatMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "filename":
			return chatString(v, &part.Name)
		case "file_data":
			return chatString(v, &data)
		case "file_id":
			return unsupported("", "a file kept at a provider cannot be passed on: send it as file_data")
		}
		return chatUnknown()
	})
	switch {
	case err != nil:
		return err
	case data == "":
		return malformed("file_data", "you must provide it")
	}
	if err := chatDataURL(data, part); err != nil {
		return chatWithin(err, "file_data")
	}
	return nil
}

// chatDataURL reads data:type/subtype;base64,data.
func chatDataURL(url string, part *Part) *Error {
	head, data, ok := strings.Cut(url, ",")
	media, base64 := strings.CutSuffix(head[min(len(head), 5):], ";base64")
	if !strings.EqualFold(head[:min(len(head), 5)], "data:") || !ok || !base64 || !isChatMedia(media) {
		return unsupported("", "must be a URL of the form data:type/subtype;base64,…")
	}
	if data == "" {
		return malformed("", "the URL has no data")
	}
	part.Media, part.Data = strings.ToLower(media), data
	return nil
}

// isChatMedia says whether s is type/subtype without parameters.
func isChatMedia(s string) bool {
	slash := false
	for _, c := range s {
		switch {
		case c == '/' && !slash:
			slash = true
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.':
		default:
			return false
		}
	}
	return slash && s[0] != '/' && s[len(s)-1] != '/'
}
