package wire

import "net/http"

// Code is what exactly went wrong, in one word that programs read: every one the
// gateway itself says. An upstream's own codes are passed on beside them.
type Code uint8

// The codes, by what is at fault: the request, the tenant's limits, the load, the
// upstream, the gateway. CodeInvalid has no word and is written as null.
const (
	CodeInvalid Code = iota
	CodeInvalidBody
	CodeInvalidClass
	CodeUnsupportedParameter
	CodeUnsupportedSurface
	CodeContextLength
	CodeInvalidKey
	CodeModelNotFound
	CodeResponseNotFound
	CodeTenantNotFound
	CodeUnknownURL
	CodeMethod
	CodeRequestTimeout
	CodeTooLarge

	CodeRateLimit
	CodeQuota

	CodeOverloaded
	CodeDeadline

	CodeUnavailable
	CodeUpstreamRateLimited
	CodeUpstreamUnavailable
	CodeUpstreamUnauthorized
	CodeUpstreamError
	CodeUpstreamTimeout
	CodeTimeout

	CodeDraining
	CodeInternal

	numCodes
)

// Again is what a caller may do with the same request after an error.
type Again uint8

// The ways to come back.
const (
	AgainNever Again = iota // it would end alike: something must be changed first
	AgainAfter              // when Retry-After is over; without one not by itself
	AgainSoon               // at once, and with growing pauses
)

// meaning is what is known of a code before it happens: a row of docs/errors.md.
type meaning struct {
	word   string // "" is null
	status int    // HTTP, on OpenAI's surfaces
	kind   string // the type, on OpenAI's surfaces
	again  Again
	when   string // for callers
	do     string // by the caller
}

// Kinds of errors, in the words of the OpenAI API.
const (
	kindRequest     = "invalid_request_error"
	kindRate        = "rate_limit_error"
	kindQuota       = "insufficient_quota"
	kindTimeout     = "timeout_error"
	kindUnavailable = "service_unavailable_error"
	kindAPI         = "api_error"
	kindServer      = "server_error"
)

var meanings = [numCodes]meaning{
	CodeInvalid: {"", http.StatusBadRequest, kindRequest, AgainNever,
		"The body is not what the surface takes, or two parsers could read it differently.", "Correct what `param` names."},
	CodeInvalidBody: {"invalid_body", http.StatusBadRequest, kindRequest, AgainNever,
		"The body broke off before its end.", "Send it whole."},
	CodeInvalidClass: {"invalid_class", http.StatusBadRequest, kindRequest, AgainNever,
		"`x-spillway-class` is not a class, or not one that the tenant may use.", "Name one of those in the message, or none."},
	CodeUnsupportedParameter: {"unsupported_parameter", http.StatusBadRequest, kindRequest, AgainNever,
		"The model cannot do it, or its provider has no words for it.", "Leave out what `param` names, or ask another model."},
	CodeUnsupportedSurface: {"unsupported_surface", http.StatusBadRequest, kindRequest, AgainNever,
		"The model's provider has nothing like this endpoint.", "Use another endpoint or another model."},
	CodeContextLength: {"context_length_exceeded", http.StatusBadRequest, kindRequest, AgainNever,
		"Input and output do not fit into the model's context.", "Shorten the input or lower the limit of the output."},
	CodeInvalidKey: {"invalid_api_key", http.StatusUnauthorized, kindRequest, AgainNever,
		"There is no key, or no tenant has it.", "Send the tenant's key as a bearer token, in `x-api-key` or in `api-key`."},
	CodeModelNotFound: {"model_not_found", http.StatusNotFound, kindRequest, AgainNever,
		"The model is not one of this gateway.", "Take a name of `GET /v1/models`."},
	CodeResponseNotFound: {"response_not_found", http.StatusNotFound, kindRequest, AgainNever,
		"A response is asked for or cancelled by its id; none is kept after it was answered.", "Keep the answer yourself."},
	CodeTenantNotFound: {"tenant_not_found", http.StatusNotFound, kindRequest, AgainNever,
		"An operator asks what would be decided for a tenant that does not exist. Callers never see it.", "Name a tenant of the configuration."},
	CodeUnknownURL: {"unknown_url", http.StatusNotFound, kindRequest, AgainNever,
		"The path is not one of this gateway.", "Check the base URL of the client: most want one that ends in `/v1`."},
	CodeMethod: {"method_not_allowed", http.StatusMethodNotAllowed, kindRequest, AgainNever,
		"The path takes another method.", "Use one that `Allow` names."},
	CodeRequestTimeout: {"request_timeout", http.StatusRequestTimeout, kindRequest, AgainSoon,
		"The body did not arrive in time.", "Send it faster; look at the network."},
	CodeTooLarge: {"request_too_large", http.StatusRequestEntityTooLarge, kindRequest, AgainNever,
		"The body is larger than the operator allows, or than the upstream does.", "Send less."},

	CodeRateLimit: {"rate_limit_exceeded", http.StatusTooManyRequests, kindRate, AgainAfter,
		"The tenant's own limit is met: requests or tokens a minute, requests at once, or money spent too fast. `limit`, `scope` and `figure` say which.",
		"Slow down before: the rate limit headers of every answer say how much is left."},
	CodeQuota: {"insufficient_quota", http.StatusPaymentRequired, kindQuota, AgainNever,
		"A budget has no room for what the request probably costs. `scope` says whose, the message when there is room again.", "Wait until then, or ask for a larger budget."},

	CodeOverloaded: {"overloaded", http.StatusTooManyRequests, kindRate, AgainAfter,
		"It would be too late, or the queue is full, or its class is held back, or the tenant has used its retry budget. `stage` says which.",
		"Come back after the wait, go elsewhere, or say with `x-spillway-degrade: allow` that a cheaper form will do."},
	CodeDeadline: {"deadline_exceeded", http.StatusGatewayTimeout, kindTimeout, AgainSoon,
		"The deadline that the caller named has passed.", "Allow more time, or do without."},

	CodeUnavailable: {"service_unavailable", http.StatusServiceUnavailable, kindUnavailable, AgainAfter,
		"Nothing serves the model at the moment, or the upstream says so of itself.", "Come back after the wait, or ask another model."},
	CodeUpstreamRateLimited: {"upstream_rate_limited", http.StatusServiceUnavailable, kindUnavailable, AgainAfter,
		"The provider limits its rate. No limit of the tenant was met.", "Come back after the wait."},
	CodeUpstreamUnavailable: {"upstream_unavailable", http.StatusServiceUnavailable, kindUnavailable, AgainNever,
		"The gateway's account at the provider is exhausted.", "Tell the operator."},
	CodeUpstreamUnauthorized: {"upstream_unauthorized", http.StatusBadGateway, kindAPI, AgainNever,
		"The provider refused the gateway's credentials. 503 if that is known before a call.", "Tell the operator."},
	CodeUpstreamError: {"upstream_error", http.StatusBadGateway, kindAPI, AgainSoon,
		"The provider failed, and has not said how in a code of its own. The status is the provider's if it is a 5xx, and the type then `server_error`.", "Try again: the gateway has done so as far as it may."},
	CodeUpstreamTimeout: {"upstream_timeout", http.StatusGatewayTimeout, kindTimeout, AgainSoon,
		"The provider did not answer in the operator's time.", "Try again."},
	CodeTimeout: {"timeout", http.StatusGatewayTimeout, kindTimeout, AgainSoon,
		"The provider answers 504 or 408 and no code.", "Try again."},

	CodeDraining: {"draining", http.StatusServiceUnavailable, kindUnavailable, AgainAfter,
		"This process of the gateway is stopping.", "Come back after the wait: another process answers."},
	CodeInternal: {"internal_error", http.StatusInternalServerError, kindServer, AgainSoon,
		"The gateway has a fault.", "Try again, and tell the operator the request's id."},
}

// String returns the word, "" for CodeInvalid.
func (c Code) String() string { return meanings[c].word }

// New makes an error of the code, with its status and type.
func (c Code) New(message string) *Error {
	e := &Error{Message: message}
	e.Become(c)
	return e
}

// Of makes an error of the code about one member of the request.
func (c Code) Of(param, message string) *Error {
	e := c.New(message)
	e.Param = param
	return e
}

// Become makes e an error of the code, with its status and type. SDKs come back
// by themselves after a 429 and a 5xx: where that is no use they are told.
func (e *Error) Become(c Code) {
	m := &meanings[c]
	e.Status, e.Type, e.Code = m.status, m.kind, m.word
	if m.again == AgainNever && (m.status == http.StatusTooManyRequests || m.status >= 500) {
		e.NoRetry = true
	}
}
