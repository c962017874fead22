package gateway

import (
	"strings"
	"testing"
)

// What an upstream says becomes one shape, without its account.
func TestUpstreamErrors(t *testing.T) { // B060, B061, B076, B084, B087, B091
	long := `{"error":{"message":"maximum context length is 16384 tokens, requested 17964","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	const limited = "upstream_rate_limited"
	for _, c := range []struct {
		name              string
		status            int
		kind, body        string
		retryAfter        string
		wantStatus        int
		wantCode, says    string
		wantAfter, should string
	}{
		{"context length", 400, "application/json", long, "", 400, "context_length_exceeded", "requested 17964", "", ""},
		{"text only", 400, "application/json", `{"object":"error","message":"maximum context length is 16384 tokens","type":"BadRequestError","param":null,"code":400}`, "", 400, "", "16384", "", ""},
		{"422", 422, "application/json", `{"detail":[{"msg":"bad field"}]}`, "", 422, "", "bad field", "", ""},
		{"429 object", 429, "application/json", `{"error":{"message":"Rate limit reached in organization org-abcdefgh","type":"requests","code":"rate_limit_exceeded"}}`, "30", 503, limited, "no limit of yours", "30", ""},
		{"429 problem", 429, "application/problem+json", `{"type":"about:blank","title":"Too Many Requests","status":429}`, "30", 503, limited, "", "30", ""},
		{"429 message", 429, "application/json", `{"message":"rate limit exceeded"}`, "30", 503, limited, "", "30", ""},
		{"429 empty", 429, "", "", "30", 503, limited, "", "30", ""},
		{"429 HTML", 429, "text/html", "<h1>slow down</h1>", "30", 503, limited, "", "30", ""},
		{"429 for an hour", 429, "application/json", "{}", "3600", 503, limited, "", "59", "false"},
		{"429 without a time", 429, "application/json", "{}", "", 503, limited, "", "", ""},
		{"money", 429, "application/json", `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`, "", 503, "upstream_unavailable", "operator", "", "false"},
		{"401", 401, "application/json", `{"error":{"message":"Incorrect API key provided: sk-abcdefghijk"}}`, "", 502, "upstream_unauthorized", "operator", "", "false"},
		{"529", 529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "", 503, "", "Overloaded", "", ""},
		{"503", 503, "text/plain", "try later", "", 503, "service_unavailable", "try later", "", ""},
		{"500", 500, "text/html", "<html>", "", 500, "upstream_error", "", "", ""},
		{"502 HTML", 502, "text/html", "<html>nginx", "", 502, "upstream_error", "", "", ""},
		{"redirect", 302, "", "", "", 502, "upstream_error", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var header []string
				if c.retryAfter != "" {
					header = []string{"Retry-After", c.retryAfter}
				}
				r := setup(t, one(1, tenantsOf("{name: a, keys: [KEY], limits: {rpm: 100}}")), inTurn(reply(c.status, c.kind, c.body, header...)))
				a := r.ask(chatPath, plainAsk, "X-Api-Key", "secret")
				if a.status != c.wantStatus {
					t.Fatalf("%d, want %d: %s", a.status, c.wantStatus, a.body)
				}
				e := errorOf(t, a.body)
				if got := code(t, a.body); c.wantCode != "" && got != c.wantCode || !strings.Contains(e.Message, c.says) {
					t.Errorf("%s", a.body)
				}
				for name, want := range map[string]string{
					"Retry-After": c.wantAfter, "X-Should-Retry": c.should, "X-Ratelimit-Limit-Requests": "100", "X-Ratelimit-Remaining-Requests": "99",
				} {
					if got := a.header.Get(name); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
				for _, secret := range []string{"org-abcdefgh", "sk-abcdefghijk", "<html", "upstream-secret"} {
					if strings.Contains(a.body, secret) {
						t.Errorf("%q leaked: %s", secret, a.body)
					}
				}
			})
		})
	}
}
