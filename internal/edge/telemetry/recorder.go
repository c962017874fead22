package telemetry

import (
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// EventKind says what was told to the core, or what it answered.
type EventKind uint8

const (
	EventOffer EventKind = iota + 1
	EventFirstByte
	EventFinish
	EventCancel
	EventTick
	EventConfigure
	EventDecision // one decision, in answer to the event before it
	EventStart    // the core begins; the first policy follows
	EventLost     // events that were not kept
	EventObserve  // something was learnt of a deployment
	EventRestore  // money that was spent before
	endOfKinds
)

var eventNames = [endOfKinds]string{"none", "offer", "first_byte", "finish", "cancel", "tick", "configure", "decision", "start", "lost", "observe", "restore"}

func (k EventKind) String() string {
	if k < endOfKinds {
		return eventNames[k]
	}
	return "unknown"
}

// Event is one entry of the recorder: what the core was told and when, with
// the very values, so that it can be told again. Only the fields of its kind
// are set.
type Event struct {
	At       time.Time // the core's now
	Kind     EventKind
	ID       admit.ID       // of FirstByte, Finish and Cancel
	Request  admit.Request  // of Offer
	Outcome  admit.Outcome  // of Finish
	Decision admit.Decision // of Decision
	Policy   *admit.Policy  // of Configure
	Seed     Seed           // of Start
	Lost     uint64         // of Lost: how many

	Deployment string // of Observe
	Key        int
	Sample     admit.Sample

	Deposits []admit.Deposit // of Restore
}

// Seed is that of the core's chance. The same seed and the same events give
// the same decisions.
type Seed [2]uint64

// DefaultEvents is how many events a Recorder keeps if it is not told.
const DefaultEvents = 4096

// Recorder is the flight recorder: a ring of the last events of the core. The
// gate writes an event before it calls the core, and the decisions after, so
// that the last event before a panic is the one that caused it.
//
// It is not safe for concurrent use: the lock of the gate, which orders the
// events, guards it as well.
//
// It keeps the strings of a request alive for as long as the entry. They must
// be the names of the configuration or copies, not parts of a body.
type Recorder struct {
	ring  []Event
	total uint64        // events ever recorded
	base  *admit.Policy // in force before the oldest event in the ring
	out   *stream       // nil if nobody records
}

// NewRecorder keeps the last size events; below 1 it keeps DefaultEvents.
// Each takes about 1,100 bytes, from the start.
func NewRecorder(size int) *Recorder {
	if size < 1 {
		size = DefaultEvents
	}
	return &Recorder{ring: make([]Event, size)}
}

// Start records the seed of a core that begins.
func (r *Recorder) Start(now time.Time, s Seed) {
	e := r.next(now, EventStart)
	e.Seed = s
	r.kept(e)
}

// Offer records that a request is about to be offered.
func (r *Recorder) Offer(now time.Time, q *admit.Request) {
	e := r.next(now, EventOffer)
	e.Request = *q
	e.Request.Tenant = short(q.Tenant)
	e.Request.Model = short(q.Model)
	e.Request.Session = short(q.Session)
	e.Request.User = short(q.User)
	e.Request.Tier = short(q.Tier)
	r.kept(e)
}

// FirstByte records the first sign of an answer.
func (r *Recorder) FirstByte(now time.Time, id admit.ID) { r.about(now, EventFirstByte, id) }

// Finish records the end of an attempt.
func (r *Recorder) Finish(now time.Time, id admit.ID, o *admit.Outcome) {
	e := r.next(now, EventFinish)
	e.ID, e.Outcome = id, *o
	r.kept(e)
}

// Observe records what was learnt of a deployment.
func (r *Recorder) Observe(now time.Time, deployment string, key int, s *admit.Sample) {
	e := r.next(now, EventObserve)
	e.Deployment, e.Key, e.Sample = deployment, key, *s
	r.kept(e)
}

// Restore records what was spent before. It keeps list, which must not change
// any more.
func (r *Recorder) Restore(now time.Time, list []admit.Deposit) {
	e := r.next(now, EventRestore)
	e.Deposits = list
	r.kept(e)
}

// Cancel records that a caller left.
func (r *Recorder) Cancel(now time.Time, id admit.ID) { r.about(now, EventCancel, id) }

// Tick records a call of the timer.
func (r *Recorder) Tick(now time.Time) { r.about(now, EventTick, 0) }

// Configure records a new policy, also the first one. It keeps p, which must
// not change any more.
func (r *Recorder) Configure(now time.Time, p *admit.Policy) {
	e := r.next(now, EventConfigure)
	e.Policy = p
	r.kept(e)
}

// Decisions records what the core answered to the event before.
func (r *Recorder) Decisions(now time.Time, ds []admit.Decision) {
	for i := range ds {
		e := r.next(now, EventDecision)
		e.Decision = ds[i]
		r.kept(e)
	}
}

// Clone is a recorder with the same events, to be dumped while this one goes on.
func (r *Recorder) Clone() *Recorder {
	return &Recorder{ring: slices.Clone(r.ring), total: r.total, base: r.base}
}

func (r *Recorder) about(now time.Time, k EventKind, id admit.ID) {
	e := r.next(now, k)
	e.ID = id
	r.kept(e)
}

// next takes the oldest entry for a new event.
func (r *Recorder) next(now time.Time, k EventKind) *Event {
	e := &r.ring[r.total%uint64(len(r.ring))]
	r.total++
	if e.Kind == EventConfigure {
		r.base = e.Policy
	}
	*e = Event{At: now, Kind: k}
	return e
}

// kept passes a complete event on to the recording, if there is one.
func (r *Recorder) kept(e *Event) {
	if r.out != nil {
		r.out.send(e)
	}
}

// maxName bounds the strings of a caller that an entry keeps alive.
const maxName = 128

func short(s string) string {
	if len(s) > maxName {
		return "(longer than 128 bytes)"
	}
	return s
}
