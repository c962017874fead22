package dialect

import (
	"strings"

	"github.com/tidwall/gjson"
)

// messagesRequest is the state of one ReadRequest.
type messagesRequest struct {
	*Request
	effort   string // of output_config
	thinking string // the type of thinking
}

// ReadRequest reads the body of POST /v1/messages.
func (messages) ReadRequest(body []byte) (*Request, error) {
	v, err := messagesParse(body)
	if err != nil {
		return nil, err
	}
	r := messagesRequest{Request: &Request{}}
	if err := eachMember(v, r.member); err != nil {
		return nil, err
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return r.Request, nil
}

// member reads one member of the body.
func (r *messagesRequest) member(name string, v gjson.Result) *Error {
	switch name {
	case "model":
		return messagesWord(v, &r.Model)
	case "stream":
		return readBool(v, &r.Stream)
	case "max_tokens":
		if v.Type == gjson.Number && v.Num == 0 {
			return unsupported("", "0, which only fills a cache, cannot be said to a provider of another API")
		}
		return messagesInteger(v, 1, &r.MaxOutput)
	case "temperature":
		return messagesFloat(v, &r.Temperature)
	case "top_p":
		return messagesFloat(v, &r.TopP)
	case "top_k":
		return messagesInteger(v, 0, &r.TopK)
	case "stop_sequences":
		return eachItem(v, func(_ int, v gjson.Result) *Error {
			var s string
			err := messagesWord(v, &s)
			r.Stop = append(r.Stop, s)
			return err
		})
	case "system":
		return r.readSystem(v)
	case "messages":
		return eachItem(v, r.turn)
	case "tools":
		return eachItem(v, r.tool)
	case "tool_choice":
		return r.choice(v)
	case "thinking":
		return r.readThinking(v)
	case "output_config":
		return eachMember(v, func(name string, v gjson.Result) *Error {
			switch name {
			case "effort":
				return r.readEffort(v)
			case "format":
				return r.format(v)
			}
			return messagesUnknown()
		})
	case "output_format": // the same as output_config.format, in its first beta
		return r.format(v)
	case "metadata":
		return eachMember(v, func(name string, v gjson.Result) *Error {
			if name == "user_id" {
				return readString(v, &r.User)
			}
			return messagesUnknown()
		})
	case "service_tier":
		if v.Str != "auto" && v.Str != "standard_only" {
			return unsupported("", "must be auto or standard_only")
		}
		r.drop(name)
		return nil
	case "speed":
		if v.Str != "standard" && v.Str != "fast" {
			return unsupported("", "must be standard or fast")
		}
		r.drop(name)
		return nil
	case "cache_control", "diagnostics", "betas", "anthropic_beta", "anthropic_version":
		r.drop(name)
		return nil
	case "mcp_servers":
		if v.Raw == "[]" {
			return nil
		}
	}
	return messagesUnknown()
}

// finish checks what must be there, and what members say together.
func (r *messagesRequest) finish() *Error {
	switch {
	case r.Model == "":
		return malformed("model", "is missing")
	case r.MaxOutput == nil:
		return malformed("max_tokens", "is missing")
	case len(r.Turns) == 0:
		return malformed("messages", "must have at least one message of user or assistant")
	case r.Budget != nil && *r.Budget >= *r.MaxOutput:
		return malformed("thinking.budget_tokens", "must be less than max_tokens")
	}
	r.Usage = r.Stream // this API always tells usage in the stream
	switch {
	case r.thinking == "disabled":
		r.Effort = "none"
	case r.thinking == "enabled":
	case r.thinking == "adaptive" && r.effort == "":
		r.Effort = "high" // what the API takes if no effort is said
	default:
		r.Effort = r.effort
	}
	if r.effort != "" && r.Effort != r.effort {
		r.drop("output_config.effort") // the budget, or the word that there be none, counts more
	}
	if r.ChoiceName != "" {
		for _, t := range r.Tools {
			if t.Name == r.ChoiceName {
				return nil
			}
		}
		return malformed("tool_choice.name", "is not the name of one of the tools")
	}
	return nil
}

// readSystem reads a string or an array of text blocks. It comes before system
// messages, wherever it stands in the body.
func (r *messagesRequest) readSystem(v gjson.Result) *Error {
	parts, err := r.content(v, "system")
	r.System = append(parts, r.System...)
	return err
}

// turn reads one message. System messages are possible before all others: later
// ones have a place in the order that the neutral form cannot keep.
func (r *messagesRequest) turn(_ int, v gjson.Result) *Error {
	var role string
	var content gjson.Result
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "role":
			return readString(v, &role)
		case "content":
			content = v
			return nil
		}
		return messagesUnknown()
	})
	if err != nil {
		return err
	}
	if !content.Exists() {
		return malformed("content", "is missing")
	}
	parts, err := r.content(content, role)
	if err != nil {
		return within(err, "content")
	}
	switch role {
	case "user":
		r.Turns = append(r.Turns, Turn{Role: User, Parts: parts})
	case "assistant":
		r.Turns = append(r.Turns, Turn{Role: Assistant, Parts: parts})
	case "system":
		if len(r.Turns) > 0 {
			return unsupported("role", "a system message after others cannot be said to a provider of another API; move it to system")
		}
		r.System = append(r.System, parts...)
	default:
		return malformed("role", "must be user or assistant")
	}
	return nil
}

// tool reads one tool. Tools that Anthropic runs, or knows the form of, exist
// only there.
func (r *messagesRequest) tool(_ int, v gjson.Result) *Error {
	if kind := messagesType(v); kind != "" && kind != "custom" {
		return unsupported("type", "the tool %.64q exists only at its provider; declare a custom tool, or use a model whose provider speaks messages", kind)
	}
	var t Tool
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "type":
			var kind string
			return messagesWord(v, &kind)
		case "name":
			return messagesWord(v, &t.Name)
		case "description":
			return readString(v, &t.Description)
		case "input_schema":
			return readObject(v, &t.Schema)
		case "strict":
			return readBoolAt(v, &t.Strict)
		case "cache_control", "eager_input_streaming":
			r.drop(name)
			return nil
		case "defer_loading":
			if v.Type == gjson.False {
				return nil
			}
		case "allowed_callers":
			if a := v.Array(); len(a) == 1 && a[0].Str == "direct" {
				return nil
			}
		case "input_examples":
			if v.Raw == "[]" {
				return nil
			}
		}
		return messagesUnknown()
	})
	switch {
	case err != nil:
		return err
	case t.Name == "":
		return malformed("name", "is missing")
	case t.Schema == nil:
		return malformed("input_schema", "is missing")
	}
	r.Tools = append(r.Tools, t)
	return nil
}

func (r *messagesRequest) choice(v gjson.Result) *Error {
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "type":
			switch v.Str {
			case "auto":
				r.Choice = ChoiceAuto
			case "any":
				r.Choice = ChoiceRequired
			case "tool":
				r.Choice = ChoiceNamed
			case "none":
				r.Choice = ChoiceNone
			default:
				return unsupported("", "must be auto, any, tool or none")
			}
			return nil
		case "name":
			return messagesWord(v, &r.ChoiceName)
		case "disable_parallel_tool_use":
			err := readBoolAt(v, &r.Parallel)
			*r.Parallel = !*r.Parallel
			return err
		}
		return messagesUnknown()
	})
	switch {
	case err != nil:
		return err
	case r.Choice == ChoiceDefault:
		return malformed("type", "is missing")
	case (r.Choice == ChoiceNamed) != (r.ChoiceName != ""):
		return malformed("name", "goes with the type tool, and only with it")
	}
	return nil
}

// format reads the schema that an answer must follow. This API always holds the
// model to it.
func (r *messagesRequest) format(v gjson.Result) *Error {
	if r.Format.Kind != FormatText {
		return malformed("", "the format is said twice, in output_config.format and in output_format")
	}
	kind := messagesType(v)
	if kind != "json_schema" {
		return unsupported("type", "must be json_schema")
	}
	strict := true
	r.Format = Format{Kind: FormatSchema, Strict: &strict}
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "type":
			return nil
		case "schema":
			return readObject(v, &r.Format.Schema)
		}
		return messagesUnknown()
	})
	if err == nil && r.Format.Schema == nil {
		err = malformed("schema", "is missing")
	}
	return err
}

func messagesBlank(s string) bool { return strings.TrimSpace(s) == "" }
