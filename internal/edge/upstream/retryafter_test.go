package upstream

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		ms, s string
		want  time.Duration // 0: none
	}{
		{"", "", 0},
		{"", "2", 2 * time.Second},
		{"", " 2 ", 2 * time.Second},
		{"", "1.5", 1500 * time.Millisecond},        // B070
		{"", "299.997", 299997 * time.Millisecond},  // B071
		{"493", "1", 493 * time.Millisecond},        // milliseconds are exact, they win
		{"12.5", "1", 12500 * time.Microsecond},     //
		{"0", "3", 3 * time.Second},                 // no pause in one leaves the other
		{"garbage", "3", 3 * time.Second},           //
		{"-5", "", 0},                               //
		{"", "0", 0},                                //
		{"", "-1", 0},                               // B070
		{"", "inf", 0},                              // B070
		{"", "NaN", 0},                              // B070
		{"", "1e10000", 0},                          // B070
		{"", "1e3", 0},                              //
		{"", "0x10", 0},                             //
		{"", "1_0", 0},                              //
		{"", "1.2.3", 0},                            //
		{"", ".", 0},                                //
		{"", "soon", 0},                             //
		{"", "99999999999999999999", MaxRetryAfter}, // capped, not wrapped
		{"99999999999999999999", "", MaxRetryAfter}, //
		{"", "Sun, 01 Mar 2026 12:00:30 GMT", 30 * time.Second},
		{"", "Sunday, 01-Mar-26 12:00:30 GMT", 30 * time.Second},
		{"", "Sun Mar  1 12:00:30 2026", 30 * time.Second},
		{"", "Sun, 01 Mar 2026 11:59:30 GMT", 0}, // past
		{"", "Mon, 01 Mar 2027 12:00:00 GMT", MaxRetryAfter},
	} {
		h := http.Header{}
		if tt.ms != "" {
			h.Set("retry-after-ms", tt.ms)
		}
		h.Set("retry-after", tt.s)
		got, ok := ParseRetryAfter(h, t0)
		if got != tt.want || ok != (tt.want > 0) {
			t.Errorf("ms %q, s %q: got %v, %v; want %v", tt.ms, tt.s, got, ok, tt.want)
		}
	}
}

// Azure has a name of its own for milliseconds.
func TestParseRetryAfterAzure(t *testing.T) {
	h := headers("x-ms-retry-after-ms: 1500", "retry-after: 2")
	if got, ok := ParseRetryAfter(h, time.Now()); got != 1500*time.Millisecond || !ok {
		t.Errorf("got %v, %v", got, ok)
	}
}

func TestBodyRetryAfter(t *testing.T) {
	for body, want := range map[string]time.Duration{
		`{"error":{"details":[{"retryDelay":"34s"}]}}`:                                            34 * time.Second, // B063
		`{"error":{"details":[{"retryDelay": "34.074824224s"}]}}`:                                 34074824224,
		`{"error":{"details":[{"retryDelay":"0s"}]}}`:                                             0,
		`{"error":{"details":[{"retryDelay":"-3s"}]}}`:                                            0,
		`{"error":{"details":[{"retryDelay":"34"}]}}`:                                             0,
		`{"error":{"details":[{"retryDelay":{"seconds":34}}]}}`:                                   0,
		`{"error":{"message":"Please retry in 34.5s.","details":[{"retryDelay":"34s"}]}}`:         34 * time.Second,
		`{"error":{"message":"You exceeded your current quota. Please retry in 34.5s."}}`:         34500 * time.Millisecond,
		`{"error":{"message":"Rate limit reached for gpt-4. Please try again in 6m0s."}}`:         6 * time.Minute,
		`{"error":{"message":"Limit 3, Used 3. Please try again in 120ms. Visit"}}`:               120 * time.Millisecond,
		`{"error":{"message":"Please retry after 26 seconds."}}`:                                  26 * time.Second,
		`{"error":{"message":"Try again in 1 second"}}`:                                           time.Second,
		`{"error":{"message":"Please try again in 9999999999999999999 seconds."}}`:                MaxRetryAfter,
		`{"error":{"message":"Please try again in 99999h."}}`:                                     MaxRetryAfter,
		`{"error":{"message":"Please try again later."}}`:                                         0,
		`{"error":{"message":"Please try again in a few minutes."}}`:                              0,
		`{"error":{"message":"retry in 5"}}`:                                                      0,
		`{"error":{"message":"retry in 1.2.3s"}}`:                                                 0,
		`{"error":{"message":"` + strings.Repeat("x", maxSaid) + `, please try again in 6m0s."}}`: 0,
		``: 0,
	} {
		if got := bodyRetryAfter([]byte(body)); got != want {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
}

// B082: without Retry-After the exhausted limit says when it is back, and the
// other one nothing.
func TestPauseFromLimits(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		header http.Header
		status int
		want   time.Duration
	}{
		{"Anthropic", headers("anthropic-ratelimit-tokens-remaining: 0", "anthropic-ratelimit-tokens-reset: 2026-03-01T12:00:12Z",
			"anthropic-ratelimit-requests-limit: 50", "anthropic-ratelimit-requests-remaining: 49", "anthropic-ratelimit-requests-reset: 2026-03-01T12:00:50Z"), 429, 12 * time.Second},
		{"OpenAI", headers("x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 6m0s", "x-ratelimit-remaining-requests: 9", "x-ratelimit-reset-requests: 20m"), 429, 6 * time.Minute},
		{"both", headers("x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 6s", "x-ratelimit-remaining-requests: 0", "x-ratelimit-reset-requests: 20s"), 429, 20 * time.Second},
		{"Retry-After goes before", headers("retry-after: 3", "x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 6m0s"), 429, 3 * time.Second},
		{"nothing is exhausted", headers("x-ratelimit-remaining-tokens: 1", "x-ratelimit-reset-tokens: 6m0s"), 429, 0},
		{"B100 Azure, unknown", headers("x-ratelimit-remaining-tokens: -1", "x-ratelimit-reset-tokens: 0"), 429, 0},
		{"an error of another kind", headers("x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 6m0s"), 500, 0},
	} {
		if got := statusFailure(tt.status, tt.header, nil, t0).RetryAfter; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzBodyRetryAfter(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"Please try again in 6m0s.","details":[{"retryDelay":"34s"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := bodyRetryAfter(body); got < 0 || got > MaxRetryAfter {
			t.Errorf("%q: %v", body, got)
		}
	})
}

func FuzzParseRetryAfter(f *testing.F) {
	f.Add("1.5", "Sun, 01 Mar 2026 12:00:30 GMT")
	f.Fuzz(func(t *testing.T, ms, s string) {
		h := http.Header{"Retry-After-Ms": {ms}, "Retry-After": {s}}
		got, ok := ParseRetryAfter(h, time.Unix(1_700_000_000, 0))
		if got < 0 || got > MaxRetryAfter || ok != (got > 0) {
			t.Errorf("%q, %q: %v, %v", ms, s, got, ok)
		}
	})
}

// B192: a provider whose clock is not ours. Dates are counted from what its own
// clock says.
func TestAProviderWithAnotherClock(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, off := range []time.Duration{0, 30 * time.Second, -30 * time.Second, 3 * time.Hour, -3 * time.Hour, 400 * 24 * time.Hour} {
		theirs := t0.Add(off)
		h := http.Header{
			"Date": {theirs.Format(http.TimeFormat)}, "Retry-After": {theirs.Add(40 * time.Second).Format(http.TimeFormat)},
			"Anthropic-Ratelimit-Requests-Limit": {"50"}, "Anthropic-Ratelimit-Requests-Remaining": {"0"}, "Anthropic-Ratelimit-Requests-Reset": {theirs.Add(20 * time.Second).Format(time.RFC3339)},
		}
		if wait, ok := ParseRetryAfter(h, t0); !ok || wait != 40*time.Second {
			t.Errorf("off by %v: wait %v, %v", off, wait, ok)
		}
		if s := ReadLimits(h, t0); s.Requests.Reset != 20*time.Second || s.Requests.Remaining != 0 {
			t.Errorf("off by %v: %+v", off, s.Requests)
		}
		h.Set("Retry-After", theirs.Add(-time.Second).Format(http.TimeFormat))
		if wait, ok := ParseRetryAfter(h, t0); ok {
			t.Errorf("off by %v: a date that is past there is a wait of %v", off, wait)
		}
	}
}
