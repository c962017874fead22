package wire

import (
	"strings"
	"testing"
	"time"
)

func TestNormalize(t *testing.T) {
	long := strings.Repeat("é", 3000)
	tests := []struct {
		name, contentType string
		status            int
		body              string
		want              Error
	}{
		{"B091 OpenAI object", "application/json", 429, `{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
			Error{Status: 429, Type: "requests", Code: "rate_limit_exceeded", Message: "slow down"}},
		{"B091 without a code", "application/json", 429, `{"error":{"message":"slow down","type":null,"code":null}}`,
			Error{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "slow down"}},
		{"B091 RFC 9457", "application/problem+json", 429, `{"type":"https://example.com/too-many","title":"Too many","status":429,"detail":"ten a minute"}`,
			Error{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "ten a minute"}},
		{"RFC 9457 without detail", "application/problem+json", 503, `{"type":"about:blank","title":"Down"}`,
			Error{Status: 503, Type: "service_unavailable_error", Code: "service_unavailable", Message: "Down"}},
		{"B091 message", "application/json", 429, `{"message":"rate limit exceeded"}`,
			Error{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "rate limit exceeded"}},
		{"B091 empty", "", 429, ``,
			Error{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "the upstream answered Too Many Requests and no reason"}},
		{"B091 HTML", "text/html; charset=utf-8", 429, `<html><h1>429</h1></html>`,
			Error{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "the upstream answered Too Many Requests and no reason"}},
		{"text", "text/plain", 503, " no healthy upstream\n",
			Error{Status: 503, Type: "service_unavailable_error", Code: "service_unavailable", Message: "no healthy upstream"}},
		{"B060 too long", "application/json", 400, `{"error":{"message":"maximum context length is 16384 tokens, requested 17964","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
			Error{Status: 400, Type: "invalid_request_error", Code: "context_length_exceeded", Param: "messages", Message: "maximum context length is 16384 tokens, requested 17964"}},
		{"B060 B061 too long, in words only", "application/json", 400, `{"object":"error","message":"maximum context length is 16384 tokens","type":"BadRequestError","param":null,"code":400}`,
			Error{Status: 400, Type: "BadRequestError", Message: "maximum context length is 16384 tokens"}},
		{"B063 waits half a minute", "application/json", 429, `[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"QuotaFailure"},{"@type":"RetryInfo","retryDelay":"34s"}]}}]`,
			Error{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "You exceeded your current quota", RetryAfter: 34 * time.Second}},
		{"B063 money is spent", "application/json", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
			Error{Status: 429, Type: "insufficient_quota", Code: "insufficient_quota", Message: "You exceeded your current quota", NoRetry: true}},
		{"B087 529", "application/json", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			Error{Status: 503, Type: "overloaded_error", Code: "service_unavailable", Message: "Overloaded"}},
		{"B094 200 HTML", "text/html", 200, `service overloaded`,
			Error{Status: 502, Type: "server_error", Code: "upstream_error", Message: "the upstream answered Bad Gateway and no reason"}},
		{"B094 200 text", "text/plain", 200, `service overloaded`,
			Error{Status: 502, Type: "server_error", Code: "upstream_error", Message: "the upstream answered Bad Gateway and no reason"}},
		{"B094 200 empty", "application/json", 200, ``,
			Error{Status: 502, Type: "server_error", Code: "upstream_error", Message: "the upstream answered Bad Gateway and no reason"}},
		{"B014 200 with an error", "application/json", 200, `{"error":{"type":"rate_limit_error","message":"busy"}}`,
			Error{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "busy"}},
		{"validation list", "application/json", 422, `{"detail":[{"loc":["body","n"],"msg":"must be positive","type":"value_error"}]}`,
			Error{Status: 422, Type: "invalid_request_error", Message: "must be positive"}},
		{"broken JSON", "application/json", 500, `{"error":{"mess`,
			Error{Status: 500, Type: "server_error", Code: "upstream_error", Message: "the upstream answered Internal Server Error and no reason"}},
		{"bytes", "application/octet-stream", 500, "\xff\xfe",
			Error{Status: 500, Type: "server_error", Code: "upstream_error", Message: "the upstream answered Internal Server Error and no reason"}},
		{"ids and keys", "application/json", 429, `{"error":{"message":"Rate limit reached for gpt in organization org-AbCdEf123456 on tokens. Key sk-proj-ab12****************WXYZ, Bearer abc.def123","code":"rate_limit_exceeded","type":"tokens"}}`,
			Error{Status: 429, Type: "tokens", Code: "rate_limit_exceeded", Message: "Rate limit reached for gpt in organization [redacted] on tokens. Key [redacted], [redacted]"}},
		{"ordinary words stay", "text/plain", 400, "ask-me org-wide sk-1",
			Error{Status: 400, Type: "invalid_request_error", Message: "ask-me org-wide sk-1"}},
		{"long", "text/plain", 400, long,
			Error{Status: 400, Type: "invalid_request_error", Message: long[:maxMessage]}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Normalize(tt.status, tt.contentType, []byte(tt.body)); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
