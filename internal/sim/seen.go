package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Seen is one attempt of a request that was really made, as a gateway
// remembers it, and what came of it.
type Seen struct {
	At        time.Duration // of its arrival, from the begin of the recording
	Tenant    string
	Model     string // the pool
	Key       string // its name; "" is none
	User      string // "" is none
	Session   string // "" is none
	Class     admit.Class
	May       admit.Consent
	Attempt   int           // the caller's own mark: 0 is a first try
	Counts    bool          // the caller marks its attempts, as the official SDKs do
	Input     int64         // tokens
	MaxOutput int64         // tokens; 0 is no cap
	Deadline  time.Duration // from its arrival
	Told      bool          // the caller named it; else it is the default of its class
	Stream    bool          // the deadline then means the first token
	Turn      bool

	Came       Came
	Down       bool          // nothing upstream could be used
	NoRetry    bool          // it was refused and told not to come back
	RetryAfter time.Duration // it was refused and told to wait
	Degraded   bool          // not served as it was asked
	Sent       int           // attempts upstream
	Deployment string        // of the last one
	Output     int64         // tokens
	Waited     time.Duration // from its arrival to the last dispatch
	First      time.Duration // from its arrival to the first token; 0 is none
	Total      time.Duration // from its arrival to its end
	Cost       int64         // micro-dollars
}

// Came is what came of a request.
type Came uint8

const (
	CameNothing  Came = iota // yet
	CameAnswer               // a complete one
	CameRefusal              // at once or after a wait
	CameDeadline             // it passed while the upstream worked
	CameFailure              // of the upstream, or the answer was cut off
	CameLeave                // its author hung up
)

// telling says that its call took what such a call takes, as it was asked.
func (s *Seen) telling() bool {
	return s.Came == CameAnswer && !s.Degraded && s.Sent == 1 && s.Deployment != "" && s.service() > 0
}

// service is the slot time of the call of a telling one.
func (s *Seen) service() time.Duration { return s.Total - s.Waited }

// inTime says that an answer came before its deadline.
func (s *Seen) inTime() bool {
	done := s.Total
	if s.Stream && s.First > 0 {
		done = s.First
	}
	return s.Came == CameAnswer && done <= s.Deadline
}

// late says that it was answered after its deadline, or given up then.
func (s *Seen) late() bool {
	switch s.Came {
	case CameAnswer:
		return !s.inTime()
	case CameLeave:
		return s.Told && s.First == 0 && s.Total >= s.Deadline*49/50
	}
	return s.Came == CameDeadline
}
