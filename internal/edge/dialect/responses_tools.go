package dialect

import "github.com/tidwall/gjson"

// tool reads one element of tools. Only functions cross: other tools run at
// OpenAI.
func (q *respRequest) tool(path string, v gjson.Result) *Error {
	kind, err := respTyped(path, v)
	if err != nil {
		return err
	}
	if kind != "function" {
		return unsupported(path+".type", "%q tools are not known to the provider: offer a function", kind)
	}
	var t Tool
	err = respMembers(path, v, func(name string, v gjson.Result) *Error {
		at := path + "." + name
		switch name {
		case "type":
			return nil
		case "name":
			return respText(at, v, &t.Name)
		case "description":
			return respText(at, v, &t.Description)
		case "parameters":
			return respSchema(at, v, &t.Schema)
		case "strict":
			return respBoolPtr(at, v, &t.Strict)
		case "async", "defer_loading":
			return respOff(at, v)
		}
		return respUnknown(at)
	})
	if err != nil {
		return err
	}
	if t.Name == "" {
		return malformed(path+".name", "is missing")
	}
	q.r.Tools = append(q.r.Tools, t)
	return nil
}

// respOff takes a switch that must not be on.
func respOff(path string, v gjson.Result) *Error {
	var on bool
	if err := respBool(path, v, &on); err != nil || !on {
		return err
	}
	return unsupported(path, "the provider has no word for it: leave it out")
}

func (q *respRequest) choice(v gjson.Result) *Error {
	const path = "tool_choice"
	r := q.r
	if v.Type == gjson.String {
		switch v.Str {
		case "auto":
			r.Choice = ChoiceAuto
		case "none":
			r.Choice = ChoiceNone
		case "required":
			r.Choice = ChoiceRequired
		default:
			return malformed(path, "%q is not known: say auto, none, required or a function", v.Str)
		}
		return nil
	}
	kind, err := respTyped(path, v)
	if err != nil {
		return err
	}
	if kind == "allowed_tools" {
		return unsupported(path+".type", "a list of allowed tools cannot be said: offer only these in tools")
	}
	if kind != "function" {
		return unsupported(path+".type", "%q tools are not known to the provider: choose a function", kind)
	}
	r.Choice = ChoiceNamed
	err = respMembers(path, v, func(name string, v gjson.Result) *Error {
		switch name {
		case "type":
			return nil
		case "name":
			return respText(path+".name", v, &r.ChoiceName)
		}
		return respUnknown(path + "." + name)
	})
	if err == nil && r.ChoiceName == "" {
		return malformed(path+".name", "is missing")
	}
	return err
}
