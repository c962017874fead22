package wire

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

func unquote(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b)
}

func text(name string, v jsontext.Value, to *string) *Error {
	if v.Kind() != '"' {
		return badRequest(name, name+" must be a string")
	}
	*to = unquote(v)
	return nil
}

func boolean(name string, v jsontext.Value, to *bool) *Error {
	switch v.Kind() {
	case 't':
		*to = true
	case 'f':
		*to = false
	default:
		return badRequest(name, name+" must be true or false")
	}
	return nil
}

// maxCount bounds every count that a caller can name, so that products of them
// can be compared and summed without care.
const maxCount = 1 << 40

// integer reads a whole number, also written as 1e3 or 10.0: servers accept both.
func integer(name string, v jsontext.Value, to *int64) *Error {
	if v.Kind() == '0' {
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			*to = min(n, maxCount)
			return nil
		}
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && f == math.Trunc(f) {
			*to = int64(max(min(f, maxCount), -1))
			return nil
		}
	}
	return badRequest(name, name+" must be an integer")
}

func positive(name string, v jsontext.Value, to *int64) *Error {
	if err := integer(name, v, to); err != nil {
		return err
	}
	if *to < 1 {
		return badRequest(name, name+" must be at least 1")
	}
	return nil
}

// times multiplies counts of at least zero and stops at maxCount.
func times(a, b int64) int64 {
	if a > 0 && b > maxCount/a {
		return maxCount
	}
	return a * b
}
