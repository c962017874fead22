package gateway

import (
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/core/meter"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// keptSeconds can be asked for: the last quarter of an hour.
const keptSeconds = 900

// history counts what is decided and what ends, second by second, and by tenant
// over the last ten. What it takes of memory is fixed by the configuration. A
// request costs it three short locks at most. It is safe for concurrent use.
type history struct {
	began time.Time // with the monotonic clock

	mu      sync.Mutex
	ring    [keptSeconds + 1]tally // by number; the running one included
	now     int64                  // number of the running second, from began on
	tenants map[string]*turnout    // those that are configured
}

// tally is one second.
type tally struct {
	offered, ran, queued, degraded int64
	refused                        [admit.NumStages]int64
	good, late, failed, left       int64
	started                        int64
	waited, foretold, worst        time.Duration // sums, and the most
	streams                        int64
	first                          time.Duration // sum
}

// turnout is one tenant of late.
type turnout struct{ offered, refused, degraded meter.Recent }

func newHistory(now time.Time) *history { return &history{began: now} }

// configure says which tenants are counted apart; their counts stay.
func (s *history) configure(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.tenants
	s.tenants = make(map[string]*turnout, len(names))
	for _, name := range names {
		if s.tenants[name] = old[name]; s.tenants[name] == nil {
			s.tenants[name] = &turnout{}
		}
	}
}

// at is the running second, with the lock held. Those that passed without any
// event are empty.
func (s *history) at(now time.Time) *tally {
	number := max(int64(now.Sub(s.began)/time.Second), s.now) // who waited for the lock is late
	for n := max(s.now+1, number-keptSeconds); n <= number; n++ {
		s.ring[n%int64(len(s.ring))] = tally{}
	}
	s.now = number
	return &s.ring[number%int64(len(s.ring))]
}

// decided counts a decision on a request, after telemetry knows of it. first
// says that it is the first one.
func (s *history) decided(now time.Time, r *telemetry.Record, d *admit.Decision, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, who := s.at(now), s.tenants[r.Tenant]
	if first {
		t.offered++
		if who != nil {
			who.offered.Add(now, 1)
		}
	}
	switch d.Verdict {
	case admit.Queue:
		if first {
			t.queued++
		}
	case admit.Run:
		if d.Stage == admit.StageAgain {
			return
		}
		if first {
			t.ran++
		} else {
			t.started++
			t.waited += d.Wait
			t.foretold += r.PredictedWait
			t.worst = max(t.worst, d.Wait)
		}
		if d.Rungs != 0 || d.Model != "" {
			s.cheaper(now, t, who)
		}
	case admit.Recall:
		s.cheaper(now, t, who)
	case admit.Reject:
		t.refused[d.Stage]++
		if who != nil {
			who.refused.Add(now, 1)
		}
	}
}

func (s *history) cheaper(now time.Time, t *tally, who *turnout) {
	t.degraded++
	if who != nil {
		who.degraded.Add(now, 1)
	}
}

// streamed counts the first token of a stream.
func (s *history) streamed(now time.Time, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.at(now)
	t.streams++
	t.first += took
}

// ended counts the end of a request. One that was answered from the cache before
// anything was decided on it was offered and served all the same.
func (s *history) ended(now time.Time, r *telemetry.Record, offered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.at(now)
	if r.Recalled && !offered {
		who := s.tenants[r.Tenant]
		t.offered++
		if who != nil {
			who.offered.Add(now, 1)
		}
		s.cheaper(now, t, who)
	}
	switch r.Outcome {
	case telemetry.Answered:
		if r.Late() {
			t.late++
		} else {
			t.good++
		}
	case telemetry.Failed, telemetry.Cut, telemetry.TimedOut:
		t.failed++
	case telemetry.Left:
		t.left++
	}
}

// last are the last n seconds that are over, oldest first: those before the
// gateway began are not told. Their times are by the clock as it stood then.
func (s *history) last(now time.Time, n int) []Second {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(now)
	n = int(min(int64(n), keptSeconds, s.now))
	list := make([]Second, 0, n)
	for number := s.now - int64(n); number < s.now; number++ {
		list = append(list, s.ring[number%int64(len(s.ring))].second(s.began.Unix()+number))
	}
	return list
}

// rates are what a tenant did a second, over the last ten.
func (s *history) rates(now time.Time, tenant string) (offered, refused, degraded float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := s.tenants[tenant]
	if who == nil {
		return 0, 0, 0
	}
	perSecond := func(r *meter.Recent) float64 { return float64(r.Sum(now)) / 10 }
	return perSecond(&who.offered), perSecond(&who.refused), perSecond(&who.degraded)
}

// second is a tally in words.
func (t *tally) second(at int64) Second {
	s := Second{
		At: at, Offered: t.offered, Ran: t.ran, Queued: t.queued, Degraded: t.degraded,
		Good: t.good, Late: t.late, Failed: t.failed, Left: t.left, Started: t.started, Worst: seconds3(t.worst),
	}
	for stage, n := range t.refused {
		if n > 0 {
			if s.Refused == nil {
				s.Refused = map[string]int64{}
			}
			s.Refused[admit.Stage(stage).String()] = n
		}
	}
	if t.started > 0 {
		s.Wait, s.Foretold = seconds3(t.waited/time.Duration(t.started)), seconds3(t.foretold/time.Duration(t.started))
	}
	if t.streams > 0 {
		s.First = seconds3(t.first / time.Duration(t.streams))
	}
	return s
}
