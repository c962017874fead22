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

// chatLenient is how a provider's JSON is read: what it repeats or garbles in a
// text is no reason to lose the answer.
var chatLenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// parseChat checks the whole body, which must be one JSON object, and returns it.
// Strict JSON has no duplicate names and valid UTF-8 only; nesting is bounded by
// jsontext. What is taken from the result refers to one copy of the body.
func parseChat(body []byte, options ...jsontext.Options) (gjson.Result, *Error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), options...)
	v, err := dec.ReadValue()
	if err != nil {
		return gjson.Result{}, chatSyntax(err)
	}
	if v.Kind() != '{' {
		return gjson.Result{}, malformed("", "the body must be a JSON object")
	}
	// A copy before the next read, which may change v.
	root := gjson.Parse(strings.ToValidUTF8(string(v), "\uFFFD"))
	if _, err := dec.ReadToken(); err != io.EOF {
		return gjson.Result{}, malformed("", "the body goes on after the JSON object, at byte %d", dec.InputOffset())
	}
	return root, nil
}

// chatSyntax says where the body stops being the JSON that is accepted.
func chatSyntax(err error) *Error {
	var se *jsontext.SyntacticError
	if !errors.As(err, &se) {
		return malformed("", "not valid JSON: it ends early")
	}
	what := "syntax error"
	if se.Err != nil {
		what = strings.TrimPrefix(se.Err.Error(), "jsontext: ")
	}
	e := malformed("", "not valid JSON: %s at byte %d", what, se.ByteOffset)
	for name := range se.JSONPointer.Tokens() {
		if len(e.Field) > 100 {
			break // far enough to find the place
		}
		inner := malformed("", "")
		if n, err := strconv.Atoi(name); err == nil {
			chatAt(inner, n)
		} else {
			chatWithin(inner, name)
			if e.Field != "" {
				e.Field += "."
			}
		}
		e.Field += inner.Field
	}
	return e
}

// chatWithin puts the name of the member before the path of an error inside it.
func chatWithin(e *Error, name string) *Error {
	if len(name) > 100 { // it came from outside and may be of any length
		name = name[:100]
	}
	name = strings.ToValidUTF8(name, "")
	if e.Field != "" && e.Field[0] != '[' {
		name += "."
	}
	e.Field = name + e.Field
	return e
}

// chatAt puts the index of the element before the path of an error inside it.
func chatAt(e *Error, i int) *Error {
	index := "[" + strconv.Itoa(i) + "]"
	if e.Field != "" && e.Field[0] != '[' {
		index += "."
	}
	e.Field = index + e.Field
	return e
}

// chatMembers hands over the members of an object, but those that are null, which
// is the same as absent. The errors of take get the member's name.
func chatMembers(v gjson.Result, take func(name string, v gjson.Result) *Error) (err *Error) {
	if !v.IsObject() {
		return malformed("", "must be an object")
	}
	v.ForEach(func(name, v gjson.Result) bool {
		if v.Type == gjson.Null {
			return true
		}
		if err = take(name.Str, v); err != nil {
			chatWithin(err, name.Str)
		}
		return err == nil
	})
	return err
}

// chatItems hands over the elements of an array. The errors of take get the index.
func chatItems(v gjson.Result, take func(i int, v gjson.Result) *Error) (err *Error) {
	if !v.IsArray() {
		return malformed("", "must be an array")
	}
	i := 0
	v.ForEach(func(_, v gjson.Result) bool {
		if err = take(i, v); err != nil {
			chatAt(err, i)
		}
		i++
		return err == nil
	})
	return err
}

func chatString(v gjson.Result, to *string) *Error {
	if v.Type != gjson.String {
		return malformed("", "must be a string")
	}
	*to = v.Str
	return nil
}

func chatBool(v gjson.Result, to **bool) *Error {
	if !v.IsBool() {
		return malformed("", "must be true or false")
	}
	is := v.Type == gjson.True
	*to = &is
	return nil
}

func chatFloat(v gjson.Result, to **float64) *Error {
	if v.Type != gjson.Number || math.IsInf(v.Num, 0) || math.IsNaN(v.Num) {
		return malformed("", "must be a number")
	}
	*to = &v.Num
	return nil
}

// chatInt takes 100 and 1e2.
func chatInt(v gjson.Result, to **int64) *Error {
	if v.Type == gjson.Number {
		if n, err := strconv.ParseInt(v.Raw, 10, 64); err == nil {
			*to = &n
			return nil
		}
		if f := v.Num; f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			n := int64(f)
			*to = &n
			return nil
		}
	}
	return malformed("", "must be an integer of 64 bits")
}

// chatObject takes JSON that is passed on as it stands.
func chatObject(v gjson.Result, to *Raw) *Error {
	if !v.IsObject() {
		return malformed("", "must be an object")
	}
	*to = Raw(v.Raw)
	return nil
}

// isChatObject says whether text is one JSON object, as arguments must be.
func isChatObject(text string) bool {
	v := jsontext.Value(text)
	return v.Kind() == '{' && v.IsValid(chatLenient...)
}

// chatKey starts a member of the object that b ends in, chatItem an element.
func chatKey(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, `":`...)
}

func chatItem(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}

// chatQuote appends s as a JSON string, as valid UTF-8 whatever s is.
func chatQuote[T ~string | ~[]byte](b []byte, s T) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			b, _ = jsontext.AppendQuote(b, s)
			return b
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func chatAddString(b []byte, name, s string) []byte {
	return chatQuote(chatKey(b, name), s)
}

func chatAddFloat(b []byte, name string, f float64) []byte {
	return strconv.AppendFloat(chatKey(b, name), f, 'g', -1, 64)
}

func chatAddInt(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(chatKey(b, name), n, 10)
}

func chatAddBool(b []byte, name string, is bool) []byte {
	return strconv.AppendBool(chatKey(b, name), is)
}

func chatAddRaw(b []byte, name string, v Raw) []byte {
	return append(chatKey(b, name), v...)
}
