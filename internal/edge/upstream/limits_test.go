package upstream

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// headers makes a header of lines "Name: value".
func headers(lines ...string) http.Header {
	h := http.Header{}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ":")
		h.Add(name, strings.TrimSpace(value))
	}
	return h
}

func TestReadLimits(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	none := admit.Told{Remaining: -1}
	told := func(limit, remaining int64, reset time.Duration) admit.Told {
		return admit.Told{Limit: limit, Remaining: remaining, Reset: reset}
	}
	for _, tt := range []struct {
		name             string
		header           http.Header
		requests, tokens admit.Told
	}{
		{"nothing", headers("Content-Type: application/json"), none, none},
		{"OpenAI", headers("x-ratelimit-limit-requests: 5000", "x-ratelimit-remaining-requests: 4999", "x-ratelimit-reset-requests: 12ms",
			"x-ratelimit-limit-tokens: 800000", "x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 6m0s"),
			told(5000, 4999, 12*time.Millisecond), told(800_000, 0, 6*time.Minute)}, // B082
		{"seconds", headers("x-ratelimit-limit-requests: 10", "x-ratelimit-remaining-requests: 3", "x-ratelimit-reset-requests: 7"), told(10, 3, 7*time.Second), none},
		{"a fraction of a second", headers("x-ratelimit-limit-tokens: 10", "x-ratelimit-remaining-tokens: 3.9", "x-ratelimit-reset-tokens: 7.66s"), none, told(10, 3, 7660*time.Millisecond)},
		{"plain fraction", headers("x-ratelimit-limit-tokens: 10", "x-ratelimit-remaining-tokens: 3", "x-ratelimit-reset-tokens: 0.25"), none, told(10, 3, 250*time.Millisecond)},
		{"B100 Azure, unknown", headers("x-ratelimit-limit-tokens: 1000", "x-ratelimit-remaining-tokens: -1", "x-ratelimit-reset-tokens: 0"), none, told(1000, -1, 0)},
		{"B100 Azure, all unknown", headers("x-ratelimit-remaining-tokens: -1", "x-ratelimit-reset-tokens: 0", "x-ratelimit-limit-requests: 0", "x-ratelimit-remaining-requests: 0"), none, none},
		{"Azure, no reset", headers("x-ratelimit-limit-requests: 120", "x-ratelimit-remaining-requests: 119", "x-ratelimit-remaining-tokens: 4000"), told(120, 119, 0), told(0, 4000, 0)},
		{"usage based is another limit", headers("x-ratelimit-limit-tokens_usage_based: 9", "x-ratelimit-remaining-tokens_usage_based: 1", "x-ratelimit-reset-tokens_usage_based: 3s"), none, none},
		{"more left than fits", headers("x-ratelimit-limit-requests: 10", "x-ratelimit-remaining-requests: 30"), told(10, 10, 0), none},
		{"negative", headers("x-ratelimit-limit-requests: -10", "x-ratelimit-remaining-requests: -3", "x-ratelimit-reset-requests: -7s"), none, none},
		{"no numbers", headers("x-ratelimit-limit-requests: NaN", "x-ratelimit-remaining-requests: inf", "x-ratelimit-reset-requests: soon"), none, none},
		{"huge", headers("x-ratelimit-limit-requests: 9223372036854775807", "x-ratelimit-remaining-requests: 1e300", "x-ratelimit-reset-requests: 99999999999999"), none, none},
		{"a reset at a point in time", headers("x-ratelimit-limit-requests: 10", "x-ratelimit-remaining-requests: 1", "x-ratelimit-reset-requests: 1772366400"), told(10, 1, 0), none},

		{"Anthropic", headers("anthropic-ratelimit-requests-limit: 50", "anthropic-ratelimit-requests-remaining: 49", "anthropic-ratelimit-requests-reset: 2026-03-01T12:00:02Z",
			"anthropic-ratelimit-tokens-limit: 480000", "anthropic-ratelimit-tokens-remaining: 400000", "anthropic-ratelimit-tokens-reset: 2026-03-01T12:00:09Z",
			"anthropic-ratelimit-input-tokens-limit: 400000", "anthropic-ratelimit-input-tokens-remaining: 396000", "anthropic-ratelimit-input-tokens-reset: 2026-03-01T12:00:01Z",
			"anthropic-ratelimit-output-tokens-limit: 80000", "anthropic-ratelimit-output-tokens-remaining: 4000", "anthropic-ratelimit-output-tokens-reset: 2026-03-01T13:00:57+01:00"),
			told(50, 49, 2*time.Second), told(80_000, 4000, 57*time.Second)},
		{"B082 Anthropic, exhausted", headers("anthropic-ratelimit-tokens-remaining: 0", "anthropic-ratelimit-tokens-reset: 2026-03-01T12:00:12Z"), none, told(0, 0, 12*time.Second)},
		{"Anthropic, past reset", headers("anthropic-ratelimit-requests-limit: 50", "anthropic-ratelimit-requests-remaining: 49", "anthropic-ratelimit-requests-reset: 2026-03-01T11:59:59Z"), told(50, 49, 0), none},

		{"fields", headers(`RateLimit: "burst";r=50;t=30`, `RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`), told(100, 50, 30*time.Second), none},
		{"the scarcest field", headers(`RateLimit: "burst";r=50;t=30, "daily";r=10;t=4000`, `RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`), told(1000, 10, 4000*time.Second), none},
		{"fields of tokens and of bytes", headers(`RateLimit: "a";r=7;t=3`, `RateLimit: "b";r=1;t=3`, `RateLimit-Policy: "a";q=9;qu="tokens"`, `RateLimit-Policy: "b";q=9;qu="content-bytes"`), none, told(9, 7, 3*time.Second)},
		{"a name with a comma", headers(`RateLimit: "a,\";b";r=7;t=3`, `RateLimit-Policy: "a,\";b";q=9;pk=:c2s=:`), told(9, 7, 3*time.Second), none},
		{"a field without its policy", headers(`RateLimit: "a";r=7;t=3`), told(0, 7, 3*time.Second), none},
		{"a policy alone", headers(`RateLimit-Policy: "a";q=7;w=3`), none, none},
		{"garbage", headers(`RateLimit: ;;,"`, `RateLimit-Policy: =,;q;"`), none, none},
		{"fields are read last", headers(`RateLimit: "a";r=7;t=3`, "x-ratelimit-limit-requests: 10"), told(10, -1, 0), none},
	} {
		got := ReadLimits(tt.header, t0)
		if got.Requests != tt.requests || got.Tokens != tt.tokens {
			t.Errorf("%s: got %+v, want %+v and %+v", tt.name, got, tt.requests, tt.tokens)
		}
	}
}

// Limits are told with a good answer, a refusal, and an error inside a 200.
func TestLimitsOfAnswers(t *testing.T) {
	want := admit.Told{Limit: 9, Remaining: 4, Reset: time.Second}
	for status, body := range map[int]string{200: "data: 1\n\n", 429: "{}", 201: "data: {\"error\":{}}\n\n"} {
		c := serve(t, Provider{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("x-ratelimit-limit-requests", "9")
			w.Header().Set("x-ratelimit-remaining-requests", "4")
			w.Header().Set("x-ratelimit-reset-requests", "1s")
			answer(status, events, body)(w, r)
		})
		res, err := c.Do(t.Context(), Call{Path: "/v1/x", Stream: true})
		var got admit.Sample
		if status == 200 {
			if err != nil {
				t.Fatal(err)
			}
			got = res.Limits()
			res.Close()
		} else {
			got = asFailure(t, err).Limits
		}
		if got.Requests != want || got.Tokens != nothingTold {
			t.Errorf("status %d: %+v", status, got)
		}
	}
}

func FuzzReadLimits(f *testing.F) {
	f.Add("5000", "4999", "12ms", `"burst";r=50;t=30`)
	f.Add("800000", "0", "6m0s", `"a,\";b";r=7;t=3`)
	f.Add("-1", "-1", "2026-03-01T12:00:12Z", `;;,"`)
	f.Add("NaN", "1e300", "99999999999999", "limit=10, remaining=5")
	f.Add(".", "1.", "-9223372036854775808ns", `"`)
	f.Fuzz(func(t *testing.T, limit, remaining, reset, field string) {
		for _, h := range []http.Header{
			{openAIRequests.limit: {limit}, openAIRequests.remaining: {remaining}, openAITokens.reset: {reset}, openAIRequests.reset: {reset}, openAITokens.remaining: {limit}},
			{anthropicRequests.limit: {limit}, anthropicTokens[0].remaining: {remaining}, anthropicTokens[1].reset: {reset}, anthropicTokens[1].limit: {limit}},
			{"Ratelimit": {field, limit}, "Ratelimit-Policy": {remaining, field}},
		} {
			s := ReadLimits(h, time.Unix(1_772_366_400, 0))
			for _, told := range []admit.Told{s.Requests, s.Tokens} {
				if told.Limit < 0 || told.Limit > mostLimit || told.Remaining < -1 || told.Remaining > mostLimit ||
					told.Reset < 0 || told.Reset >= mostReset || told.Limit > 0 && told.Remaining > told.Limit {
					t.Errorf("%v: %+v", h, told)
				}
			}
		}
	})
}

// Most upstreams say nothing of limits: to look costs no memory.
func TestNoLimitsNoAllocation(t *testing.T) {
	h := headers("Content-Type: text/event-stream", "Date: Sun, 01 Mar 2026 12:00:00 GMT", "X-Request-Id: r")
	now := time.Now()
	if n := testing.AllocsPerRun(100, func() { ReadLimits(h, now) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
