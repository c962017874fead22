package mock

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// FaultHeader asks for a fault in one request: "<fault>[=argument][;key=value...]".
// The same text in the body's metadata.mock_fault does the same, for requests
// that pass a gateway which drops unknown headers.
const FaultHeader = "X-Mock-Fault"

// Fault is one way in which the simulated server misbehaves. Its String is the
// word used in headers, settings and schedules.
type Fault uint8

// The closed set of faults. "First k" counts stream events, the role chunk
// included; a plain (not streamed) answer breaks in the middle of its body.
const (
	NoFault    Fault = iota
	BadRequest       // 400 context_length_exceeded
	Unauthorized
	RateLimited
	ServerError
	BadGateway
	Unavailable
	GatewayTimeout
	Overloaded
	NoMemory   // 500, in the words of CUDA
	Filtered   // 400 content_filter
	Unpaid     // 429 insufficient_quota
	Reset      // TCP reset before any byte of the answer
	Outage     // the same, and in a schedule for every /v1 route and /healthz
	Silence    // no answer until the caller leaves, at most ten minutes; holds no slot
	HTML       // 200 text/html
	Empty      // 200 without a body
	Late       // the first token comes this much later; the slot is held
	Slow       // this request takes this many times as long
	Brownout   // in a schedule the whole server is this many times slower; else like Slow
	Cut        // the connection breaks after the first k events
	Stall      // silence after the first k events, at most ten minutes; holds its slot
	Malformed  // the event after the first k is not JSON; the stream goes on
	ErrorEvent // an error chunk inside the 200 after the first k events, then the end
	NoDone     // no [DONE]
	NoFinish   // no finish_reason
	CRLF       // CRLF line ends
	Comments   // a comment line and a blank line before every event
	Gzip       // gzip content encoding, whether asked for or not
	Bytewise   // every byte is flushed alone
	Big        // the first content event is padded by this many bytes
	faultCount
)

// argument is what may follow a fault's "=".
type argument uint8

const (
	none     argument = iota
	seconds           // a duration such as 3s
	count             // a whole number, 0 or more
	multiple          // a factor above 0
)

// faultTable holds each fault's word, what its argument is and the argument's
// default, and the status and error type of those that answer with a status.
var faultTable = [faultCount]struct {
	word     string
	argument argument
	value    float64
	status   int
	kind     string
	code     string
	message  string // in place of one that names the fault
}{
	NoFault:        {word: "none"},
	BadRequest:     {word: "400", status: 400, kind: "invalid_request_error", code: "context_length_exceeded"},
	Unauthorized:   {word: "401", status: 401, kind: "invalid_request_error", code: "invalid_api_key"},
	RateLimited:    {word: "429", status: 429, kind: "rate_limit_error", code: "rate_limit_exceeded"},
	ServerError:    {word: "500", status: 500, kind: "server_error", code: "internal_error"},
	BadGateway:     {word: "502", status: 502, kind: "server_error", code: "bad_gateway"},
	Unavailable:    {word: "503", status: 503, kind: "service_unavailable_error", code: "server_is_overloaded"},
	GatewayTimeout: {word: "504", status: 504, kind: "server_error", code: "timeout"},
	Overloaded:     {word: "529", status: 529, kind: "overloaded_error", code: "overloaded"},
	NoMemory:       {word: "oom", status: 500, kind: "server_error", code: "internal_error", message: "CUDA out of memory. Tried to allocate 2.00 GiB."},
	Filtered:       {word: "filter", status: 400, kind: "invalid_request_error", code: "content_filter"},
	Unpaid:         {word: "unpaid", status: 429, kind: "insufficient_quota", code: "insufficient_quota"},
	Reset:          {word: "reset"},
	Outage:         {word: "outage"},
	Silence:        {word: "silence"},
	HTML:           {word: "html"},
	Empty:          {word: "empty"},
	Late:           {word: "late", argument: seconds, value: 3},
	Slow:           {word: "slow", argument: multiple, value: 3},
	Brownout:       {word: "brownout", argument: multiple, value: 3},
	Cut:            {word: "cut", argument: count, value: 2},
	Stall:          {word: "stall", argument: count, value: 2},
	Malformed:      {word: "malformed", argument: count, value: 2},
	ErrorEvent:     {word: "error-event", argument: count, value: 2},
	NoDone:         {word: "no-done"},
	NoFinish:       {word: "no-finish"},
	CRLF:           {word: "crlf"},
	Comments:       {word: "comments"},
	Gzip:           {word: "gzip"},
	Bytewise:       {word: "bytewise"},
	Big:            {word: "big", argument: count, value: 70_000},
}

// String is the fault's word.
func (f Fault) String() string {
	if f >= faultCount {
		return "Fault(" + strconv.Itoa(int(f)) + ")"
	}
	return faultTable[f].word
}

// FaultWords lists every fault with the form of its argument, for help texts.
func FaultWords() string {
	var words []string
	for f := NoFault + 1; f < faultCount; f++ {
		word := f.String()
		switch faultTable[f].argument {
		case seconds:
			word += "=duration"
		case count:
			word += "=n"
		case multiple:
			word += "=factor"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// injection is a fault with its argument and parameters.
type injection struct {
	fault Fault
	arg   float64 // seconds, a count or a factor, by the fault
	// Header values of faults that answer with a status, sent as they stand so
	// that any form, valid or not, can be tried.
	retryAfter, retryAfterMS, shouldRetry string
	// And those of limits: what is left, and until when.
	remainingRequests, resetRequests, remainingTokens, resetTokens string
}

func (i injection) status() int { return faultTable[i.fault].status }

// headers sets what the fault's parameters ask for.
func (i injection) headers(h http.Header, d dialect) {
	set(h, "Retry-After", i.retryAfter)
	set(h, "Retry-After-Ms", i.retryAfterMS)
	set(h, "X-Should-Retry", i.shouldRetry)
	if d == google {
		return // it tells no limits in headers
	}
	set(h, d.limitHeader("Remaining", "Requests"), i.remainingRequests)
	set(h, d.limitHeader("Reset", "Requests"), i.resetRequests)
	set(h, d.limitHeader("Remaining", "Tokens"), i.remainingTokens)
	set(h, d.limitHeader("Reset", "Tokens"), i.resetTokens)
}

// parseInjection reads "<fault>[=argument][;key=value...]". White space parts
// parameters as well as ";" does: a schedule uses ";" between its windows.
func parseInjection(text string) (injection, error) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ' ' || r == '\t' })
	if len(parts) == 0 {
		return injection{}, errors.New("no fault named; known: " + FaultWords())
	}
	word, arg, hasArg := strings.Cut(parts[0], "=")
	inj := injection{}
	for f := NoFault + 1; f < faultCount; f++ {
		if faultTable[f].word == strings.ToLower(word) {
			inj.fault, inj.arg = f, faultTable[f].value
		}
	}
	if inj.fault == NoFault {
		return injection{}, fmt.Errorf("unknown fault %q; known: %s", word, FaultWords())
	}
	if hasArg {
		var err error
		if inj.arg, err = parseArgument(inj.fault, arg); err != nil {
			return injection{}, err
		}
	}
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(part, "=")
		target := map[string]*string{
			"retry-after": &inj.retryAfter, "retry-after-ms": &inj.retryAfterMS, "should-retry": &inj.shouldRetry,
			"remaining-requests": &inj.remainingRequests, "reset-requests": &inj.resetRequests,
			"remaining-tokens": &inj.remainingTokens, "reset-tokens": &inj.resetTokens,
		}[strings.ToLower(key)]
		if !ok || target == nil || inj.status() == 0 {
			return injection{}, fmt.Errorf("fault %s: unknown parameter %q; faults that answer with a status take retry-after, retry-after-ms, should-retry, and remaining- or reset- of requests or tokens", inj.fault, part)
		}
		*target = value
	}
	return inj, nil
}

func parseArgument(f Fault, text string) (float64, error) {
	switch faultTable[f].argument {
	case seconds:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, fmt.Errorf("fault %s=%s: a duration such as 3s is needed", f, text)
		}
		return d.Seconds(), nil
	case count:
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1<<24 {
			return 0, fmt.Errorf("fault %s=%s: a whole number from 0 to %d is needed", f, text, 1<<24)
		}
		return float64(n), nil
	case multiple:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 1e-3 && x <= 1e6) {
			return 0, fmt.Errorf("fault %s=%s: a factor from 0.001 to 1000000 is needed, 1 is no change", f, text)
		}
		return x, nil
	}
	return 0, fmt.Errorf("fault %s takes no argument, got %q", f, text)
}

// parseProbability reads a share from 0 to 1.
func parseProbability(text string) (float64, error) {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(p) || p < 0 || p > 1 {
		return 0, fmt.Errorf("probability %q: a number from 0 to 1 is needed", text)
	}
	return p, nil
}
