// Package queue holds what waits: one fair queue over tenants, with O(log n)
// enqueue, dequeue and cancel, and the order in which waiting becomes pointless.
//
// Fairness is start-time fair queueing (Goyal, Vin and Cheng, 1996) in slot
// time. A flow has a tag, the virtual time at which its next item may start;
// the flow with the least tag is served. Dispatching an item of cost c moves
// the flow's tag by c/weight, and virtual time is the greatest tag served. The
// cost is a prediction, so the tag is corrected when the real cost is known.
// A flow that begins to wait is lifted to virtual time: idleness is not saved
// up, debt is kept. Two flows with work all the time then differ in service
// by at most two items each, whatever the server's rate; with c slots, by c
// items (the corrections still to come).
package queue

import "time"

// Queue is one fair queue: the waiting requests of one class in one pool.
// It is not safe for concurrent use.
type Queue[T any] struct {
	byTag  *Heap[*Flow[T]] // backlogged flows, least tag first
	byFat  *Heap[*Flow[T]] // backlogged flows, most work by weight first
	v      float64         // virtual time
	count  int
	work   int64
	bytes  int64
	fresh  int64
	expiry *Expiry[T]
}

// New makes an empty queue whose items also stand in expiry.
func New[T any](expiry *Expiry[T]) *Queue[T] {
	return &Queue[T]{
		expiry: expiry,
		byTag: NewHeap(func(a, b *Flow[T]) bool {
			if a.tag != b.tag {
				return a.tag < b.tag
			}
			return a.head.Seq < b.head.Seq // who came first
		}, func(f *Flow[T]) *int { return &f.posTag }),
		byFat: NewHeap(func(a, b *Flow[T]) bool {
			x, y := a.work*b.Weight, b.work*a.Weight
			if x != y {
				return x > y
			}
			return a.head.Seq < b.head.Seq // who came first
		}, func(f *Flow[T]) *int { return &f.posFat }),
	}
}

// NewFlow makes a flow of this queue; weight is at least 1.
func (q *Queue[T]) NewFlow(weight int64) *Flow[T] {
	return &Flow[T]{Weight: max(weight, 1), tag: q.v}
}

// SetWeight changes a flow's share from its next item on.
func (q *Queue[T]) SetWeight(f *Flow[T], weight int64) {
	if weight = max(weight, 1); weight == f.Weight {
		return
	}
	f.tag = q.v + (f.tag-q.v)*float64(f.Weight)/float64(weight)
	f.Weight = weight
	if f.count > 0 {
		q.byTag.Fix(f)
		q.byFat.Fix(f)
	}
}

// Len is the number of items waiting.
func (q *Queue[T]) Len() int { return q.count }

// Work is the predicted slot time of what waits, in nanoseconds.
func (q *Queue[T]) Work() int64 { return q.work }

// Bytes is the memory held by what waits.
func (q *Queue[T]) Bytes() int64 { return q.bytes }

// Fresh is the predicted slot time of the first items of flows that were not
// served since they began to wait: all of it goes before a flow that begins now.
func (q *Queue[T]) Fresh() int64 { return q.fresh }

// Debt is the slot time, in nanoseconds, that must be served at the flow's
// share before its next item may start.
func (q *Queue[T]) Debt(f *Flow[T]) int64 {
	return int64(max(f.tag-q.v, 0) * float64(f.Weight))
}

// Push adds it behind the flow's other items.
func (q *Queue[T]) Push(now time.Time, f *Flow[T], it *Item[T]) {
	f.link(it)
	q.count++
	q.work += it.Cost
	q.bytes += it.Bytes
	if f.count == 1 {
		f.tag = max(f.tag, q.v)
		f.since = now
		f.fresh = it.Cost
		q.fresh += it.Cost
		q.byTag.Push(f)
		q.byFat.Push(f)
	} else {
		q.byFat.Fix(f)
	}
	q.expiry.heap.Push(it)
}

// Next is the flow to be served next, nil if nothing waits.
func (q *Queue[T]) Next() *Flow[T] {
	if q.byTag.Len() == 0 {
		return nil
	}
	return q.byTag.Min()
}

// Fattest is the flow with the most work by weight waiting, nil if none.
func (q *Queue[T]) Fattest() *Flow[T] {
	if q.byFat.Len() == 0 {
		return nil
	}
	return q.byFat.Min()
}

// Remove takes it out of whatever place it has and gives its flow.
func (q *Queue[T]) Remove(it *Item[T]) *Flow[T] {
	f := it.flow
	wasHead := f.head == it
	q.expiry.heap.Remove(it)
	f.unlink(it)
	q.count--
	q.work -= it.Cost
	q.bytes -= it.Bytes
	if f.count == 0 {
		q.settle(f)
		q.byTag.Remove(f)
		q.byFat.Remove(f)
		return f
	}
	q.byFat.Fix(f)
	if wasHead {
		q.byTag.Fix(f) // ties are broken by the head
	}
	return f
}

// Charge books cost, in nanoseconds of slot time, for an item of f that
// starts now, whether it waited or not.
func (q *Queue[T]) Charge(f *Flow[T], cost int64) {
	start := max(f.tag, q.v)
	if f.count > 0 {
		start = f.tag // a refund is used while the flow has work
	}
	q.v = max(q.v, start)
	q.settle(f)
	q.shift(f, start-f.tag+float64(cost)/float64(f.Weight))
}

// Correct books the difference between an item's real cost and what was
// charged. A refund leaves the flow with a claim of at most credit, in
// nanoseconds of slot time, ahead of flows that begin to wait now: predictions
// that were far too long, as they are before anything was measured, must not
// shut newcomers out.
func (q *Queue[T]) Correct(f *Flow[T], delta, credit int64) {
	by := float64(delta) / float64(f.Weight)
	if by < 0 {
		by = min(max(by, q.v-float64(credit)/float64(f.Weight)-f.tag), 0)
	}
	q.shift(f, by)
}

func (q *Queue[T]) shift(f *Flow[T], by float64) {
	f.tag += by
	if f.count > 0 {
		q.byTag.Fix(f)
	}
}

// settle ends the time in which the flow's first item is fresh.
func (q *Queue[T]) settle(f *Flow[T]) {
	q.fresh -= f.fresh
	f.fresh = 0
}

// Expiry orders the items of many queues by the time at which waiting becomes
// pointless.
type Expiry[T any] struct{ heap *Heap[*Item[T]] }

// NewExpiry makes an empty order.
func NewExpiry[T any]() *Expiry[T] {
	return &Expiry[T]{heap: NewHeap(func(a, b *Item[T]) bool { return sooner(a.Expires, b.Expires, a.Seq, b.Seq) }, func(it *Item[T]) *int { return &it.posExpiry })}
}

// sooner says which of two items comes first; of equals, the one that came first.
func sooner(a, b time.Time, seqA, seqB uint64) bool {
	if !a.Equal(b) {
		return a.Before(b)
	}
	return seqA < seqB
}

// Min is the item that expires first, nil if none waits.
func (e *Expiry[T]) Min() *Item[T] {
	if e.heap.Len() == 0 {
		return nil
	}
	return e.heap.Min()
}

// Move changes when a waiting item expires and is due.
func (e *Expiry[T]) Move(it *Item[T], expires, due time.Time) {
	it.Expires, it.Due = expires, due
	e.heap.Fix(it)
	it.flow.due.Fix(it)
}
