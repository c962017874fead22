package dialect

import (
	"slices"

	"github.com/tidwall/gjson"
)

// respRequest is the state of one ReadRequest.
type respRequest struct {
	r            *Request
	instructions string
	safety, user string
	saidInput    bool
	names        map[string]string // of function calls, by call_id
}

func (responses) ReadRequest(body []byte) (*Request, error) {
	if err := respCheck(body, true); err != nil {
		return nil, err
	}
	q := respRequest{r: &Request{}}
	if err := respMembers("", gjson.ParseBytes(body), q.member); err != nil {
		return nil, err
	}
	if err := q.finish(); err != nil {
		return nil, err
	}
	return q.r, nil
}

func (q *respRequest) finish() *Error {
	r := q.r
	if r.Model == "" {
		return malformed("model", "is missing: name a model")
	}
	if !q.saidInput {
		return malformed("input", "is missing: say a string or an array of items")
	}
	if q.instructions != "" { // they come before the system messages of the input
		r.System = slices.Insert(r.System, 0, Part{Kind: Text, Text: q.instructions})
	}
	if r.User = q.safety; r.User == "" {
		r.User = q.user
	} else if q.user != "" {
		r.drop("user")
	}
	r.Usage = r.Stream // the last event has it, asked for or not
	return nil
}

// respRefused are members that have no word in another dialect, and the remedy.
var respRefused = map[string]string{
	"previous_response_id": "no earlier response is kept here: send the whole conversation in input",
	"conversation":         "no conversation is kept here: send the whole conversation in input",
	"prompt":               "prompt templates are kept by OpenAI: send their text in instructions and input",
	"max_tool_calls":       "it counts calls of built-in tools, and there are none here: leave it out",
	"context_management":   "the conversation is not shortened here: send what fits",
	"moderation":           "there is no moderation beside the model here: leave it out",
	"image":                "there is no option for all images here: set detail on each",
	"access_programs":      "access programs are known to OpenAI alone: leave it out",
}

// member reads one member of the body.
func (q *respRequest) member(name string, v gjson.Result) *Error {
	r := q.r
	switch name {
	case "model":
		return respText(name, v, &r.Model)
	case "input":
		return q.input(v)
	case "instructions":
		return respText(name, v, &q.instructions)
	case "stream":
		return respBool(name, v, &r.Stream)
	case "tools":
		return respElements(name, v, q.tool)
	case "tool_choice":
		return q.choice(v)
	case "parallel_tool_calls":
		return respBoolPtr(name, v, &r.Parallel)
	case "max_output_tokens":
		return respCount(name, v, &r.MaxOutput)
	case "temperature":
		return respNumber(name, v, 0, 2, &r.Temperature)
	case "top_p":
		return respNumber(name, v, 0, 1, &r.TopP)
	case "text":
		return respMembers(name, v, q.text)
	case "reasoning":
		return respMembers(name, v, q.reasoningOptions)
	case "user":
		return respText(name, v, &q.user)
	case "safety_identifier":
		return respText(name, v, &q.safety)
	}
	if why, ok := respRefused[name]; ok {
		if v.IsArray() && v.Get("#").Int() == 0 {
			return nil
		}
		return unsupported(name, "%s", why)
	}
	return q.hint(name, v)
}

// hint reads the members that change no answer, or may have only a value that
// changes none.
func (q *respRequest) hint(name string, v gjson.Result) *Error {
	switch name {
	case "metadata", "client_metadata", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options":
	case "store":
		// True is also what is meant where store is absent, so to refuse it would
		// part two callers who ask for the same. Nothing is stored: the answer says
		// store:false, and previous_response_id is refused.
		var store bool
		if err := respBool(name, v, &store); err != nil || !store {
			return err // false is what is done
		}
	case "background":
		var on bool
		if err := respBool(name, v, &on); err != nil || !on {
			return err
		}
		return unsupported(name, "answers are not kept to be fetched later: leave it out and wait, or stream")
	case "service_tier":
		if v.Str != "auto" && v.Str != "default" {
			return unsupported(name, "the provider has no such tier: say auto or default")
		}
	case "truncation":
		if v.Str != "disabled" {
			return unsupported(name, "the conversation is not shortened here: say disabled and send what fits")
		}
	case "top_logprobs":
		if v.Type != gjson.Number || v.Num != 0 {
			return unsupported(name, "log probabilities cannot be told: leave it out")
		}
	case "include":
		return respElements(name, v, q.include)
	case "stream_options":
		return respMembers(name, v, func(member string, _ gjson.Result) *Error {
			if member != "include_obfuscation" {
				return respUnknown(name + "." + member)
			}
			q.r.drop(name + "." + member)
			return nil
		})
	default:
		return respUnknown(name)
	}
	q.r.drop(name)
	return nil
}

func respUnknown(path string) *Error {
	return unsupported(path, "is not known here and cannot be passed on to this provider: leave it out")
}

// include takes what is given anyway where there is any: encrypted reasoning.
func (q *respRequest) include(path string, v gjson.Result) *Error {
	if v.Str != "reasoning.encrypted_content" {
		return unsupported(path, "only reasoning.encrypted_content can be included")
	}
	q.r.drop("include")
	return nil
}

// text reads a member of text.
func (q *respRequest) text(name string, v gjson.Result) *Error {
	path := "text." + name
	switch name {
	case "format":
		return q.format(path, v)
	case "verbosity":
		if v.Str != "medium" {
			return unsupported(path, "the provider has no word for it: say medium, or ask for it in instructions")
		}
		q.r.drop(path)
		return nil
	}
	return respUnknown(path)
}

func (q *respRequest) format(path string, v gjson.Result) *Error {
	kind, err := respTyped(path, v)
	if err != nil {
		return err
	}
	f := &q.r.Format
	switch kind {
	case "text":
		f.Kind = FormatText
	case "json_object":
		f.Kind = FormatJSON
	case "json_schema":
		f.Kind = FormatSchema
	default:
		return unsupported(path+".type", "%q is not known here: say text, json_object or json_schema", kind)
	}
	err = respMembers(path, v, func(name string, v gjson.Result) *Error {
		at := path + "." + name
		switch {
		case name == "type":
			return nil
		case f.Kind != FormatSchema:
		case name == "name":
			return respText(at, v, &f.Name)
		case name == "schema":
			return respSchema(at, v, &f.Schema)
		case name == "strict":
			return respBoolPtr(at, v, &f.Strict)
		case name == "description":
			return unsupported(at, "has no place at the provider: write it into the schema")
		}
		return respUnknown(at)
	})
	if err == nil && f.Kind == FormatSchema && f.Schema == nil {
		return malformed(path+".schema", "is missing")
	}
	return err
}

func respSchema(path string, v gjson.Result, to *Raw) *Error {
	if !v.IsObject() {
		return malformed(path, "must be an object")
	}
	*to = Raw(v.Raw)
	return nil
}

// reasoningOptions reads a member of reasoning. A summary is given wherever the
// provider shows its thinking, so wishes about it are hints.
func (q *respRequest) reasoningOptions(name string, v gjson.Result) *Error {
	path := "reasoning." + name
	switch name {
	case "effort":
		if err := respText(path, v, &q.r.Effort); err != nil {
			return err
		}
		switch v.Str {
		case "none", "minimal", "low", "medium", "high":
			return nil
		}
		return unsupported(path, "%q is not known here: say none, minimal, low, medium or high", v.Str)
	case "summary", "generate_summary":
	case "context":
		if v.Str != "auto" {
			return unsupported(path, "only auto can be said")
		}
	case "mode":
		if v.Str != "standard" {
			return unsupported(path, "only standard can be said")
		}
	default:
		return respUnknown(path)
	}
	q.r.drop(path)
	return nil
}
