package upstream

import (
	"net/http"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// scarceOf tells which limit a 429 is about. The body knows it best; a header
// is believed when only one of the limits has nothing left.
func scarceOf(h http.Header, s *said) admit.Scarce {
	if got := scarceInBody(s); got != admit.ScarceUnknown {
		return got
	}
	requests := openAIRequests.exhausted(h) || anthropicRequests.exhausted(h)
	tokens := openAITokens.exhausted(h)
	for _, names := range anthropicTokens {
		tokens = tokens || names.exhausted(h)
	}
	switch {
	case requests && !tokens:
		return admit.ScarceRequests
	case tokens && !requests:
		return admit.ScarceTokens
	}
	return admit.ScarceUnknown
}

// exhausted reports whether nothing is left of a limit. With a 429 a bare zero
// is evidence enough, also in Azure's form.
func (n *limitNames) exhausted(h http.Header) bool {
	v, ok := figure(first(h, n.remaining))
	return ok && v == 0
}

func scarceInBody(s *said) admit.Scarce {
	quota := strings.Join(s.quotas, " ") // such as generaterequestsperdayperprojectpermodel-freetier
	switch {
	case strings.Contains(quota, "perday"): // of several it holds for the longest
		return admit.ScarceDay
	case strings.Contains(quota, "token"):
		return admit.ScarceTokens
	case strings.Contains(quota, "request"):
		return admit.ScarceRequests
	}
	switch {
	case s.tells("per day", "per-day", "(rpd)", "(tpd)", "daily"):
		return admit.ScarceDay
	case s.is("slow_down"): // requests came to be more too fast
		return admit.ScarceRequests
	case s.is("tokens"), s.tells("tokens per min", "(tpm)", "token rate limit", "tokens has exceeded", "token usage"):
		return admit.ScarceTokens
	case s.is("requests"), s.tells("requests per min", "requests per sec", "(rpm)", "(rps)", "request rate limit", "call rate limit", "requests has exceeded"):
		return admit.ScarceRequests
	}
	return admit.ScarceUnknown
}
