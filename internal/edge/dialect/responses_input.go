package dialect

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// input reads the conversation. Items of the assistant that follow one another,
// its words, thinking and calls, are one turn, and so are results of tools that
// do. Every message of the user is its own.
func (q *respRequest) input(v gjson.Result) *Error {
	q.saidInput = true
	if v.Type == gjson.String {
		q.r.Turns = append(q.r.Turns, Turn{Parts: []Part{{Kind: Text, Text: v.Str}}})
		return nil
	}
	if v.Type != gjson.JSON || !v.IsArray() {
		return malformed("input", "must be a string or an array of items")
	}
	if err := respElements("input", v, q.item); err != nil {
		return err
	}
	if len(q.r.Turns) == 0 {
		return malformed("input", "must have a message or a result of a tool")
	}
	return nil
}

func (q *respRequest) item(path string, v gjson.Result) *Error {
	if !v.IsObject() {
		return malformed(path, "must be an object")
	}
	kind := "message" // a message need not say its type
	if !v.Get("role").Exists() || v.Get("type").Type != gjson.Null {
		var err *Error
		if kind, err = respTyped(path, v); err != nil {
			return err
		}
	}
	switch kind {
	case "message":
		return q.message(path, v)
	case "function_call":
		return q.call(path, v)
	case "function_call_output":
		return q.result(path, v)
	case "reasoning":
		return q.reasoning(path, v)
	case "item_reference":
		return unsupported(path+".type", "no item is kept here: send the item itself")
	}
	return unsupported(path+".type", "%q items are not known to the provider: leave it out", kind)
}

// label notes members of items that are labels.
func (q *respRequest) label(path, name string) *Error {
	switch name {
	case "id", "status", "phase":
		q.r.drop("input[]." + name)
		return nil
	}
	return respUnknown(path + "." + name)
}

func (q *respRequest) message(path string, v gjson.Result) *Error {
	var role string
	var parts []Part
	if err := respText(path+".role", v.Get("role"), &role); err != nil {
		return err
	}
	switch role {
	case "user", "assistant", "system", "developer":
	default:
		return malformed(path+".role", "%q is not known: say user, assistant, system or developer", role)
	}
	err := respMembers(path, v, func(name string, v gjson.Result) *Error {
		switch name {
		case "type", "role":
			return nil
		case "content":
			if v.Type == gjson.String {
				parts = []Part{{Kind: Text, Text: v.Str}}
				return nil
			}
			return respElements(path+".content", v, func(path string, v gjson.Result) *Error {
				p, err := q.part(path, v, role)
				parts = append(parts, p)
				return err
			})
		}
		return q.label(path, name)
	})
	if err != nil {
		return err
	}
	r := q.r
	if role == "assistant" {
		q.assistant(parts...)
		return nil
	}
	if len(parts) == 0 {
		return malformed(path+".content", "is missing or empty")
	}
	if role == "user" {
		r.Turns = append(r.Turns, Turn{Parts: parts})
		return nil
	}
	if len(r.Turns) > 0 {
		return unsupported(path+".role", "a %s message can only come before all others: move it there or make it the user's", role)
	}
	r.System = append(r.System, parts...)
	return nil
}

// assistant adds to the assistant's turn, the last one or a new one.
func (q *respRequest) assistant(parts ...Part) {
	if len(parts) == 0 {
		return
	}
	r := q.r
	if n := len(r.Turns); n == 0 || r.Turns[n-1].Role != Assistant {
		r.Turns = append(r.Turns, Turn{Role: Assistant})
	}
	last := &r.Turns[len(r.Turns)-1]
	last.Parts = append(last.Parts, parts...)
}

func (q *respRequest) call(path string, v gjson.Result) *Error {
	p := Part{Kind: ToolCall}
	var arguments string
	err := respMembers(path, v, func(name string, v gjson.Result) *Error {
		at := path + "." + name
		switch name {
		case "type":
			return nil
		case "call_id":
			return respText(at, v, &p.ID)
		case "name":
			return respText(at, v, &p.Name)
		case "arguments":
			return respText(at, v, &arguments)
		case "async":
			return respOff(at, v)
		}
		return q.label(path, name)
	})
	switch {
	case err != nil:
		return err
	case p.ID == "":
		return malformed(path+".call_id", "is missing")
	case p.Name == "":
		return malformed(path+".name", "is missing")
	}
	var ok bool
	if p.Arguments, ok = respArguments(arguments); !ok {
		return malformed(path+".arguments", "must be a JSON object, written as a string")
	}
	if q.names == nil {
		q.names = map[string]string{}
	}
	q.names[p.ID] = p.Name
	q.assistant(p)
	return nil
}

// respArguments takes the arguments of a call; none are an empty object. Models
// say a name twice.
func respArguments(s string) (Raw, bool) {
	if strings.TrimSpace(s) == "" {
		return Raw("{}"), true
	}
	v := jsontext.Value(s)
	return Raw(s), v.IsValid(jsontext.AllowDuplicateNames(true)) && v.Kind() == '{'
}

func (q *respRequest) result(path string, v gjson.Result) *Error {
	p := Part{Kind: ToolResult}
	said := false
	err := respMembers(path, v, func(name string, v gjson.Result) *Error {
		at := path + "." + name
		switch name {
		case "type":
			return nil
		case "call_id":
			return respText(at, v, &p.ID)
		case "name":
			return respText(at, v, &p.Name)
		case "output":
			said = true
			if v.Type == gjson.String {
				p.Parts = []Part{{Kind: Text, Text: v.Str}}
				return nil
			}
			return respElements(at, v, func(path string, v gjson.Result) *Error {
				part, err := q.part(path, v, "user")
				p.Parts = append(p.Parts, part)
				return err
			})
		case "status":
			if v.Str == "incomplete" { // as WriteRequest says that a tool failed
				p.Failed = true
				return nil
			}
		}
		return q.label(path, name)
	})
	switch {
	case err != nil:
		return err
	case p.ID == "":
		return malformed(path+".call_id", "is missing")
	case !said:
		return malformed(path+".output", "is missing")
	}
	if p.Name == "" {
		p.Name = q.names[p.ID]
	}
	r := q.r
	if n := len(r.Turns); n > 0 && r.Turns[n-1].Parts[0].Kind == ToolResult {
		r.Turns[n-1].Parts = append(r.Turns[n-1].Parts, p)
		return nil
	}
	r.Turns = append(r.Turns, Turn{Parts: []Part{p}})
	return nil
}

// reasoning reads what the model thought before; see Responses for its two kinds.
func (q *respRequest) reasoning(path string, v gjson.Result) *Error {
	err := respMembers(path, v, func(name string, v gjson.Result) *Error {
		at := path + "." + name
		var s string
		switch name {
		case "type":
			return nil
		case "encrypted_content":
			return respText(at, v, &s)
		case "summary", "content":
			return respElements(at, v, func(path string, v gjson.Result) *Error {
				kind, err := respTyped(path, v)
				if err != nil {
					return err
				}
				if kind != "summary_text" && kind != "reasoning_text" {
					return unsupported(path+".type", "%q is not known in reasoning", kind)
				}
				return respMembers(path, v, func(name string, v gjson.Result) *Error {
					switch name {
					case "type":
						return nil
					case "text":
						return respText(path+".text", v, &s)
					}
					return respUnknown(path + "." + name)
				})
			})
		}
		return q.label(path, name)
	})
	if err != nil {
		return err
	}
	p, ok := respThinking(v)
	if !ok { // a name for what OpenAI has stored
		q.r.drop("input[] of type reasoning")
		return nil
	}
	q.assistant(p)
	return nil
}

// respThinking makes one part of a reasoning item: of its summary and content,
// paragraph by paragraph, or of its encrypted content alone.
func respThinking(v gjson.Result) (Part, bool) {
	var texts []string
	for _, list := range [...]string{"summary", "content"} {
		v.Get(list).ForEach(func(_, v gjson.Result) bool {
			texts = append(texts, v.Get("text").Str)
			return true
		})
	}
	sealed := respTake(v.Get("encrypted_content").Str)
	if len(texts) == 0 {
		return Part{Kind: Redacted, Data: sealed}, sealed != ""
	}
	return Part{Kind: Thinking, Text: strings.Join(texts, respParagraph), Signature: sealed}, true
}

// respParagraph parts the parts of a summary.
const respParagraph = "\n\n"
