package sim

import (
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// failure is how an upstream fails calls before they begin.
type failure struct {
	share float64 // of the calls
	how   breakage
	after time.Duration // from the start of the call
}

// breakage is what comes instead of an answer.
type breakage uint8

const (
	unavailable  breakage = iota // 503
	broken                       // 500
	reset                        // no connection, or one that breaks
	silence                      // nothing, until the gateway gives up
	numBreakages = iota
)

var breakageNames = [numBreakages]string{"503", "500", "reset", "silence"}

// How long a failure takes unless it is said.
const (
	instant   = time.Millisecond
	silentFor = 10 * time.Second // of the gateway with an upstream that is silent
)

// outcome is what the core is told of such a call.
func (f *failure) outcome() admit.Outcome {
	o := admit.Outcome{Fault: admit.Failed, Retryable: true}
	switch f.how {
	case unavailable:
		o.Status = http.StatusServiceUnavailable
	case broken:
		o.Status = http.StatusInternalServerError
	case silence:
		o.Fault = admit.Silent
	}
	return o
}

// outage is a time in which every call failed.
type outage struct{ from, to time.Time } // to is zero while it lasts

// fall takes the server down, or with nil up again.
func (s *server) fall(now time.Time, f *failure) {
	if n := len(s.outages); n > 0 && s.outages[n-1].to.IsZero() {
		s.outages[n-1].to = now
	}
	if s.outage = f; f != nil {
		s.outages = append(s.outages, outage{from: now})
	}
}
