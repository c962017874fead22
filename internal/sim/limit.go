package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Limit is a limit that the upstream enforces with 429, for each key of the
// gateway by itself. Zero means none.
type Limit struct {
	Requests int           // in a span of Per
	Tokens   int64         // in a span of Per, input and output
	Daily    int64         // tokens of a day, from midnight UTC
	Per      time.Duration // default a minute
	Kind     LimitKind
	// Burst is how much of the rate a Bucket holds, as time. Default Per.
	Burst time.Duration
	// Refused says that calls beyond the limit of requests count as well, as with
	// some providers: who goes on calling never gets in.
	Refused    bool
	RetryAfter bool // its 429 says when to come back
	Headers    bool // every answer says what is left
}

// LimitKind is how a limit counts.
type LimitKind uint8

const (
	Rolling   LimitKind = iota // in any span of Per
	Bucket                     // filled all the time; what is not used adds up to Burst
	Fixed                      // in spans of the calendar
	numLimits = iota
)

var limitNames = [numLimits]string{"rolling", "bucket", "fixed"}

func (k LimitKind) String() string { return limitNames[k] }

func (l *Limit) none() bool { return l.Requests == 0 && l.Tokens == 0 && l.Daily == 0 }

func (l *Limit) per() time.Duration {
	if l.Per == 0 {
		return time.Minute
	}
	return l.Per
}

// second is what it allows in one, of requests and of tokens; 0 is no limit.
func (l *Limit) second() (requests, tokens float64) {
	return float64(l.Requests) / l.per().Seconds(), float64(l.Tokens) / l.per().Seconds()
}

// allowance is what a server allowed from a time on.
type allowance struct {
	from  time.Time
	limit Limit
}

// enforce gives the server another limit. What was counted stays.
func (s *server) enforce(now time.Time, l Limit) {
	for i := range s.limits {
		s.limits[i] = s.limits[i].changed(now, s.Limit, l)
	}
	s.Limit = l
	s.allowed = append(s.allowed, allowance{now, l})
}

// key is the limiter of one of the gateway's keys.
func (s *server) key(i int) *limiter {
	for i >= len(s.limits) {
		s.limits = append(s.limits, newLimiter(s.Limit))
	}
	return &s.limits[max(i, 0)]
}

// told is what the headers of an answer say now.
func (s *server) told(now time.Time, key int) (sample admit.Sample) {
	l := s.key(key)
	if l.requests != nil {
		sample.Requests = l.requests.told(now)
	}
	if l.tokens != nil {
		sample.Tokens = l.tokens.told(now)
	}
	return sample
}
