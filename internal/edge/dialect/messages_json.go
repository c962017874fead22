package dialect

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// messagesParse checks that body is one JSON object, in UTF-8 and without
// duplicate names, and gives it to be walked through.
func messagesParse(body []byte) (gjson.Result, *Error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	_, err := dec.ReadValue()
	if err == nil {
		if _, err = dec.ReadToken(); err == nil || !errors.Is(err, io.EOF) {
			return gjson.Result{}, malformed("", "the request body goes on after the JSON value")
		}
		v := gjson.ParseBytes(body)
		if !v.IsObject() {
			return v, malformed("", "the request body must be a JSON object")
		}
		return v, nil
	}
	var at *jsontext.SyntacticError
	switch {
	case errors.As(err, &at) && errors.Is(err, jsontext.ErrDuplicateName):
		return gjson.Result{}, malformed(messagesPath(at.JSONPointer), "the name comes twice in one object")
	case errors.As(err, &at):
		return gjson.Result{}, malformed(messagesPath(at.JSONPointer), "the request body is not valid JSON at byte %d: %v", at.ByteOffset, at.Err)
	}
	return gjson.Result{}, malformed("", "the request body is not valid JSON: it ends early")
}

// messagesPath writes a JSON pointer as errors name a member, down to a depth
// that members of a request can have.
func messagesPath(p jsontext.Pointer) string {
	const deepest = 12
	var tokens []string
	for t := range p.Tokens() {
		if tokens = append(tokens, t); len(tokens) == deepest {
			break
		}
	}
	e := &Error{}
	for i := len(tokens) - 1; i >= 0; i-- {
		if n, err := strconv.Atoi(tokens[i]); err == nil {
			e = messagesItem(n, e)
		} else {
			e = messagesIn(tokens[i], e)
		}
	}
	return e.Field
}

// messagesIn puts the name of a member before the path of an error in it. Paths
// are made on the way back, so that a request without errors makes none.
func messagesIn(name string, err *Error) *Error {
	if err == nil {
		return nil
	}
	const most = 64 // bytes; a caller's own word is not relayed without bound
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "..."
	}
	if err.Field != "" && err.Field[0] != '[' {
		name += "."
	}
	err.Field = name + err.Field
	return err
}

// messagesItem does the same for the item of an array.
func messagesItem(i int, err *Error) *Error {
	return messagesIn("["+strconv.Itoa(i)+"]", err)
}

// messagesMembers walks through the members of an object. Explicit null is as
// good as absent.
func messagesMembers(v gjson.Result, take func(name string, v gjson.Result) *Error) (err *Error) {
	if !v.IsObject() {
		return malformed("", "must be an object")
	}
	v.ForEach(func(name, m gjson.Result) bool {
		if m.Type != gjson.Null {
			err = messagesIn(name.Str, take(name.Str, m))
		}
		return err == nil
	})
	return err
}

// messagesItems walks through an array.
func messagesItems(v gjson.Result, take func(v gjson.Result) *Error) (err *Error) {
	if !v.IsArray() {
		return malformed("", "must be an array")
	}
	i := 0
	v.ForEach(func(_, m gjson.Result) bool {
		err = messagesItem(i, take(m))
		i++
		return err == nil
	})
	return err
}

// messagesUnknown is the answer to a member that has no place in the neutral form.
func messagesUnknown() *Error {
	return unsupported("", "cannot be said to a provider of another API; leave it out, or use a model whose provider speaks messages")
}

func messagesString(v gjson.Result, to *string) *Error {
	if v.Type != gjson.String {
		return malformed("", "must be a string")
	}
	*to = v.Str
	return nil
}

// messagesWord reads a string that may not be empty.
func messagesWord(v gjson.Result, to *string) *Error {
	if v.Type != gjson.String || v.Str == "" {
		return malformed("", "must be a string that is not empty")
	}
	*to = v.Str
	return nil
}

func messagesBool(v gjson.Result, to *bool) *Error {
	if !v.IsBool() {
		return malformed("", "must be true or false")
	}
	*to = v.Bool()
	return nil
}

func messagesBoolAt(v gjson.Result, to **bool) *Error {
	*to = new(bool)
	return messagesBool(v, *to)
}

// messagesInteger reads a whole number of at least least, also written as 1e3.
func messagesInteger(v gjson.Result, least int64, to **int64) *Error {
	if v.Type != gjson.Number || v.Num != math.Trunc(v.Num) || v.Num > messagesMaxCount || v.Num < float64(least) {
		return malformed("", "must be an integer of at least %d", least)
	}
	n := int64(v.Num)
	*to = &n
	return nil
}

// messagesFloat reads a number from 0 to 1.
func messagesFloat(v gjson.Result, to **float64) *Error {
	if v.Type != gjson.Number || v.Num < 0 || v.Num > 1 {
		return malformed("", "must be a number from 0 to 1")
	}
	f := v.Num
	*to = &f
	return nil
}

// messagesObject keeps an object as it stands.
func messagesObject(v gjson.Result, to *Raw) *Error {
	if !v.IsObject() {
		return malformed("", "must be an object")
	}
	*to = Raw(v.Raw)
	return nil
}

// messagesType is the type of a block, a tool or a source; empty if it has none.
func messagesType(v gjson.Result) (kind string) {
	v.ForEach(func(name, m gjson.Result) bool {
		if name.Str == "type" && m.Type == gjson.String {
			kind = m.Str
		}
		return kind == ""
	})
	return kind
}
