package dialect

// Answer is a model's whole answer, in no dialect.
type Answer struct {
	ID       string
	Model    string
	Created  int64  // Unix seconds; 0 if not told
	Parts    []Part // Text, Thinking, Redacted, ToolCall, Refusal
	Stop     StopReason
	Sequence string // the stop sequence that was met, where it was told
	Usage    Usage
}

// StopReason is why a model stopped.
type StopReason uint8

const (
	StopUnknown  StopReason = iota // not told
	StopEnd                        // it had said all
	StopSequence                   // a stop sequence
	StopLength                     // its cap of output tokens
	StopTool                       // it wants tool results
	StopFilter                     // a content filter
	StopRefusal                    // it refused
	StopPause                      // a long turn was paused, to be continued
	StopContext                    // the context was full
)

// Usage is what an answer used, in tokens. Cached and CacheWrite are part of
// Input, Reasoning is part of Output, whatever a dialect counts in or out.
type Usage struct {
	Known      bool
	Input      int64
	Cached     int64 // read from the provider's cache
	CacheWrite int64 // written to it
	Output     int64
	Reasoning  int64
}

// reasoned takes the tokens of reasoning, which are part of the output; xAI
// counts them beside it, as its total tells.
func (u *Usage) reasoned(tokens, total int64) {
	if tokens > 0 && total-u.Input-u.Output == tokens {
		u.Output += tokens
	}
	u.Reasoning = min(tokens, u.Output)
}

// EventKind is the kind of an Event.
type EventKind uint8

const (
	Begin      EventKind = iota // ID, Model, Created; Usage where it is told now
	BlockBegin                  // Block, Index; ID and Name of a tool call
	Delta                       // Index, Text: more text, thinking, or arguments of a tool call
	Sign                        // Index, Text: the signature of a thinking block
	BlockEnd                    // Index
	Finish                      // Stop, Sequence
	Used                        // Usage: all of it, as far as it is known now
	End                         // nothing follows
	Fault                       // Code, Text: the answer failed; nothing follows
	Ping                        // a sign of life
)

// Event is one step of a streamed answer. A stream is
//
//	Begin (BlockBegin Delta* Sign? BlockEnd)* Finish Used? End
//
// with one block open at a time, Index counting from 0, except that tool calls
// in parallel may be open together; Used and Ping may come anywhere after
// Begin, Fault ends a stream at any point.
type Event struct {
	Kind    EventKind
	Index   int
	Block   PartKind // Text, Thinking, Redacted, ToolCall, Refusal
	ID      string
	Name    string
	Model   string
	Created int64
	Text    []byte
	Data    string // of a Redacted block
	Stop    StopReason
	// Sequence is the stop sequence that was met.
	Sequence string
	Usage    Usage
	Code     string // of a Fault: overloaded, rate_limit, invalid_request, server_error
}
