package dialect

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"strings"

	"github.com/tidwall/gjson"
)

// Responses is the dialect of POST /v1/responses.
//
// Nothing is stored here: previous_response_id and its kin are refused, and a
// provider is always told store:false. Reasoning therefore travels in the items
// themselves. An item with a summary or content is Thinking, and its
// encrypted_content is the Signature; an item with encrypted_content alone is
// Redacted. Thinking without words is written with one empty part of summary,
// so that the two stay apart on their way to a caller and back.
func Responses() Dialect { return responses{} }

// OpenAI takes back only what it has sealed itself. So a seal that leaves this
// dialect is marked as OpenAI's, and on the surface it is the other way round:
// there what Anthropic has signed is marked, which without a mark is its own
// everywhere else.
const (
	respMark    = "openai:"
	respForeign = "anthropic:"
)

// respTake reads an encrypted_content.
func respTake(sealed string) string {
	if own, ok := strings.CutPrefix(sealed, respForeign); ok {
		return own
	}
	if unsealed(sealed) { // nothing, or marked
		return sealed
	}
	return respMark + sealed
}

// respShow makes an encrypted_content for a caller.
func respShow(signature string) string {
	if own, ok := strings.CutPrefix(signature, respMark); ok {
		return own
	}
	if unsealed(signature) {
		return signature
	}
	return respForeign + signature
}

// Unowned says that OpenAI would not take reasoning with this encrypted_content
// back: in conversations that providers of several kinds have answered there is
// such.
func Unowned(sealed []byte) bool {
	s := string(sealed[:min(len(sealed), markMost)])
	return strings.HasPrefix(s, respForeign) || s != "" && unsealed(s)
}

type responses struct{}

func (responses) NewReader() Reader { return &respReader{lastOut: -1, lastPart: -1} }

func (responses) NewWriter(o WriterOptions) Writer { return newRespWriter(o) }

// respCheck reads the whole body once: one JSON object, and, where strict, in
// valid UTF-8 and with no name twice. A model may say half of a surrogate pair.
func respCheck(body []byte, strict bool) *Error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(!strict), jsontext.AllowInvalidUTF8(!strict))
	kind := dec.PeekKind()
	if _, err := dec.ReadValue(); err != nil {
		field, at := "", dec.InputOffset()
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			field, at, err = pointed(syntax.JSONPointer), syntax.ByteOffset, syntax.Err
		}
		return malformed(field, "the body is not valid JSON: %v, at byte %d", err, at)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return malformed("", "the body goes on after the JSON object, at byte %d", dec.InputOffset())
	}
	if kind != '{' {
		return malformed("", "the body must be a JSON object")
	}
	return nil
}

// respMembers calls f for every member of an object that is not null: null
// equals absent.
func respMembers(path string, v gjson.Result, f func(name string, v gjson.Result) *Error) *Error {
	if !v.IsObject() {
		return malformed(path, "must be an object")
	}
	var err *Error
	v.ForEach(func(name, v gjson.Result) bool {
		if v.Type != gjson.Null {
			err = f(name.Str, v)
		}
		return err == nil
	})
	return err
}

// respElements calls f for every element of an array, with its path.
func respElements(path string, v gjson.Result, f func(path string, v gjson.Result) *Error) *Error {
	if !v.IsArray() {
		return malformed(path, "must be an array")
	}
	var err *Error
	i := 0
	v.ForEach(func(_, v gjson.Result) bool {
		err = f(path+"["+strconv.Itoa(i)+"]", v)
		i++
		return err == nil
	})
	return err
}

// respTyped is the type of an object that must say one.
func respTyped(path string, v gjson.Result) (string, *Error) {
	if !v.IsObject() {
		return "", malformed(path, "must be an object")
	}
	t := v.Get("type")
	if t.Type != gjson.String {
		return "", malformed(path+".type", "must be a string")
	}
	return t.Str, nil
}

func respText(path string, v gjson.Result, to *string) *Error {
	if v.Type != gjson.String {
		return malformed(path, "must be a string")
	}
	*to = v.Str
	return nil
}

func respBool(path string, v gjson.Result, to *bool) *Error {
	if v.Type != gjson.True && v.Type != gjson.False {
		return malformed(path, "must be true or false")
	}
	*to = v.Type == gjson.True
	return nil
}

func respBoolPtr(path string, v gjson.Result, to **bool) *Error {
	*to = new(bool)
	return respBool(path, v, *to)
}

func respNumber(path string, v gjson.Result, low, high float64, to **float64) *Error {
	if v.Type != gjson.Number || v.Num < low || v.Num > high {
		return malformed(path, "must be a number from %v to %v", low, high)
	}
	*to = &v.Num
	return nil
}

// respCount reads a whole number of at least one, also written as 1e3 or 10.0.
func respCount(path string, v gjson.Result, to **int64) *Error {
	if v.Type != gjson.Number || v.Num != math.Trunc(v.Num) || v.Num < 1 || v.Num > 1<<40 {
		return malformed(path, "must be an integer of at least 1")
	}
	n := int64(v.Num)
	*to = &n
	return nil
}

// respMend replaces what is not UTF-8. A caller must not get it, and for the
// rest of an answer it is no reason to lose it.
func respMend(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	return bytes.ToValidUTF8(data, []byte("\uFFFD"))
}

// respQuote appends s as a JSON string; text that is not UTF-8 is mended.
func respQuote[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// respEscape appends s as the inside of a JSON string.
func respEscape[T ~string | ~[]byte](dst []byte, s T) []byte {
	start := len(dst)
	dst = respQuote(dst, s)
	copy(dst[start:], dst[start+1:len(dst)-1])
	return dst[:len(dst)-2]
}
