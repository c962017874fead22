package telemetry

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// TraceSettings say where spans go and of which requests.
type TraceSettings struct {
	Endpoint string            // OTLP/HTTP URL; empty is off
	Headers  map[string]string // of every call to it
	Share    int               // of the ordinary requests that is kept, in per cent
	Parent   bool              // what the caller keeps is kept
}

// Tracer sends the spans of requests to a collector. It decides at the end of a
// request whether its trace is kept, and makes its spans only then, from the
// Record and in a goroutine of its own: a request that is not kept costs a few
// comparisons and its share of nothing else. Between the two is a bounded queue.
// What does not fit is dropped and counted, so that a collector that is slow or
// away holds up nobody.
//
// Tracer is safe for concurrent use.
type Tracer struct {
	log   *slog.Logger
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	link  atomic.Pointer[traceLink] // nil while it is off
	which atomic.Pointer[TraceSettings]

	applying sync.Mutex     // one Configure or Close at a time
	links    sync.WaitGroup // that have not ended
	counts   traceCounts
}

// TracesState is what has become of the traces that were kept, by request.
type TracesState struct {
	Exported    int64 // are with the collector
	Dropped     int64 // found the queue full
	Undelivered int64 // the collector did not take
	Waiting     int   // are in the queue
}

type traceCounts struct{ exported, dropped, undelivered atomic.Int64 }

// NewTracer makes one that is off. dial opens connections; nil is TCP.
func NewTracer(log *slog.Logger, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Tracer {
	return &Tracer{log: log, dial: dial}
}

// Configure changes the settings at any time. Traces that wait for an endpoint
// of before are still sent there.
func (t *Tracer) Configure(s TraceSettings) {
	t.applying.Lock()
	defer t.applying.Unlock()
	t.which.Store(&s)
	old := t.link.Load()
	if old != nil && old.endpoint == s.Endpoint && maps.Equal(old.headers, s.Headers) || old == nil && s.Endpoint == "" {
		return
	}
	var next *traceLink
	if s.Endpoint != "" {
		next = t.connect(s)
	}
	t.link.Store(next)
	if old != nil {
		old.close()
	}
}

// Close sends what waits, for at most a few seconds, and ends.
func (t *Tracer) Close() {
	t.Configure(TraceSettings{})
	t.links.Wait()
}

// On says whether requests are traced.
func (t *Tracer) On() bool { return t.link.Load() != nil }

// Begin gives the request a span. It does nothing while the tracer is off. Set
// what the Record has of the trace before.
func (t *Tracer) Begin(r *Record) {
	if t.On() {
		s := t.which.Load()
		r.SpanID, r.kept = NewSpanID(), r.marked(s.Share, s.Parent)
		r.told = r.kept != notKept
	}
}

// Marked says whether the trace of a request is kept however it ends, which is
// what those who are called are told.
func (r *Record) Marked() bool { return r.told }

// Finished decides whether the trace of the request is kept, and if so hands it
// on. It comes before Metrics.Finished, which then names the trace beside what it
// observes.
func (t *Tracer) Finished(r *Record) {
	if r.SpanID == 0 {
		return
	}
	if k := r.worth(); k != notKept {
		r.kept = k
	} else if r.kept == keptParent && r.Tenant == "" { // whoever has no key must not fill the collector
		r.kept = notKept
	}
	if r.kept == notKept {
		return
	}
	l := t.link.Load()
	if l == nil || !l.put(r) {
		t.counts.dropped.Add(1)
		r.kept = notKept
	}
}

// State is of this moment.
func (t *Tracer) State() TracesState {
	s := TracesState{Exported: t.counts.exported.Load(), Dropped: t.counts.dropped.Load(), Undelivered: t.counts.undelivered.Load()}
	if l := t.link.Load(); l != nil {
		s.Waiting = len(l.queue)
	}
	return s
}

// NewSpanID is a random number that is not zero.
func NewSpanID() uint64 {
	for {
		if n := rand.Uint64(); n != 0 {
			return n
		}
	}
}

// WatchTraces has snapshot called at each scrape for what has become of traces.
// It may be called once, and panics after that. The snapshot must be quick and
// safe to call from any goroutine.
func (m *Metrics) WatchTraces(snapshot func() TracesState) {
	c := &figureCollector[TracesState]{snapshot: snapshot, prefix: "spillway_traces_"}
	c.counter("exported_total", "Requests whose spans are with the collector.",
		func(s *TracesState) float64 { return float64(s.Exported) })
	c.counter("dropped_total", "Requests whose spans found the queue for the collector full.",
		func(s *TracesState) float64 { return float64(s.Dropped) })
	c.counter("undelivered_total", "Requests whose spans the collector did not take.",
		func(s *TracesState) float64 { return float64(s.Undelivered) })
	c.gauge("waiting", "Requests whose spans wait for the collector.",
		func(s *TracesState) float64 { return float64(s.Waiting) })
	m.reg.MustRegister(c)
}
