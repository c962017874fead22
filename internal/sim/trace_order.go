package sim

import (
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/core/queue"
)

// trace puts the rows of a reader in order of time, and gives a tenant to
// those without one.
type trace struct {
	rows    rowReader
	lines   *lines
	order   *queue.Heap[*heldRow]
	seq     uint64
	began   time.Time     // zero if the trace has no time of day
	origin  time.Duration // in the trace's own time
	last    time.Duration // given last
	window  int
	tenants []string
	rng     *rand.Rand
	err     error // of the end; io.EOF is the good one
}

// heldRow is a row in the window.
type heldRow struct {
	Arrival
	seq   uint64 // rows at the same time stay in the order of the file
	place int
}

// newTrace fills the window, so that what is wrong with the beginning shows at once.
func newTrace(rows rowReader, window int, l *lines, o *TraceOptions) (*trace, error) {
	t := &trace{
		rows: rows, lines: l, window: window,
		tenants: o.spread(l.name),
		rng:     rand.New(rand.NewPCG(o.Seed, 0)),
		order: queue.NewHeap(func(a, b *heldRow) bool {
			if a.At != b.At {
				return a.At < b.At
			}
			return a.seq < b.seq
		}, func(h *heldRow) *int { return &h.place }),
	}
	for t.err == nil && t.order.Len() < window {
		t.read(&heldRow{})
	}
	if !errors.Is(t.err, io.EOF) && t.err != nil {
		return nil, t.err
	}
	if t.order.Len() == 0 {
		return t, nil
	}
	if first := t.order.Min().At; first >= dated {
		t.origin, t.last = first, first
		t.began = time.Unix(0, int64(first)).UTC()
	}
	return t, nil
}

// read takes one row into the window.
func (t *trace) read(h *heldRow) {
	if t.err = t.rows.next(&h.Arrival); t.err != nil {
		return
	}
	if h.At < t.last {
		t.err = t.lines.fail(0, "out of order: %v before a row that stands more than %d rows above; sort the trace by time", t.last-h.At, t.window)
		return
	}
	h.seq = t.seq
	t.seq++
	if h.Tenant == "" {
		h.Tenant = t.tenants[0]
		if n := len(t.tenants); n > 1 {
			h.Tenant = t.tenants[t.rng.IntN(n)]
		}
	}
	t.order.Push(h)
}

// Next implements Source.
func (t *trace) Next() (Arrival, bool, error) {
	if t.err != nil && !errors.Is(t.err, io.EOF) {
		return Arrival{}, false, t.err
	}
	if t.order.Len() == 0 {
		return Arrival{}, false, nil
	}
	h := t.order.Min()
	t.order.Remove(h)
	a := h.Arrival
	t.last = a.At
	a.At -= t.origin
	if t.err == nil {
		t.read(h)
	}
	return a, true, nil
}

func (t *trace) begins() time.Time { return t.began }
