package wire

import (
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// maxMessage bounds the part of an upstream's text that is relayed, in bytes.
const maxMessage = 2048

// Normalize turns any error body of an upstream into one Error: the OpenAI
// object, RFC 9457 problem details, {"message":…}, {"detail":…}, plain text,
// HTML or nothing at all. The upstream's own text is kept as far as it is
// text, without organisation ids and keys.
//
// A status that is no error, such as 0 for an event in a stream or 200 for a page
// of HTML, is replaced by the one the body speaks of, or else by 502. The status
// 529 is unknown on this surface and becomes 503.
func Normalize(status int, contentType string, body []byte) Error {
	var e Error
	switch trimmed := strings.TrimSpace(string(body)); {
	case strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "["):
		if gjson.Valid(trimmed) {
			e = fromJSON(gjson.Parse(trimmed))
		}
	case strings.Contains(contentType, "html") || strings.HasPrefix(trimmed, "<"):
		// A proxy's page says nothing that the status does not.
	case status >= 400 && utf8.ValidString(trimmed):
		// Text under a status that is no error may be anything, also an answer.
		e.Message = trimmed
	}
	if status < 400 || status > 599 {
		if status = e.Status; status < 400 || status > 599 {
			status = statusOf(e.Type, e.Code)
		}
	}
	if status == 529 {
		status = http.StatusServiceUnavailable
	}
	e.Status = status
	kind, code := defaults(status)
	if e.Type == "" {
		e.Type = kind
	}
	if e.Code == "" {
		e.Code = code
	}
	if e.Message = redact(e.Message); e.Message == "" {
		e.Message = "the upstream answered " + http.StatusText(status) + " and no reason"
	}
	// Money that is spent does not come back by waiting. A word in the message is
	// no proof of that: per-minute limits speak of quota too.
	if terminal(e.Code) || terminal(e.Type) {
		e.NoRetry = true
	}
	return e
}

// fromJSON reads the shapes that error objects come in.
func fromJSON(v gjson.Result) Error {
	if v.IsArray() { // Gemini wraps its error in an array when it streams
		v = v.Get("0")
	}
	o := v.Get("error")
	if !o.IsObject() {
		if o.Type == gjson.String {
			return Error{Message: o.Str, Status: int(v.Get("status").Int())}
		}
		o = v
	}
	e := Error{
		Type:  word(o.Get("type")),
		Code:  word(o.Get("code")),
		Param: redact(o.Get("param").String()),
	}
	for _, path := range [...]string{"message", "detail", "detail.0.msg", "errors.0.message", "title"} {
		if m := o.Get(path); m.Type == gjson.String && m.Str != "" {
			e.Message = m.Str
			break
		}
	}
	// The code may be a number that repeats the status (vLLM, Gemini), and the
	// status may be a word that is the code (Gemini).
	if n := o.Get("code"); n.Type == gjson.Number {
		e.Status = int(n.Int())
	} else if n := o.Get("status"); n.Type == gjson.Number {
		e.Status = int(n.Int())
	}
	if s := word(o.Get("status")); s != "" && e.Code == "" {
		e.Code = strings.ToLower(s)
		if s == "RESOURCE_EXHAUSTED" {
			e.Code = CodeRateLimit.String()
		}
	}
	if d := o.Get("details.#(retryDelay).retryDelay"); d.Exists() {
		if wait, err := time.ParseDuration(d.String()); err == nil && wait > 0 && wait < maxBudget {
			e.RetryAfter = wait
		}
	}
	return e
}

// word returns a string that names a kind of error: no URI, no sentence.
func word(v gjson.Result) string {
	if v.Type != gjson.String || len(v.Str) > 64 {
		return ""
	}
	for _, c := range v.Str {
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return ""
		}
	}
	// Some servers write the status here once more.
	if strings.Trim(v.Str, "0123456789") == "" {
		return ""
	}
	return v.Str
}

// statusOf guesses the status of an error that came without one.
func statusOf(kind, code string) int {
	for _, s := range [...]string{code, kind} {
		switch s {
		case "rate_limit_exceeded", "rate_limit_error", "slow_down", "insufficient_quota":
			return http.StatusTooManyRequests
		case "overloaded_error", "overloaded", "service_unavailable", "service_unavailable_error", "server_is_overloaded", "unavailable":
			return http.StatusServiceUnavailable
		case "timeout_error", "timeout", "deadline_exceeded":
			return http.StatusGatewayTimeout
		case "authentication_error", "invalid_api_key":
			return http.StatusUnauthorized
		case "permission_error":
			return http.StatusForbidden
		case "not_found_error", "model_not_found", "NotFoundError":
			return http.StatusNotFound
		case "invalid_request_error", "BadRequestError", "context_length_exceeded", "invalid_prompt":
			return http.StatusBadRequest
		}
	}
	return http.StatusBadGateway
}

// defaults are the type and the code of a status when the upstream names none.
func defaults(status int) (kind, code string) {
	switch status {
	case http.StatusTooManyRequests:
		return kindRate, CodeRateLimit.String()
	case http.StatusUnauthorized:
		return "authentication_error", ""
	case http.StatusForbidden:
		return "permission_error", ""
	case http.StatusPaymentRequired:
		return kindQuota, CodeQuota.String()
	case http.StatusRequestEntityTooLarge:
		return kindRequest, CodeTooLarge.String()
	case http.StatusServiceUnavailable:
		return kindUnavailable, CodeUnavailable.String()
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return kindTimeout, CodeTimeout.String()
	}
	if status < 500 {
		return kindRequest, CodeInvalid.String()
	}
	return kindServer, CodeUpstreamError.String()
}

func terminal(code string) bool {
	return code == "insufficient_quota" || code == "credit_balance_exhausted" || strings.HasPrefix(code, "billing_")
}

// secrets match the ids and keys of an upstream account, also when half masked.
var secrets = regexp.MustCompile(`\b(?:org|proj|sk|pk|key)[-_][A-Za-z0-9_*-]{6,}|\bAIza[A-Za-z0-9_-]{10,}|(?i:\bbearer\s+)[A-Za-z0-9._~+/*-]{6,}=*`)

// redact returns text that may be shown to a caller: bounded, and without the
// ids and keys of the account at the upstream.
func redact(s string) string {
	if len(s) > 2*maxMessage {
		s = s[:2*maxMessage] // a secret at the cut below must still be whole here
	}
	s = secrets.ReplaceAllString(s, "[redacted]")
	if len(s) > maxMessage {
		s = s[:maxMessage]
	}
	return strings.ToValidUTF8(s, "")
}
