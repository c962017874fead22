// Package sim is the virtual shell of the decision core: callers, the very
// admit.Controller of the live gateway or another policy in its place, and a
// model of the upstream, in virtual time. The same input and seed give the
// same output, byte for byte.
//
// It reads no file and no clock: traces and scenarios come as readers.
package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Arrival is one request that somebody makes, told or not told to the core.
type Arrival struct {
	At       time.Duration // from the start of the run; sources give them in order
	Tenant   string
	Model    string
	Class    admit.Class
	Input    int64         // tokens
	Output   int64         // tokens that the answer will really have
	Stream   bool          // the deadline then means the first token
	Deadline time.Duration // from the arrival; 0 waits for ever and tells none
	Manners  *Manners      // how its author behaves; nil is the zero Manners
	Group    string        // who it is counted with in plots and expectations; "" is the tenant
	User     string        // the end user; "" is none
	Session  string        // "" is none
	Turn     bool          // it begins a turn of its session
	May      admit.Consent // what its author agrees to

	// What only a recording knows of a request. Zero values are as if nothing was.
	Key       string        // the name of the tenant's key
	MaxOutput int64         // tokens that it says it takes at most; 0 is as its manners say
	Untold    bool          // the deadline is what its author thinks of as late; the policy is told none
	Leave     time.Duration // its author hangs up after so long, if it has not ended by then
	Luck      Luck          // of its calls; the zero value is drawn from the noise of the upstream

	talk *talk // the session that goes on when it has ended; nil is none
}

// Luck is how many times its mean a call takes, and the share of that until its
// first token; a share of 0 is as the upstream has it.
type Luck struct{ Total, First float64 }

// Manners are how callers behave.
type Manners struct {
	Retries int     // attempts after the first, as the official SDKs make them
	Hasty   bool    // come back after half a second, whatever they were told
	Told    float64 // the deadline told is the true one times this; 0 is 1
	Leave   float64 // share of callers who leave at a random moment before their deadline
	Patient bool    // stay after their deadline: a late answer is late, not abandoned
	Capped  bool    // say max_tokens, so that the length of the answer is bounded by its true one
	Cap     int64   // say this max_tokens, where answers then end; 0 says none
}

// Source gives arrivals in order of time. ok is false at the end.
type Source interface {
	Next() (a Arrival, ok bool, err error)
}

// Decider is a policy: the events of admit.Controller, which is the one that
// the product ships. Decisions are valid until the next call.
type Decider interface {
	Offer(now time.Time, r admit.Request) []admit.Decision
	FirstByte(now time.Time, id admit.ID)
	Finish(now time.Time, id admit.ID, o admit.Outcome) []admit.Decision
	Cancel(now time.Time, id admit.ID) []admit.Decision
	Observe(now time.Time, deployment string, key int, s admit.Sample) []admit.Decision
	Tick(now time.Time) []admit.Decision
	Next() time.Time
}

// Truth is what only a clairvoyant knows of a request: how long the upstream
// will need for it, at the speed it has now.
type Truth interface {
	Service(id admit.ID) (first, total time.Duration)
}

// epoch is the time at which every run begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
