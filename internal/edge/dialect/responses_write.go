package dialect

import (
	"strings"

	"strconv"
)

// respOut builds a request.
type respOut struct {
	r   *Request
	dst []byte
	// open says that a message of the assistant is open, to which more may be said.
	open bool
}

func (responses) WriteRequest(r *Request) ([]byte, error) {
	if err := respSayable(r); err != nil {
		return nil, err
	}
	w := respOut{r: r, dst: make([]byte, 0, 1024)}
	w.dst = respQuote(append(w.dst, `{"model":`...), r.Model)
	if err := w.system(); err != nil {
		return nil, err
	}
	if err := w.turns(); err != nil {
		return nil, err
	}
	w.tools()
	w.options()
	return append(w.dst, '}'), nil
}

// respSayable looks for what Responses has no word for. Penalties of zero are
// none, and a budget of zero is no reasoning.
func respSayable(r *Request) *Error {
	for _, m := range [...]struct {
		name string
		said bool
		do   string
	}{
		{"stop", len(r.Stop) > 0, "leave it out, and cut the text yourself"},
		{"seed", r.Seed != nil, "leave it out"},
		{"top_k", r.TopK != nil, "leave it out, or say top_p"},
		{"frequency_penalty", r.FrequencyPenalty != nil && *r.FrequencyPenalty != 0, "leave it out"},
		{"presence_penalty", r.PresencePenalty != nil && *r.PresencePenalty != 0, "leave it out"},
		{"budget", r.Budget != nil && *r.Budget != 0 && r.Effort == "", "a provider of Responses takes no budget of thinking: say an effort"},
	} {
		if m.said {
			return unsupported(m.name, "cannot be said to a provider of Responses: %s", m.do)
		}
	}
	return nil
}

func (w *respOut) system() *Error {
	var text string
	for i := range w.r.System {
		p := &w.r.System[i]
		if p.Kind != Text {
			return unsupported("system["+strconv.Itoa(i)+"]", "only text can be said")
		}
		if i > 0 {
			text += respParagraph
		}
		text += p.Text
	}
	if text != "" {
		w.dst = respQuote(append(w.dst, `,"instructions":`...), text)
	}
	return nil
}

func (w *respOut) turns() *Error {
	w.dst = append(w.dst, `,"input":[`...)
	start := len(w.dst)
	for i := range w.r.Turns {
		t := &w.r.Turns[i]
		for j := range t.Parts {
			if !w.part(t.Role, &t.Parts[j]) {
				return unsupported("turns["+strconv.Itoa(i)+"].parts["+strconv.Itoa(j)+"]", "cannot be said at this place to a provider of Responses")
			}
		}
		w.close()
	}
	if len(w.dst) > start {
		w.dst = w.dst[:len(w.dst)-1] // the last comma
	}
	w.dst = append(w.dst, ']')
	return nil
}

// close ends the open message. Every item ends with a comma.
func (w *respOut) close() {
	if w.open {
		w.dst = append(w.dst[:len(w.dst)-1], `]},`...)
		w.open = false
	}
}

// part writes one part of a turn, into the open message or as an item.
func (w *respOut) part(role Role, p *Part) bool {
	switch p.Kind {
	case Text, Refusal, Image, Document:
		if p.Kind == Refusal && role == User || role == Assistant && (p.Kind == Image || p.Kind == Document) {
			return false
		}
		if !w.open {
			w.dst = append(w.dst, `{"type":"message","role":"`...)
			w.dst = append(w.dst, [...]string{User: "user", Assistant: "assistant"}[role]...)
			w.dst = append(w.dst, `","content":[`...)
			w.open = true
		}
		return w.content(role, p)
	}
	w.close()
	switch {
	case p.Kind == ToolCall && role == Assistant:
		w.dst = respQuote(append(w.dst, `{"type":"function_call","call_id":`...), p.ID)
		w.dst = respQuote(append(w.dst, `,"name":`...), p.Name)
		arguments := p.Arguments
		if len(arguments) == 0 {
			arguments = Raw("{}")
		}
		w.dst = respQuote(append(w.dst, `,"arguments":`...), arguments)
		w.dst = append(w.dst, `},`...)
	case p.Kind == ToolResult && role == User:
		return w.result(p)
	case p.Kind == Thinking && role == Assistant:
		// Its provider takes thinking back only with its seal.
		sealed, own := strings.CutPrefix(p.Signature, respMark)
		if !own {
			w.r.drop("thinking without a signature")
			return true
		}
		w.dst = append(w.dst, `{"type":"reasoning","summary":[{"type":"summary_text","text":`...)
		w.dst = respQuote(append(respQuote(w.dst, p.Text), `}],"encrypted_content":`...), sealed)
		w.dst = append(w.dst, `},`...)
	case p.Kind == Redacted && role == Assistant:
		sealed, own := strings.CutPrefix(p.Data, respMark)
		if !own {
			w.r.drop("thinking without a signature")
			return true
		}
		w.dst = append(w.dst, `{"type":"reasoning","summary":[],"encrypted_content":`...)
		w.dst = append(respQuote(w.dst, sealed), `},`...)
	default:
		return false
	}
	return true
}

// result writes what a tool gave. That it failed is told by its status, the
// nearest word there is.
func (w *respOut) result(p *Part) bool {
	w.dst = respQuote(append(w.dst, `{"type":"function_call_output","call_id":`...), p.ID)
	if p.Failed {
		w.dst = append(w.dst, `,"status":"incomplete"`...)
	}
	w.dst = append(w.dst, `,"output":`...)
	switch {
	case len(p.Parts) == 0:
		w.dst = append(w.dst, `""},`...)
		return true
	case len(p.Parts) == 1 && p.Parts[0].Kind == Text:
		w.dst = append(respQuote(w.dst, p.Parts[0].Text), `},`...)
		return true
	}
	w.dst = append(w.dst, '[')
	for i := range p.Parts {
		if p.Parts[i].Kind == Refusal || !w.content(User, &p.Parts[i]) {
			return false
		}
	}
	w.dst = append(w.dst[:len(w.dst)-1], `]},`...)
	return true
}

// content writes one part of a message and a comma.
func (w *respOut) content(role Role, p *Part) bool {
	switch p.Kind {
	case Text:
		kind := `{"type":"input_text","text":`
		if role == Assistant {
			kind = `{"type":"output_text","text":`
		}
		w.dst = respQuote(append(w.dst, kind...), p.Text)
	case Refusal:
		w.dst = respQuote(append(w.dst, `{"type":"refusal","refusal":`...), p.Text)
	case Image:
		w.dst = append(w.dst, `{"type":"input_image","image_url":`...)
		w.url(p)
		detail := p.Detail
		if detail == "" {
			detail = "auto"
		}
		w.dst = respQuote(append(w.dst, `,"detail":`...), detail)
	case Document:
		if p.URL != "" {
			w.dst = append(w.dst, `{"type":"input_file","file_url":`...)
			w.url(p)
		} else {
			name := p.Name
			if name == "" {
				name = "document" // data without a name is refused
				if p.Media == "application/pdf" {
					name += ".pdf"
				}
			}
			w.dst = respQuote(append(w.dst, `{"type":"input_file","filename":`...), name)
			w.dst = append(w.dst, `,"file_data":`...)
			w.url(p)
		}
		if p.Detail != "" {
			w.dst = respQuote(append(w.dst, `,"detail":`...), p.Detail)
		}
	default:
		return false
	}
	w.dst = append(w.dst, `},`...)
	return true
}

func (w *respOut) url(p *Part) {
	if p.URL != "" {
		w.dst = respQuote(w.dst, p.URL)
		return
	}
	w.dst = respEscape(append(w.dst, `"data:`...), p.Media)
	w.dst = respEscape(append(w.dst, `;base64,`...), p.Data)
	w.dst = append(w.dst, '"')
}
