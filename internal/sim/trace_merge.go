package sim

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/internal/core/queue"
)

// Merge gives the arrivals of all sources in order of time; at the same time,
// in the order of the sources. All start together, but traces with times of
// day, or sections of such, keep their distance if they began within a day.
func Merge(sources ...Source) Source {
	if len(sources) == 1 {
		return sources[0]
	}
	return &merge{sources: sources, shift: distances(sources), order: queue.NewHeap(func(a, b *head) bool {
		if a.At != b.At {
			return a.At < b.At
		}
		return a.index < b.index
	}, func(h *head) *int { return &h.place })}
}

type merge struct {
	sources []Source
	shift   []time.Duration // of each source
	order   *queue.Heap[*head]
	begun   bool
	err     error
}

// head is the next arrival of one source.
type head struct {
	Arrival
	index, place int
}

// datedSource is a source that may know at which time of day it began.
type datedSource interface{ begins() time.Time }

// distances is how much later than the first each source begins.
func distances(sources []Source) []time.Duration {
	began := make([]time.Time, len(sources))
	var first, last time.Time
	for i, s := range sources {
		if d, ok := s.(datedSource); ok {
			began[i] = d.begins()
		}
		if b := began[i]; !b.IsZero() {
			if first.IsZero() || b.Before(first) {
				first = b
			}
			if b.After(last) {
				last = b
			}
		}
	}
	shift := make([]time.Duration, len(sources))
	if last.Sub(first) > 24*time.Hour {
		return shift
	}
	for i, b := range began {
		if !b.IsZero() {
			shift[i] = b.Sub(first)
		}
	}
	return shift
}

// Next implements Source.
func (m *merge) Next() (Arrival, bool, error) {
	if !m.begun {
		m.begun = true
		for i := range m.sources {
			m.read(&head{index: i})
		}
	}
	if m.err != nil {
		return Arrival{}, false, m.err
	}
	if m.order.Len() == 0 {
		return Arrival{}, false, nil
	}
	h := m.order.Min()
	m.order.Remove(h)
	a := h.Arrival
	m.read(h)
	return a, true, nil
}

func (m *merge) read(h *head) {
	a, ok, err := m.sources[h.index].Next()
	if err != nil {
		m.err = err
	}
	if ok && err == nil {
		h.Arrival = a
		h.At += m.shift[h.index]
		m.order.Push(h)
	}
}

// Stretch multiplies all times of arrival by factor, which is above zero: 2
// halves the load. Deadlines stay.
func Stretch(s Source, factor float64) Source { return &stretch{s, factor} }

type stretch struct {
	source Source
	factor float64
}

// Next implements Source.
func (s *stretch) Next() (Arrival, bool, error) {
	a, ok, err := s.source.Next()
	if !ok || err != nil {
		return a, ok, err
	}
	at := float64(a.At) * s.factor
	if !(at >= 0 && at <= float64(maxSeconds*time.Second)) || s.factor == 0 {
		return Arrival{}, false, fmt.Errorf("stretch %v by %v: not a time from 0 to %d s", a.At, s.factor, int64(maxSeconds))
	}
	a.At = time.Duration(at)
	return a, true, nil
}

// Section gives what arrives in the duration that begins at from, with times
// from there; a duration of 0 goes on to the end.
func Section(s Source, from, duration time.Duration) Source {
	return &section{source: s, from: from, duration: duration}
}

type section struct {
	source         Source
	from, duration time.Duration
	over           bool
}

// Next implements Source.
func (s *section) Next() (Arrival, bool, error) {
	for !s.over {
		a, ok, err := s.source.Next()
		if err != nil || !ok {
			return Arrival{}, false, err
		}
		a.At -= s.from
		if a.At < 0 {
			continue
		}
		if s.duration > 0 && a.At >= s.duration {
			s.over = true
			break
		}
		return a, true, nil
	}
	return Arrival{}, false, nil
}

func (s *section) begins() time.Time {
	if d, ok := s.source.(datedSource); ok && !d.begins().IsZero() {
		return d.begins().Add(s.from)
	}
	return time.Time{}
}
