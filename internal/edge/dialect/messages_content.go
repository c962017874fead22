package dialect

import (
	"encoding/base64"
	"strings"

	"github.com/tidwall/gjson"
)

// content reads a string or an array of blocks. In says where they stand and so
// which are possible: system, user, assistant or tool_result.
func (r *messagesRequest) content(v gjson.Result, in string) ([]Part, *Error) {
	if v.Type == gjson.String {
		return []Part{{Kind: Text, Text: v.Str}}, nil
	}
	if !v.IsArray() {
		return nil, malformed("", "must be a string or an array of blocks")
	}
	var parts []Part
	err := eachItem(v, func(_ int, v gjson.Result) *Error {
		var p Part
		err := r.block(v, in, &p)
		parts = append(parts, p)
		return err
	})
	return parts, err
}

// block reads one block.
func (r *messagesRequest) block(v gjson.Result, in string, p *Part) *Error {
	if !v.IsObject() {
		return malformed("", "must be an object")
	}
	kind := messagesType(v)
	places := ""
	switch kind {
	case "text":
		return r.text(v, p)
	case "image", "document":
		if places = "user tool_result"; strings.Contains(places, in) {
			return r.file(v, kind, p)
		}
	case "tool_use":
		if places = "assistant"; places == in {
			return r.toolUse(v, p)
		}
	case "tool_result":
		if places = "user"; places == in {
			return r.toolResult(v, p)
		}
	case "thinking", "redacted_thinking":
		if places = "assistant"; places == in {
			return r.thought(v, kind, p)
		}
	case "":
		return malformed("type", "is missing")
	default:
		return unsupported("type", "a block of type %.64q cannot be said to a provider of another API", kind)
	}
	return malformed("type", "a block of type %s has no place here", kind)
}

func (r *messagesRequest) text(v gjson.Result, p *Part) *Error {
	p.Kind = Text
	return r.members(v, "text", func(name string, v gjson.Result) *Error {
		switch name {
		case "text":
			return readString(v, &p.Text)
		case "citations": // of an earlier answer: the text stands without them
			if v.IsArray() && v.Raw != "[]" {
				r.drop(name)
			}
			return nil
		}
		return messagesUnknown()
	})
}

// members walks through the members of a block that has a type, may have a cache
// mark, and must have the member need.
func (r *messagesRequest) members(v gjson.Result, need string, take func(name string, v gjson.Result) *Error) *Error {
	found := false
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		found = found || name == need
		switch name {
		case "type":
			return nil
		case "cache_control":
			r.drop(name)
			return nil
		}
		return take(name, v)
	})
	if err == nil && !found {
		err = malformed(need, "is missing")
	}
	return err
}

// file reads an image or a document.
func (r *messagesRequest) file(v gjson.Result, kind string, p *Part) *Error {
	p.Kind = Image
	if kind == "document" {
		p.Kind = Document
	}
	return r.members(v, "source", func(name string, v gjson.Result) *Error {
		switch {
		case name == "source":
			return r.source(v, p)
		case name == "title" && p.Kind == Document:
			return readString(v, &p.Name)
		case name == "citations" && p.Kind == Document:
			if v.IsObject() && v.Get("enabled").Type != gjson.True {
				return nil
			}
		}
		return messagesUnknown()
	})
}

// source reads where the bytes of an image or a document are. Plain text becomes
// base64, as all data is in the neutral form.
func (r *messagesRequest) source(v gjson.Result, p *Part) *Error {
	kind := messagesType(v)
	need := "data"
	switch {
	case kind == "url":
		need = "url"
	case kind == "base64", kind == "text" && p.Kind == Document:
	default:
		return unsupported("type", "a source of type %.64q cannot be said to a provider of another API; use base64 or url", kind)
	}
	err := r.members(v, need, func(name string, v gjson.Result) *Error {
		switch {
		case name == "url" && kind == "url":
			if !strings.HasPrefix(v.Str, "https://") {
				return malformed("", "must be an https URL")
			}
			p.URL = v.Str
			return nil
		case name == "data" && kind != "url":
			return messagesWord(v, &p.Data)
		case name == "media_type" && kind != "url":
			return messagesWord(v, &p.Media)
		}
		return messagesUnknown()
	})
	switch {
	case err != nil || kind == "url":
		return err
	case p.Media == "":
		return malformed("media_type", "is missing")
	case kind == "text":
		p.Data = base64.StdEncoding.EncodeToString([]byte(p.Data))
	}
	return nil
}

func (r *messagesRequest) toolUse(v gjson.Result, p *Part) *Error {
	p.Kind = ToolCall
	err := r.members(v, "id", func(name string, v gjson.Result) *Error {
		switch name {
		case "id":
			return messagesToolID(v, p)
		case "name":
			return messagesWord(v, &p.Name)
		case "input":
			return readObject(v, &p.Arguments)
		case "caller": // the model itself, which goes without saying
			if v.Get("type").Str == "direct" {
				return nil
			}
		}
		return messagesUnknown()
	})
	switch {
	case err != nil:
		return err
	case p.Name == "":
		return malformed("name", "is missing")
	case p.Arguments == nil:
		return malformed("input", "is missing")
	}
	return nil
}

// messagesToolID reads the id of a tool call, which may be one that this dialect
// has put into other letters.
func messagesToolID(v gjson.Result, p *Part) *Error {
	if !messagesName(v.Str) {
		return malformed("", "must be a string of letters, digits, _ and -")
	}
	p.ID = messagesOwnID(v.Str)
	return nil
}

func (r *messagesRequest) toolResult(v gjson.Result, p *Part) *Error {
	p.Kind = ToolResult
	err := r.members(v, "tool_use_id", func(name string, v gjson.Result) (err *Error) {
		switch name {
		case "tool_use_id":
			return messagesToolID(v, p)
		case "is_error":
			return readBool(v, &p.Failed)
		case "content":
			p.Parts, err = r.content(v, "tool_result")
			return err
		}
		return messagesUnknown()
	})
	if err == nil {
		p.Name = r.nameOf(p.ID)
	}
	return err
}

// nameOf is the name of the tool that a call before this message used. Some
// dialects want it beside the result, and here it is not said again.
func (r *messagesRequest) nameOf(id string) string {
	for i := len(r.Turns) - 1; i >= 0; i-- {
		for _, p := range r.Turns[i].Parts {
			if p.Kind == ToolCall && p.ID == id {
				return p.Name
			}
		}
		if r.Turns[i].Role == Assistant {
			break // results follow their calls
		}
	}
	return ""
}

func (r *messagesRequest) thought(v gjson.Result, kind string, p *Part) *Error {
	need := kind
	p.Kind = Thinking
	if kind == "redacted_thinking" {
		p.Kind, need = Redacted, "data"
	}
	return r.members(v, need, func(name string, v gjson.Result) *Error {
		switch {
		case name == "data" && p.Kind == Redacted:
			return messagesWord(v, &p.Data)
		case name == "thinking" && p.Kind == Thinking:
			return readString(v, &p.Text)
		case name == "signature" && p.Kind == Thinking:
			return readString(v, &p.Signature)
		}
		return messagesUnknown()
	})
}
