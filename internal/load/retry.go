package load

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// The official SDKs' rules for retries. Where they differ, those of openai-node since 7.5 are taken: a server-given
// delay of 0 to 60 s is obeyed without jitter, any other is ignored.
const (
	backoffFirst   = 500 * time.Millisecond
	backoffLimit   = 8 * time.Second
	backoffJitter  = 0.25 // at most this part is taken off
	obeyedDelayMax = time.Minute
)

// mayRetry reports whether an answer with this status and header is followed by another attempt. A missing answer
// (status 0: no connection, or the attempt timed out) is.
func mayRetry(status int, h http.Header) bool {
	switch h.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch status {
	case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// retryDelay is the pause before the next attempt. retries is how many were made so far; u in [0, 1) is the jitter.
func retryDelay(h http.Header, retries int, now time.Time, u float64) time.Duration {
	if d, ok := serverDelay(h, now); ok && d >= 0 && d <= obeyedDelayMax {
		return d
	}
	d := backoffLimit
	if retries < 4 { // 0.5 s, 1 s, 2 s, 4 s
		d = backoffFirst << retries
	}
	return time.Duration(float64(d) * (1 - backoffJitter*u))
}

// serverDelay reads retry-after-ms, else Retry-After as seconds, else as a date.
func serverDelay(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	after := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return seconds(s)
	}
	if t, err := http.ParseTime(after); err == nil {
		return t.Sub(now), true
	}
	return 0, false
}

// seconds converts, and refuses what is no number or would overflow.
func seconds(s float64) (time.Duration, bool) {
	if math.IsNaN(s) || math.Abs(s) > 1e9 {
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}
