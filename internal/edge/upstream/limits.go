package upstream

import (
	"net/http"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// The three parts of a limit, as each provider names them. The names are in
// canonical form, so that looking for them in vain costs no memory.
type limitNames struct{ limit, remaining, reset string }

var (
	openAIRequests = limitNames{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"}
	// What "-Tokens_usage_based" says is of another kind of account limit.
	openAITokens = limitNames{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"}

	anthropicRequests = limitNames{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"}
	anthropicTokens   = [...]limitNames{
		{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
		{"Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
		{"Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	}
)

const (
	// mostLimit bounds a believable figure. Larger ones stand for "no limit".
	mostLimit = 1_000_000_000_000
	// mostReset bounds a believable reset. Larger figures are points in time.
	mostReset = 24 * time.Hour
)

// nothingTold is what is known of a limit of which nothing was said.
var nothingTold = admit.Told{Remaining: -1}

// ReadLimits reads what the headers of an answer, good or not, say of the
// provider's limits, as of now. What is absent or makes no sense is unknown:
// limit 0, remaining -1, reset 0. The forms are those of OpenAI, then those of
// Anthropic, and, where neither is there, the fields RateLimit and
// RateLimit-Policy.
//
// Azure sends OpenAI's form without a reset, and 0 or -1 for what it does not
// know; so nothing left and no time until there is more counts as unknown.
func ReadLimits(h http.Header, now time.Time) admit.Sample {
	s := admit.Sample{Requests: openAIRequests.read(h, now), Tokens: openAITokens.read(h, now)}
	if s.Requests == nothingTold {
		s.Requests = anthropicRequests.read(h, now)
	}
	if s.Tokens == nothingTold {
		for _, names := range anthropicTokens {
			s.Tokens = scarcer(s.Tokens, names.read(h, now))
		}
	}
	if s.Requests == nothingTold && s.Tokens == nothingTold && len(h["Ratelimit"]) > 0 {
		return fieldLimits(h)
	}
	return s
}

func (n *limitNames) read(h http.Header, now time.Time) admit.Told {
	t := admit.Told{Remaining: -1}
	if v, ok := figure(first(h, n.limit)); ok {
		t.Limit = v
	}
	t.Reset = resetIn(first(h, n.reset), func() time.Time { return sent(h, now) })
	if v, ok := figure(first(h, n.remaining)); ok && (v > 0 || t.Reset > 0) {
		t.Remaining = v
	}
	return plausible(t)
}

// plausible makes the parts of a limit agree with each other.
func plausible(t admit.Told) admit.Told {
	switch {
	case t.Limit == 0 && t.Remaining < 0:
		return nothingTold // a reset alone is of nothing
	case t.Limit > 0:
		t.Remaining = min(t.Remaining, t.Limit)
	}
	return t
}

// scarcer returns the one of two limits of which the smaller share is left. One
// whose share is known goes before one whose is not.
func scarcer(a, b admit.Told) admit.Told {
	share := func(t admit.Told) float64 {
		switch {
		case t == nothingTold:
			return 3
		case t.Limit == 0 || t.Remaining < 0:
			return 2
		}
		return float64(t.Remaining) / float64(t.Limit)
	}
	if share(b) < share(a) {
		return b
	}
	return a
}

func first(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// figure reads a count without sign or exponent. A fraction of it is left out.
func figure(s string) (n int64, ok bool) {
	s, fraction, _ := strings.Cut(strings.TrimSpace(s), ".")
	if s == "" || len(s) > 15 || strings.Trim(fraction, "0123456789") != "" {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, n <= mostLimit
}

// resetIn reads how long it is until a limit is whole again: seconds, whole or
// not, a duration such as 6m0s, or a date of RFC 3339, counted from the answer's own. It is 0 where that is
// not known, past or too far away to be believed.
func resetIn(s string, now func() time.Time) (d time.Duration) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0
	}
	var err error
	if strings.Trim(s, "0123456789.") == "" {
		d, _ = parseWait(s, time.Second)
	} else if strings.ContainsRune(s, 'T') {
		var at time.Time
		at, err = time.Parse(time.RFC3339, s)
		d = at.Sub(now())
	} else {
		d, err = time.ParseDuration(s)
	}
	if err != nil || d < 0 || d >= mostReset {
		return 0
	}
	return d
}
