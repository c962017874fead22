package dialect

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// Readers walk through JSON and say of what they refuse where it stands. The path
// is put together on the way back from an error, so that a body without errors
// makes none.

// within puts the name of a member before the path of an error inside it; no
// error stays none.
func within(err *Error, name string) *Error {
	if err == nil {
		return nil
	}
	const most = 64 // bytes; a caller's own word is not relayed without bound
	if len(name) > most {
		name = name[:most] + "..."
	}
	name = strings.ToValidUTF8(name, "")
	if err.Field != "" && err.Field[0] != '[' {
		name += "."
	}
	err.Field = name + err.Field
	return err
}

// atIndex puts the index of an element before the path of an error inside it; no
// error stays none.
func atIndex(err *Error, i int) *Error {
	if err == nil {
		return nil
	}
	return within(err, "["+strconv.Itoa(i)+"]")
}

// pointed turns a JSON pointer into the path of an error, down to a depth that
// members of a request can have.
func pointed(p jsontext.Pointer) string {
	const deepest = 12
	var tokens []string
	for t := range p.Tokens() {
		if tokens = append(tokens, t); len(tokens) == deepest {
			break
		}
	}
	err := &Error{}
	for i := len(tokens) - 1; i >= 0; i-- {
		if n, e := strconv.Atoi(tokens[i]); e == nil {
			err = atIndex(err, n)
		} else {
			err = within(err, tokens[i])
		}
	}
	return err.Field
}

// eachMember hands over the members of an object, but those that are null, which
// is the same as absent, up to the first error. Errors get the member's name.
func eachMember(v gjson.Result, take func(name string, v gjson.Result) *Error) (err *Error) {
	if !v.IsObject() {
		return malformed("", "must be an object")
	}
	v.ForEach(func(name, v gjson.Result) bool {
		if v.Type != gjson.Null {
			err = within(take(name.Str, v), name.Str)
		}
		return err == nil
	})
	return err
}

// eachItem hands over the elements of an array up to the first error. Errors get
// the index.
func eachItem(v gjson.Result, take func(i int, v gjson.Result) *Error) (err *Error) {
	if !v.IsArray() {
		return malformed("", "must be an array")
	}
	i := 0
	v.ForEach(func(_, v gjson.Result) bool {
		err = atIndex(take(i, v), i)
		i++
		return err == nil
	})
	return err
}

func readString(v gjson.Result, to *string) *Error {
	if v.Type != gjson.String {
		return malformed("", "must be a string")
	}
	*to = v.Str
	return nil
}

func readBool(v gjson.Result, to *bool) *Error {
	if !v.IsBool() {
		return malformed("", "must be true or false")
	}
	*to = v.Bool()
	return nil
}

// readBoolAt keeps false apart from absent.
func readBoolAt(v gjson.Result, to **bool) *Error {
	*to = new(bool)
	return readBool(v, *to)
}

// readObject keeps an object as it stands.
func readObject(v gjson.Result, to *Raw) *Error {
	if !v.IsObject() {
		return malformed("", "must be an object")
	}
	*to = Raw(v.Raw)
	return nil
}
