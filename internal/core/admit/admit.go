// Package admit decides, for every request and before anything is committed:
// run, queue, degrade, defer or reject.
//
// The Controller is a single-threaded state machine. Events and the current
// time go in, decisions come out; it never waits, reads no clock and does no
// I/O. The live gateway and the simulator drive the same code.
package admit

import "time"

// ID names one request for its whole life. The shell hands out each ID once.
type ID uint64

// Class is how urgent a request is. A lower value is served first and shed last.
type Class uint8

const (
	Interactive Class = iota // a person waits
	Standard                 // a program waits
	Batch                    // nobody waits on the line
	Speculative              // useful only if it costs nothing
	NumClasses  = iota
)

var classNames = [NumClasses]string{"interactive", "standard", "batch", "speculative"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// ParseClass reads the name of a class as it stands in configuration and headers.
func ParseClass(s string) (Class, bool) {
	for i, n := range classNames {
		if n == s {
			return Class(i), true
		}
	}
	return 0, false
}

// Verdict is what happens to a request.
type Verdict uint8

const (
	Run         Verdict = iota // send it to Decision.Deployment now
	Queue                      // wait for a later decision on the same ID
	Defer                      // answer later, as a job
	Reject                     // answer now, with the reason
	Recall                     // answer now with an answer from before
	NumVerdicts = iota
)

var verdictNames = [NumVerdicts]string{"run", "queue", "defer", "reject", "recall"}

func (v Verdict) String() string { return verdictNames[v] }

// Stage names what decided. It is the label of metrics, the word in error
// bodies and the line in Explain; the order is the order in which Offer asks.
type Stage uint8

const (
	StageUnknown     Stage = iota // model or tenant not in the policy
	StageDeadline                 // the deadline had passed on arrival
	StageCapacity                 // nothing usable upstream
	StageConcurrency              // the tenant's own limit of requests at once
	StageRequests                 // the tenant's requests a minute
	StageTokens                   // the tenant's tokens a minute
	StageSpend                    // a budget has no room for what it costs
	StagePace                     // a budget would be spent too fast
	StageFree                     // a slot is free and nobody of better rank waits
	StageRetry                    // a retry beyond the tenant's retry budget
	StageShed                     // the class is held back: the predicted wait is above its watermark
	StageWait                     // predicted to miss its deadline
	StageLadder                   // refused as it was asked, let in as a cheaper form of it
	StageBound                    // a queue is full
	StageQueue                    // accepted into the queue
	StageDispatch                 // left the queue for a slot
	StageLate                     // left the queue: it could no longer make its deadline as it was
	StageEvicted                  // left the queue for a request of better rank or a leaner tenant; both may be run by a cheaper form
	StageCancelled                // the caller left
	StageFinished                 // the upstream call ended
	StageAgain                    // a failed attempt that may be tried again
	NumStages        = iota
)

var stageNames = [NumStages]string{
	"unknown", "deadline", "capacity", "concurrency", "requests", "tokens", "spend", "pace", "free", "retry", "shed", "wait", "ladder",
	"bound", "queue", "dispatch", "late", "evicted", "cancelled", "finished", "again",
}

func (s Stage) String() string { return stageNames[s] }

// Consent is what the caller agreed to.
type Consent uint8

const (
	MayFeatures Consent = 1 << iota // it can do without what RungFeatures take away
	MayCompute                      // and RungCompute
	MayModel                        // another model may answer
	MayRecent                       // an answer from before will do
	MayDefer                        // the answer may come later

	MayDegrade = MayFeatures | MayCompute | MayModel | MayRecent
)

// Request is what the core knows of a request: numbers, never bytes.
type Request struct {
	ID        ID
	Tenant    string
	Model     string
	Key       string // of the tenant, that it came with; "" is none
	User      string // the end user, as the caller calls it; "" is none
	Session   string
	Class     Class
	Attempt   int    // 0 for a first try; above zero it draws on the retry budget
	Input     int64  // tokens, estimated
	MaxOutput int64  // tokens over all choices, the caller's cap; 0 means none given
	Bytes     int64  // memory held while it waits
	Stream    bool   // the deadline then means the first token
	Task      string // what it is for, as Deployment.Quality knows tasks
	Affinity  uint64 // requests of one value are better served by one deployment; 0 means none
	Arrived   time.Time
	Deadline  time.Time // zero means the class's default
	May       Consent
	Tier      string // the provider's service tier that it asks for, as prices know it
	// Rungs are what each rung of the model's ladder makes of it.
	Rungs  [MaxRungs]Shape
	Recent bool // an answer from before is at hand that the caller would take
	Turn   bool // it begins a turn of its session: another model may go on from here
	// RecentUntil is when that answer is too old; zero never.
	RecentUntil time.Time
}

// Decision is the core's word on one request. A request gets at most one
// Queue, at most one Run an attempt, and exactly one end (Reject, or the
// shell's own Finish or Cancel).
type Decision struct {
	ID         ID
	Verdict    Verdict
	Stage      Stage
	Deployment string        // where to send it, for Run
	Key        int           // which of the provider's keys, for Run
	Model      string        // the model that serves it, where that is another than was asked for; else empty
	Rungs      Rungs         // of the ladder of the model that was asked for, to be applied to the request
	Wait       time.Duration // predicted wait until it starts; for a dispatch the real one
	Need       time.Duration // predicted time from start to what the deadline means (first token, or the end)
	RetryAfter time.Duration // for Reject: honest time to come back, jittered; 0 when coming back cannot help
	NoRetry    bool          // for Reject: the caller should not retry by itself
	Observed   bool          // would have been refused, but admission only observes
	Limit      string        // for Reject: whose limit, and which, in words
	Figure     int64         // for Reject: the measured value, in the unit of Bound
	Bound      int64         // for Reject: the limit it met: requests, tokens, bytes, or milliseconds for times
}

// Fault is what was wrong with an attempt, as far as breakers, limits and
// fallbacks care.
type Fault uint8

const (
	NoFault    Fault = iota
	Failed           // the upstream's fault: 5xx but 501, a broken connection, a bad answer
	Silent           // nothing came within the provider's limit
	OutOfSpace       // the upstream is out of memory: slow to heal
	Throttled        // 429: a limit of ours there
	Saturated        // it has too much to do: a 429 or 503 of a full engine
	Denied           // our key is refused, or has no money left
	TooLong          // the request exceeds the model's context
	Filtered         // a content filter refused the request or cut its answer
	Invalid          // any other fault of the request
	NumFaults  = iota
)

var faultNames = [NumFaults]string{"none", "failed", "silent", "out_of_space", "throttled", "saturated", "denied", "too_long", "filtered", "invalid"}

func (f Fault) String() string { return faultNames[f] }

// Scarce is which limit a 429 was about.
type Scarce uint8

const (
	ScarceUnknown Scarce = iota
	ScarceRequests
	ScarceTokens
	ScarceDay // tokens or requests of the day
)

// Outcome is what Finish is told about one attempt.
type Outcome struct {
	Status     int           // HTTP status of the upstream's answer; 0 when there was none
	OK         bool          // the answer was complete and good: its times teach the predictor
	Fault      Fault         // when it is not OK; NoFault is then taken from Status
	Scarce     Scarce        // for Throttled
	Retryable  bool          // the same request may succeed at another time or place
	Sent       bool          // a part of the answer has reached the caller: no further attempt
	CallerGone bool          // the caller left: neutral for every statistic, unless nothing had come for very long
	Input      int64         // tokens as the upstream counted them; 0 when unknown
	Output     int64         // tokens as the upstream counted or the shell saw them; 0 when unknown
	Known      bool          // Input and Output are the upstream's own figures
	Cost       int64         // micro-dollars that the attempt cost; 0 also when its price is unknown
	RetryAfter time.Duration // what the upstream asked for; 0 when nothing
	Delay      time.Duration // the part of its times that was this process's own; negative: they say nothing of the upstream
}

// Sample is what was learnt of an upstream apart from how a call ended.
type Sample struct {
	Requests, Tokens Told // what its headers said
}
