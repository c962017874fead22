package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const endpoint = "http://collector/v1/traces"

// tracing is a tracer that sends to a collector, both in a bubble.
func tracing(t *testing.T, share int) (*Tracer, *collector, *bytes.Buffer) {
	t.Helper()
	c, log := newCollector(t), &bytes.Buffer{}
	tr := NewTracer(NewLogger(log).Slog(), c.dial)
	tr.Configure(TraceSettings{Endpoint: endpoint, Headers: map[string]string{"X-Key": "CANARY"}, Share: share, Parent: true})
	t.Cleanup(tr.Close)
	return tr, c, log
}

// ended tells the tracer of a request that ends with the outcome.
func ended(tr *Tracer, o Outcome) *Record {
	r := newRecord()
	tr.Begin(r)
	answer(r)
	r.Outcome = o
	tr.Finished(r)
	return r
}

func TestTracesArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, c, log := tracing(t, 0)
		ended(tr, Refused)
		ended(tr, Answered) // nothing about it is out of the ordinary
		ended(tr, Cut)
		if spans, _ := c.got(); len(spans) != 0 {
			t.Error("it did not wait for a batch")
		}
		time.Sleep(2 * traceEvery)
		synctest.Wait()
		spans, calls := c.got()
		if calls != 1 || len(spans) != 4 { // each with its stream
			t.Fatalf("%d spans in %d calls", len(spans), calls)
		}
		if got := c.headers[0].Get("X-Key"); got != "CANARY" {
			t.Errorf("header %q", got)
		}
		if got := tr.State(); got != (TracesState{Exported: 2}) {
			t.Errorf("%+v", got)
		}
		ended(tr, Failed)
		tr.Close() // sends what waits
		if got := tr.State(); got.Exported != 3 || log.Len() > 0 {
			t.Errorf("%+v, log %s", got, log)
		}
		if r := ended(tr, Failed); r.SpanID != 0 || tr.On() {
			t.Error("it goes on after its end")
		}
	})
}

func TestWhatIsKept(t *testing.T) {
	of := func(change func(r *Record)) *Record {
		r := newRecord()
		answer(r)
		change(r)
		return r
	}
	for _, c := range []struct {
		name   string
		record *Record
		want   keptBy
	}{
		{"ordinary", of(func(r *Record) {}), notKept},
		{"a caller's fault", of(func(r *Record) { r.Outcome = Invalid }), notKept},
		{"a caller who left", of(func(r *Record) { r.Outcome = Left }), notKept},
		{"refused", of(func(r *Record) { r.Outcome = Refused }), keptRefused},
		{"failed", of(func(r *Record) { r.Outcome = Failed }), keptFailed},
		{"cut", of(func(r *Record) { r.Outcome = Cut }), keptFailed},
		{"timed out", of(func(r *Record) { r.Outcome = TimedOut }), keptLate},
		{"a first token in time", of(func(r *Record) { r.Deadline = r.TTFT }), notKept},
		{"a first token too late", of(func(r *Record) { r.Deadline = r.TTFT - 1 }), keptLate},
		{"an answer in time", of(func(r *Record) { r.TTFT, r.Deadline = 0, r.Total }), notKept},
		{"an answer too late", of(func(r *Record) { r.TTFT, r.Deadline = 0, r.Total-1 }), keptLate},
		{"degraded", of(func(r *Record) { r.Rungs = []string{"small"} }), keptDegraded},
		{"another model", of(func(r *Record) { r.Decision.Model = "embed" }), keptDegraded},
		{"an answer from before, instead", of(func(r *Record) { r.Recalled, r.Decision = true, recall }), keptDegraded},
		{"an answer from before, as asked", of(func(r *Record) { r.Recalled = true }), notKept},
		{"let through though it should be refused", of(func(r *Record) { r.WouldRefuse = true }), notKept},
		{"refused and degraded", of(func(r *Record) { r.Outcome, r.Rungs = Refused, []string{"small"} }), keptRefused},
	} {
		if got := c.record.worth(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Of the ordinary ones a share is kept, by the ID alone: whoever has the same
// share keeps the same traces.
func TestShare(t *testing.T) {
	for _, share := range []int{0, 1, 10, 50, 100} {
		kept := 0
		const n = 100
		for i := range n { // from end to end of what the last digits can be
			r := &Record{TraceID: fmt.Sprintf("%018x%014x", 1, uint64(i)*(1<<56/n)+1<<54/n)}
			if r.marked(share, true) == keptSample {
				kept++
			}
		}
		if kept != share {
			t.Errorf("of a share of %d%%, %d%% were kept", share, kept)
		}
	}
	all := &Record{TraceID: strings.Repeat("f", 32)}
	if all.marked(0, true) != notKept || all.marked(1, true) != keptSample {
		t.Error("the last ID is not at the edge of the share")
	}
}

func TestCallersMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, _, _ := tracing(t, 0)
		for _, c := range []struct {
			name   string
			parent bool
			tenant string
			told   bool
			want   keptBy
		}{
			{"of a tenant", true, "bank", true, keptParent},
			{"of nobody", true, "", true, notKept},
			{"not wanted", false, "bank", false, notKept},
		} {
			tr.Configure(TraceSettings{Endpoint: endpoint, Headers: map[string]string{"X-Key": "CANARY"}, Parent: c.parent})
			r := newRecord()
			r.Sampled, r.Tenant = true, c.tenant
			tr.Begin(r)
			answer(r)
			tr.Finished(r)
			if r.kept != c.want || r.Marked() != c.told {
				t.Errorf("%s: kept %q, told %v", c.name, r.kept, r.Marked())
			}
		}
	})
}

// A collector that cannot be reached is tried again for 15 s a batch, costs
// requests nothing, and is told of once.
func TestDeadCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, c, log := tracing(t, 0)
		c.becomes(0, syscall.ECONNREFUSED)
		began := time.Now()
		for range 2 * traceQueue {
			ended(tr, Refused)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("requests waited for %v", took)
		}
		synctest.Wait()
		s := tr.State()
		if s.Dropped < traceQueue-traceBatch || s.Dropped > traceQueue || s.Waiting > traceQueue {
			t.Errorf("of %d: %+v", 2*traceQueue, s)
		}
		time.Sleep(20 * time.Second) // the first batch is given up
		if s := tr.State(); s.Undelivered != traceBatch || s.Exported != 0 {
			t.Errorf("%+v", s)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "connection refused") {
			t.Errorf("log: %s", log)
		}
		c.becomes(0, nil) // and all that waits is there within its next try
		time.Sleep(20 * time.Second)
		s = tr.State()
		if s.Waiting != 0 || s.Exported+s.Undelivered+s.Dropped != 2*traceQueue || s.Undelivered != traceBatch {
			t.Errorf("%+v", s)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "again") {
			t.Errorf("log: %s", log)
		}
		if strings.Contains(log.String(), "CANARY") {
			t.Error("a secret is in the log")
		}
	})
}

func TestCollectorSaysNo(t *testing.T) {
	for _, c := range []struct {
		status, calls int
	}{{401, 1}, {400, 1}, {503, traceTries}, {429, traceTries}} {
		synctest.Test(t, func(t *testing.T) {
			tr, col, log := tracing(t, 0)
			col.becomes(c.status, nil)
			ended(tr, Refused)
			time.Sleep(time.Minute)
			if _, calls := col.got(); calls != c.calls || tr.State().Undelivered != 1 {
				t.Errorf("%d: %d calls, %+v", c.status, calls, tr.State())
			}
			if !strings.Contains(log.String(), fmt.Sprint("it answered ", c.status)) || strings.Contains(log.String(), "CANARY") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// The end of the process does not wait for a collector that is away.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, c, _ := tracing(t, 0)
		c.becomes(0, errors.New("away"))
		ended(tr, Refused)
		time.Sleep(3 * traceEvery) // between two tries
		ended(tr, Refused)
		began := time.Now()
		tr.Close()
		if took, s := time.Since(began), tr.State(); took > 0 || s.Undelivered != 2 {
			t.Errorf("one that refuses connections: %v, %+v", took, s)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		tr := NewTracer(NewLogger(io.Discard).Slog(), hangs)
		tr.Configure(TraceSettings{Endpoint: endpoint})
		ended(tr, Refused)
		began := time.Now()
		tr.Close()
		if took, s := time.Since(began), tr.State(); took != traceEnd || s.Undelivered != 1 {
			t.Errorf("one that does not answer: %v, %+v", took, s)
		}
	})
}

// What waits for the old endpoint still goes there.
func TestAnotherEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, c, _ := tracing(t, 0)
		ended(tr, Refused)
		link := tr.link.Load()
		tr.Configure(TraceSettings{Endpoint: endpoint, Headers: map[string]string{"X-Key": "CANARY"}, Share: 100})
		if tr.link.Load() != link {
			t.Error("another share made another connection")
		}
		tr.Configure(TraceSettings{Endpoint: endpoint, Headers: map[string]string{"X-Key": "CANARY2"}, Share: 100})
		ended(tr, Answered)
		time.Sleep(2 * traceEvery)
		synctest.Wait()
		if len(c.headers) != 2 || c.headers[0].Get("X-Key") != "CANARY" || c.headers[1].Get("X-Key") != "CANARY2" {
			t.Errorf("%v", c.headers)
		}
		tr.Configure(TraceSettings{})
		if r := ended(tr, Refused); r.SpanID != 0 || r.kept != notKept {
			t.Error("traced though it is off")
		}
	})
}
