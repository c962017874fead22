package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/queue"
)

// edf serves the earliest deadline first, of equals the first to come, and
// drops the expired when their turn comes. Everybody may wait.
type edf struct{ heap *queue.Heap[*ticket] }

func newEDF(*slotPool) rules {
	sooner := func(a, b *ticket) bool {
		if !a.deadline.Equal(b.deadline) {
			return a.deadline.Before(b.deadline)
		}
		return a.seq < b.seq
	}
	return rules{line: &edf{queue.NewHeap(sooner, func(t *ticket) *int { return &t.pos })}, drop: expired}
}

func (e *edf) push(_ time.Time, t *ticket) { e.heap.Push(t) }
func (e *edf) remove(t *ticket)            { e.heap.Remove(t) }

func (e *edf) next(time.Time) *ticket {
	if e.heap.Len() == 0 {
		return nil
	}
	return e.heap.Min()
}
