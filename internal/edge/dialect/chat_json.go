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
	return malformed(pointed(se.JSONPointer), "not valid JSON: %s at byte %d", what, se.ByteOffset)
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
