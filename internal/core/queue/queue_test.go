package queue

import (
	"slices"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const s = time.Second

// house is a queue with named flows of equal items of one second.
type house struct {
	*Queue[string]
	expiry *Expiry[string]
	flows  map[string]*Flow[string]
	seq    uint64
}

func newHouse() *house {
	e := NewExpiry[string]()
	return &house{Queue: New(e), expiry: e, flows: map[string]*Flow[string]{}}
}

func (h *house) flow(name string, weight int64) *Flow[string] {
	f := h.flows[name]
	if f == nil {
		f = h.NewFlow(weight)
		h.flows[name] = f
	}
	return f
}

func (h *house) push(name string, cost time.Duration) *Item[string] {
	h.seq++
	it := &Item[string]{Value: name, Cost: int64(cost), Bytes: 1, Seq: h.seq, Expires: t0.Add(time.Minute)}
	h.Push(t0, h.flow(name, 1), it)
	return it
}

// serve dispatches the oldest of the next flow at its cost.
func (h *house) serve() *Item[string] {
	f := h.Next()
	if f == nil {
		return nil
	}
	it := f.Oldest()
	h.Remove(it)
	h.Charge(f, it.Cost)
	return it
}

func (h *house) serveNames(n int) (names []string) {
	for range n {
		names = append(names, h.serve().Value)
	}
	return names
}

func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		name    string
		weights map[string]int64
		push    []string
		want    []string
	}{
		{"in turn, whatever the backlog", nil, []string{"a", "a", "a", "b", "a", "b"}, []string{"a", "b", "a", "b", "a", "a"}},
		{"who came first goes first among equals", nil, []string{"c", "a", "b"}, []string{"c", "a", "b"}},
		{"by weight", map[string]int64{"a": 2}, []string{"b", "b", "a", "a", "a", "a"}, []string{"b", "a", "a", "b", "a", "a"}},
		{"one flow is first in, first out", nil, []string{"a", "a", "a"}, []string{"a", "a", "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse()
			for name, w := range tt.weights {
				h.flow(name, w)
			}
			for _, name := range tt.push {
				h.push(name, s)
			}
			if got := h.serveNames(len(tt.want)); !slices.Equal(got, tt.want) {
				t.Errorf("served %v, want %v", got, tt.want)
			}
			if h.Len() != 0 || h.Work() != 0 || h.Bytes() != 0 || h.Fresh() != 0 || h.Next() != nil || h.Fattest() != nil || h.expiry.Min() != nil {
				t.Error("something is left of it")
			}
		})
	}
}

// TestIdleness is not saved up, and debt is kept.
func TestIdleness(t *testing.T) {
	h := newHouse()
	for range 10 {
		h.push("a", s)
	}
	h.serveNames(5) // b is away
	for range 5 {
		h.push("b", s)
	}
	if got, want := h.serveNames(6), []string{"b", "a", "b", "a", "b", "a"}; !slices.Equal(got, want) && !slices.Equal(got, []string{"a", "b", "a", "b", "a", "b"}) {
		t.Errorf("served %v, want in turn from now", got)
	}
	h = newHouse()
	h.push("a", s)
	h.push("b", s)
	a := h.serve()
	h.Correct(h.flows[a.Value], int64(4*s), 0) // its call took five seconds
	for range 6 {
		h.push("a", s)
		h.push("b", s)
	}
	if got := h.serveNames(6); slices.Index(got, "a") < 4 {
		t.Errorf("served %v: what a took more is forgotten", got)
	}
}

// TestDebt is what must be served at its share before it may start.
func TestDebt(t *testing.T) {
	h := newHouse()
	f := h.flow("a", 2)
	if h.Debt(f) != 0 {
		t.Error("a new flow owes something")
	}
	h.Charge(f, int64(10*s))
	if got := h.Debt(f); got != int64(10*s) {
		t.Errorf("owes %v, want 10 s of slot time", time.Duration(got))
	}
	h.SetWeight(f, 4) // the same slot time at a larger share
	if got := h.Debt(f); got != int64(10*s) {
		t.Errorf("owes %v after the weight changed", time.Duration(got))
	}
	h.Correct(f, -int64(10*s), int64(100*s))
	if h.Debt(f) != 0 {
		t.Errorf("owes %v after a refund", time.Duration(h.Debt(f)))
	}
}

// TestExpiryOrder holds over queues, ties by arrival.
func TestExpiryOrder(t *testing.T) {
	e := NewExpiry[string]()
	p, q := New(e), New(e)
	fp, fq := p.NewFlow(1), q.NewFlow(1)
	items := []*Item[string]{
		{Value: "late", Expires: t0.Add(9 * s), Seq: 1},
		{Value: "tie 2", Expires: t0.Add(5 * s), Seq: 4},
		{Value: "tie 1", Expires: t0.Add(5 * s), Seq: 3},
		{Value: "soon", Expires: t0.Add(1 * s), Seq: 2},
	}
	p.Push(t0, fp, items[0])
	q.Push(t0, fq, items[1])
	p.Push(t0, fp, items[2])
	q.Push(t0, fq, items[3])
	for _, want := range []string{"soon", "tie 1", "tie 2", "late"} {
		it := e.Min()
		if it.Value != want {
			t.Fatalf("%q expires, want %q", it.Value, want)
		}
		map[*Flow[string]]*Queue[string]{fp: p, fq: q}[it.flow].Remove(it)
	}
	if e.Min() != nil {
		t.Error("something still expires")
	}
}

// TestDue: each flow knows which of its own items is due first, also when one
// moves.
func TestDue(t *testing.T) {
	h := newHouse()
	f, g := h.flow("f", 1), h.flow("g", 1)
	var items []*Item[string]
	for i, at := range []time.Duration{9 * s, 5 * s, 5 * s, 7 * s} {
		it := &Item[string]{Cost: 1, Due: t0.Add(at), Seq: uint64(i)}
		h.Push(t0, f, it)
		items = append(items, it)
	}
	h.Push(t0, g, &Item[string]{Cost: 1, Due: t0.Add(s), Seq: 9})
	h.expiry.Move(items[3], t0.Add(2*s), t0.Add(2*s))
	for _, want := range []int{3, 1, 2, 0} {
		if f.Due() != items[want] {
			t.Fatalf("item %d is due, want %d", f.Due().Seq, want)
		}
		h.Remove(f.Due())
	}
	if f.Due() != nil {
		t.Error("something is due in an empty flow")
	}
}

// TestCancelled: a hundred queued, ninety cancelled: what is served next is
// alive, and only the live count (B168).
func TestCancelled(t *testing.T) {
	h := newHouse()
	var items []*Item[string]
	for range 100 {
		items = append(items, h.push("a", s))
	}
	for _, it := range items[:90] {
		h.Remove(it)
		if it.Waiting() {
			t.Fatal("removed and waiting")
		}
	}
	if h.Len() != 10 || h.Work() != int64(10*s) || h.Bytes() != 10 {
		t.Errorf("%d wait with work %v", h.Len(), time.Duration(h.Work()))
	}
	for i := range 10 {
		if it := h.serve(); it != items[90+i] {
			t.Fatalf("served number %d, want %d", it.Seq, items[90+i].Seq)
		}
	}
}

// TestFIFOWaits: ten waiting, one served a second, one arriving a second: each
// waits ten, and nobody starves (B174).
func TestFIFOWaits(t *testing.T) {
	h := newHouse()
	for range 10 {
		h.push("a", s)
	}
	arrived := map[uint64]int{}
	for second := range 600 {
		it := h.push("a", s)
		arrived[it.Seq] = second
		got := h.serve()
		if came, ok := arrived[got.Seq]; ok && second-came != 10 {
			t.Fatalf("waited %d s, want 10", second-came)
		}
	}
}

// TestNewestFirst: a flow that loses more than it serves, for a patience and
// without a pause, serves its newest for another patience.
func TestNewestFirst(t *testing.T) {
	const patience = 2 * s
	for _, tt := range []struct {
		name           string
		missed, served int
		pause          bool
		want           bool
	}{
		{"clearly more die than are served", 6, 1, false, true},
		{"a few more, which may be chance", 4, 1, false, false},
		{"as many", 2, 1, false, false},
		{"fewer", 1, 5, false, false},
		{"it was empty in between", 6, 1, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse()
			it := h.push("a", s)
			f := h.flows["a"]
			f.Served(t0.Add(s), patience) // opens the window
			for range tt.missed {
				f.Missed(t0.Add(2*s), patience)
			}
			for range tt.served {
				f.Served(t0.Add(2*s), patience)
			}
			if tt.pause {
				h.Remove(it)
				h.Push(t0.Add(2500*time.Millisecond), f, it)
			}
			f.Served(t0.Add(3500*time.Millisecond), patience)
			if got := f.NewestFirst(t0.Add(4 * s)); got != tt.want {
				t.Errorf("newest first: %v, want %v", got, tt.want)
			}
			if f.NewestFirst(t0.Add(3500*time.Millisecond + patience)) {
				t.Error("it does not end")
			}
		})
	}
}

func BenchmarkPushServe(b *testing.B) {
	h := newHouse()
	flows := make([]*Flow[string], 5000)
	items := make([]*Item[string], 5000)
	for i := range flows {
		flows[i] = h.NewFlow(1)
		items[i] = &Item[string]{Cost: int64(s), Seq: uint64(i), Expires: t0.Add(time.Minute)}
		h.Push(t0, flows[i], items[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		it := h.serve()
		h.seq++
		it.Seq = h.seq + 5000
		h.Push(t0, flows[it.Seq*7919%5000], it)
	}
}
