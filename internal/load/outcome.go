package load

import (
	"net/http"
	"time"
)

// outcome is how one caller's request ended. Every offered request has exactly one.
type outcome uint8

const (
	onTime  outcome = iota // a whole, sound answer, before the deadline
	late                   // the deadline passed first, by our clock or by the server's word (504)
	refused                // the last attempt was turned away
	failed                 // anything else: a broken answer, no connection, a wrong request
	left                   // the caller lost patience
	outcomes
)

var outcomeNames = [outcomes]string{"on time", "late", "refused", "error", "left"}

func (o outcome) String() string { return nameOf(outcomeNames[:], int(o)) }

// isRefusal reports whether a status says "not now" or "not for you" rather than "something broke".
func isRefusal(status int) bool {
	switch status {
	case http.StatusPaymentRequired, http.StatusTooManyRequests, 498, http.StatusServiceUnavailable, 529:
		return true
	}
	return false
}

// result is what became of one arrival, as the tally needs it.
type result struct {
	tenant   int
	outcome  outcome
	statuses []int           // one an attempt; 0 = no answer
	refusals []time.Duration // from the start of an attempt to its refusal
	answered bool            // a sound answer came, on time or not; the fields below are set
	answer
	message string // why it failed
}

// answer is what a sound answer tells. Times count from the intended start.
type answer struct {
	total   time.Duration
	first   time.Duration // first token; 0 = not a stream
	queue   time.Duration // from Server-Timing; below 0 = not told
	service time.Duration // upstream slot time; below 0 = not told
}
