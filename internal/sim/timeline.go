package sim

import "time"

// event is something that will happen. Those about a visit are void when its
// generation has moved on.
type event struct {
	at    time.Time
	seq   uint64
	kind  kind
	visit *visit
	gen   uint32
	do    func()
	talk  *talk
}

type kind uint8

const (
	kindDo      kind = iota // run do
	kindGiveUp              // the caller's deadline passes
	kindLeave               // the caller leaves early
	kindAgain               // the caller tries again
	kindSpeak               // a session goes on
	kindFailure             // an attempt that the upstream did not take fails
)

// timeline is a binary heap of events by time, ties in the order they were made.
type timeline struct{ list []event }

func (t *timeline) before(i, j int) bool {
	a, b := &t.list[i], &t.list[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.seq < b.seq
}

func (t *timeline) push(e event) {
	t.list = append(t.list, e)
	for i := len(t.list) - 1; i > 0; {
		parent := (i - 1) / 2
		if !t.before(i, parent) {
			return
		}
		t.list[i], t.list[parent] = t.list[parent], t.list[i]
		i = parent
	}
}

func (t *timeline) pop() event {
	first := t.list[0]
	last := len(t.list) - 1
	t.list[0] = t.list[last]
	t.list[last] = event{}
	t.list = t.list[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if right := child + 1; right < last && t.before(right, child) {
			child = right
		}
		if !t.before(child, i) {
			return first
		}
		t.list[i], t.list[child] = t.list[child], t.list[i]
		i = child
	}
}
