package dialect

// chatRequestWriter is the state of one writing.
type chatRequestWriter struct {
	r     *Request
	b     []byte
	moved []Part // images and documents of tool results, to be said by the user
}

// writeChatRequest makes the body. Its limit is max_completion_tokens, which
// counts thinking as every dialect does, and not the older max_tokens; its label
// of the end user is user. A stream always asks for usage, as tokens are counted
// here whether or not the caller wants to see them.
func writeChatRequest(r *Request) ([]byte, *Error) {
	if r.TopK != nil {
		return nil, unsupported("top_k", "chat completions have no top_k: use top_p")
	}
	w := &chatRequestWriter{r: r, b: make([]byte, 0, 1024)}
	w.b = chatAddString(append(w.b, '{'), "model", r.Model)
	if err := w.messages(); err != nil {
		return nil, err
	}
	if err := w.tools(); err != nil {
		return nil, err
	}
	w.sampling()
	if err := w.format(); err != nil {
		return nil, err
	}
	if effort := chatEffort(r); effort != "" {
		w.b = chatAddString(w.b, "reasoning_effort", effort)
	}
	if r.User != "" {
		w.b = chatAddString(w.b, "user", r.User)
	}
	if r.Stream {
		w.b = append(w.b, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	return append(w.b, '}'), nil
}

// Most tokens of thinking that are still an effort of that name. They lie between
// what Gemini's own chat completions take the efforts for: 1,024, 8,192 and 24,576.
const (
	chatLowBudget    = 4095
	chatMediumBudget = 16383
)

// chatEffort is how much to think in words: what was said in words, or else the
// budget, where 0 is none and less leaves it to the provider.
func chatEffort(r *Request) string {
	switch {
	case r.Effort != "":
		return r.Effort
	case r.Budget == nil || *r.Budget < 0:
		return ""
	case *r.Budget == 0:
		return "none"
	case *r.Budget <= chatLowBudget:
		return "low"
	case *r.Budget <= chatMediumBudget:
		return "medium"
	}
	return "high"
}

func (w *chatRequestWriter) sampling() {
	r := w.r
	if r.MaxOutput != nil {
		w.b = chatAddInt(w.b, "max_completion_tokens", *r.MaxOutput)
	}
	for _, n := range []struct {
		name string
		f    *float64
	}{
		{"temperature", r.Temperature}, {"top_p", r.TopP},
		{"frequency_penalty", r.FrequencyPenalty}, {"presence_penalty", r.PresencePenalty},
	} {
		if n.f != nil {
			w.b = chatAddFloat(w.b, n.name, *n.f)
		}
	}
	if len(r.Stop) > 0 {
		w.b = append(chatKey(w.b, "stop"), '[')
		for _, s := range r.Stop {
			w.b = chatQuote(chatItem(w.b), s)
		}
		w.b = append(w.b, ']')
	}
	if r.Seed != nil {
		w.b = chatAddInt(w.b, "seed", *r.Seed)
	}
}

func (w *chatRequestWriter) format() *Error {
	f := w.r.Format
	switch f.Kind {
	case FormatText:
		return nil
	case FormatJSON:
		w.b = append(w.b, `,"response_format":{"type":"json_object"}`...)
		return nil
	}
	if len(f.Schema) == 0 {
		return malformed("format.schema", "you must provide a schema")
	}
	name := f.Name
	if name == "" {
		name = "answer" // chat must have one, and it means nothing
	}
	w.b = append(w.b, `,"response_format":{"type":"json_schema","json_schema":{`...)
	w.b = chatAddRaw(chatAddString(w.b, "name", name), "schema", f.Schema)
	if f.Strict != nil {
		w.b = chatAddBool(w.b, "strict", *f.Strict)
	}
	w.b = append(w.b, `}}`...)
	return nil
}

// tools writes the tools. How they may be called is said only beside them: chat
// refuses it alone, where it means nothing but that a call cannot be had.
func (w *chatRequestWriter) tools() *Error {
	r := w.r
	if len(r.Tools) == 0 {
		if r.Choice == ChoiceRequired || r.Choice == ChoiceNamed {
			return malformed("tool_choice", "a call is demanded, but there are no tools")
		}
		return nil
	}
	w.b = append(chatKey(w.b, "tools"), '[')
	for _, t := range r.Tools {
		w.b = append(chatItem(w.b), `{"type":"function","function":{`...)
		w.b = chatAddString(w.b, "name", t.Name)
		if t.Description != "" {
			w.b = chatAddString(w.b, "description", t.Description)
		}
		if len(t.Schema) > 0 {
			w.b = chatAddRaw(w.b, "parameters", t.Schema)
		}
		if t.Strict != nil {
			w.b = chatAddBool(w.b, "strict", *t.Strict)
		}
		w.b = append(w.b, `}}`...)
	}
	w.b = append(w.b, ']')
	switch r.Choice {
	case ChoiceDefault:
	case ChoiceAuto:
		w.b = chatAddString(w.b, "tool_choice", "auto")
	case ChoiceNone:
		w.b = chatAddString(w.b, "tool_choice", "none")
	case ChoiceRequired:
		w.b = chatAddString(w.b, "tool_choice", "required")
	case ChoiceNamed:
		w.b = append(w.b, `,"tool_choice":{"type":"function","function":{`...)
		w.b = append(chatAddString(w.b, "name", r.ChoiceName), `}}`...)
	}
	if r.Parallel != nil {
		w.b = chatAddBool(w.b, "parallel_tool_calls", *r.Parallel)
	}
	return nil
}
