package upstream

import (
	"bytes"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// MaxRetryAfter caps the pause that an upstream can ask for. A daily quota is
// the longest that providers have.
const MaxRetryAfter = 24 * time.Hour

// ParseRetryAfter reads how long an upstream asks to stay away, counted from
// now: retry-after-ms first, also under Azure's name, then Retry-After as
// seconds, whole or not, or as a date in one of the three forms of HTTP, which is counted
// from the answer's own Date. It is above zero and at most
// MaxRetryAfter. ok is false when there is none that makes sense: zero, below
// zero, past, infinite or not a number.
func ParseRetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	for _, name := range [...]string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if wait, ok = parseWait(first(h, name), time.Millisecond); ok {
			return wait, true
		}
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if wait, ok = parseWait(value, time.Second); ok {
		return wait, true
	}
	if at, err := http.ParseTime(value); err == nil {
		if now = sent(h, now); at.After(now) {
			return min(at.Sub(now), MaxRetryAfter), true
		}
	}
	return 0, false
}

// sent is what the other side's clock said when it answered, if it says so, and
// else ours: of two times of one clock the difference is right, however wrong the clock is.
func sent(h http.Header, now time.Time) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return now
}

// parseWait reads a plain decimal number of units, rounded up to a nanosecond.
func parseWait(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if strings.Trim(s, "0123456789.") != "" { // no signs, exponents, inf, nan, hex
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f <= 0 {
		return 0, false
	}
	return time.Duration(math.Ceil(min(f*float64(unit), float64(MaxRetryAfter)))), true
}

// bodyRetryAfter reads the pause that stands in an error body: Gemini's
// "retryDelay": "34s", or "try again in 1.2s" in the words of OpenAI and Azure.
func bodyRetryAfter(body []byte) time.Duration {
	_, rest, _ := bytes.Cut(body, []byte(`"retryDelay"`))
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	if value, _, ok := bytes.Cut(rest, []byte(`"`)); ok {
		if seconds, ok := bytes.CutSuffix(value, []byte("s")); ok { // a duration of protobuf has no other unit
			if wait, ok := parseWait(string(seconds), time.Second); ok {
				return wait
			}
		}
	}
	body = body[:min(len(body), maxSaid)]
	if !bytes.Contains(body, []byte("ry again ")) && !bytes.Contains(body, []byte("etry ")) {
		return 0 // far cheaper to see than without a match
	}
	m := pauseInWords.FindSubmatch(body)
	if m == nil {
		return 0
	}
	if len(m[3]) > 0 {
		wait, _ := parseWait(string(m[2]), time.Second)
		return wait
	}
	wait, err := time.ParseDuration(string(m[1]))
	if err != nil {
		return 0
	}
	return min(wait, MaxRetryAfter)
}

// pauseInWords matches "try again in 6m0s", "retry in 34.5s" and "retry after 26
// seconds". A figure without a unit may be anything.
var pauseInWords = regexp.MustCompile(`(?i)\b(?:try again|retry) (?:in|after) ((?:([0-9.]+)( seconds?\b)|(?:[0-9.]+(?:h|ms|m|s))+))`)

// untilMore is how long a limit that has nothing left takes to come back, the
// longer one of two. A limit with something left asks for no pause.
func untilMore(s admit.Sample) (wait time.Duration) {
	for _, t := range [...]admit.Told{s.Requests, s.Tokens} {
		if t.Remaining == 0 {
			wait = max(wait, t.Reset)
		}
	}
	return wait
}
