package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/core/queue"
)

// Upstream is a model server: a number of slots, and times made of tokens.
//
//	prefill = (First + PerInput·in)·noise
//	decode  = PerOutput·out·noise, slower by 1+Slowdown with every slot busy
//
// With Mean set, every call takes Mean on average whatever its tokens, and
// the first token comes after a fifth of it.
type Upstream struct {
	Slots     int           // calls that run at once; more wait inside, first come first served
	Queue     int           // calls that may wait inside; more are answered 429. 0 means no bound
	First     time.Duration // fixed part of the time to the first token
	PerInput  time.Duration // a token of input
	PerOutput time.Duration // a token of output
	Mean      time.Duration
	Noise     float64 // sigma of the log-normal factor of mean 1
	Slowdown  float64
	Limit     Limit
}

// Limit is a limit that the upstream enforces with 429 and the gateway has not
// been told. Zero means none.
type Limit struct {
	Requests   int           // in any span of Per
	Tokens     int64         // in any span of Per
	Per        time.Duration // default a minute
	RetryAfter bool          // its 429 says when to come back
}

// work is the true work of a call: seconds with a slot to itself.
type work struct{ first, total float64 }

// draw fixes the work of a request once, so that every policy meets the same.
func (u *Upstream) draw(rng *rand.Rand, a *Arrival) work {
	noise := math.Exp(u.Noise*rng.NormFloat64() - u.Noise*u.Noise/2)
	if u.Mean > 0 {
		t := u.Mean.Seconds() * noise
		return work{t / 5, t}
	}
	first := (u.First.Seconds() + u.PerInput.Seconds()*float64(a.Input)) * noise
	return work{first, first + u.PerOutput.Seconds()*float64(a.Output)*noise}
}

// mean is the expected work of a request, in seconds.
func (u *Upstream) mean(a *Arrival) float64 {
	if u.Mean > 0 {
		return u.Mean.Seconds()
	}
	return u.First.Seconds() + u.PerInput.Seconds()*float64(a.Input) + u.PerOutput.Seconds()*float64(a.Output)
}

// server is an Upstream that runs. All calls progress at the same speed, so
// it keeps one clock of work: a call is done when the clock passes its mark,
// and a change of speed moves no mark.
type server struct {
	Upstream
	slow    float64 // times slower now
	down    bool    // refuses connections
	failing float64 // share of calls that it fails at once, so that another attempt may help
	clock   float64 // seconds of work that a call which ran all the time would have done
	at      time.Time
	running int
	marks   *queue.Heap[*job]
	waiting []*job // FIFO
	limiter limiter
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
	s := &server{Upstream: u, slow: 1, at: epoch, limiter: newLimiter(u.Limit)}
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

// admit says whether a call may begin, and if not, what the core is told.
func (s *server) admit(now time.Time, tokens int64, rng *rand.Rand) (o admit.Outcome, ok bool) {
	switch {
	case s.failing > 0 && rng.Float64() < s.failing:
		return admit.Outcome{Status: 503, Retryable: true}, false
	case s.down:
		return admit.Outcome{Status: 0, Retryable: true}, false
	case s.full():
		return admit.Outcome{Status: 429}, false
	}
	if wait := s.limiter.take(now, tokens); wait > 0 {
		o = admit.Outcome{Status: 429}
		if s.Limit.RetryAfter {
			o.RetryAfter = wait
		}
		return o, false
	}
	return o, true
}
