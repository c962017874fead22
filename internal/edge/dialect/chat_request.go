package dialect

import (
	"slices"

	"github.com/tidwall/gjson"
)

// chatRequestReader is the state of one reading.
type chatRequestReader struct {
	r         Request
	calls     map[string]string // names of the functions called so far, by call
	limit     *int64            // max_tokens, which max_completion_tokens replaces
	safety    string            // safety_identifier, which replaces user
	hasPrompt bool
}

func readChatRequest(body []byte) (*Request, *Error) {
	root, err := parseChat(body)
	if err != nil {
		return nil, err
	}
	p := &chatRequestReader{calls: map[string]string{}}
	if err := eachMember(root, p.member); err != nil {
		return nil, err
	}
	if p.r.Model == "" {
		return nil, malformed("model", "you must provide a model")
	}
	if !p.hasPrompt {
		return nil, malformed("messages", "you must provide messages")
	}
	p.finish()
	return &p.r, nil
}

// finish settles what two members say in turn.
func (p *chatRequestReader) finish() {
	r := &p.r
	if r.MaxOutput == nil {
		r.MaxOutput = p.limit
	}
	if r.MaxOutput != nil && *r.MaxOutput <= 0 {
		r.MaxOutput = nil // how some servers spell "no limit"
	}
	if p.safety != "" {
		if r.User != "" && r.User != p.safety {
			r.drop("user")
		}
		r.User = p.safety
	}
}

// chatHints change no answer, whatever they say.
var chatHints = []string{"metadata", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"}

func (p *chatRequestReader) member(name string, v gjson.Result) *Error {
	r := &p.r
	switch name {
	case "model":
		return readString(v, &r.Model)
	case "messages":
		p.hasPrompt = true
		return p.messages(v)
	case "tools":
		return eachItem(v, p.tool)
	case "tool_choice":
		return p.choice(v)
	case "parallel_tool_calls":
		return readBoolAt(v, &r.Parallel)
	case "max_tokens":
		return chatInt(v, &p.limit)
	case "max_completion_tokens":
		return chatInt(v, &r.MaxOutput)
	case "temperature":
		return chatFloat(v, &r.Temperature)
	case "top_p":
		return chatFloat(v, &r.TopP)
	case "frequency_penalty":
		return chatFloat(v, &r.FrequencyPenalty)
	case "presence_penalty":
		return chatFloat(v, &r.PresencePenalty)
	case "seed":
		return chatInt(v, &r.Seed)
	case "stop":
		return p.stop(v)
	case "response_format":
		return p.format(v)
	case "reasoning_effort":
		return p.effort(v)
	case "stream":
		return chatFlag(v, &r.Stream)
	case "stream_options":
		return eachMember(v, p.streamOption)
	case "user":
		return readString(v, &r.User)
	case "safety_identifier":
		return readString(v, &p.safety)
	}
	if slices.Contains(chatHints, name) {
		r.drop(name)
		return nil
	}
	return p.fixed(name, v)
}

// fixed takes the members that have one value which changes nothing. Any other
// asks for what no other dialect can give.
func (p *chatRequestReader) fixed(name string, v gjson.Result) *Error {
	switch name {
	case "n":
		if v.Raw != "1" {
			return unsupported("", "only one answer can be asked for: leave n out")
		}
	case "logprobs":
		if v.Type != gjson.False {
			return unsupported("", "log probabilities cannot be asked for: leave it out")
		}
	case "top_logprobs":
		if v.Raw != "0" {
			return unsupported("", "log probabilities cannot be asked for: leave it out")
		}
	case "logit_bias":
		if v.IsObject() && chatEmpty(v) {
			return nil
		}
		return unsupported("", "the bias of single tokens cannot be said: leave it out")
	case "modalities":
		if items := v.Array(); !v.IsArray() || len(items) != 1 || items[0].Str != "text" {
			return unsupported("", `only ["text"] can be asked for`)
		}
	case "store":
		if v.Type != gjson.False { // which is what is done
			return unsupported("", "the answer cannot be kept at the provider: leave store out")
		}
	case "service_tier":
		if v.Str != "auto" && v.Str != "default" {
			return unsupported("", "only auto and default can be asked for")
		}
		p.r.drop(name)
	case "verbosity":
		if v.Str != "medium" { // what is meant when nothing is said
			return unsupported("", "how wordy the answer is cannot be set: say it in the prompt")
		}
		p.r.drop(name)
	case "functions", "function_call":
		return unsupported("", "functions were replaced by tools and tool_choice: use those")
	default:
		return unsupported("", "this member cannot be passed on to a provider of another dialect: leave it out")
	}
	return nil
}

func (p *chatRequestReader) streamOption(name string, v gjson.Result) *Error {
	switch name {
	case "include_usage":
		return chatFlag(v, &p.r.Usage)
	case "include_obfuscation":
		p.r.drop("stream_options.include_obfuscation")
		return nil
	}
	return chatUnknown()
}

func (p *chatRequestReader) stop(v gjson.Result) *Error {
	if v.Type == gjson.String {
		p.r.Stop = []string{v.Str}
		return nil
	}
	if !v.IsArray() {
		return malformed("", "must be a string or an array of strings")
	}
	return eachItem(v, func(_ int, v gjson.Result) *Error {
		var s string
		err := readString(v, &s)
		p.r.Stop = append(p.r.Stop, s)
		return err
	})
}

func (p *chatRequestReader) effort(v gjson.Result) *Error {
	if err := readString(v, &p.r.Effort); err != nil {
		return err
	}
	switch p.r.Effort {
	case "none", "minimal", "low", "medium", "high":
		return nil
	}
	return unsupported("", "must be none, minimal, low, medium or high")
}

func (p *chatRequestReader) format(v gjson.Result) *Error {
	var kind string
	var schema gjson.Result
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "type":
			return readString(v, &kind)
		case "json_schema":
			schema = v
			return nil
		}
		return chatUnknown()
	})
	if err != nil {
		return err
	}
	f := &p.r.Format
	switch kind {
	case "text":
		f.Kind = FormatText
	case "json_object":
		f.Kind = FormatJSON
	case "json_schema":
		f.Kind = FormatSchema
		if !schema.Exists() {
			return malformed("json_schema", "you must provide a schema")
		}
		if err := eachMember(schema, p.formatSchema); err != nil {
			return within(err, "json_schema")
		}
		if f.Schema == nil {
			return malformed("json_schema.schema", "you must provide a schema")
		}
		return nil
	case "":
		return malformed("type", "you must provide a type")
	default:
		return unsupported("type", "must be text, json_object or json_schema")
	}
	if schema.Exists() {
		return malformed("json_schema", "goes with the type json_schema only")
	}
	return nil
}

func (p *chatRequestReader) formatSchema(name string, v gjson.Result) *Error {
	f := &p.r.Format
	switch name {
	case "name":
		return readString(v, &f.Name)
	case "schema":
		return readObject(v, &f.Schema)
	case "strict":
		return readBoolAt(v, &f.Strict)
	case "description":
		return unsupported("", "write the description into the schema")
	}
	return chatUnknown()
}

func chatFlag(v gjson.Result, to *bool) *Error {
	var is *bool
	if err := readBoolAt(v, &is); err != nil {
		return err
	}
	*to = *is
	return nil
}

// chatEmpty says whether an object or array has nothing in it.
func chatEmpty(v gjson.Result) bool {
	empty := true
	v.ForEach(func(_, _ gjson.Result) bool { empty = false; return false })
	return empty
}

func chatUnknown() *Error {
	return unsupported("", "this member is not known here: leave it out")
}
