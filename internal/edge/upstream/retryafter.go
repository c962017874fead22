package upstream

import (
	"bytes"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter caps the pause that an upstream can ask for. A daily quota is
// the longest that providers have.
const MaxRetryAfter = 24 * time.Hour

// ParseRetryAfter reads how long an upstream asks to stay away, counted from
// now: retry-after-ms first, then Retry-After as seconds, whole or not, or as a
// date in one of the three forms of HTTP. It is above zero and at most
// MaxRetryAfter. ok is false when there is none that makes sense: zero, below
// zero, past, infinite or not a number.
func ParseRetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	if wait, ok = parseWait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait, true
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if wait, ok = parseWait(value, time.Second); ok {
		return wait, true
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), MaxRetryAfter), true
	}
	return 0, false
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

// bodyRetryAfter reads the pause that Gemini puts into the error body:
// "retryDelay": "34s".
func bodyRetryAfter(body []byte) time.Duration {
	_, rest, _ := bytes.Cut(body, []byte(`"retryDelay"`))
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	value, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		return 0
	}
	wait, _ := parseWait(strings.TrimSuffix(string(value), "s"), time.Second)
	return wait
}
