package load

import (
	"net/http"
	"testing"
	"time"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestMayRetry(t *testing.T) {
	for status, want := range map[int]bool{
		0: true, 408: true, 409: true, 429: true, 500: true, 502: true, 503: true, 504: true, 529: true,
		202: false, 400: false, 401: false, 402: false, 404: false, 413: false, 422: false, 499: false,
	} {
		if got := mayRetry(status, nil); got != want {
			t.Errorf("status %d: %v", status, got)
		}
		// B073: the server's word counts more than the status.
		if mayRetry(status, header("x-should-retry", "false")) {
			t.Errorf("status %d is retried against x-should-retry: false", status)
		}
		if !mayRetry(status, header("x-should-retry", "true")) {
			t.Errorf("status %d is not retried against x-should-retry: true", status)
		}
		if got := mayRetry(status, header("x-should-retry", "maybe")); got != want {
			t.Errorf("status %d with a word that is none: %v", status, got)
		}
	}
}

func TestRetryDelay(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		name    string
		header  http.Header
		retries int
		u       float64
		want    time.Duration
	}{
		{"first backoff", nil, 0, 0, 500 * ms},
		{"second", nil, 1, 0, s},
		{"third", nil, 2, 0, 2 * s},
		{"fifth reaches the limit", nil, 4, 0, 8 * s},
		{"the limit holds", nil, 60, 0, 8 * s},
		{"full jitter takes a quarter", nil, 0, 1, 375 * ms},
		{"B080: milliseconds come first", header("retry-after-ms", "493", "retry-after", "1"), 0, 1, 493 * ms},
		{"B070: a fraction of a second, no jitter", header("retry-after", "1.5"), 0, 1, 1500 * ms},
		{"seconds", header("retry-after", "7"), 3, 0.5, 7 * s},
		{"a date", header("retry-after", date(3*s)), 0, 0, 3 * s},
		{"B074: zero is at once", header("retry-after", "0"), 0, 0, 0},
		{"B074: a past date is ignored", header("retry-after", date(-3*s)), 0, 0, 500 * ms},
		{"B070: negative is ignored", header("retry-after", "-1"), 0, 0, 500 * ms},
		{"B070: not a number", header("retry-after", "nan"), 0, 0, 500 * ms},
		{"B070: infinite", header("retry-after", "inf"), 0, 0, 500 * ms},
		{"B070: out of range", header("retry-after", "1e10000"), 0, 0, 500 * ms},
		{"a minute is obeyed", header("retry-after", "60"), 0, 0, 60 * s},
		{"B073: more is not", header("retry-after", "1800"), 0, 0, 500 * ms},
		{"garbage", header("retry-after", "soon"), 1, 0, s},
		{"garbage in milliseconds falls to seconds", header("retry-after-ms", "x", "retry-after", "2"), 0, 0, 2 * s},
	} {
		if got := retryDelay(c.header, c.retries, now, c.u); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
