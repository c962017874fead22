package dialect

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// Gemini is the language of Gemini's generateContent.
//
// The model and whether to stream stand in its path, not in its body:
// ReadRequest leaves Stream alone and takes Model only from a body that has it.
// A stream is that of alt=sse, an event for each part of the answer.
func Gemini() Dialect { return gemini{} }

type gemini struct{}

// Gemini signs its thinking, and refuses a tool result whose call has lost its
// signature, or carries that of another provider. So a signature that leaves
// this dialect is marked: geminiMark is that of the block itself, geminiNext
// that of the tool call that follows, held by an empty thinking block because
// other dialects have no place for it at the call. Signatures without a mark
// are another provider's.
const (
	geminiMark = "gemini:"
	geminiNext = "gemini-next:"

	// geminiUnsigned stands for the signature of a call that another model made.
	geminiUnsigned = "skip_thought_signature_validator"
)

// On the surface it is the other way round: there a signature must be base64,
// and those of other providers are marked within it. Both marks are nine bytes
// long, so that their base64 is a prefix.
const (
	geminiForeign  = "spillway:" // another provider's signature
	geminiRedacted = "redacted:" // Data of a Redacted part
)

// geminiShow makes a thoughtSignature for a caller.
func geminiShow(signature string) string {
	if own, ok := strings.CutPrefix(signature, geminiMark); ok {
		return own
	}
	if own, ok := strings.CutPrefix(signature, geminiNext); ok {
		return own
	}
	if signature == "" {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(geminiForeign + signature))
}

// geminiTake reads a thoughtSignature: the signature with its mark, and whether
// it is the data of a Redacted part.
func geminiTake(signature, mark string) (text string, redacted bool) {
	if signature == "" {
		return "", false
	}
	if strings.HasPrefix(signature, "c3BpbGx3YXk6") || strings.HasPrefix(signature, "cmVkYWN0ZWQ6") {
		if b, err := base64.StdEncoding.DecodeString(signature); err == nil {
			return string(b[len(geminiForeign):]), strings.HasPrefix(string(b), geminiRedacted)
		}
	}
	return mark + signature, false
}

// geminiMembers walks an object. Names are given
// to take in camel case, because the API accepts both forms; an error's field
// has the caller's.
func geminiMembers(v gjson.Result, take func(name string, v gjson.Result) *Error) *Error {
	return eachMember(v, func(name string, v gjson.Result) *Error {
		return take(geminiCamel(name), v)
	})
}

func geminiCamel(name string) string {
	if strings.IndexByte(name, '_') < 0 {
		return name
	}
	b := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] == '_' && i > 0 && i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z' {
			i++
			b = append(b, name[i]-'a'+'A')
			continue
		}
		b = append(b, name[i])
	}
	return string(b)
}

// geminiInt reads an integer, also as a string, as the API does.
func geminiInt(v gjson.Result, to **int64) *Error {
	text := v.Str
	if v.Type == gjson.Number {
		text = v.Raw
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != float64(int64(f)) || f >= 1<<62 || f <= -1<<62 {
			return malformed("", "must be an integer")
		}
		n = int64(f)
	}
	*to = &n
	return nil
}

func geminiFloat(v gjson.Result, to **float64) *Error {
	if v.Type != gjson.Number {
		return malformed("", "must be a number")
	}
	*to = &v.Num
	return nil
}

func geminiStrings(v gjson.Result, to *[]string) *Error {
	return eachItem(v, func(_ int, v gjson.Result) *Error {
		var s string
		err := readString(v, &s)
		*to = append(*to, s)
		return err
	})
}

// geminiParse checks the JSON of a body, of a request strictly: of two members
// with one name it would be unclear which counts.
func geminiParse(body []byte, strict bool) (gjson.Result, *Error) {
	if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(!strict)) {
		return gjson.Result{}, malformed("", "the body is not valid JSON")
	}
	v := gjson.ParseBytes(body)
	if !v.IsObject() {
		return v, malformed("", "the body must be a JSON object")
	}
	return v, nil
}

func geminiUnknown() *Error {
	return unsupported("", "cannot be translated for this model's provider; leave it out, or use a model that speaks this API")
}
