package dialect

import (
	"bytes"
	"errors"
	"io"
	"math"

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
		return gjson.Result{}, malformed(pointed(at.JSONPointer), "the name comes twice in one object")
	case errors.As(err, &at):
		return gjson.Result{}, malformed(pointed(at.JSONPointer), "the request body is not valid JSON at byte %d: %v", at.ByteOffset, at.Err)
	}
	return gjson.Result{}, malformed("", "the request body is not valid JSON: it ends early")
}

// messagesUnknown is the answer to a member that has no place in the neutral form.
func messagesUnknown() *Error {
	return unsupported("", "cannot be said to a provider of another API; leave it out, or use a model whose provider speaks messages")
}

// messagesWord reads a string that may not be empty.
func messagesWord(v gjson.Result, to *string) *Error {
	if v.Type != gjson.String || v.Str == "" {
		return malformed("", "must be a string that is not empty")
	}
	*to = v.Str
	return nil
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
