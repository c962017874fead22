package upstream

import (
	"net/http"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// fieldLimits reads the fields RateLimit and RateLimit-Policy of
// draft-ietf-httpapi-ratelimit-headers:
//
//	RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400
//	RateLimit: "burst";r=50;t=30
//
// Of several limits of one unit the scarcest counts. A policy that RateLimit
// does not speak of says nothing of now, and is left out.
func fieldLimits(h http.Header) admit.Sample {
	s := admit.Sample{Requests: nothingTold, Tokens: nothingTold}
	policies := strings.Join(h["Ratelimit-Policy"], ",")
	for rest := strings.Join(h["Ratelimit"], ","); rest != ""; {
		var name, params string
		name, params, rest = nextItem(rest)
		t := nothingTold
		if r, ok := figure(param(params, "r")); ok {
			t.Remaining = r
		}
		t.Reset = resetIn(param(params, "t"), func() time.Time { return time.Time{} })
		policy := itemNamed(policies, name)
		if q, ok := figure(param(policy, "q")); ok {
			t.Limit = q
		}
		switch t = plausible(t); param(policy, "qu") {
		case "", "requests":
			s.Requests = scarcer(s.Requests, t)
		case "tokens": // not registered, but what a provider would say
			s.Tokens = scarcer(s.Tokens, t)
		}
	}
	return s
}

// nextItem cuts the first item off a structured list: its name, unquoted, and
// its parameters as they stand.
func nextItem(list string) (name, params, rest string) {
	end := unquotedIndex(list, ',')
	item := list[:end]
	rest = strings.TrimPrefix(list[end:], ",")
	end = unquotedIndex(item, ';')
	return strings.Trim(strings.TrimSpace(item[:end]), `"`), item[end:], rest
}

// itemNamed returns the parameters of an item of a list, "" if it has none.
func itemNamed(list, want string) string {
	for list != "" {
		var name, params string
		if name, params, list = nextItem(list); name == want {
			return params
		}
	}
	return ""
}

// param returns the value of a parameter, unquoted; "" if there is none.
func param(params, want string) string {
	for params != "" {
		params = strings.TrimPrefix(params, ";")
		end := unquotedIndex(params, ';')
		if key, value, _ := strings.Cut(params[:end], "="); strings.TrimSpace(key) == want {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
		params = params[end:]
	}
	return ""
}

// unquotedIndex is the place of c outside strings, or the end.
func unquotedIndex(s string, c byte) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && s[i] == c:
			return i
		}
	}
	return len(s)
}
