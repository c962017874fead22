package answers

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest bounds the ages that a caller can accept.
const longest = 24 * time.Hour

// Accepts reads what a caller says about answers that were given before, in the
// request directives of Cache-Control (RFC 9111, section 5.2.1).
//
// An answer of an age up to fresh is good at once: max-age. One of an age up to
// stale is good in place of a refusal: max-age and max-stale together, where a
// max-stale without seconds is any age. So stale is never less than fresh, and
// both are at most a day. A caller who says neither accepts none, and no-cache
// takes both back. noStore says that the answer must not be kept; it does not
// forbid a look-up.
//
// What cannot be understood is as good as absent. Of two values of a directive
// the smaller holds.
func Accepts(h http.Header) (fresh, stale time.Duration, noStore bool) {
	age, beyond := time.Duration(-1), time.Duration(-1)
	for _, line := range h.Values("Cache-Control") {
		for line != "" {
			var name, value string
			var valued bool
			name, value, valued, line = directive(line)
			switch strings.ToLower(name) {
			case "max-age":
				age = least(age, seconds(value))
			case "max-stale":
				if valued {
					beyond = least(beyond, seconds(value))
				} else {
					beyond = least(beyond, longest)
				}
			case "no-cache":
				age, beyond = 0, 0 // nothing is less
			case "no-store":
				noStore = true
			}
		}
	}
	fresh = max(age, 0)
	return fresh, min(fresh+max(beyond, 0), longest), noStore
}

// least is the smaller of two durations of which negative ones are absent.
func least(a, b time.Duration) time.Duration {
	if a < 0 || b < 0 {
		return max(a, b)
	}
	return min(a, b)
}

// directive cuts the first directive off a list. A comma within quotes does not
// end it.
func directive(list string) (name, value string, valued bool, rest string) {
	quoted, end := false, len(list)
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			end, rest = i, list[i+1:]
			i = len(list)
		}
	}
	name, value, valued = strings.Cut(list[:end], "=")
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	return strings.TrimSpace(name), value, valued, rest
}

// seconds reads a number of seconds, at most a day; negative if it is none.
func seconds(s string) time.Duration {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return -1
		}
	}
	if s == "" {
		return -1
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(longest/time.Second) { // more digits than fit are many seconds
		return longest
	}
	return time.Duration(n) * time.Second
}
