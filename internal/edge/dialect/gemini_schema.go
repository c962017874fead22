package dialect

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// geminiDepth bounds the nesting of a schema.
const geminiDepth = 100

// appendGeminiSchema appends the JSON Schema for a schema in Gemini's own form,
// a part of OpenAPI's: types in capitals, nullable, counts as strings. In the
// other direction nothing is to be done, because the API also takes JSON Schema
// as it stands; keywords that it does not know are its own to judge.
func appendGeminiSchema(dst []byte, v gjson.Result, depth int) ([]byte, *Error) {
	if depth > geminiDepth {
		return dst, malformed("", "is nested deeper than %d levels", geminiDepth)
	}
	nullable := v.Get("nullable").Bool()
	dst = append(dst, '{')
	name := func(s string) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, s) // names were checked with the body
		dst = append(dst, ':')
	}
	err := geminiMembers(v, func(key string, v gjson.Result) (err *Error) {
		switch key {
		case "nullable", "propertyOrdering", "example":
		case "type":
			kind := strings.ToLower(v.Str)
			switch kind {
			case "string", "number", "integer", "boolean", "array", "object", "null":
			case "type_unspecified":
				return nil
			default:
				return malformed("", "is no type")
			}
			name("type")
			if nullable && kind != "null" {
				dst = append(append(append(dst, `["`...), kind...), `","null"]`...)
			} else {
				dst = append(append(append(dst, '"'), kind...), '"')
			}
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			var n *int64
			if err := geminiInt(v, &n); err != nil {
				return err
			}
			name(key)
			dst = strconv.AppendInt(dst, *n, 10)
		case "title", "description", "format", "pattern", "required", "default", "minimum", "maximum":
			name(key)
			dst = append(dst, v.Raw...)
		case "enum":
			name(key)
			if dst = append(dst, v.Raw...); nullable && v.IsArray() && v.Get("#").Int() > 0 {
				dst = append(dst[:len(dst)-1], ",null]"...)
			}
		case "items":
			name(key)
			dst, err = appendGeminiSchema(dst, v, depth+1)
		case "anyOf":
			name(key)
			dst = append(dst, '[')
			err = eachItem(v, func(i int, v gjson.Result) (err *Error) {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst, err = appendGeminiSchema(dst, v, depth+1)
				return err
			})
			dst = append(dst, ']')
		case "properties":
			name(key)
			if !v.IsObject() {
				return malformed("", "must be an object")
			}
			dst = append(dst, '{')
			v.ForEach(func(key, v gjson.Result) bool { // names of the caller's own: not in camel case
				name(key.Str)
				if dst, err = appendGeminiSchema(dst, v, depth+1); err != nil {
					within(err, key.Str)
				}
				return err == nil
			})
			dst = append(dst, '}')
		default:
			return unsupported("", "is no keyword of Gemini's schemas; send a JSON Schema as parametersJsonSchema or responseJsonSchema")
		}
		return err
	})
	return append(dst, '}'), err
}
