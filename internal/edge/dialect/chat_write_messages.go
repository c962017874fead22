package dialect

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

func (w *chatRequestWriter) messages() *Error {
	w.b = append(chatKey(w.b, "messages"), '[')
	if err := w.system(); err != nil {
		return err
	}
	for i, t := range w.r.Turns {
		var err *Error
		if t.Role == Assistant {
			w.said(nil)
			err = w.assistant(t.Parts)
		} else {
			err = w.user(t.Parts)
		}
		if err != nil {
			return within(atIndex(err, i), "turns")
		}
	}
	w.said(nil)
	if w.b[len(w.b)-1] == '[' {
		return malformed("turns", "there is nothing to answer")
	}
	w.b = append(w.b, ']')
	return nil
}

func (w *chatRequestWriter) system() *Error {
	if len(w.r.System) == 0 {
		return nil
	}
	for i, p := range w.r.System {
		if p.Kind != Text {
			return within(atIndex(unsupported("", "the system prompt can hold text only"), i), "system")
		}
	}
	w.b = append(w.b, `{"role":"system"`...)
	w.content(w.r.System)
	w.b = append(w.b, '}')
	return nil
}

// user writes one turn of the user: its tool results first, each a message of its
// own, then the rest. What was moved out of results waits until the next message
// of the user, as nothing may come between the results of one turn of calls.
func (w *chatRequestWriter) user(parts []Part) *Error {
	var rest []Part
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case ToolResult:
			if err := w.result(p); err != nil {
				return within(atIndex(err, i), "parts")
			}
		case Text, Image, Document:
			said, err := chatSayable(*p)
			if err != nil {
				return within(atIndex(err, i), "parts")
			}
			rest = append(rest, said)
		default:
			return within(atIndex(unsupported("", "the user cannot say this in chat completions"), i), "parts")
		}
	}
	if len(rest) > 0 {
		w.said(rest)
	}
	return nil
}

// said writes a message of the user, what was moved before what is said.
func (w *chatRequestWriter) said(parts []Part) {
	parts = append(w.moved, parts...)
	w.moved = nil
	if len(parts) == 0 {
		return
	}
	w.b = append(chatItem(w.b), `{"role":"user"`...)
	w.content(parts)
	w.b = append(w.b, '}')
}

// chatFailed is put before the result of a tool that failed, and chatMoved stands
// for the parts of a result that only the user can say.
const (
	chatFailed = "Error: "
	chatMoved  = "The images and documents of this result are in the next message of the user."
	chatSource = "From the result of the tool call %s:"
)

func (w *chatRequestWriter) result(p *Part) *Error {
	var texts []Part
	moved := false
	for i, q := range p.Parts {
		switch q.Kind {
		case Text:
			texts = append(texts, q)
		case Image, Document:
			if !moved {
				w.moved = append(w.moved, Part{Kind: Text, Text: fmt.Sprintf(chatSource, p.ID)})
			}
			said, err := chatSayable(q)
			if err != nil {
				return within(atIndex(err, i), "parts")
			}
			moved = true
			w.moved = append(w.moved, said)
		default:
			return within(atIndex(unsupported("", "a tool result can hold text, images and documents only"), i), "parts")
		}
	}
	if moved {
		texts = append(texts, Part{Kind: Text, Text: chatMoved})
	}
	if len(texts) == 0 {
		texts = []Part{{Kind: Text}}
	}
	if p.Failed {
		texts[0].Text = chatFailed + texts[0].Text
	}
	w.b = chatAddString(append(chatItem(w.b), `{"role":"tool"`...), "tool_call_id", p.ID)
	w.content(texts)
	w.b = append(w.b, '}')
	return nil
}

// assistant writes one turn of the model: what it said, then what it called.
func (w *chatRequestWriter) assistant(parts []Part) *Error {
	var texts []Part
	var refusal strings.Builder
	calls := 0
	for i, p := range parts {
		switch p.Kind {
		case Text:
			texts = append(texts, p)
		case Refusal:
			refusal.WriteString(p.Text)
		case ToolCall:
			calls++
		case Thinking, Redacted:
			w.r.drop("thinking")
		default:
			return within(atIndex(unsupported("", "the model cannot have said this in chat completions"), i), "parts")
		}
	}
	if len(texts) == 0 && refusal.Len() == 0 && calls == 0 {
		return nil
	}
	w.b = append(chatItem(w.b), `{"role":"assistant"`...)
	if len(texts) == 0 {
		w.b = append(w.b, `,"content":null`...)
	} else {
		w.content(texts)
	}
	if refusal.Len() > 0 {
		w.b = chatAddString(w.b, "refusal", refusal.String())
	}
	if calls > 0 {
		w.b = chatCalls(w.b, parts)
	}
	w.b = append(w.b, '}')
	return nil
}

// chatCalls appends the member tool_calls.
func chatCalls(b []byte, parts []Part) []byte {
	b = append(chatKey(b, "tool_calls"), '[')
	for _, p := range parts {
		if p.Kind != ToolCall {
			continue
		}
		arguments := p.Arguments
		if len(arguments) == 0 {
			arguments = Raw("{}")
		}
		b = chatAddString(append(chatItem(b), '{'), "id", p.ID)
		b = append(b, `,"type":"function","function":{`...)
		b = chatKey(chatAddString(b, "name", p.Name), "arguments")
		b = append(chatQuote(b, []byte(arguments)), `}}`...)
	}
	return append(b, ']')
}

// content writes the content: one text as a string, which every provider reads.
func (w *chatRequestWriter) content(parts []Part) {
	w.b = chatKey(w.b, "content")
	if len(parts) == 1 && parts[0].Kind == Text {
		w.b = chatQuote(w.b, parts[0].Text)
		return
	}
	w.b = append(w.b, '[')
	for i := range parts {
		w.b = chatItem(w.b)
		w.part(&parts[i])
	}
	w.b = append(w.b, ']')
}

func (w *chatRequestWriter) part(p *Part) {
	data := p.URL
	if data == "" {
		data = "data:" + p.Media + ";base64," + p.Data
	}
	switch p.Kind {
	case Text:
		w.b = chatAddString(append(w.b, `{"type":"text"`...), "text", p.Text)
		w.b = append(w.b, '}')
	case Image:
		w.b = append(w.b, `{"type":"image_url","image_url":{`...)
		w.b = chatAddString(w.b, "url", data)
		if p.Detail != "" {
			w.b = chatAddString(w.b, "detail", p.Detail)
		}
		w.b = append(w.b, `}}`...)
	case Document:
		w.b = append(w.b, `{"type":"file","file":{`...)
		w.b = chatAddString(chatAddString(w.b, "filename", p.Name), "file_data", data)
		w.b = append(w.b, `}}`...)
	}
}

// chatSayable is what the user says in place of a part: a text for a document of
// text, and a name for a document that has none, as chat must have one.
func chatSayable(p Part) (Part, *Error) {
	switch {
	case p.Kind != Document:
		return p, nil
	case p.URL != "":
		return p, unsupported("url", "a document by its URL cannot be passed on to chat completions: send its data")
	case strings.HasPrefix(p.Media, "text/"):
		text, err := base64.StdEncoding.DecodeString(p.Data)
		if err != nil || !utf8.Valid(text) {
			return p, malformed("data", "a document of type %s must be UTF-8 in base64", p.Media)
		}
		said := Part{Kind: Text, Text: string(text)}
		if p.Name != "" {
			said.Text = p.Name + ":\n" + said.Text
		}
		return said, nil
	case p.Name == "":
		_, kind, _ := strings.Cut(p.Media, "/")
		p.Name = "document." + kind
	}
	return p, nil
}
