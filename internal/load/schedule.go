package load

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// arrival is one caller of the schedule.
type arrival struct {
	n             uint64        // counted from 0 in the order of arrival
	at            time.Duration // the intended start, from the start of the run
	tenant        int           // index into plan.tenants
	input, output int           // tokens; output 0 = no cap
	leave         time.Duration // leaves this long after the intended start; 0 = stays
}

// plan is the settings made complete: what Run carries out, and with the seed all that the schedule depends on.
type plan struct {
	Settings
	tenants []Tenant // with their defaults and rates
	rows    []row    // of the traces, in order of time
	// statsRequired: the URL was given and not guessed, so no accounts there is an error.
	statsRequired bool
}

func newPlan(s Settings) (plan, error) {
	if err := s.Validate(); err != nil {
		return plan{}, err
	}
	p := plan{Settings: s.filled(), statsRequired: s.Stats != "" && s.Stats != "none"}
	p.tenants = slices.Clone(p.Tenants)
	if len(p.Traces) > 0 {
		var err error
		if p.rows, err = readTraces(p.Traces); err != nil {
			return plan{}, err
		}
		if len(p.tenants) == 0 {
			p.tenants = clientsOf(p.rows)
		}
		if len(p.tenants) > maxTenants {
			return plan{}, fmt.Errorf("traces: %d clients are more than %d", len(p.tenants), maxTenants)
		}
		if p.Duration == 0 {
			p.Duration = p.scaled(p.rows[len(p.rows)-1].at) + time.Nanosecond // the last row counts too
		}
	}
	if len(p.tenants) == 0 {
		p.tenants = []Tenant{{Name: "default"}}
	}
	longest := p.Deadline
	for i, t := range p.tenants {
		p.tenants[i] = t.filled(p.Settings)
		longest = max(longest, t.Deadline)
	}
	divideRate(p.Rate, p.tenants)
	if p.Duration == 0 {
		p.Duration = 10 * time.Second
	}
	if p.Grace == 0 {
		p.Grace = longest + time.Minute
	}
	return p, nil
}

func (p plan) scaled(at time.Duration) time.Duration { return time.Duration(float64(at) / p.Speed) }

// arrivals returns a function that gives one arrival after another, in order of time, and false at the end. Equal
// plans give equal arrivals.
func (p plan) arrivals() func() (arrival, bool) {
	next := p.drawn()
	if len(p.rows) > 0 {
		next = p.recorded()
	}
	var n uint64
	return func() (arrival, bool) {
		a, ok := next()
		a.n = n
		n++
		return a, ok && a.at < p.Duration
	}
}

// drawn merges the tenants' arrivals. Each tenant has its own random numbers, so one more tenant does not move the
// others. Of equal times the tenant listed first comes first.
func (p plan) drawn() func() (arrival, bool) {
	parts := stretches(p.Bursts, p.Duration)
	flows := make([]*flow, len(p.tenants))
	for i, t := range p.tenants {
		flows[i] = &flow{rate: t.Rate, law: p.Arrivals, parts: parts, gaps: p.rng(i, 0), leaving: p.rng(i, 1)}
		flows[i].advance()
	}
	return func() (arrival, bool) {
		first := 0
		for i, f := range flows {
			if f.next < flows[first].next {
				first = i
			}
		}
		f, t := flows[first], p.tenants[first]
		if len(f.parts) == 0 {
			return arrival{}, false
		}
		a := arrival{at: time.Duration(f.next * float64(time.Second)), tenant: first, input: t.Input, output: t.Output, leave: p.Patience.draw(f.leaving)}
		f.advance()
		return a, true
	}
}

func (p plan) rng(stream, use int) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, uint64(stream)<<8|uint64(use)))
}

// recorded plays the rows of the traces. A row goes to the tenant named like its client, else to one drawn by rate.
func (p plan) recorded() func() (arrival, bool) {
	byName := map[string]int{}
	var total float64
	for i, t := range p.tenants {
		byName[t.Name] = i
		total += t.Rate
	}
	choose, leaving := p.rng(0, 2), p.rng(0, 1)
	i := 0
	return func() (arrival, bool) {
		if i == len(p.rows) {
			return arrival{}, false
		}
		r := p.rows[i]
		i++
		tenant, ok := byName[r.client]
		if !ok {
			x := choose.Float64() * total
			for tenant < len(p.tenants)-1 && x >= p.tenants[tenant].Rate {
				x -= p.tenants[tenant].Rate
				tenant++
			}
		}
		return arrival{at: p.scaled(r.at), tenant: tenant, input: r.input, output: r.output, leave: p.Patience.draw(leaving)}, true
	}
}

// draw returns when a caller leaves, or 0 if it stays.
func (p Patience) draw(rng *rand.Rand) time.Duration {
	if p.Fraction == 0 || rng.Float64() >= p.Fraction {
		return 0
	}
	return max(1, time.Duration(rng.ExpFloat64()*float64(p.Mean)))
}

// flow is the arrivals of one tenant. The gaps are drawn for a rate of one and then laid along the integral of the
// real rate, which is exact for a rate that changes in steps.
type flow struct {
	next          float64 // seconds from the start of the run
	rate          float64
	law           Arrivals
	parts         []stretch // what is left of the run; empty: the flow has ended
	gaps, leaving *rand.Rand
}

func (f *flow) advance() {
	need := 1.0
	if f.law == Poisson {
		need = f.gaps.ExpFloat64()
	}
	for len(f.parts) > 0 {
		rate := f.rate * f.parts[0].factor
		room := (f.parts[0].until - f.next) * rate
		if need < room {
			f.next += need / rate
			return
		}
		need -= room
		f.next, f.parts = f.parts[0].until, f.parts[1:]
	}
	f.next = 1e18 // after everything
}
