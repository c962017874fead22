package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/core/queue"
)

// Caller is a stream of independent requests whose rate changes at given
// times: exponential gaps, so that nobody knows of anybody.
type Caller struct {
	Name     string
	Tenant   string // "" is Name
	Tenants  int    // spread evenly over Tenant1 … TenantN; 0 is one tenant of that name
	Model    string
	Class    admit.Class
	Rate     float64 // requests a second at the start
	Changes  []RateChange
	Deadline time.Duration
	// DeadlineTo makes deadlines uniform between Deadline and this.
	DeadlineTo time.Duration
	Stream     bool
	Manners    Manners
	Input      int64 // mean tokens in; lengths are log-normal with Spread
	Output     int64 // mean tokens out
	Spread     float64
	// May is what requests agree to, those of Agree; 0 is all of them.
	May   admit.Consent
	Agree float64
	Users int // end users that they are of; 0 is none
	// Sessions are callers who come in sessions, instead of at a rate: each asks
	// when its last request has ended. A session is Turns (0 is one), each of a
	// request and Tools more; between turns is a Pause, exponential with this
	// mean (default 10 s).
	Sessions, Turns, Tools int
	Pause                  time.Duration
	Until                  time.Duration // no more is asked from then on; 0 is never
}

// RateChange is a new rate from a time on.
type RateChange struct {
	At   time.Duration
	Rate float64
}

// Poisson gives the arrivals of callers until length. Each caller has a
// random source of its own, so that one more does not move the others.
func Poisson(callers []Caller, length time.Duration, seed uint64) Source {
	p := &poisson{length: length}
	p.heap = queue.NewHeap(func(a, b *talker) bool {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.index, b.index)) < 0
	}, func(t *talker) *int { return &t.place })
	for i := range callers {
		if callers[i].Sessions > 0 {
			for _, t := range talks(&callers[i], i, seed) {
				p.heap.Push(t)
			}
			continue
		}
		t := newTalker(&callers[i], i, rand.New(rand.NewPCG(seed, uint64(i)+1)))
		slices.SortStableFunc(t.caller.Changes, func(a, b RateChange) int { return cmp.Compare(a.At, b.At) })
		if t.advance(length) {
			p.heap.Push(t)
		}
	}
	return p
}

func newTalker(c *Caller, index int, rng *rand.Rand) *talker {
	t := &talker{caller: c, index: index, rng: rng}
	t.tenants = append(t.tenants, cmp.Or(c.Tenant, c.Name))
	for n := range c.Tenants {
		t.tenants = append(t.tenants, fmt.Sprintf("%s%d", t.tenants[0], n+1))
	}
	return t
}

type poisson struct {
	length time.Duration
	heap   *queue.Heap[*talker]
}

type talker struct {
	caller  *Caller
	index   int
	tenants []string // the name alone, then the numbered ones
	rng     *rand.Rand
	at      time.Duration // of its next arrival
	place   int

	talk   *talk // for one who comes in sessions
	tenant string
	user   string
	may    admit.Consent
}

func (p *poisson) Next() (Arrival, bool, error) {
	if p.heap.Len() == 0 {
		return Arrival{}, false, nil
	}
	t := p.heap.Min()
	a := t.arrival()
	if t.talk == nil && t.advance(p.length) {
		p.heap.Fix(t)
	} else {
		p.heap.Remove(t)
	}
	return a, true, nil
}

// advance draws the time of the next arrival: a unit of exponential patience
// is used up at the rate of each moment.
func (t *talker) advance(length time.Duration) bool {
	patience := t.rng.ExpFloat64()
	for t.at < length {
		rate, until := t.rate(length)
		if rate > 0 {
			if gap := time.Duration(patience / rate * float64(time.Second)); t.at+gap < until {
				t.at += gap
				return true
			}
			patience -= (until - t.at).Seconds() * rate
		}
		t.at = until
	}
	return false
}

// rate is the rate now, and until when it holds.
func (t *talker) rate(length time.Duration) (rate float64, until time.Duration) {
	rate = t.caller.Rate
	for _, c := range t.caller.Changes {
		if c.At > t.at {
			return rate, min(c.At, length)
		}
		rate = c.Rate
	}
	return rate, length
}

func (t *talker) arrival() Arrival {
	c := t.caller
	if t.talk == nil {
		t.draw()
	}
	a := Arrival{
		At: t.at, Tenant: t.tenant, User: t.user, May: t.may, Model: c.Model, Class: c.Class, Stream: c.Stream, Deadline: c.Deadline, Manners: &c.Manners, Group: c.Name,
		Input: t.tokens(cmp.Or(c.Input, 100)), Output: t.tokens(cmp.Or(c.Output, 200)),
	}
	if c.DeadlineTo > c.Deadline {
		a.Deadline += time.Duration(t.rng.Float64() * float64(c.DeadlineTo-c.Deadline))
	}
	if most := c.Manners.Cap; most > 0 {
		a.Output = min(a.Output, most)
	}
	if t.talk != nil {
		a.talk, a.Session, a.Turn = t.talk, t.talk.name(), t.talk.step == 0
	}
	return a
}

// draw says who the next request is of, or the next session.
func (t *talker) draw() {
	c := t.caller
	t.tenant, t.user, t.may = t.tenants[0], "", c.May
	if c.Tenants > 0 {
		t.tenant = t.tenants[1+t.rng.IntN(c.Tenants)]
	}
	if c.Users > 0 {
		t.user = fmt.Sprintf("%s-%d", c.Name, t.rng.IntN(c.Users)+1)
	}
	if c.May != 0 && c.Agree > 0 && t.rng.Float64() >= c.Agree {
		t.may = 0
	}
}

// tokens is log-normal with the mean, at least 1.
func (t *talker) tokens(mean int64) int64 {
	s := t.caller.Spread
	if s == 0 {
		return mean
	}
	return max(1, int64(float64(mean)*math.Exp(s*t.rng.NormFloat64()-s*s/2)))
}
