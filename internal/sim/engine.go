package sim

import (
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// World is what a run is made of besides its arrivals.
type World struct {
	Policy *admit.Policy // with its defaults filled
	// Upstreams by name of a deployment, or of a pool for all its other
	// deployments together. What is missing has the slots of the policy and the
	// model's prior times.
	Upstreams map[string]Upstream
	// Ladders are what the rungs of a model's ladder really do, in its order.
	Ladders map[string][]Rung
	Decider string // see Deciders; "" is ours
	Seed    uint64
	Length  time.Duration // arrivals after it are not made; 0 means all of them
	Script  []Happening   // what happens to the world, in order of time
	// Progress is called now and then with the virtual time that has passed.
	Progress func(done time.Duration)
	// Interrupt is called now and then while it runs; an error ends the run
	// with it. It may take its time.
	Interrupt func() error
	// Check is called after every event of the decider.
	Check func(d Decider, now time.Time)
}

// Happening changes the world while it runs.
type Happening struct {
	At   time.Duration
	Do   func(*Run)
	Ends bool // a disturbance ends here: recovery is measured from the last of these
}

// Run is a world that runs. Happenings change it.
type Run struct {
	world    World
	decider  Decider
	source   Source
	now      time.Time
	end      time.Time
	seq      uint64
	lastID   admit.ID
	lastJob  uint64
	timeline timeline
	visits   map[admit.ID]*visit
	pools    map[string]*room
	order    []*room // as in the policy
	sites    map[string]*site
	servers  []*server
	named    bool // deployments have servers of their own
	drawing  *rand.Rand
	manners  *rand.Rand
	luck     *rand.Rand // of rungs
	spare    []*visit
	next     Arrival // the source's next, if more
	more     bool
	tally    *tally
}

// Simulate runs the world until its arrivals and what follows from them have ended.
func Simulate(w World, s Source) (*Result, error) {
	r, err := newRun(w, s)
	if err != nil {
		return nil, err
	}
	return r.run()
}

func newRun(w World, s Source) (*Run, error) {
	r := &Run{
		world: w, source: s, now: epoch, visits: map[admit.ID]*visit{}, pools: map[string]*room{}, sites: map[string]*site{},
		drawing: rand.New(rand.NewPCG(w.Seed, 0x5e1)), manners: rand.New(rand.NewPCG(w.Seed, 0xca11e5)),
		luck: rand.New(rand.NewPCG(w.Seed, 0x1add)),
	}
	r.rooms()
	name := w.Decider
	if name == "" {
		name = "ours"
	}
	d, err := NewDecider(name, w.Policy, r, w.Seed)
	if err != nil {
		return nil, err
	}
	r.decider = d
	r.tally = newTally(r)
	for _, h := range w.Script {
		r.at(epoch.Add(h.At), event{kind: kindDo, do: func() { h.Do(r) }})
		if h.Ends {
			r.tally.disturbed = max(r.tally.disturbed, h.At)
		}
	}
	return r, nil
}

const interruptEvery = 128 // events: a tenth of a millisecond or so

func slotsOf(m *admit.Model) (n int) {
	for _, d := range m.Deployments {
		n += d.Concurrency
	}
	return n
}

func (r *Run) room(model string) *room {
	if p := r.pools[model]; p != nil {
		return p
	}
	return r.pools[admit.AnyModel]
}

func (r *Run) run() (*Result, error) {
	if err := r.pull(); err != nil {
		return nil, err
	}
	tick := 0
	for {
		at, what := r.soonest()
		if what == nothing {
			break
		}
		if r.now = at; r.now.Before(epoch) {
			r.now = epoch
		}
		r.tally.until(r)
		switch what {
		case arrival:
			a := r.next
			if err := r.pull(); err != nil {
				return nil, err
			}
			r.arrive(a)
		case ticking:
			r.take(r.decider.Tick(r.now))
		case upstream:
			r.progress()
		case planned:
			r.happen(r.timeline.pop())
		}
		if r.world.Interrupt != nil && tick%interruptEvery == 0 {
			if err := r.world.Interrupt(); err != nil {
				return nil, err
			}
		}
		if tick++; r.world.Progress != nil && tick%65536 == 0 {
			r.world.Progress(r.now.Sub(epoch))
		}
	}
	return r.tally.result(r), nil
}

type source uint8

const (
	nothing source = iota
	upstream
	ticking
	planned
	arrival
)

// soonest is what happens next. At the same instant completions come before
// what was planned, that before ticks, and arrivals last.
func (r *Run) soonest() (at time.Time, what source) {
	earlier := func(t time.Time, w source) {
		if !t.IsZero() && (what == nothing || t.Before(at)) {
			at, what = t, w
		}
	}
	for _, s := range r.servers {
		earlier(s.next(), upstream)
	}
	if len(r.timeline.list) > 0 {
		earlier(r.timeline.list[0].at, planned)
	}
	earlier(r.decider.Next(), ticking)
	if r.more {
		earlier(epoch.Add(r.next.At), arrival)
	}
	return at, what
}

// pull gets the source's next arrival.
func (r *Run) pull() (err error) {
	r.next, r.more, err = r.source.Next()
	if r.more && r.world.Length > 0 && r.next.At >= r.world.Length {
		r.more = false
	}
	if r.more {
		r.end = epoch.Add(r.next.At)
	} else if r.world.Length > 0 {
		r.end = epoch.Add(r.world.Length)
	}
	return err
}

func (r *Run) at(t time.Time, e event) {
	r.seq++
	e.at, e.seq = t, r.seq
	r.timeline.push(e)
}

func (r *Run) happen(e event) {
	v := e.visit
	if v != nil && v.gen != e.gen {
		return
	}
	switch e.kind {
	case kindDo:
		e.do()
	case kindGiveUp:
		if !v.firstAt.IsZero() && v.arrival.Stream { // the first token came in time
			return
		}
		r.leave(v, endLate)
	case kindLeave:
		r.leave(v, endLeft)
	case kindAgain:
		r.offer(v)
	case kindSpeak:
		r.speak(e.talk)
	case kindFailure:
		r.failed(v)
	}
}

// progress lets the upstream whose mark is passed first go on.
func (r *Run) progress() {
	for _, s := range r.servers {
		if t := s.next(); t.IsZero() || t.After(r.now) {
			continue
		}
		j, done := s.pass(r.now)
		v := j.visit
		if !done {
			v.firstAt = r.now
			r.observe(v)
			r.decider.FirstByte(r.now, v.id)
			return
		}
		r.answered(v)
		return
	}
}

// observe tells the policy what the headers of an answer say.
func (r *Run) observe(v *visit) {
	if s := v.site.server; s.Limit.Headers {
		r.take(r.decider.Observe(r.now, v.site.name, v.key, s.told(r.now, v.key)))
	}
}

// take carries out decisions. None of it calls the decider again, so they
// stay valid.
func (r *Run) take(ds []admit.Decision) {
	for i := range ds {
		d := &ds[i]
		v := r.visits[d.ID]
		switch d.Verdict {
		case admit.Queue:
			r.queued(v, d)
		case admit.Run:
			r.begin(v, d)
		case admit.Reject:
			r.refused(v, d)
		case admit.Recall:
			r.recalled(v, d)
		}
	}
	r.tally.heard(r)
	if r.world.Check != nil {
		r.world.Check(r.decider, r.now)
	}
}

// Service makes a Run the Truth.
func (r *Run) Service(id admit.ID) (first, total time.Duration) {
	v := r.visits[id]
	if v == nil {
		return 0, 0
	}
	speed := v.room.first().speed()
	return durationOf(v.work.first / speed), durationOf(v.work.total / speed)
}

func durationOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
