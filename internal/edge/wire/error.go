package wire

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Error is an answer that is not the model's. Its words are those of the OpenAI
// API; on a surface of Anthropic's they are turned into its own when it is
// written. The fields below RequestID explain a refusal and are left out when
// empty.
type Error struct {
	Surface Surface // where it is written
	Status  int     // HTTP status, 400 to 599
	Type    string  // kind, such as "invalid_request_error"
	Code    string  // what exactly, such as "rate_limit_exceeded"; "" is written as null
	Message string  // for people
	Param   string  // the member at fault; "" is written as null

	RetryAfter time.Duration // the honest wait; 0 = none is known
	NoRetry    bool          // coming back would not help
	RequestID  string        // written as x-request-id and into the body

	Stage         string        // the stage that decided
	Limit         string        // which limit, such as "requests_per_minute"
	Scope         string        // whose limit, such as "tenant bank"
	Figure        string        // the number that was exceeded, with its unit
	EstimatedWait time.Duration // how long the request would have waited
}

// Bounds of the wait that clients obey. Below one second of Retry-After Go SDKs
// come back at once; above a minute some ignore it and some sleep through it.
const (
	minRetryAfterMs   = 200
	maxRetryAfterSecs = 59
)

// Error returns the status, the code and the message.
func (e *Error) Error() string {
	kind := e.Code
	if kind == "" {
		kind = e.Type
	}
	return fmt.Sprintf("%d %s: %s", e.Status, kind, e.Message)
}

// details are the members beyond the four of the API, the same in every form.
type details struct {
	Stage           string `json:"stage,omitempty"`
	Limit           string `json:"limit,omitempty"`
	Scope           string `json:"scope,omitempty"`
	Figure          string `json:"figure,omitempty"`
	EstimatedWaitMs int64  `json:"estimated_wait_ms,omitzero"`
	RetryAfterMs    int64  `json:"retry_after_ms,omitzero"`
	RequestID       string `json:"request_id,omitempty"`
}

func (e *Error) details() details {
	return details{
		Stage: e.Stage, Limit: e.Limit, Scope: e.Scope, Figure: e.Figure,
		EstimatedWaitMs: ceilMs(e.EstimatedWait), RetryAfterMs: ceilMs(e.RetryAfter),
		RequestID: e.RequestID,
	}
}

// envelope is the error body of the OpenAI API. All four keys are always there.
type envelope struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
		details
	} `json:"error"`
}

// Body returns the error object, without a line break.
func (e *Error) Body() []byte {
	if e.Surface.Anthropic() {
		return e.anthropicBody()
	}
	var v envelope
	v.Error.Message, v.Error.Type = e.Message, e.Type
	v.Error.Param, v.Error.Code = orNull(e.Param), orNull(e.Code)
	v.Error.details = e.details()
	return marshal(v)
}

// Event returns the error as a framed stream event. It is for errors after the
// headers were sent; the stream must end after it, as no SDK retries one.
func (e *Error) Event() []byte {
	switch e.Surface {
	case Messages, CountTokens:
		return append(append([]byte("event: error\ndata: "), e.Body()...), "\n\n"...)
	case Responses:
		return append(append([]byte("event: error\ndata: "), e.responsesEvent()...), "\n\n"...)
	}
	return append(append([]byte("data: "), e.Body()...), "\n\n"...)
}

// Write sends the error as the answer. Nothing may have been sent before.
//
// A wait is told as Retry-After in whole seconds from 1 to 59 and as
// retry-after-ms. A longer one cannot be told to clients: they are then asked not
// to retry, and the body has the true wait.
func (e *Error) Write(w http.ResponseWriter) {
	e.write(w, "application/json", e.Body())
}

// WriteProblem sends the error as RFC 9457 problem details, for callers that
// asked for them (Intent.AcceptProblem); the official SDKs cannot read them.
func (e *Error) WriteProblem(w http.ResponseWriter) {
	e.write(w, "application/problem+json", marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Kind   string `json:"kind,omitempty"`
		Code   string `json:"code,omitempty"`
		Param  string `json:"param,omitempty"`
		details
	}{"about:blank", http.StatusText(e.Status), e.Status, e.Message, e.Type, e.Code, e.Param, e.details()}))
}

func (e *Error) write(w http.ResponseWriter, contentType string, body []byte) {
	h := w.Header()
	// Headers of an answer that was begun and given up would contradict this one.
	h.Del("Content-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Content-Type", contentType)
	if e.RequestID != "" {
		h.Set(e.Surface.RequestIDHeader(), e.RequestID)
	}
	e.setRetry(h)
	w.WriteHeader(e.HTTPStatus())
	w.Write(body) // the caller may be gone, and there is nobody else to tell
}

// setRetry tells the caller when to come back.
func (e *Error) setRetry(h http.Header) {
	noRetry := e.NoRetry
	if ms := ceilMs(e.RetryAfter); ms > 0 {
		if ms > maxRetryAfterSecs*1000 {
			ms, noRetry = maxRetryAfterSecs*1000, true
		}
		h.Set("Retry-After", strconv.FormatInt((ms+999)/1000, 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(max(ms, minRetryAfterMs), 10))
	}
	if noRetry {
		h.Set("X-Should-Retry", "false")
	}
}

// ceilMs is a duration in milliseconds, rounded up; 0 for a negative one.
func ceilMs(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Millisecond) + 1
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// marshal cannot fail on the flat structs it is given, once bad UTF-8 is allowed.
func marshal(v any) []byte {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Sprintf("wire: marshal %T: %v", v, err))
	}
	return b
}
