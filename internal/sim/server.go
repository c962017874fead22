package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/core/queue"
)

// server is an Upstream that runs. All calls progress at the same speed, so
// it keeps one clock of work: a call is done when the clock passes its mark,
// and a change of speed moves no mark.
type server struct {
	Upstream
	own     bool     // of one deployment alone: when it is full, another may not be
	slow    float64  // times slower now
	outage  *failure // every call ends so; nil while it is up
	failing failure  // a share of the calls ends so
	outages []outage // past and present
	clock   float64  // seconds of work that a call which ran all the time would have done
	at      time.Time
	running int
	marks   *queue.Heap[*job]
	waiting []*job    // FIFO
	base    Limit     // before anything happened to it
	limits  []limiter // by key
	allowed []allowance
}

// job is one call at the server.
type job struct {
	visit *visit
	work  work
	mark  float64 // on the server's clock
	seq   uint64
	first bool // the next mark is the first token
	on    bool // has a slot
	place int
}

func newServer(u Upstream) *server {
	s := &server{Upstream: u, slow: 1, at: epoch, base: u.Limit, allowed: []allowance{{epoch, u.Limit}}}
	s.marks = queue.NewHeap(func(a, b *job) bool {
		if a.mark != b.mark {
			return a.mark < b.mark
		}
		return a.seq < b.seq
	}, func(j *job) *int { return &j.place })
	return s
}

// speed is the work a second that each call does now.
func (s *server) speed() float64 {
	share := 0.0
	if s.Slots > 1 {
		share = float64(s.running-1) / float64(s.Slots-1)
	}
	return 1 / (s.slow * (1 + s.Slowdown*max(share, 0)))
}

// advance brings the clock to now; called before anything changes.
func (s *server) advance(now time.Time) {
	if d := now.Sub(s.at); d > 0 {
		s.clock += d.Seconds() * s.speed()
		s.at = now
	}
}

// begin takes a call in.
func (s *server) begin(now time.Time, j *job) {
	s.advance(now)
	if s.running < s.Slots {
		s.start(j)
		return
	}
	s.waiting = append(s.waiting, j)
}

func (s *server) full() bool { return s.Queue > 0 && s.running >= s.Slots && len(s.waiting) >= s.Queue }

func (s *server) start(j *job) {
	s.running++
	j.on = true
	j.first = j.visit.arrival.Stream
	j.mark = s.clock + j.work.total
	if j.first {
		j.mark = s.clock + j.work.first
	}
	s.marks.Push(j)
}

// next is when the next mark is passed at the present speed; zero if nothing runs.
func (s *server) next() time.Time {
	if s.marks.Len() == 0 {
		return time.Time{}
	}
	left := max(s.marks.Min().mark-s.clock, 0) / s.speed()
	return s.at.Add(time.Duration(math.Ceil(left * 1e9)))
}

// pass takes the job whose mark is passed. done is false when it was its first token.
func (s *server) pass(now time.Time) (j *job, done bool) {
	s.advance(now)
	j = s.marks.Min()
	if j.first {
		j.first = false
		j.mark += j.work.total - j.work.first
		s.marks.Fix(j)
		return j, false
	}
	s.end(j)
	return j, true
}

// drop ends a call whose caller has gone.
func (s *server) drop(now time.Time, j *job) {
	s.advance(now)
	if j.on {
		s.end(j)
		return
	}
	for i, w := range s.waiting {
		if w == j {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			return
		}
	}
}

func (s *server) end(j *job) {
	s.marks.Remove(j)
	j.on = false
	s.running--
	if len(s.waiting) > 0 && s.running < s.Slots {
		first := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.start(first)
	}
}

// admit says whether a call may begin, and if not, what the core is told and
// after how long.
func (s *server) admit(now time.Time, key int, tokens int64, rng *rand.Rand) (o admit.Outcome, after time.Duration, ok bool) {
	switch {
	case s.failing.share > 0 && rng.Float64() < s.failing.share:
		return s.failing.outcome(), s.failing.after, false
	case s.outage != nil:
		return s.outage.outcome(), s.outage.after, false
	case s.full():
		return admit.Outcome{Status: 429, Fault: admit.Saturated, Retryable: s.own}, instant, false
	case s.Limit.none():
		return o, 0, true
	}
	wait, scarce := s.key(key).take(now, tokens)
	if wait == 0 {
		return o, 0, true
	}
	if s.Limit.Refused {
		s.key(key).refused(now)
	}
	o = admit.Outcome{Status: 429, Fault: admit.Throttled, Scarce: scarce, Retryable: s.own}
	if s.Limit.RetryAfter {
		o.RetryAfter = wait
	}
	return o, instant, false
}
