package dialect

import "github.com/tidwall/gjson"

// chatTyped walks through an object of type function; kind is its type unless it
// says one, and other is told of an object of another type. What else is in such
// an object is not known here, so a member that take does not know is told only
// when the type is clear.
func chatTyped(v gjson.Result, kind, other string, take func(name string, v gjson.Result) (known bool, err *Error)) *Error {
	unknown := ""
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		if name == "type" {
			return readString(v, &kind)
		}
		known, err := take(name, v)
		if !known {
			unknown = name
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case kind == "":
		return malformed("type", "you must provide a type")
	case kind != "function":
		return unsupported("type", "%s", other)
	case unknown != "":
		return within(chatUnknown(), unknown)
	}
	return nil
}

func (p *chatRequestReader) tool(_ int, v gjson.Result) *Error {
	var function gjson.Result
	err := chatTyped(v, "", "only tools of type function can be passed on", func(name string, v gjson.Result) (bool, *Error) {
		switch name {
		case "function":
			function = v
		case "cache_control":
			p.r.drop(name)
		default:
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	t := Tool{}
	if err := chatFunction(function, &t); err != nil {
		return within(err, "function")
	}
	p.r.Tools = append(p.r.Tools, t)
	return nil
}

func chatFunction(v gjson.Result, t *Tool) *Error {
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "name":
			return readString(v, &t.Name)
		case "description":
			return readString(v, &t.Description)
		case "parameters":
			return readObject(v, &t.Schema)
		case "strict":
			return readBoolAt(v, &t.Strict)
		}
		return chatUnknown()
	})
	if err == nil && t.Name == "" {
		err = malformed("name", "you must provide a name")
	}
	return err
}

func (p *chatRequestReader) choice(v gjson.Result) *Error {
	if v.Type == gjson.String {
		switch v.Str {
		case "auto":
			p.r.Choice = ChoiceAuto
		case "none":
			p.r.Choice = ChoiceNone
		case "required":
			p.r.Choice = ChoiceRequired
		default:
			return malformed("", "must be auto, none, required, or an object that names a function")
		}
		return nil
	}
	var t Tool
	err := chatTyped(v, "", "only a function can be chosen", func(name string, v gjson.Result) (bool, *Error) {
		if name != "function" {
			return false, nil
		}
		return true, eachMember(v, func(name string, v gjson.Result) *Error {
			if name == "name" {
				return readString(v, &t.Name)
			}
			return chatUnknown()
		})
	})
	switch {
	case err != nil:
		return err
	case t.Name == "":
		return malformed("function.name", "you must provide a name")
	}
	p.r.Choice, p.r.ChoiceName = ChoiceNamed, t.Name
	return nil
}

// toolCalls reads the calls of one assistant message.
func (p *chatRequestReader) toolCalls(v gjson.Result) (parts []Part, err *Error) {
	err = eachItem(v, func(_ int, v gjson.Result) *Error {
		part := Part{Kind: ToolCall}
		var function gjson.Result
		err := chatTyped(v, "function", "only calls of type function can be passed on", func(name string, v gjson.Result) (bool, *Error) {
			switch name {
			case "id":
				return true, readString(v, &part.ID)
			case "function":
				function = v
			case "index": // of a stream, and kept by some clients
			default:
				return false, nil
			}
			return true, nil
		})
		switch {
		case err != nil:
			return err
		case part.ID == "":
			return malformed("id", "you must provide the id of the call")
		}
		if err := chatCalled(function, &part); err != nil {
			return within(err, "function")
		}
		p.calls[part.ID] = part.Name
		parts = append(parts, part)
		return nil
	})
	return parts, err
}

// chatCalled reads the name and the arguments of a call.
func chatCalled(v gjson.Result, part *Part) *Error {
	arguments := ""
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "name":
			return readString(v, &part.Name)
		case "arguments":
			return readString(v, &arguments)
		}
		return chatUnknown()
	})
	switch {
	case err != nil:
		return err
	case part.Name == "":
		return malformed("name", "you must provide a name")
	case arguments == "":
		arguments = "{}"
	case !isChatObject(arguments):
		return malformed("arguments", "must be the text of a JSON object")
	}
	part.Arguments = Raw(arguments)
	return nil
}
