package gateway

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

const (
	trafficSpan  = 10 * time.Minute // requests older than it may be forgotten
	trafficMost  = 100_000          // requests are kept, 144 bytes each
	trafficChunk = 1_000            // requests are allocated at once
)

// Marks are what is true of a request.
type Marks uint8

const (
	MarkStream  Marks = 1 << iota
	MarkTold          // the caller named the deadline; else it is the class's
	MarkTurn          // it begins a turn of its session
	MarkCounts        // the caller marks its attempts, as the official SDKs do
	MarkNoRetry       // refused, and told not to come back
	MarkEnded         // it is known what came of it
)

// Has says whether all of the marks are set.
func (m Marks) Has(all Marks) bool { return m&all == all }

// Passed is one request that was offered to the core, and what came of it:
// numbers and names of the configuration, no content. What follows Stage is
// known when it has ended.
type Passed struct {
	At        int64  // of its arrival, nanoseconds of Unix time on the monotonic clock
	Tenant    string //
	Model     string // the pool, as in admit.Request
	Key       string // its name
	User      uint64 // hashes that hold in this process; 0 is none
	Session   uint64
	Input     int32   // tokens, estimated
	MaxOutput int32   // tokens; 0 is no cap
	Deadline  float32 // seconds from the arrival
	Class     admit.Class
	May       admit.Consent
	Attempt   uint8 // the caller's own mark: 0 is a first try
	Marks     Marks
	Stage     admit.Stage // that decided last

	Rungs      admit.Rungs // that were applied
	Outcome    telemetry.Outcome
	Sent       uint8   // attempts upstream
	Deployment string  // of the last one
	Output     int32   // tokens
	Waited     float32 // seconds from the arrival to the last dispatch
	First      float32 // seconds from the arrival to a stream's first token; 0 if there was none
	Total      float32 // seconds from the arrival to the end
	RetryAfter float32 // seconds that a refused caller was told to wait
	Cost       int64   // micro-dollars
}

// traffic is the requests of the last minutes, in order of their offer. What
// it holds grows to what ten minutes need, at most 14.4 MB, and is used again.
// The zero value is ready. It is safe for concurrent use.
type traffic struct {
	mu     sync.Mutex
	chunks [trafficMost/trafficChunk + 1][]Passed // by number of the request
	first  int64                                  // the oldest one kept; a multiple of trafficChunk
	next   int64                                  // the number of the next one
	spare  []Passed
}

// users and sessions are remembered by a hash that means nothing elsewhere.
var trafficSeed = maphash.MakeSeed()

func hashed(name string) uint64 {
	if name == "" {
		return 0
	}
	return max(maphash.String(trafficSeed, name), 1)
}

// begin remembers a request as it was offered, and gives its number.
func (t *traffic) begin(p *Passed) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.next
	t.next++
	chunk := t.chunk(n)
	if n%trafficChunk == 0 {
		t.forget(p.At)
		if *chunk == nil {
			*chunk, t.spare = t.spare, nil
			if *chunk == nil {
				*chunk = make([]Passed, trafficChunk)
			}
		}
	}
	(*chunk)[n%trafficChunk] = *p
	return n
}

func (t *traffic) chunk(n int64) *[]Passed {
	return &t.chunks[n/trafficChunk%int64(len(t.chunks))]
}

// forget makes room: chunks go whose last request is too old, and the oldest
// when there are too many.
func (t *traffic) forget(now int64) {
	for t.first < t.next-1 {
		oldest := t.chunk(t.first)
		last := (*oldest)[trafficChunk-1].At
		if t.next-1-t.first < trafficMost && now-last < int64(trafficSpan) {
			return
		}
		t.spare, *oldest = *oldest, nil
		t.first += trafficChunk
	}
}

// end tells what came of the request of a number, unless it is forgotten.
func (t *traffic) end(n int64, r *telemetry.Record, sent int) {
	d := &r.Decision
	t.mu.Lock()
	defer t.mu.Unlock()
	if n < t.first {
		return
	}
	p := &(*t.chunk(n))[n%trafficChunk]
	p.Marks |= MarkEnded
	if d.Verdict == admit.Reject && d.NoRetry {
		p.Marks |= MarkNoRetry
	}
	p.Stage, p.Rungs, p.Outcome, p.Sent, p.Deployment = d.Stage, d.Rungs, r.Outcome, uint8(min(sent, math.MaxUint8)), r.Deployment
	p.Output, p.Cost = tokens32(r.Output), r.Cost
	p.Waited, p.First, p.Total = seconds32(r.Waited), seconds32(r.TTFT), seconds32(r.Total)
	p.RetryAfter = seconds32(d.RetryAfter)
}

func tokens32(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

func seconds32(d time.Duration) float32 { return float32(d.Seconds()) }

// since copies the requests that were offered after a time, oldest first. It
// keeps nobody waiting for longer than a chunk takes.
func (t *traffic) since(at int64) (list []Passed) {
	t.mu.Lock()
	n, end := t.first, t.next
	t.mu.Unlock()
	for n < end {
		t.mu.Lock()
		n = max(n, t.first)
		chunk := *t.chunk(n)
		to := min(end, n-n%trafficChunk+trafficChunk)
		for ; n < to; n++ {
			if p := &chunk[n%trafficChunk]; p.At >= at {
				list = append(list, *p)
			}
		}
		t.mu.Unlock()
	}
	return list
}

// Traffic is the requests that were offered in the last span, oldest first, as
// far as they are remembered: at most ten minutes and 100,000 for sure. now is
// the present on the clock of Passed.At.
func (g *Gateway) Traffic(span time.Duration) (list []Passed, now time.Time) {
	now = g.gate.now()
	return g.passed.since(now.Add(-span).UnixNano()), now
}

// noticed remembers the request as it is offered.
func (x *exchange) noticed(r *admit.Request) {
	p := Passed{
		At: x.g.gate.coreTime(r.Arrived).UnixNano(), Tenant: r.Tenant, Model: r.Model, Key: r.Key, User: hashed(r.User), Session: hashed(r.Session),
		Input: tokens32(r.Input), MaxOutput: tokens32(r.MaxOutput), Deadline: seconds32(x.record.Deadline), Class: r.Class, May: r.May,
		Attempt: uint8(min(max(r.Attempt, 0), math.MaxUint8)), Stage: x.decision.Stage,
	}
	p.Marks = mark(r.Stream, MarkStream) | mark(!x.explicit.IsZero(), MarkTold) | mark(r.Turn, MarkTurn) |
		mark(len(x.r.Header["X-Stainless-Retry-Count"]) > 0, MarkCounts)
	x.number = x.g.passed.begin(&p)
	x.offered = true
}

func mark(is bool, m Marks) Marks {
	if is {
		return m
	}
	return 0
}
