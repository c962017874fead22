package queue

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// twin is the queue done dumbly: it recomputes everything by looking at all.
type twin struct {
	v     float64
	flows []*twinFlow
}

type twinFlow struct {
	weight int64
	tag    float64
	items  []*Item[int]
}

func (f *twinFlow) work() (w int64) {
	for _, it := range f.items {
		w += it.Cost
	}
	return w
}

func (w *twin) backlogged() []*twinFlow {
	return slices.DeleteFunc(slices.Clone(w.flows), func(f *twinFlow) bool { return len(f.items) == 0 })
}

func (w *twin) next() *twinFlow {
	all := w.backlogged()
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *twinFlow) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.items[0].Seq, b.items[0].Seq))
	})
}

func (w *twin) fattest() *twinFlow {
	all := w.backlogged()
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *twinFlow) int {
		return cmp.Or(cmp.Compare(b.work()*a.weight, a.work()*b.weight), cmp.Compare(a.items[0].Seq, b.items[0].Seq))
	})
}

func (w *twin) charge(f *twinFlow, cost int64) {
	start := max(f.tag, w.v)
	if len(f.items) > 0 {
		start = f.tag
	}
	w.v = max(w.v, start)
	f.tag += start - f.tag + float64(cost)/float64(f.weight)
}

// TestTwin: the queue and its twin agree on whose turn it is, who is fattest,
// what expires first and all sums, over any sequence of operations.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := NewExpiry[int]()
		q, w := New(e), &twin{}
		var flows []*Flow[int]
		for i := range 4 {
			weight := rapid.Int64Range(1, 5).Draw(t, "weight")
			flows = append(flows, q.NewFlow(weight))
			w.flows = append(w.flows, &twinFlow{weight: weight})
			_ = i
		}
		seq := uint64(0)
		var all []*Item[int]
		remove := func(it *Item[int]) {
			f := w.flows[it.Value]
			f.items = slices.DeleteFunc(f.items, func(x *Item[int]) bool { return x == it })
			all = slices.DeleteFunc(all, func(x *Item[int]) bool { return x == it })
			if got := q.Remove(it); got != flows[it.Value] {
				t.Fatal("removed from another flow")
			}
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, 3).Draw(t, "flow")
			cost := rapid.Int64Range(0, 1000).Draw(t, "cost")
			switch rapid.IntRange(0, 6).Draw(t, "do") {
			case 0, 1, 2:
				seq++
				it := &Item[int]{Value: i, Cost: cost, Bytes: cost % 7, Seq: seq, Expires: t0.Add(time.Duration(cost) * s)}
				f := w.flows[i]
				if len(f.items) == 0 {
					f.tag = max(f.tag, w.v)
				}
				q.Push(t0, flows[i], it)
				f.items = append(f.items, it)
				all = append(all, it)
			case 3, 4:
				if f := q.Next(); f != nil {
					it := f.Oldest()
					if cost%3 == 0 {
						it = f.Newest()
					}
					remove(it)
					q.Charge(f, it.Cost)
					w.charge(w.flows[it.Value], it.Cost)
				}
			case 5:
				if len(all) > 0 {
					remove(all[int(cost)%len(all)])
				}
			case 6:
				q.Correct(flows[i], cost-500, 1<<40)
				w.flows[i].tag += float64(cost-500) / float64(w.flows[i].weight)
			}
			index := func(f *Flow[int]) int { return slices.Index(flows, f) }
			if got, want := index(q.Next()), slices.Index(w.flows, w.next()); got != want {
				t.Fatalf("next is %d, want %d", got, want)
			}
			if got, want := index(q.Fattest()), slices.Index(w.flows, w.fattest()); got != want {
				t.Fatalf("fattest is %d, want %d", got, want)
			}
			var work, bytes int64
			var first *Item[int]
			for _, it := range all {
				work, bytes = work+it.Cost, bytes+it.Bytes
				if first == nil || cmp.Or(it.Expires.Compare(first.Expires), cmp.Compare(it.Seq, first.Seq)) < 0 {
					first = it
				}
			}
			if q.Len() != len(all) || q.Work() != work || q.Bytes() != bytes || e.Min() != first {
				t.Fatalf("%d items, work %d, bytes %d, want %d, %d, %d", q.Len(), q.Work(), q.Bytes(), len(all), work, bytes)
			}
			if q.Len() == 0 && q.Fresh() != 0 || q.Fresh() < 0 {
				t.Fatalf("fresh %d", q.Fresh())
			}
		}
	})
}

// TestFairBound: flows with work all the time differ in service, by weight, by
// at most two of their largest items, whatever the costs, when costs are known
// (the bound of start-time fair queueing; its corrections come on top).
func TestFairBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := New(NewExpiry[int]())
		type party struct {
			flow   *Flow[int]
			served float64
			most   float64
		}
		var parties []*party
		seq := uint64(0)
		push := func(i int) {
			seq++
			cost := rapid.Int64Range(1, 1000).Draw(t, "cost")
			p := parties[i]
			p.most = max(p.most, float64(cost)/float64(p.flow.Weight))
			q.Push(t0, p.flow, &Item[int]{Value: i, Cost: cost, Seq: seq, Expires: t0})
		}
		for i := range rapid.IntRange(2, 5).Draw(t, "flows") {
			parties = append(parties, &party{flow: q.NewFlow(rapid.Int64Range(1, 4).Draw(t, "weight"))})
			push(i)
			push(i)
		}
		for range rapid.IntRange(1, 200).Draw(t, "turns") {
			f := q.Next()
			it := f.Oldest()
			q.Remove(it)
			q.Charge(f, it.Cost)
			parties[it.Value].served += float64(it.Cost) / float64(f.Weight)
			push(it.Value)
			for _, a := range parties {
				for _, b := range parties {
					if d := math.Abs(a.served - b.served); d > a.most+b.most+1e-6 {
						t.Fatalf("services differ by %v, items are at most %v and %v", d, a.most, b.most)
					}
				}
			}
		}
	})
}
