// Package wire speaks the OpenAI wire format: it parses a request far enough to
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

// The surfaces, named as in the OpenAI API.
const (
	ChatCompletions Surface = iota
	Completions
	Embeddings
)

// String returns the name used as a metric label and in log lines.
func (s Surface) String() string {
	switch s {
	case ChatCompletions:
		return "chat.completions"
	case Completions:
		return "completions"
	case Embeddings:
		return "embeddings"
	}
	return "surface(" + strconv.Itoa(int(s)) + ")"
}

// promptMember names the member that holds what the model is asked.
func (s Surface) promptMember() string {
	switch s {
	case Completions:
		return "prompt"
	case Embeddings:
		return "input"
	default:
		return "messages"
	}
}
