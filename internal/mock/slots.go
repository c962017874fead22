package mock

import (
	"container/list"
	"sync"
	"time"
)

// Stats are the counters of a Server since its start or the last reset.
// Requests are those of the three inference routes.
type Stats struct {
	Started   int64 `json:"started"`   // got a slot
	Finished  int64 `json:"finished"`  // got a slot and worked to the end
	Aborted   int64 `json:"aborted"`   // got a slot, but the caller left or a fault broke the answer
	Abandoned int64 `json:"abandoned"` // left while waiting for a slot
	Rejected  int64 `json:"rejected"`  // refused with 429 because the queue was full
	Faulted   int64 `json:"faulted"`   // met by a fault, whatever became of them

	// WastedSlotSeconds is slot time that produced nothing: all the time of
	// aborted requests, and, where disconnects are ignored, the time after the
	// caller had gone.
	WastedSlotSeconds float64 `json:"wasted_slot_seconds"`
	// BusySlotSeconds is the integral of the running requests up to now.
	BusySlotSeconds float64 `json:"busy_slot_seconds"`

	MaxInflight int     `json:"max_inflight"` // most running at once
	Inflight    int     `json:"inflight"`     // running now
	Queued      int     `json:"queued"`       // waiting now
	Slots       int     `json:"slots"`
	UptimeS     float64 `json:"uptime_s"` // since the start; a reset does not change it
	Brownout    float64 `json:"brownout"` // how many times slower the server is now; 1 is full speed
}

// slots grants a fixed number of places in the order of asking, and keeps the
// counters. Safe for concurrent use.
type slots struct {
	limit, places int
	// changed is called with the number running, under the lock.
	changed func(running int)

	mu      sync.Mutex
	waiting list.List // of *ticket, oldest first
	running int
	count   Stats
	since   time.Time // up to when BusySlotSeconds is counted
}

// ticket is one request's claim on a slot.
type ticket struct {
	ready   chan struct{}
	place   *list.Element // nil once granted
	arrived time.Time
	granted time.Time
}

// grant is how asking for a slot ended.
type grant uint8

const (
	granted grant = iota
	refused       // the queue was full
	left          // the caller or the server went away first
)

// acquire waits for a slot until one of the stop channels is closed. After
// granted the caller owes one release.
func (s *slots) acquire(gone, closed <-chan struct{}) (*ticket, grant) {
	s.mu.Lock()
	now := time.Now()
	t := &ticket{arrived: now}
	if s.running < s.limit {
		s.countLocked(now)
		s.running++
		s.startLocked(t, now)
		s.changed(s.running)
		s.mu.Unlock()
		return t, granted
	}
	if s.waiting.Len() >= s.places {
		s.count.Rejected++
		s.mu.Unlock()
		return nil, refused
	}
	t.ready = make(chan struct{})
	t.place = s.waiting.PushBack(t)
	s.mu.Unlock()

	select {
	case <-t.ready:
		return t, granted
	case <-gone:
	case <-closed:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.place == nil { // granted in the same moment: the caller finds out when it starts
		return t, granted
	}
	s.waiting.Remove(t.place)
	s.count.Abandoned++
	return nil, left
}

// release gives the slot back, to the oldest waiter if there is one. wasted is
// the time since which the slot's work was for nothing, zero for none.
func (s *slots) release(finished bool, wasted time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.countLocked(now)
	if finished {
		s.count.Finished++
	} else {
		s.count.Aborted++
	}
	if !wasted.IsZero() {
		s.count.WastedSlotSeconds += now.Sub(wasted).Seconds()
	}
	if front := s.waiting.Front(); front != nil {
		t := s.waiting.Remove(front).(*ticket)
		t.place = nil
		s.startLocked(t, now)
		close(t.ready)
		return
	}
	s.running--
	s.changed(s.running)
}

func (s *slots) startLocked(t *ticket, now time.Time) {
	t.granted = now
	s.count.Started++
	s.count.MaxInflight = max(s.count.MaxInflight, s.running)
}

func (s *slots) countLocked(now time.Time) {
	s.count.BusySlotSeconds += float64(s.running) * now.Sub(s.since).Seconds()
	s.since = now
}

// faulted counts a request met by a fault.
func (s *slots) faulted() {
	s.mu.Lock()
	s.count.Faulted++
	s.mu.Unlock()
}

// stats returns the counters up to now and, if asked, sets them to zero.
func (s *slots) stats(reset bool) Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.countLocked(time.Now())
	out := s.count
	out.Inflight, out.Queued, out.Slots = s.running, s.waiting.Len(), s.limit
	if reset {
		s.count = Stats{MaxInflight: s.running}
	}
	return out
}
