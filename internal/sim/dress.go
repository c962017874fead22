package sim

import (
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

// Kind is one kind of callers behind the requests of a trace, which says
// nothing of deadlines and streams.
type Kind struct {
	Share      float64 // of the requests; all shares together are 1
	Class      admit.Class
	Stream     bool
	Deadline   time.Duration
	DeadlineTo time.Duration // above Deadline: uniform between the two
	Manners    Manners
}

// Dress gives each arrival that names no deadline a kind of caller, drawn by
// share. Classes and streams that the trace names stay.
func Dress(s Source, kinds []Kind, seed uint64) Source {
	if len(kinds) == 0 {
		return s
	}
	return &dressed{source: s, kinds: kinds, rng: rand.New(rand.NewPCG(seed, 0xd3e55))}
}

type dressed struct {
	source Source
	kinds  []Kind
	rng    *rand.Rand
}

func (d *dressed) Next() (Arrival, bool, error) {
	a, ok, err := d.source.Next()
	if !ok || err != nil {
		return a, ok, err
	}
	x := d.rng.Float64()
	k := &d.kinds[len(d.kinds)-1]
	for i := range d.kinds {
		if x -= d.kinds[i].Share; x < 0 {
			k = &d.kinds[i]
			break
		}
	}
	y := d.rng.Float64() // drawn for every arrival, so that one choice does not move the next
	if a.Manners == nil {
		a.Manners = &k.Manners
	}
	if a.Deadline > 0 {
		return a, true, nil
	}
	a.Deadline, a.Stream = k.Deadline, a.Stream || k.Stream
	if a.Class == admit.Interactive {
		a.Class = k.Class
	}
	if k.DeadlineTo > k.Deadline {
		a.Deadline += time.Duration(y * float64(k.DeadlineTo-k.Deadline))
	}
	return a, true, nil
}

// FromConfig is what a configuration file says of a simulated run.
func FromConfig(c *config.Config) (ups map[string]Upstream, kinds []Kind) {
	ups = map[string]Upstream{}
	for name, u := range c.Simulation.Upstreams {
		ups[name] = Upstream{
			Slots: u.Slots, Mean: u.Mean, First: u.FirstToken, PerInput: u.PerInputToken, PerOutput: u.PerOutputToken,
			Noise: float64(u.Noise) / 100, Slowdown: float64(u.Slowdown) / 100,
			Limit: Limit{Requests: int(u.Requests), Tokens: u.Tokens, Per: u.Per, RetryAfter: u.RetryAfter},
		}
	}
	for _, k := range c.Simulation.Callers {
		kinds = append(kinds, Kind{
			Share: float64(k.Share) / 100, Class: k.Class, Stream: k.Stream, Deadline: k.Deadline, DeadlineTo: k.DeadlineTo,
			Manners: Manners{Retries: k.Retries, Patient: k.Patient, Leave: float64(k.Leave) / 100},
		})
	}
	return ups, kinds
}

// Offered is the work of a workload.
type Offered struct {
	Requests int64
	Work     float64       // expected slot-seconds
	Span     time.Duration // from zero to the last arrival
	Slots    float64       // of the pools that it uses
	Tenants  []string      // in order of first appearance
	Models   []string
}

// Load is offered work over capacity.
func (o *Offered) Load() float64 {
	if o.Span <= 0 || o.Slots == 0 {
		return 0
	}
	return o.Work / (o.Slots * o.Span.Seconds())
}

// Survey reads a source to its end and says what it offers to a world.
func Survey(w World, s Source) (*Offered, error) {
	r, err := newRun(w, s)
	if err != nil {
		return nil, err
	}
	o := &Offered{}
	tenants, rooms, models := map[string]bool{}, map[*room]bool{}, map[string]bool{}
	for {
		a, ok, err := s.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if w.Length > 0 && a.At >= w.Length {
			break
		}
		o.Requests++
		o.Span = a.At
		if !tenants[a.Tenant] {
			tenants[a.Tenant] = true
			o.Tenants = append(o.Tenants, a.Tenant)
		}
		if !models[a.Model] {
			models[a.Model] = true
			o.Models = append(o.Models, a.Model)
		}
		p := r.room(a.Model)
		if p == nil {
			continue
		}
		if !rooms[p] {
			rooms[p] = true
			o.Slots += float64(p.slots())
		}
		o.Work += p.mean(&a)
	}
	return o, nil
}
