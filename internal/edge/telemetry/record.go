package telemetry

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Record is all that is told about one request. The gateway makes one at
// arrival, fills it on the way, and hands it to Metrics and to Logger at the
// end. It belongs to the goroutine of its request and is not safe for
// concurrent use.
type Record struct {
	ID       string // as the caller sees it in x-request-id
	TraceID  string // 32 hexadecimal digits, of the caller's traceparent or made here; empty when there is none
	ClientIP string // without the port
	Path     string // without the query, which may hold a key
	Surface  string // whose API shape: openai, anthropic

	Tenant        string // the name in the configuration, never a key
	Model         string // the pool, as in admit.Request
	AskedModel    string // as the caller wrote it
	UpstreamModel string // as it was sent upstream; empty when nothing was sent
	Deployment    string // of the last attempt; empty when nothing was sent
	Class         admit.Class
	Stream        bool
	Attempt       int // the caller's own mark: 0 is a first try
	Depth         int // requests of the same model and class that waited at arrival; negative is unknown
	Arrived       time.Time
	BytesIn       int64 // request body
	BytesOut      int64 // response body

	Decision      admit.Decision // the last one; Metrics.Decided sets it
	PredictedWait time.Duration  // as told at the first decision; Metrics.Decided sets it
	Waited        time.Duration  // from arrival to dispatch; Metrics.Decided sets it

	WouldRefuse bool // let through only because admission observes; Metrics.Decided sets it

	Outcome        Outcome
	Status         int           // sent to the caller; 0 when it left before
	UpstreamStatus int           // of the last attempt; 0 when there was no answer
	Kind           string        // of the last attempt, as in Attempt.Kind; empty when nothing was sent
	Attempts       int           // sent upstream; Metrics.Attempted counts it
	TTFT           time.Duration // from arrival to the first token passed on; 0 when there was none or the answer was not streamed
	First          time.Duration // the same from the dispatch of the attempt on, which is the upstream's part of it
	Total          time.Duration // from arrival to the end
	Input          int64         // tokens, cached ones included
	Output         int64         // tokens
	Cached         int64         // tokens of Input that the upstream had in its cache
	CacheWrite     int64         // tokens of Input that it put there
	Reasoning      int64         // tokens of Output that nobody sees
	TokensKnown    bool          // Input and Output are the upstream's figures, not estimates
	Cost           int64         // micro-dollars, over all attempts; as far as Priced
	Priced         bool          // every attempt that took tokens was at a known price
	Finish         Finish        // why the answer ended

	Key      string // the name of the key, never the key itself
	User     string // the end user, as the caller calls it
	Session  string
	Rungs    []string       // of the model's ladder, that were applied; none when it was served as asked
	Lowest   admit.RungKind // of these the last, if there are any
	Recalled bool           // answered from the answer cache, without a call

	SpanID     uint64        // of the request in its trace; 0 when it is not traced. Tracer.Begin sets it
	Parent     uint64        // the caller's span; 0 when it has none
	Sampled    bool          // the caller keeps its part of the trace
	TraceState string        // of others, as it came
	Deadline   time.Duration // from arrival on, of the first token for a stream; 0 when none is known

	calls     []Attempt // of a request that is traced; Metrics.Attempted notes them
	kept      keptBy    // the trace, as far as it is known yet
	told      bool      // those who are called are told that it is kept
	series    series
	decisions int  // seen so far
	queued    bool // it was told to wait
	ran       bool // it was told to run
	inFlight  bool // counted in the gauge
}

// TPOT is the mean time between two output tokens of a streamed answer, after
// the first. It is 0 when the answer had fewer than two tokens or no first one.
func (r *Record) TPOT() time.Duration {
	if r.TTFT <= 0 || r.Output < 2 || r.Total < r.TTFT {
		return 0
	}
	return (r.Total - r.TTFT) / time.Duration(r.Output-1)
}

// Outcome is how a request ended, from the caller's side.
type Outcome uint8

const (
	Answered Outcome = iota // complete and good
	Refused                 // by admission
	Invalid                 // wrong key, model or body: the caller's fault, never offered or turned down by the upstream as such
	Failed                  // the upstream failed and the caller was told so before any answer
	Cut                     // broken after the answer had begun
	TimedOut                // the deadline passed after dispatch
	Left                    // the caller went away
	numOutcomes
)

var outcomeNames = [numOutcomes]string{"answered", "refused", "invalid", "failed", "cut", "timed_out", "left"}

func (o Outcome) String() string {
	if o < numOutcomes {
		return outcomeNames[o]
	}
	return "unknown"
}

// Attempt is one call that was sent upstream, told when it has ended.
type Attempt struct {
	Deployment string
	Kind       string        // how it ended: one of Names.Kinds
	Status     int           // of the upstream's answer; 0 when there was none
	OK         bool          // the answer was complete and good
	Service    time.Duration // from dispatch to the end
	Wasted     time.Duration // the part of Service after the caller had gone

	// What follows is for its span alone.
	SpanID   uint64
	Started  time.Time
	Model    string // as it was sent
	Provider string // in the words of the OpenTelemetry GenAI conventions
	Host     string // that was called, without the port
	Port     int
}
