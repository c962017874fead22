package dialect

import "strings"

// Request is what a caller asks of a model, in no dialect.
type Request struct {
	Model  string
	Stream bool
	Usage  bool // the caller asked for usage in the stream

	System []Part // text only, before all turns
	Turns  []Turn

	Tools      []Tool
	Choice     ToolChoice
	ChoiceName string // for ChoiceNamed
	Parallel   *bool  // several tool calls in one turn; nil is the provider's default

	MaxOutput        *int64 // tokens
	Temperature      *float64
	TopP             *float64
	TopK             *int64
	Stop             []string
	Seed             *int64
	FrequencyPenalty *float64
	PresencePenalty  *float64

	Format Format
	// Reasoning is how much the model should think: an effort (minimal, low,
	// medium, high, none), a budget of tokens, or neither.
	Effort string
	Budget *int64

	User    string   // the end user's label
	Dropped []string // hints that were left out, as the caller wrote them
}

// drop notes a hint that is left out, once.
func (r *Request) drop(name string) {
	for _, n := range r.Dropped {
		if n == name {
			return
		}
	}
	r.Dropped = append(r.Dropped, name)
}

// Role is whose turn it is. Tool results belong to the user's side.
type Role uint8

const (
	User Role = iota
	Assistant
)

// Turn is what one side said. Turns alternate only where the caller's do.
type Turn struct {
	Role  Role
	Parts []Part
}

// PartKind is the kind of a Part.
type PartKind uint8

const (
	Text       PartKind = iota // Text
	Image                      // URL, or Media and Data; Detail
	Document                   // the same, with Name
	ToolCall                   // ID, Name, Arguments
	ToolResult                 // ID, Name if known, Parts, Failed
	Thinking                   // Text, Signature
	Redacted                   // Data: thinking that only its provider can read
	Refusal                    // Text
)

// Part is one piece of a turn.
type Part struct {
	Kind      PartKind
	Text      string
	URL       string // https URL
	Media     string // media type of Data, such as image/png
	Data      string // base64
	Detail    string // of an image: low, high, auto; empty if not said
	ID        string // of a tool call, and of its result
	Name      string
	Arguments Raw    // of a tool call: a JSON object, as text
	Signature string // by which a provider knows its own thinking
	Parts     []Part // of a tool result: text, images and documents
	Failed    bool   // the tool failed
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      Raw   // JSON Schema of its arguments; empty: none
	Strict      *bool // whether arguments must follow it
}

// ToolChoice says whether the model must, may or must not call tools.
type ToolChoice uint8

const (
	ChoiceDefault  ToolChoice = iota // not said
	ChoiceAuto                       // it may
	ChoiceNone                       // it must not
	ChoiceRequired                   // it must call one
	ChoiceNamed                      // it must call Request.ChoiceName
)

// FormatKind is the form of the answer's text.
type FormatKind uint8

const (
	FormatText   FormatKind = iota
	FormatJSON              // a JSON object
	FormatSchema            // JSON by Format.Schema
)

// Format is the form of the answer's text.
type Format struct {
	Kind   FormatKind
	Name   string
	Schema Raw
	Strict *bool
}

// Unsealed says that Anthropic would not take thinking with this signature back:
// in conversations that providers of several kinds have answered there is such.
func Unsealed(signature []byte) bool {
	return unsealed(string(signature[:min(len(signature), markMost)])) // a mark is at its beginning
}

// unsealed says that Anthropic would not take thinking back as its own: it has
// no signature, or one that is marked as another provider's.
func unsealed(signature string) bool {
	return signature == "" || strings.HasPrefix(signature, geminiMark) || strings.HasPrefix(signature, geminiNext) || strings.HasPrefix(signature, respMark)
}

// markMost is the length of the longest mark.
const markMost = len(geminiNext)
