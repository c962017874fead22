package queue

import "time"

// Item is one waiting request. The owner embeds or holds it, fills the first
// block, and leaves the rest to the queue. An item is in one queue at most.
type Item[T any] struct {
	Value   T
	Cost    int64     // predicted slot time, in nanoseconds
	Bytes   int64     // memory held while it waits
	Expires time.Time // when waiting becomes pointless
	Due     time.Time // its place in its flow by urgency
	Seq     uint64    // unique, rising in order of arrival; breaks ties

	flow       *Flow[T]
	prev, next *Item[T]
	posExpiry  int
	posDue     int
}

// Waiting says whether the item is in a queue.
func (it *Item[T]) Waiting() bool { return it.flow != nil }

// Newer is the item that came next in the same flow, nil if none.
func (it *Item[T]) Newer() *Item[T] { return it.next }

// Older is the item that came before in the same flow, nil if none.
func (it *Item[T]) Older() *Item[T] { return it.prev }

// Flow is one tenant's part of one Queue: what it has waiting, and how much
// service it was given.
type Flow[T any] struct {
	Weight int64 // share relative to the other flows; at least 1

	tag        float64 // virtual start of its next item: nanoseconds of slot time a unit of weight
	head, tail *Item[T]
	due        *Heap[*Item[T]] // nil until something waits
	count      int
	work       int64
	since      time.Time // waiting without a pause since then
	fresh      int64     // cost of the head while nothing was served since it began to wait
	newest     time.Time // until then the newest is served first
	window     time.Time // start of the window in which missed and served count
	missed     int
	served     int
	posTag     int
	posFat     int
}

// Len is the number of items waiting.
func (f *Flow[T]) Len() int { return f.count }

// Work is the predicted slot time of what waits, in nanoseconds.
func (f *Flow[T]) Work() int64 { return f.work }

// Oldest is the item that waits longest, nil if none.
func (f *Flow[T]) Oldest() *Item[T] { return f.head }

// Due is the item that is due first, nil if none; of equals the oldest.
func (f *Flow[T]) Due() *Item[T] {
	if f.count == 0 {
		return nil
	}
	return f.due.Min()
}

// Newest is the item that came last, nil if none.
func (f *Flow[T]) Newest() *Item[T] { return f.tail }

// NewestFirst says whether an adaptive flow now serves the newest item first.
func (f *Flow[T]) NewestFirst(now time.Time) bool { return now.Before(f.newest) }

// Missed tells that a request of the flow found no use: it died waiting, or
// its author left before an answer began. Served tells that one was answered.
// When, over a patience, clearly more missed than were served, although the
// flow had work all the time, the queue is standing: what it holds is stale.
// It then serves the newest first for another patience (Maurer, "Fail at
// Scale", gives the idea of LIFO for a standing queue). The measure is deaths
// and not age, because a queue kept just below its deadlines by admission is
// old but useful; and it is answers and not dispatches, because callers who
// told a deadline that is too long leave what was started too late.
func (f *Flow[T]) Missed(now time.Time, patience time.Duration) {
	f.roll(now, patience)
	f.missed++
}

// Served is described at Missed.
func (f *Flow[T]) Served(now time.Time, patience time.Duration) {
	f.roll(now, patience)
	f.served++
}

// chance is how many more must have missed than were served.
const chance = 3

func (f *Flow[T]) roll(now time.Time, patience time.Duration) {
	if now.Sub(f.window) < patience {
		return
	}
	if f.missed > f.served+chance && f.count > 0 && now.Sub(f.since) >= patience {
		f.newest = now.Add(patience)
	}
	f.window, f.missed, f.served = now, 0, 0
}

func (f *Flow[T]) link(it *Item[T]) {
	it.flow = f
	if f.head == nil {
		f.head, f.tail = it, it
	} else {
		it.prev, f.tail.next = f.tail, it
		f.tail = it
	}
	f.count++
	f.work += it.Cost
	if f.due == nil {
		f.due = NewHeap(func(a, b *Item[T]) bool { return sooner(a.Due, b.Due, a.Seq, b.Seq) }, func(it *Item[T]) *int { return &it.posDue })
	}
	f.due.Push(it)
}

func (f *Flow[T]) unlink(it *Item[T]) {
	f.due.Remove(it)
	if it.prev != nil {
		it.prev.next = it.next
	} else {
		f.head = it.next
	}
	if it.next != nil {
		it.next.prev = it.prev
	} else {
		f.tail = it.prev
	}
	it.flow, it.prev, it.next = nil, nil, nil
	f.count--
	f.work -= it.Cost
}
