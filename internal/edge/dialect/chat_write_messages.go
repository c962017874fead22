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
			if err = w.said(nil); err == nil {
				err = w.assistant(t.Parts)
			}
		} else {
			err = w.user(t.Parts)
		}
		if err != nil {
			return chatWithin(chatAt(err, i), "turns")
		}
	}
	if err := w.said(nil); err != nil {
		return chatWithin(err, "turns")
	}
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
			return chatWithin(chatAt(unsupported("", "the system prompt can hold text only"), i), "system")
		}
	}
	w.b = append(w.b, `{"role":"system"`...)
	if err := w.content(w.r.System); err != nil {
		return chatWithin(err, "system")
	}
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
				return chatWithin(chatAt(err, i), "parts")
			}
		case Text, Image, Document:
			rest = append(rest, *p)
		default:
			return chatWithin(chatAt(unsupported("", "the user cannot say this in chat completions"), i), "parts")
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return w.said(rest)
}

// said writes a message of the user, what was moved before what is said.
func (w *chatRequestWriter) said(parts []Part) *Error {
	parts = append(w.moved, parts...)
	w.moved = nil
	if len(parts) == 0 {
		return nil
	}
	w.b = append(chatItem(w.b), `{"role":"user"`...)
	if err := w.content(parts); err != nil {
		return chatWithin(err, "parts")
	}
	w.b = append(w.b, '}')
	return nil
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
			moved = true
			w.moved = append(w.moved, q)
		default:
			return chatWithin(chatAt(unsupported("", "a tool result can hold text, images and documents only"), i), "parts")
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
	if err := w.content(texts); err != nil {
		return err
	}
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
			return chatWithin(chatAt(unsupported("", "the model cannot have said this in chat completions"), i), "parts")
		}
	}
	if len(texts) == 0 && refusal.Len() == 0 && calls == 0 {
		return nil
	}
	w.b = append(chatItem(w.b), `{"role":"assistant"`...)
	if len(texts) == 0 {
		w.b = append(w.b, `,"content":null`...)
	} else if err := w.content(texts); err != nil {
		return err
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
func (w *chatRequestWriter) content(parts []Part) *Error {
	w.b = chatKey(w.b, "content")
	if len(parts) == 1 && parts[0].Kind == Text {
		w.b = chatQuote(w.b, parts[0].Text)
		return nil
	}
	w.b = append(w.b, '[')
	for i := range parts {
		w.b = chatItem(w.b)
		if err := w.part(&parts[i]); err != nil {
			return err
		}
	}
	w.b = append(w.b, ']')
	return nil
}

func (w *chatRequestWriter) part(p *Part) *Error {
	switch {
	case p.Kind == Text:
		w.text(p.Text)
	case p.Kind == Image:
		url := p.URL
		if url == "" {
			url = "data:" + p.Media + ";base64," + p.Data
		}
		w.b = append(w.b, `{"type":"image_url","image_url":{`...)
		w.b = chatAddString(w.b, "url", url)
		if p.Detail != "" {
			w.b = chatAddString(w.b, "detail", p.Detail)
		}
		w.b = append(w.b, `}}`...)
	case p.URL != "":
		return unsupported("url", "a document by its URL cannot be passed on to chat completions: send its data")
	case strings.HasPrefix(p.Media, "text/"):
		text, err := base64.StdEncoding.DecodeString(p.Data)
		if err != nil || !utf8.Valid(text) {
			return malformed("data", "a document of type %s must be UTF-8 in base64", p.Media)
		}
		if p.Name != "" {
			text = append([]byte(p.Name+":\n"), text...)
		}
		w.text(string(text))
	default:
		name := p.Name
		if name == "" { // chat must have one
			_, kind, _ := strings.Cut(p.Media, "/")
			name = "document." + kind
		}
		w.b = append(w.b, `{"type":"file","file":{`...)
		w.b = chatAddString(chatAddString(w.b, "filename", name), "file_data", "data:"+p.Media+";base64,"+p.Data)
		w.b = append(w.b, `}}`...)
	}
	return nil
}

func (w *chatRequestWriter) text(s string) {
	w.b = append(chatAddString(append(w.b, `{"type":"text"`...), "text", s), '}')
}
