package dialect

import "strconv"

// tools writes the tools and the choice among them. Where strict is not said,
// the other dialects mean no and Responses means yes, so it is always said.
func (w *respOut) tools() {
	r := w.r
	for i := range r.Tools {
		t := &r.Tools[i]
		if i == 0 {
			w.dst = append(w.dst, `,"tools":[`...)
		}
		w.dst = respQuote(append(w.dst, `{"type":"function","name":`...), t.Name)
		if t.Description != "" {
			w.dst = respQuote(append(w.dst, `,"description":`...), t.Description)
		}
		w.dst = append(w.dst, `,"parameters":`...)
		if len(t.Schema) == 0 {
			w.dst = append(w.dst, `{"type":"object","properties":{}}`...)
		}
		w.dst = append(w.dst, t.Schema...)
		w.dst = append(w.dst, `,"strict":`...)
		w.dst = strconv.AppendBool(w.dst, t.Strict != nil && *t.Strict)
		w.dst = append(w.dst, `},`...)
	}
	if len(r.Tools) > 0 {
		w.dst = append(w.dst[:len(w.dst)-1], ']')
	}
	switch r.Choice {
	case ChoiceAuto:
		w.dst = append(w.dst, `,"tool_choice":"auto"`...)
	case ChoiceNone:
		w.dst = append(w.dst, `,"tool_choice":"none"`...)
	case ChoiceRequired:
		w.dst = append(w.dst, `,"tool_choice":"required"`...)
	case ChoiceNamed:
		w.dst = respQuote(append(w.dst, `,"tool_choice":{"type":"function","name":`...), r.ChoiceName)
		w.dst = append(w.dst, '}')
	}
	if r.Parallel != nil {
		w.dst = strconv.AppendBool(append(w.dst, `,"parallel_tool_calls":`...), *r.Parallel)
	}
}

// options writes the rest. Usage is told without being asked for.
func (w *respOut) options() {
	r := w.r
	if r.MaxOutput != nil {
		w.dst = strconv.AppendInt(append(w.dst, `,"max_output_tokens":`...), *r.MaxOutput, 10)
	}
	if r.Temperature != nil {
		w.dst = strconv.AppendFloat(append(w.dst, `,"temperature":`...), *r.Temperature, 'g', -1, 64)
	}
	if r.TopP != nil {
		w.dst = strconv.AppendFloat(append(w.dst, `,"top_p":`...), *r.TopP, 'g', -1, 64)
	}
	w.format()
	w.reasoning()
	if r.User != "" {
		w.dst = respQuote(append(w.dst, `,"safety_identifier":`...), r.User)
	}
	w.dst = append(w.dst, `,"store":false`...)
	if r.Stream {
		w.dst = append(w.dst, `,"stream":true`...)
	}
}

func (w *respOut) format() {
	f := &w.r.Format
	switch f.Kind {
	case FormatJSON:
		w.dst = append(w.dst, `,"text":{"format":{"type":"json_object"}}`...)
	case FormatSchema:
		name := f.Name
		if name == "" {
			name = "answer" // the name is required, and means nothing
		}
		w.dst = respQuote(append(w.dst, `,"text":{"format":{"type":"json_schema","name":`...), name)
		w.dst = append(append(w.dst, `,"schema":`...), f.Schema...)
		if f.Strict != nil {
			w.dst = strconv.AppendBool(append(w.dst, `,"strict":`...), *f.Strict)
		}
		w.dst = append(w.dst, `}}`...)
	}
}

// reasoning asks for thought, and for what shows it: a summary, and the sealed
// form by which the next request brings it back, as nothing is stored.
func (w *respOut) reasoning() {
	effort := w.r.Effort
	if effort == "" && w.r.Budget != nil { // of zero
		effort = "none"
	}
	if effort == "" {
		return
	}
	w.dst = respQuote(append(w.dst, `,"reasoning":{"effort":`...), effort)
	if effort == "none" {
		w.dst = append(w.dst, '}')
		return
	}
	w.dst = append(w.dst, `,"summary":"auto"},"include":["reasoning.encrypted_content"]`...)
}
