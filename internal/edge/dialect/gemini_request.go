package dialect

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// geminiRequest is the state of one ReadRequest.
type geminiRequest struct {
	Request
	detail  string   // of all images: generationConfig.mediaResolution
	allowed []string // functions the model may call; nil: all
	strict  bool     // mode VALIDATED
	calls   []Part   // calls without a result, in order
	ids     geminiIDs
}

// ReadRequest reads a generateContent body.
func (gemini) ReadRequest(body []byte) (*Request, error) {
	v, err := geminiParse(body, true)
	if err != nil {
		return nil, err
	}
	r := &geminiRequest{}
	if err := geminiMembers(v, r.member); err != nil {
		return nil, err
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return &r.Request, nil
}

func (r *geminiRequest) member(name string, v gjson.Result) *Error {
	switch name {
	case "model":
		err := readString(v, &r.Model)
		r.Model = strings.TrimPrefix(r.Model, "models/")
		return err
	case "contents":
		if v.IsObject() { // one content is taken for a list of it
			return r.content(v)
		}
		return eachItem(v, func(_ int, v gjson.Result) *Error { return r.content(v) })
	case "systemInstruction":
		return r.system(v)
	case "tools":
		return eachItem(v, func(_ int, v gjson.Result) *Error { return geminiMembers(v, r.tool) })
	case "toolConfig":
		return geminiMembers(v, func(name string, v gjson.Result) *Error {
			if name != "functionCallingConfig" {
				return geminiUnknown()
			}
			return geminiMembers(v, r.calling)
		})
	case "generationConfig":
		return geminiMembers(v, r.config)
	case "safetySettings":
		return eachItem(v, func(_ int, v gjson.Result) *Error { return r.safety(v) })
	case "labels":
		r.drop(name)
		return nil
	}
	return geminiUnknown()
}

// safety drops settings that ask for no filter: the others have none to set.
func (r *geminiRequest) safety(v gjson.Result) *Error {
	return geminiMembers(v, func(name string, v gjson.Result) *Error {
		switch {
		case name == "category":
			r.drop("safetySettings")
		case name != "threshold":
			return geminiUnknown()
		case v.Str != "BLOCK_NONE" && v.Str != "OFF" && v.Str != "HARM_BLOCK_THRESHOLD_UNSPECIFIED":
			return unsupported("", "this model's provider has no filter to set; leave it out, or say BLOCK_NONE")
		}
		return nil
	})
}

func (r *geminiRequest) system(v gjson.Result) *Error {
	if v.Type == gjson.String {
		r.System = append(r.System, Part{Text: v.Str})
		return nil
	}
	return geminiMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "role":
			return nil
		case "parts":
			return geminiParts(v, func(v gjson.Result) *Error {
				p, _, unknown, err := readGeminiPart(v)
				switch {
				case err != nil:
					return err
				case unknown != "":
					return within(geminiUnknown(), unknown)
				case p.Text == nil:
					return unsupported("", "a system instruction is text only")
				}
				r.System = append(r.System, Part{Text: *p.Text})
				return nil
			})
		}
		return geminiUnknown()
	})
}

// geminiParts walks parts; a single one is taken for a list of it.
func geminiParts(v gjson.Result, take func(v gjson.Result) *Error) *Error {
	if v.IsObject() {
		return take(v)
	}
	return eachItem(v, func(_ int, v gjson.Result) *Error { return take(v) })
}

func (r *geminiRequest) content(v gjson.Result) *Error {
	var turn Turn
	var parts gjson.Result
	err := geminiMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "role":
			switch v.Str {
			case "user", "function":
			case "model":
				turn.Role = Assistant
			default:
				return malformed("", "must be user or model")
			}
			return nil
		case "parts":
			parts = v
			return nil
		}
		return geminiUnknown()
	})
	if err != nil {
		return err
	}
	if !parts.Exists() {
		return malformed("parts", "must be given")
	}
	if err := geminiParts(parts, func(v gjson.Result) *Error { return r.part(&turn, v) }); err != nil {
		return within(err, "parts")
	}
	r.Turns = append(r.Turns, turn)
	return nil
}

func (r *geminiRequest) part(turn *Turn, v gjson.Result) *Error {
	p, detail, unknown, err := readGeminiPart(v)
	switch {
	case err != nil:
		return err
	case unknown != "":
		return within(geminiUnknown(), unknown)
	case p.Response != nil:
		return r.result(turn, p.Response)
	case p.Inline != nil || p.File != nil:
		part, err := p.media()
		if part.Kind == Image {
			part.Detail = detail
		}
		turn.Parts = append(turn.Parts, part)
		return err
	}
	n := len(turn.Parts)
	turn.Parts = p.said(turn.Parts, &r.ids)
	for _, part := range turn.Parts[n:] {
		if part.Kind != Text && turn.Role == User {
			return malformed("", "only the model thinks and calls functions: its role must be model")
		}
		if part.Kind == ToolCall {
			r.calls = append(r.calls, part)
		}
	}
	return nil
}

// result matches a function's response with its call: by ID, else the oldest
// call of that name without a result.
func (r *geminiRequest) result(turn *Turn, f *geminiCallResponse) *Error {
	at := slices.IndexFunc(r.calls, func(c Part) bool {
		return c.Name == f.Name && (f.ID == "" || f.ID == c.ID)
	})
	if at < 0 {
		return malformed("functionResponse", "no call of %s without a response comes before", f.Name)
	}
	if turn.Role != User {
		return malformed("functionResponse", "its role must be user")
	}
	out := Part{Kind: ToolResult, ID: r.calls[at].ID, Name: f.Name}
	r.calls = slices.Delete(r.calls, at, at+1)
	if text, failed, ok := geminiOutput(f.Response); ok {
		out.Parts, out.Failed = []Part{{Text: text}}, failed
	}
	for i := range f.Parts {
		part, err := f.Parts[i].media()
		if err != nil {
			return within(err, "functionResponse.parts")
		}
		out.Parts = append(out.Parts, part)
	}
	turn.Parts = append(turn.Parts, out)
	return nil
}

// geminiOutput is the text of a function's response: what stands alone under
// output or error, else the object itself.
func geminiOutput(response []byte) (text string, failed, ok bool) {
	if len(response) == 0 {
		return "", false, false
	}
	v := gjson.ParseBytes(response)
	members, inner, failed := 0, gjson.Result{}, false
	v.ForEach(func(name, v gjson.Result) bool {
		members++
		switch name.Str {
		case "output":
			inner = v
		case "error":
			inner, failed = v, true
		}
		return true
	})
	switch {
	case members != 1 || !inner.Exists():
		return v.Raw, failed, true
	case inner.Type == gjson.String:
		return inner.Str, failed, true
	}
	return inner.Raw, failed, true
}

func (r *geminiRequest) tool(name string, v gjson.Result) *Error {
	if name != "functionDeclarations" {
		return geminiUnknown() // tools that the provider runs
	}
	return eachItem(v, func(_ int, v gjson.Result) *Error {
		var t Tool
		err := geminiMembers(v, func(name string, v gjson.Result) (err *Error) {
			switch name {
			case "name":
				return readString(v, &t.Name)
			case "description":
				return readString(v, &t.Description)
			case "parameters":
				t.Schema, err = appendGeminiSchema(nil, v, 0)
				return err
			case "parametersJsonSchema":
				if !v.IsObject() {
					return malformed("", "must be an object")
				}
				t.Schema = Raw(v.Raw)
				return nil
			case "response", "responseJsonSchema": // what it will give back
				r.drop("tools.functionDeclarations." + name)
				return nil
			case "behavior":
				if v.Str == "BLOCKING" || v.Str == "UNSPECIFIED" {
					return nil
				}
			}
			return geminiUnknown()
		})
		if err == nil && t.Name == "" {
			err = malformed("name", "must be given")
		}
		r.Tools = append(r.Tools, t)
		return err
	})
}

func (r *geminiRequest) calling(name string, v gjson.Result) *Error {
	switch name {
	case "mode":
		switch v.Str {
		case "MODE_UNSPECIFIED":
		case "AUTO":
			r.Choice = ChoiceAuto
		case "ANY":
			r.Choice = ChoiceRequired
		case "NONE":
			r.Choice = ChoiceNone
		case "VALIDATED":
			r.Choice, r.strict = ChoiceAuto, true
		default:
			return malformed("", "must be AUTO, ANY, NONE or VALIDATED")
		}
		return nil
	case "allowedFunctionNames":
		return geminiStrings(v, &r.allowed)
	}
	return geminiUnknown()
}

// finish settles what depends on several members.
func (r *geminiRequest) finish() *Error {
	if len(r.Turns) == 0 {
		return malformed("contents", "must be given, and not be empty")
	}
	if r.strict {
		for i := range r.Tools {
			r.Tools[i].Strict = new(true)
		}
	}
	if len(r.allowed) > 0 && (r.Choice != ChoiceRequired || !r.allowsAll()) {
		if r.Choice != ChoiceRequired || len(r.allowed) > 1 {
			return unsupported("toolConfig.functionCallingConfig.allowedFunctionNames", "with another mode than ANY, or with several names, does not reach this model's provider: declare only the functions that may be called")
		}
		r.Choice, r.ChoiceName = ChoiceNamed, r.allowed[0]
	}
	if r.detail != "" {
		for t := range r.Turns {
			for p := range r.Turns[t].Parts {
				if part := &r.Turns[t].Parts[p]; part.Kind == Image && part.Detail == "" {
					part.Detail = r.detail
				}
			}
		}
	}
	return nil
}

// allowsAll says that the names allowed are those of more than one tool, and of all.
func (r *geminiRequest) allowsAll() bool {
	return len(r.Tools) > 1 && !slices.ContainsFunc(r.Tools, func(t Tool) bool { return !slices.Contains(r.allowed, t.Name) })
}

// said appends what a part says, beside files and results: text, thinking and calls.
func (p *geminiPart) said(to []Part, ids *geminiIDs) []Part {
	switch {
	case p.Call != nil:
		if signature, _ := geminiTake(p.Signature, geminiNext); signature != "" {
			to = append(to, Part{Kind: Thinking, Signature: signature})
		}
		return append(to, Part{Kind: ToolCall, ID: ids.next(p.Call), Name: p.Call.Name, Arguments: Raw(slices.Clone([]byte(p.Call.Args)))})
	case p.Thought:
		signature, redacted := geminiTake(p.Signature, geminiMark)
		if redacted {
			return append(to, Part{Kind: Redacted, Data: signature})
		}
		out := Part{Kind: Thinking, Signature: signature}
		if p.Text != nil {
			out.Text = *p.Text
		}
		return append(to, out)
	case p.Text != nil:
		signature, _ := geminiTake(p.Signature, geminiMark)
		return append(to, Part{Text: *p.Text, Signature: signature})
	}
	return to
}
