package dialect

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Messages is the dialect of Anthropic's messages, version 2023-06-01.
//
// A request is read strictly, an answer is not: providers add members to their
// answers at any time. Blocks of an answer that the neutral form has no word
// for, such as server_tool_use, are left out; they cannot come up unless a
// request asked for server tools, and such a request is refused.
func Messages() Dialect { return messages{} }

type messages struct{}

// messagesIDMark begins the id of a tool call that was put into other letters.
const messagesIDMark = "spw_"

// messagesID puts the id of a tool call into the letters that Anthropic takes,
// ^[a-zA-Z0-9_-]+$. An id that is of them stays as it is. Of any other, each
// byte that is no letter, digit or hyphen becomes _ and two hexadecimal digits,
// so that messagesOwnID gets it back when the caller sends it again.
func messagesID(id string) string {
	if messagesName(id) && !strings.HasPrefix(id, messagesIDMark) || id == "" {
		return id
	}
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(messagesIDMark)+3*len(id))
	b = append(b, messagesIDMark...)
	for i := range len(id) {
		if c := id[i]; c != '_' && messagesLetter(c) {
			b = append(b, c)
		} else {
			b = append(b, '_', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// messagesOwnID undoes messagesID.
func messagesOwnID(id string) string {
	rest, ok := strings.CutPrefix(id, messagesIDMark)
	if !ok {
		return id
	}
	b := make([]byte, 0, len(rest))
	for i := 0; i < len(rest); i++ {
		if rest[i] != '_' {
			b = append(b, rest[i])
			continue
		}
		if i+3 > len(rest) {
			return id
		}
		c, err := strconv.ParseUint(rest[i+1:i+3], 16, 8)
		if err != nil {
			return id
		}
		b = append(b, byte(c))
		i += 2
	}
	if own := string(b); messagesID(own) == id {
		return own
	}
	return id // somebody else's, which only looks alike
}

// messagesName says whether s is of the letters that ids and names may have.
func messagesName(s string) bool {
	for i := range len(s) {
		if !messagesLetter(s[i]) {
			return false
		}
	}
	return s != ""
}

func messagesLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// messagesStops are the words for why a model stopped. The first for a reason
// is the one that is written.
var messagesStops = [...]struct {
	word string
	stop StopReason
}{
	{"end_turn", StopEnd},
	{"max_tokens", StopLength},
	{"stop_sequence", StopSequence},
	{"tool_use", StopTool},
	{"pause_turn", StopPause},
	{"refusal", StopRefusal},
	{"refusal", StopFilter},
	{"model_context_window_exceeded", StopContext},
}

// messagesStop reads a stop_reason. A new word says that the model stopped, and
// no more.
func messagesStop(word string) StopReason {
	for _, s := range messagesStops {
		if s.word == word {
			return s.stop
		}
	}
	return StopUnknown
}

// messagesStopWord writes a stop_reason. Clients run tools on tool_use alone,
// and some providers say of an answer with calls, or of a refusal, only that it
// ended.
func messagesStopWord(stop StopReason, calls, refused bool) string {
	switch {
	case stop > StopEnd:
	case calls:
		stop = StopTool
	case refused:
		stop = StopRefusal
	default:
		stop = StopEnd
	}
	for _, s := range messagesStops {
		if s.stop == stop {
			return s.word
		}
	}
	return "end_turn"
}

// messagesCounts is a usage object as it is written.
type messagesCounts struct {
	Input      int64            `json:"input_tokens"`
	CacheWrite int64            `json:"cache_creation_input_tokens"`
	CacheRead  int64            `json:"cache_read_input_tokens"`
	Output     int64            `json:"output_tokens"`
	Details    *messagesDetails `json:"output_tokens_details,omitzero"`
}

type messagesDetails struct {
	Thinking int64 `json:"thinking_tokens"`
}

// messagesUsage writes usage. What was cached is not part of input_tokens here.
// Clients read the numbers without asking whether they are there, so unknown
// usage is written as zero.
func messagesUsage(u Usage) messagesCounts {
	c := messagesCounts{
		Input:      max(0, u.Input-u.Cached-u.CacheWrite),
		CacheWrite: u.CacheWrite,
		CacheRead:  u.Cached,
		Output:     u.Output,
	}
	if u.Reasoning > 0 {
		c.Details = &messagesDetails{u.Reasoning}
	}
	return c
}

// messagesMaxCount bounds every count, in tokens, so that sums cannot overflow.
const messagesMaxCount = 1 << 40

// messagesTake lets the counts of a usage object replace those in u; what it
// does not tell stays. So does an input of nothing at all, as some servers write
// at the end of a stream.
func messagesTake(u *Usage, v gjson.Result) {
	before := *u
	input := u.Input - u.Cached - u.CacheWrite
	v.ForEach(func(name, n gjson.Result) bool {
		switch name.Str {
		case "input_tokens":
			messagesCount(&input, u, n)
		case "cache_creation_input_tokens":
			messagesCount(&u.CacheWrite, u, n)
		case "cache_read_input_tokens":
			messagesCount(&u.Cached, u, n)
		case "output_tokens":
			messagesCount(&u.Output, u, n)
		case "output_tokens_details":
			messagesCount(&u.Reasoning, u, n.Get("thinking_tokens"))
		}
		return true
	})
	if u.Input = input + u.Cached + u.CacheWrite; u.Input == 0 {
		u.Input, u.Cached, u.CacheWrite = before.Input, before.Cached, before.CacheWrite
	}
	u.Reasoning = min(u.Reasoning, u.Output) // a part cannot exceed the whole
}

func messagesCount(to *int64, u *Usage, n gjson.Result) {
	if n.Type == gjson.Number {
		*to, u.Known = int64(max(0, min(n.Num, messagesMaxCount))), true
	}
}

// messagesFaults are the types of an error in a stream. The first for a code is
// the one that is written.
var messagesFaults = [...]struct{ word, code string }{
	{"overloaded_error", "overloaded"},
	{"rate_limit_error", "rate_limit"},
	{"invalid_request_error", "invalid_request"},
	{"request_too_large", "invalid_request"},
	{"not_found_error", "invalid_request"},
	{"api_error", "server_error"},
}

func messagesFault(word string) string {
	for _, f := range messagesFaults {
		if f.word == word {
			return f.code
		}
	}
	return "server_error"
}

func messagesFaultWord(code string) string {
	for _, f := range messagesFaults {
		if f.code == code {
			return f.word
		}
	}
	return "api_error"
}
