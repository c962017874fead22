// Package dialect translates between the languages that callers and providers
// speak: chat completions, messages, responses and Gemini. A request or an
// answer is read into one neutral form and written from it, so that four
// dialects need eight directions and not twelve pairs.
//
// Only what crosses from one dialect to another comes here; what stays in its
// dialect is passed on byte for byte. Reading is strict: a member that the
// neutral form does not know is an error that names it, because dropping it
// would change what the caller asked for without a word. Members that change no
// answer, such as cache marks and labels, are hints: they are left out, and
// their names are kept in Dropped for the caller to see.
//
// The package knows nothing of HTTP, configuration or the decision core. Values
// belong to one goroutine; the dialects themselves keep no state.
package dialect

import (
	"encoding/json"
	"fmt"
)

// Dialect is one language, for both sides of a translation.
type Dialect interface {
	// ReadRequest takes a caller's body apart. The error is an *Error.
	ReadRequest(body []byte) (*Request, error)
	// WriteRequest makes the body for a provider. The error is an *Error that
	// names, in the words of the neutral form, what cannot be said here.
	WriteRequest(r *Request) ([]byte, error)

	// ReadAnswer takes a provider's whole answer apart.
	ReadAnswer(body []byte) (*Answer, error)
	// WriteAnswer makes the whole answer for a caller.
	WriteAnswer(a *Answer) ([]byte, error)

	// NewReader reads one streamed answer of a provider.
	NewReader() Reader
	// NewWriter writes one streamed answer for a caller.
	NewWriter(o WriterOptions) Writer
}

// Reader turns the events of one stream into neutral ones.
type Reader interface {
	// Read takes one event of the stream, its name (empty where there is none)
	// and its data, and gives what it means: none, one or several events, in
	// order. They, and all they hold, are valid until the next call. An error
	// ends the stream: the data is not of this dialect.
	Read(name, data []byte) ([]Event, error)
	// Finished says that the stream has come to its proper end. A stream that
	// ends before was cut.
	Finished() bool
}

// Writer turns neutral events into the bytes of one stream.
type Writer interface {
	// Write appends the bytes for e to dst, complete events of the stream with
	// their framing, and gives it back.
	Write(dst []byte, e *Event) []byte
}

// WriterOptions are what a stream's writer must know beside the events.
type WriterOptions struct {
	Model   string // as the caller named it
	ID      string // for the answer, where the provider's own is of another form
	Created int64  // Unix seconds
	Usage   bool   // the caller asked for usage in the stream, where that is a choice
}

// Error says what in a body cannot be read or said, in a form for the caller.
type Error struct {
	Field       string // path of the member, such as messages[2].content[0].type
	Message     string // what is wrong with it, and the remedy
	Unsupported bool   // well-formed, but the other side has no word for it
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// malformed and unsupported make errors.
func malformed(field, format string, args ...any) *Error {
	return &Error{Field: field, Message: fmt.Sprintf(format, args...)}
}

func unsupported(field, format string, args ...any) *Error {
	return &Error{Field: field, Message: fmt.Sprintf(format, args...), Unsupported: true}
}

// Raw is JSON that is passed on as it stands.
type Raw = json.RawMessage
