package upstream

import (
	"net/http"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Fault says whose fault the failure was, as far as breakers, limits and
// fallbacks care. It is NoFault when the caller left or its deadline passed.
//
// What the error body says goes before its status: providers send the same
// words with 400, 403, 413, 429, 500 and inside a 200.
func (f *Failure) Fault() admit.Fault {
	switch f.Kind {
	case CallerGone, Deadline, Unknown:
		return admit.NoFault
	case HeaderTimeout, FirstTokenTimeout, IdleTimeout:
		return admit.Silent
	case TooLarge: // by our own limit; another attempt would be as large
		return admit.Invalid
	case StreamError, RateLimited, Unpaid, Unavailable, ServerError, Unauthorized, Rejected:
		s := readSaid(f.Body)
		status := f.Status
		if f.Kind == StreamError {
			status = s.status
		}
		return s.fault(status)
	}
	return admit.Failed
}

// fault judges an error by its words and its status, 0 when it has none.
func (s *said) fault(status int) admit.Fault {
	switch {
	case status < 500 && s.filtered():
		return admit.Filtered
	case s.unpaid(), s.keyRefused(), status == http.StatusUnauthorized, status == http.StatusPaymentRequired,
		status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return admit.Denied
	case status < 500 && s.tooLong():
		return admit.TooLong
	case (status >= 500 || status == 0) && s.outOfSpace():
		return admit.OutOfSpace
	case status == http.StatusNotImplemented, status == http.StatusHTTPVersionNotSupported:
		return admit.Invalid
	case status == 498, status == 529:
		return admit.Saturated
	case (status >= 500 || status == http.StatusTooManyRequests || status == 0) && s.saturated():
		return admit.Saturated
	case status == http.StatusTooManyRequests, status == 0 && s.throttled():
		return admit.Throttled
	case status >= 400 && status < 500, status == 0 && s.invalid():
		return admit.Invalid
	}
	return admit.Failed
}

func (s *said) filtered() bool {
	return s.is("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked") ||
		s.tells("content management policy", "content filtering policy")
}

func (s *said) unpaid() bool { return s.moneyOnly() || s.tells("credit balance is too low") }

// moneyOnly reports whether no waiting heals a 429. Only codes count; the words
// of messages are shared with limits that do pass.
func (s *said) moneyOnly() bool {
	billing := func(code string) bool { return strings.HasPrefix(code, "billing_") }
	return s.is("insufficient_quota", "credit_balance_exhausted") || slices.ContainsFunc(s.codes, billing)
}

func (s *said) keyRefused() bool {
	return s.is("authentication_error", "permission_error", "invalid_api_key", "api_key_invalid", "unauthenticated", "permission_denied")
}

// tooLong is also a request that is over the limit of a minute by itself: no
// pause lets it through, and a model with a larger limit would.
func (s *said) tooLong() bool {
	return s.is("context_length_exceeded", "exceed_context_size_error") ||
		s.tells("maximum context length", "maximum model length", "prompt is too long", "exceed context limit", "request too large for",
			"exceeds the available context size") ||
		s.tells("token count") && s.tells("exceeds the maximum number of tokens")
}

// outOfSpace is memory of the engine, in the words of CUDA, PyTorch, XLA,
// llama.cpp and SGLang.
func (s *said) outOfSpace() bool {
	return s.tells("out of memory", "outofmemory", "cudaerrormemoryallocation") ||
		s.tells("kv cache", "kv slot", "kv pool") && s.tells("exhaust", "full", "out of", "no free", "free space", "not enough", "could not find", "insufficient")
}

// saturated is an engine with too much to do. A plain 503 is none: it is also
// what a load balancer says of a server that is gone.
func (s *said) saturated() bool {
	for _, c := range s.codes {
		if strings.Contains(c, "overload") {
			return true
		}
	}
	return s.is("slow_down", "capacity_exceeded", "resource_unavailable", "queue_full") ||
		s.tells("overloaded", "max-num-queued", "server busy", "server is busy", "no slot available", "maximum queue size", "too many queued") ||
		s.tells("queue") && s.tells("is full", "queue full")
}

func (s *said) throttled() bool {
	return s.is("rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests", "requests", "tokens")
}

func (s *said) invalid() bool {
	return s.is("invalid_request_error", "invalid_prompt", "not_found_error", "model_not_found", "request_too_large", "invalid_argument", "badrequesterror")
}
