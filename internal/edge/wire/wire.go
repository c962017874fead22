// Package wire speaks the formats of the surfaces that callers use, OpenAI's and
// Anthropic's: it parses a request far enough to
// decide on it, changes bodies by the least edit of their raw bytes, reads what
// a caller wants from its headers, and writes errors the official SDKs understand.
//
// A request is parsed strictly and its answer leniently. Quotas are decided on
// the parsed request and then the raw bytes are forwarded, so the parser must
// refuse every body that an upstream could read differently: duplicate names,
// other spellings of a known name, invalid UTF-8, a number where a string belongs.
// An upstream's answer is relayed whatever it holds; only the few members that
// the gateway needs are looked for.
//
// The package knows nothing of HTTP clients, of the decision core or of
// configuration. Its functions keep no state and are safe for concurrent use;
// only an Estimator, which learns what requests cost in tokens, has any.
package wire

import "strconv"

// Surface is one endpoint of the API, and so the shape of a request.
type Surface uint8

// The surfaces, named as in their APIs.
const (
	ChatCompletions Surface = iota
	Completions
	Embeddings
	Responses
	Messages    // Anthropic's
	CountTokens // of Messages
)

// Anthropic says whether errors and headers are in Anthropic's form.
func (s Surface) Anthropic() bool { return s == Messages || s == CountTokens }

// String returns the name used as a metric label and in log lines.
func (s Surface) String() string {
	switch s {
	case ChatCompletions:
		return "chat.completions"
	case Completions:
		return "completions"
	case Embeddings:
		return "embeddings"
	case Responses:
		return "responses"
	case Messages:
		return "messages"
	case CountTokens:
		return "messages.count_tokens"
	}
	return "surface(" + strconv.Itoa(int(s)) + ")"
}

// promptMember names the member that holds what the model is asked.
func (s Surface) promptMember() string {
	switch s {
	case Completions:
		return "prompt"
	case Embeddings, Responses:
		return "input"
	default:
		return "messages"
	}
}

// systemMember names the member that holds what the model is told before, where
// it has a member of its own.
func (s Surface) systemMember() string {
	switch s {
	case Messages, CountTokens:
		return "system"
	case Responses:
		return "instructions"
	}
	return ""
}

// conversation says whether requests are turns of a conversation.
func (s Surface) conversation() bool { return s != Completions && s != Embeddings }
