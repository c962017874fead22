package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestFaultOfStatus(t *testing.T) {
	openAI := func(code, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"t","param":null,"code":%q}}`, message, code)
	}
	anthropic := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"r"}`, kind, message)
	}
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   admit.Fault
	}{
		{"server error", 500, openAI("internal_error", "The server had an error"), admit.Failed},
		{"a page of a proxy", 502, "<html>out of memory, queue full</html>", admit.Failed},
		{"unavailable for any reason", 503, "no healthy upstream", admit.Failed},
		{"gateway timeout", 504, "", admit.Failed},
		{"B086 a code nobody knows", 520, "", admit.Failed},
		{"redirect", 302, "", admit.Failed},
		{"Anthropic's own error", 500, anthropic("api_error", "Internal server error"), admit.Failed},
		{"a dead engine", 500, `{"object":"error","message":"EngineDeadError","type":"InternalServerError","code":500}`, admit.Failed},

		{"CUDA", 500, `{"object":"error","message":"CUDA out of memory. Tried to allocate 2.00 GiB","type":"InternalServerError","code":500}`, admit.OutOfSpace},
		{"PyTorch", 500, `{"detail":"torch.OutOfMemoryError: HIP"}`, admit.OutOfSpace},
		{"XLA", 503, `{"error":{"message":"RESOURCE_EXHAUSTED: Out of memory while trying to allocate"}}`, admit.OutOfSpace},
		{"KV cache", 503, `{"error":"KV cache is exhausted"}`, admit.OutOfSpace},
		{"llama.cpp", 500, `{"error":{"code":500,"message":"failed to find free space in the KV cache","type":"server_error"}}`, admit.OutOfSpace},
		{"a word about the KV cache", 500, `{"error":{"message":"KV cache transfer failed"}}`, admit.Failed},
		{"a prompt about memory", 400, openAI("invalid_value", "Invalid value: 'out of memory'"), admit.Invalid},
		{"a quoted prompt behind the reason", 500, openAI("x", strings.Repeat("a", maxSaid)+"out of memory"), admit.Failed},

		{"OpenAI tokens", 429, openAI("rate_limit_exceeded", "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 30000, Used 29000"), admit.Throttled},
		{"Anthropic", 429, anthropic("rate_limit_error", "This request would exceed your organization's rate limit of 40,000 input tokens per minute"), admit.Throttled},
		{"B063 Gemini", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. retry in 34s","status":"RESOURCE_EXHAUSTED"}}`, admit.Throttled},
		{"a 429 without a word", 429, "", admit.Throttled},

		{"OpenAI overloaded", 503, openAI("server_is_overloaded", "Busy"), admit.Saturated},
		{"B086 Anthropic overloaded", 529, anthropic("overloaded_error", "Overloaded"), admit.Saturated},
		{"529 without a word", 529, "", admit.Saturated},
		{"Groq flex", 498, openAI("capacity_exceeded", "x"), admit.Saturated},
		{"OpenAI flex", 429, openAI("resource_unavailable", "x"), admit.Saturated},
		{"slow down", 429, openAI("slow_down", "Slow down"), admit.Saturated},
		{"vLLM", 503, `{"error":{"message":"Request queue full: max-num-queued reached"}}`, admit.Saturated},
		{"TGI", 429, `{"error":"Model is overloaded","error_type":"overloaded"}`, admit.Saturated},
		{"SGLang", 503, `{"object":"error","message":"The request queue is full.","code":503}`, admit.Saturated},
		{"Ollama", 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, admit.Saturated},
		{"Gemini", 503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, admit.Saturated},
		{"Moonshot", 429, `{"error":{"message":"busy","type":"engine_overloaded_error"}}`, admit.Saturated},

		{"key", 401, openAI("invalid_api_key", "Incorrect API key provided"), admit.Denied},
		{"permission", 403, "", admit.Denied},
		{"proxy", 407, "", admit.Denied},
		{"money", 402, "", admit.Denied},
		{"B063 no money", 429, openAI("insufficient_quota", "You exceeded your current quota"), admit.Denied},
		{"Anthropic, no money", 400, anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API"), admit.Denied},
		{"Gemini key", 400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"ErrorInfo","reason":"API_KEY_INVALID"}]}}`, admit.Denied},

		{"B060 OpenAI context", 400, openAI("context_length_exceeded", "This model's maximum context length is 16384 tokens"), admit.TooLong},
		{"B060 vLLM, text only", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","param":null,"code":400}`, admit.TooLong},
		{"B060 code null", 400, `{"error":{"message":"maximum context length is 16384 tokens, requested 17964","code":null}}`, admit.TooLong},
		{"Anthropic context", 400, anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), admit.TooLong},
		{"Anthropic with output", 400, anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), admit.TooLong},
		{"Gemini context", 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`, admit.TooLong},
		{"413 with the code", 413, openAI("context_length_exceeded", "x"), admit.TooLong},
		{"over the minute's limit by itself", 413, openAI("rate_limit_exceeded", "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000"), admit.TooLong},
		{"413 of bytes", 413, anthropic("request_too_large", "Request exceeds the maximum size"), admit.Invalid},

		{"Azure filter", 400, `{"error":{"message":"filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, admit.Filtered},
		{"Azure filter, inner code alone", 400, `{"error":{"message":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, admit.Filtered},
		{"policy", 400, openAI("content_policy_violation", "x"), admit.Filtered},
		{"Anthropic filter", 400, anthropic("invalid_request_error", "Output blocked by content filtering policy"), admit.Filtered},
		{"OpenRouter moderation", 403, `{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["x"],"flagged_input":"y"}}}`, admit.Filtered},

		{"bad request", 400, openAI("invalid_request", "x"), admit.Invalid},
		{"unknown model", 404, openAI("model_not_found", "x"), admit.Invalid},
		{"unprocessable", 422, `{"detail":[{"msg":"field required"}]}`, admit.Invalid},
		{"not implemented", 501, "", admit.Invalid},
		{"version not supported", 505, "", admit.Invalid},
	} {
		f := statusFailure(tt.status, http.Header{}, []byte(tt.body), time.Now())
		if got := f.Fault(); got != tt.want {
			t.Errorf("%s: %d %s: %v, want %v", tt.name, tt.status, tt.body, got, tt.want)
		}
	}
}

// What the caller did says nothing of the upstream (B122, B123); what is silent
// beyond the provider's limits does (B041, B042).
func TestFaultOfKind(t *testing.T) {
	for kind, want := range map[Kind]admit.Fault{
		Unknown: admit.NoFault, CallerGone: admit.NoFault, Deadline: admit.NoFault,
		Dial: admit.Failed, Reset: admit.Failed, BadResponse: admit.Failed, Truncated: admit.Failed, StreamError: admit.Failed, TotalTimeout: admit.Failed,
		HeaderTimeout: admit.Silent, FirstTokenTimeout: admit.Silent, IdleTimeout: admit.Silent,
		TooLarge: admit.Invalid,
	} {
		if got := (&Failure{Kind: kind, Status: 200}).Fault(); got != want {
			t.Errorf("%v: %v, want %v", kind, got, want)
		}
	}
}

// An error inside a 200 is judged by its words alone.
func TestFaultInside(t *testing.T) {
	for body, want := range map[string]struct {
		fault     admit.Fault
		retryable bool
	}{
		`{"error":{"message":"The server had an error","type":"server_error"}}`:                        {admit.Failed, true},
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                  {admit.Saturated, true}, // B069
		`{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`:                           {admit.Throttled, true},
		`{"error":{"code":429,"message":"Provider returned error"}}`:                                   {admit.Throttled, true},
		`{"error":{"code":"502","message":"Provider disconnected"}}`:                                   {admit.Failed, true},
		`{"error":{"message":"CUDA out of memory","type":"server_error"}}`:                             {admit.OutOfSpace, true},
		`{"error":{"code":"insufficient_quota","message":"x"}}`:                                        {admit.Denied, false},
		`{"error":{"code":"content_filter","message":"x"}}`:                                            {admit.Filtered, false},
		`{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}`:                             {admit.TooLong, false},
		`{"error":{"type":"invalid_request_error","message":"x"}}`:                                     {admit.Invalid, false},
		`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}`: {admit.Throttled, true},
		`{"type":"error","code":"invalid_prompt","message":"x","param":null}`:                          {admit.Invalid, false},
		`[{"error":{"code":503,"status":"UNAVAILABLE","message":"The model is overloaded."}}]`:         {admit.Saturated, true},
		`not JSON`: {admit.Failed, true},
	} {
		f := errorIn([]byte(body))
		if got := f.Fault(); got != want.fault || f.Retryable != want.retryable {
			t.Errorf("%s: %v, retryable %v; want %v, %v", body, got, f.Retryable, want.fault, want.retryable)
		}
	}
	f := errorIn([]byte(`{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"on tokens per min (TPM). Please try again in 2s"}}`))
	if f.Scarce != admit.ScarceTokens || f.RetryAfter != 2*time.Second {
		t.Errorf("scarce %v, pause %v", f.Scarce, f.RetryAfter)
	}
}

func TestScarce(t *testing.T) {
	gemini := func(quotas ...string) string {
		for i, q := range quotas {
			quotas[i] = `{"quotaMetric":"m","quotaId":"` + q + `"}`
		}
		return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` +
			strings.Join(quotas, ",") + `]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`
	}
	message := func(m string) string { return `{"error":{"message":"` + m + `","type":"rate_limit_error"}}` }
	for _, tt := range []struct {
		name, body string
		header     http.Header
		want       admit.Scarce
	}{
		{"nothing", "", nil, admit.ScarceUnknown},
		{"header of requests", "{}", headers("x-ratelimit-remaining-requests: 0", "x-ratelimit-remaining-tokens: 9"), admit.ScarceRequests},
		{"header of tokens", "{}", headers("x-ratelimit-remaining-requests: 9", "x-ratelimit-remaining-tokens: 0"), admit.ScarceTokens},
		{"headers of both", "{}", headers("x-ratelimit-remaining-requests: 0", "x-ratelimit-remaining-tokens: 0"), admit.ScarceUnknown},
		{"B100", "{}", headers("x-ratelimit-remaining-requests: -1", "x-ratelimit-remaining-tokens: -1"), admit.ScarceUnknown},
		{"Anthropic header", "{}", headers("anthropic-ratelimit-requests-remaining: 7", "anthropic-ratelimit-output-tokens-remaining: 0"), admit.ScarceTokens},
		{"OpenAI TPM", message("Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000"), headers("x-ratelimit-remaining-requests: 0"), admit.ScarceTokens},
		{"OpenAI RPM", message("Rate limit reached for gpt-4 on requests per min (RPM): Limit 3"), nil, admit.ScarceRequests},
		{"OpenAI TPD", message("Rate limit reached on tokens per day (TPD): Limit 90000"), nil, admit.ScarceDay},
		{"OpenAI RPD", message("Rate limit reached on requests per day (RPD): Limit 200"), nil, admit.ScarceDay},
		{"OpenAI by type", `{"error":{"message":"x","type":"tokens","code":"rate_limit_exceeded"}}`, nil, admit.ScarceTokens},
		{"OpenAI by type, requests", `{"error":{"message":"x","type":"requests","code":"rate_limit_exceeded"}}`, nil, admit.ScarceRequests},
		{"slow down", `{"error":{"message":"x","code":"slow_down"}}`, nil, admit.ScarceRequests},
		{"Anthropic tokens", message("This request would exceed your organization's rate limit of 40,000 input tokens per minute"), nil, admit.ScarceTokens},
		{"Anthropic requests", message("This request would exceed your organization's rate limit of 50 requests per minute"), nil, admit.ScarceRequests},
		{"Anthropic, the old words", message("Number of request tokens has exceeded your per-minute rate limit"), nil, admit.ScarceTokens},
		{"Anthropic day", message("Number of request tokens has exceeded your daily rate limit"), nil, admit.ScarceDay},
		{"Azure", message("Requests to the Operation have exceeded token rate limit of your current OpenAI S0 pricing tier."), nil, admit.ScarceTokens},
		{"Gemini day", gemini("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), nil, admit.ScarceDay},
		{"Gemini requests", gemini("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), nil, admit.ScarceRequests},
		{"Gemini tokens", gemini("GenerateContentInputTokensPerModelPerMinute-FreeTier"), nil, admit.ScarceTokens},
		{"Gemini, several: the day is the longest", gemini("GenerateRequestsPerMinutePerProject", "GenerateRequestsPerDayPerProject"), nil, admit.ScarceDay},
	} {
		f := statusFailure(429, tt.header, []byte(tt.body), time.Now())
		if f.Scarce != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, f.Scarce, tt.want)
		}
	}
}

// What an error body may hold is anybody's guess.
func FuzzFault(f *testing.F) {
	f.Add(429, []byte(`{"error":{"code":429,"details":[{"violations":[{"quotaId":"a"}]},{"reason":["b"],"retryDelay":"34s"}]}}`))
	f.Add(200, []byte(`[{"error":null},1]`))
	f.Add(500, []byte(`{"error":"x","response":{"error":{}},"code":[{}]}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		statusFailure(status, http.Header{}, body, time.Unix(0, 0)).Fault()
		errorIn(body).Fault()
	})
}
