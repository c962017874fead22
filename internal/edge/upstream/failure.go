package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// Kind is what an attempt failed of. Its String is the metric label.
type Kind uint8

// The kinds of failure. "Before the answer" means that no byte of it was seen.
const (
	Unknown           Kind = iota
	Dial                   // no connection, including name look-up and TLS
	Reset                  // the connection or the HTTP/2 stream broke, before or within the answer
	HeaderTimeout          // no headers, or no body after them, within the limit
	FirstTokenTimeout      // no content within the limit
	IdleTimeout            // the answer stalled
	TotalTimeout           // the call took longer than the limit of the provider
	CallerGone             // the caller left
	Deadline               // the deadline of the caller's context passed
	BadResponse            // an answer of the wrong kind: HTML, empty, redirect, unknown encoding
	Truncated              // the answer ended in its midst
	TooLarge               // the answer or one of its events is over the size limit
	StreamError            // an error inside a 200: the whole body, or an event
	RateLimited            // 429
	Unpaid                 // 402, or 429 that only money helps
	Unavailable            // 498, 502, 503, 504, 529
	ServerError            // another 5xx
	Unauthorized           // 401, 403, 407: our key, not the caller's
	Rejected               // another 4xx
)

var kindNames = [...]string{"unknown", "dial", "reset", "header_timeout", "first_token_timeout", "idle_timeout",
	"total_timeout", "caller_gone", "deadline", "bad_response", "truncated", "too_large", "stream_error",
	"rate_limited", "unpaid", "unavailable", "server_error", "unauthorized", "rejected"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[Unknown]
}

// Failure is the error of every call and stream.
type Failure struct {
	Provider   string
	Kind       Kind
	Status     int           // of the answer; 0 before the answer
	RetryAfter time.Duration // the pause asked for; 0 when none was
	Scarce     admit.Scarce  // which limit a 429 was about
	Err        error         // the cause, if there is one beyond the status

	// Retryable says that the same request may succeed at another time or
	// place. Whether the caller has seen a part of this answer is not judged.
	Retryable bool
	// Sent says that the request may have reached the upstream, which may be
	// working on it and may bill it.
	Sent bool

	Header http.Header  // of an answer that is an error, else nil
	Body   []byte       // of an answer that is an error: at most 64 KiB
	Limits admit.Sample // what Header said of the provider's limits; the zero Sample without one
}

func (f *Failure) Error() string {
	s := "call provider " + f.Provider + ": " + f.Kind.String()
	if f.Status != 0 {
		s += fmt.Sprintf(" (status %d)", f.Status)
	}
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// kindOf tells what err, of a call under w, means. answered says that headers
// have arrived, connected that there was a connection to lose.
func kindOf(w *watch, err error, connected, answered bool) (Kind, error) {
	var t *timeout
	switch cause := context.Cause(w.ctx); {
	case errors.As(cause, &t):
		return t.kind, t
	case errors.Is(cause, context.DeadlineExceeded):
		return Deadline, cause
	case cause != nil:
		return CallerGone, cause
	case !connected:
		return Dial, err
	case errors.Is(err, wire.ErrEventTooLarge), errors.Is(err, errTooLarge):
		return TooLarge, err
	case errors.Is(err, errBadAnswer):
		return BadResponse, err
	case answered && errors.Is(err, io.ErrUnexpectedEOF):
		return Truncated, err
	case !answered && strings.Contains(err.Error(), "malformed"):
		return BadResponse, err
	}
	return Reset, err
}

// retryable tells for the kinds that come without a deciding status.
func (k Kind) retryable() bool {
	switch k {
	case Dial, Reset, HeaderTimeout, FirstTokenTimeout, IdleTimeout, BadResponse, Truncated, StreamError, RateLimited, Unavailable:
		return true
	}
	return false
}

// statusFailure classifies an answer that is not a success.
func statusFailure(status int, h http.Header, body []byte, now time.Time) *Failure {
	f := &Failure{Status: status, Sent: true, Header: h, Body: body, Limits: ReadLimits(h, now)}
	switch {
	case status == http.StatusTooManyRequests:
		f.Kind = RateLimited
		if s := readSaid(body); s.moneyOnly() {
			f.Kind = Unpaid
		} else {
			f.Scarce = scarceOf(h, &s)
		}
	case status == http.StatusPaymentRequired:
		f.Kind = Unpaid
	case status == 498, status == http.StatusBadGateway, status == http.StatusServiceUnavailable,
		status == http.StatusGatewayTimeout, status == 529:
		f.Kind = Unavailable
	case status >= 500:
		f.Kind = ServerError
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		f.Kind = Unauthorized
	case status >= 400:
		f.Kind = Rejected
	default:
		f.Kind = BadResponse // a redirect; following it would hand the key to another host
	}
	f.Retryable = f.Kind.retryable()
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		f.Retryable = true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported: // it will not be different next time
	default: // the class decides for codes that nobody has registered, such as a proxy's 52x
		f.Retryable = f.Retryable || status >= 500
	}
	var ok bool
	if f.RetryAfter, ok = ParseRetryAfter(h, now); !ok && f.Retryable {
		f.RetryAfter = bodyRetryAfter(body)
	}
	if f.Kind == RateLimited && f.RetryAfter == 0 {
		f.RetryAfter = untilMore(f.Limits)
	}
	return f
}

// streamFailure returns the failure that the first event of a stream stands
// for, or nil if it is an ordinary event.
func streamFailure(ev wire.Event) *Failure {
	if string(ev.Name) == "error" {
		return errorIn(ev.Data)
	}
	return errorFailure(ev.Data)
}

// errorFailure returns the failure that an answer of status 200 stands for, or
// nil if it is none.
func errorFailure(data []byte) *Failure {
	if _, bad := wire.ErrorInChunk(data); !bad {
		return nil
	}
	return errorIn(data)
}

func errorIn(data []byte) *Failure {
	f := &Failure{Kind: StreamError, Status: http.StatusOK, Sent: true, Retryable: true, Body: bytes.Clone(bytes.TrimSpace(data))}
	f.Err = errors.New("the answer is an error")
	switch f.Fault() {
	case admit.Denied, admit.TooLong, admit.Filtered, admit.Invalid:
		f.Retryable = false
	case admit.Throttled:
		s := readSaid(data)
		f.Scarce = scarceOf(nil, &s)
		f.RetryAfter = bodyRetryAfter(data)
	}
	return f
}
