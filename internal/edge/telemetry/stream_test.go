package telemetry

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestAStreamHasAllThatTheRingForgets(t *testing.T) {
	var b, log bytes.Buffer
	r := NewRecorder(2)
	r.Stream(&b, StreamLimit, slog.New(slog.NewTextHandler(&log, nil)))
	r.Start(t0, Seed{1, 2})
	r.Configure(t0, &admit.Policy{})
	for i := range admit.ID(1000) {
		r.Offer(t0, &admit.Request{ID: i, Tenant: "bank"})
		r.Decisions(t0, []admit.Decision{queueIt})
		r.FirstByte(t0, i)
		r.Finish(t0, i, &admit.Outcome{Status: 200})
		r.Tick(t0)
		r.Cancel(t0, i)
	}
	r.Close()
	r.Close()  // once is enough, twice no harm
	r.Tick(t0) // after it: only into the ring
	es, err := readDump(&b)
	if err != nil || len(es) != 6002 {
		t.Fatalf("%d events, want 6002: %v", len(es), err)
	}
	if es[0].Seed != (Seed{1, 2}) || es[6001].ID != 999 || es[6001].Kind != EventCancel {
		t.Errorf("from %+v to %+v", es[0], es[6001])
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
}

// gated lets nothing be written until it is opened.
type gated struct {
	begun, open chan struct{}
	bytes.Buffer
}

func (g *gated) Write(b []byte) (int, error) {
	select {
	case g.begun <- struct{}{}:
	default:
	}
	<-g.open
	return g.Buffer.Write(b)
}

func TestAStreamThatFallsBehindSaysSo(t *testing.T) {
	w := &gated{begun: make(chan struct{}, 1), open: make(chan struct{})}
	var log bytes.Buffer
	r := NewRecorder(2)
	r.Stream(w, StreamLimit, slog.New(slog.NewTextHandler(&log, nil)))
	r.Tick(t0)
	<-w.begun // the writer is stuck with the first
	const offered = streamEvents + 500
	for i := range admit.ID(offered) { // never waits
		r.Cancel(t0, i)
	}
	close(w.open)
	r.Close()
	es, err := readDump(&w.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	last := es[len(es)-1]
	if len(es) != 1+streamEvents+1 || last.Kind != EventLost || last.Lost != 500 {
		t.Errorf("%d events, the last %+v; want a loss of 500 after %d", len(es), last, streamEvents)
	}
	if !strings.Contains(log.String(), "lost=500") {
		t.Errorf("logged: %s", &log)
	}
}

func TestAStreamEndsAtItsLimit(t *testing.T) {
	var b, log bytes.Buffer
	r := NewRecorder(2)
	r.Stream(&b, 1000, slog.New(slog.NewTextHandler(&log, nil)))
	for i := range admit.ID(5000) {
		r.Cancel(t0, i)
		r.Decisions(t0, []admit.Decision{queueIt, dispatch})
	}
	r.Close()
	es, err := readDump(&b)
	if err != nil || len(es) == 0 || len(es) >= 15_000 {
		t.Fatalf("%d events: %v", len(es), err)
	}
	if tail := es[len(es)-3:]; tail[0].Kind != EventCancel || !reflect.DeepEqual(tail[2].Decision, dispatch) {
		t.Errorf("the last event stands without its decisions: %+v", tail)
	}
	if !strings.Contains(log.String(), "limit") {
		t.Errorf("logged: %s", &log)
	}
}

func TestAStreamThatFailsSaysSoOnce(t *testing.T) {
	var log bytes.Buffer
	r := NewRecorder(2)
	r.Stream(fullDisk{}, StreamLimit, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 * streamEvents {
		r.Tick(t0)
	}
	r.Close()
	if n := strings.Count(log.String(), "disk full"); n != 1 {
		t.Errorf("said %d times: %s", n, &log)
	}
}

func TestAStreamDoesNotAllocate(t *testing.T) {
	r := NewRecorder(8)
	r.out = &stream{events: make(chan Event, 1), done: make(chan struct{})} // nobody takes: all but one are lost
	q := admit.Request{Tenant: "bank", Model: "chat"}
	if n := testing.AllocsPerRun(100, func() { r.Offer(t0, &q) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestACutLineIsToldFromABadOne(t *testing.T) {
	tick := `{"at":"2026-03-01T12:00:00Z","kind":"tick"}` + "\n"
	if _, err := readDump(strings.NewReader(tick + `{"at":`)); !errors.Is(err, ErrCut) {
		t.Errorf("cut: %v", err)
	}
	if _, err := readDump(strings.NewReader(tick + `{"at":` + "\n" + tick)); err == nil || errors.Is(err, ErrCut) {
		t.Errorf("bad: %v", err)
	}
	if _, err := readDump(io.MultiReader(strings.NewReader(tick), broken{})); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("failing reader: %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
