package wire

import "net/http"

// RequestIDHeader is the header in which SDKs of the surface look for the id of
// an answer.
func (s Surface) RequestIDHeader() string {
	if s.Anthropic() {
		return "Request-Id"
	}
	return "X-Request-Id"
}

// Statuses that only Anthropic's surface has.
const statusOverloaded = 529

// HTTPStatus is the status on the error's surface. What is 503 or a refusal by
// load elsewhere is 529 on Anthropic's.
func (e *Error) HTTPStatus() int {
	if !e.Surface.Anthropic() {
		return e.Status
	}
	switch {
	case e.Status == http.StatusServiceUnavailable, e.Status == http.StatusTooManyRequests && e.Code == CodeOverloaded.String():
		return statusOverloaded
	}
	return e.Status
}

// anthropicType is the kind of an error in Anthropic's words.
func (e *Error) anthropicType() string {
	switch status := e.HTTPStatus(); status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return "timeout_error"
	case statusOverloaded:
		return "overloaded_error"
	default:
		if status < 500 {
			return "invalid_request_error"
		}
		return "api_error"
	}
}

// anthropicBody is the error object of Anthropic's API, with our own details
// beside its members.
func (e *Error) anthropicBody() []byte {
	type inner struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Code    string `json:"code,omitempty"`
		Param   string `json:"param,omitempty"`
		details
	}
	d := e.details()
	d.RequestID = ""
	return marshal(struct {
		Type      string  `json:"type"`
		Error     inner   `json:"error"`
		RequestID *string `json:"request_id"`
	}{"error", inner{e.anthropicType(), e.Message, e.Code, e.Param, d}, orNull(e.RequestID)})
}

// responsesEvent is the data of an error event of the Responses API. Its
// sequence number is not known here, and nothing follows it.
func (e *Error) responsesEvent() []byte {
	return marshal(struct {
		Type     string  `json:"type"`
		Code     *string `json:"code"`
		Message  string  `json:"message"`
		Param    *string `json:"param"`
		Sequence int     `json:"sequence_number"`
	}{"error", orNull(e.Code), e.Message, orNull(e.Param), 0})
}
