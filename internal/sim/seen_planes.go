package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/core/predict"
)

// plane is what the calls of a deployment, or of a pool, take on average, as
// the gateway's own predictor learns it.
type plane struct {
	service *predict.Service
	tenant  predict.Tenant
	calls   int
	input   float64 // sums
	output  float64

	crowd  crowd   // of a deployment
	spread float64 // how much its calls at once varied, as a standard deviation
	most   int     // the most at once
}

// enoughCalls is how many make a plane of its own.
const enoughCalls = 20

func newPlane(p admit.Prior) *plane {
	return &plane{service: predict.NewService(predict.Prior(p)), crowd: unhurried}
}

func (p *plane) learn(s *Seen) {
	e := p.service.Estimate(&p.tenant, s.Input, s.MaxOutput)
	p.service.Total(&p.tenant, e, s.Input, s.Output, s.service())
	p.calls++
	p.input += float64(s.Input)
	p.output += float64(max(s.Output, 1))
}

// prior is the plane in three figures, and the mean length of answers.
func (p *plane) prior() admit.Prior {
	n := float64(max(p.calls, 1))
	in, out := int64(p.input/n), max(int64(p.output/n), 1)
	const step = 1000
	at := func(in, out int64) float64 {
		_, total := p.service.Expected(predict.Estimate{}, in, out)
		return total.Seconds()
	}
	y := at(in, out)
	b, d := max(at(in+step, out)-y, 0)/step, max(at(in, out+step)-y, 0)/step
	sloped := b*float64(in) + d*float64(out)
	a := y - sloped
	if least := y / 20; a < least && sloped > 0 { // as the predictor never says less
		a = least
		b, d = b*(y-a)/sloped, d*(y-a)/sloped
	}
	return admit.Prior{First: durationOf(a), PerInput: durationOf(b), PerOutput: durationOf(d), Output: out}
}

// planes are those of the deployments and of the pools that use them.
type planes struct {
	sites  map[string]*plane // by deployment
	pools  map[string]*plane // by model
	others []float64         // of each request the calls beside its own, on average
}

// measure learns the planes of a recording.
func measure(p *admit.Policy, seen []Seen, rest func(step int) error) (*planes, error) {
	x := &planes{sites: map[string]*plane{}, pools: map[string]*plane{}, others: make([]float64, len(seen))}
	of := map[string]*admit.Model{}
	for i := range p.Models {
		m := &p.Models[i]
		x.pools[m.Name] = newPlane(m.Prior)
		for _, d := range m.Deployments {
			x.sites[d.Name], of[d.Name] = newPlane(m.Prior), m
		}
	}
	for i := range seen {
		if err := rest(i); err != nil {
			return nil, err
		}
		s := &seen[i]
		if m := of[s.Deployment]; m != nil && s.telling() {
			x.sites[s.Deployment].learn(s)
			x.pools[m.Name].learn(s)
		}
	}
	return x, x.crowds(p, seen, rest)
}

// crowds finds how the times of each deployment change with its calls at once.
func (x *planes) crowds(p *admit.Policy, seen []Seen, rest func(step int) error) error {
	ups := x.upstreams(p)
	for name, site := range x.sites {
		b := newBeside(seen, name)
		site.most = b.most()
		if site.calls < enoughCalls {
			continue
		}
		u := ups[name]
		var others, times []float64
		for i := range seen {
			s := &seen[i]
			if s.Deployment != name || !s.telling() {
				continue
			}
			if err := rest(len(times)); err != nil {
				return err
			}
			x.others[i] = b.of(s)
			others, times = append(others, x.others[i]), append(times, luckOf(&u, s, 0).Total)
		}
		site.crowd, site.spread = fitCrowd(others, times)
	}
	return nil
}

// of is the mean times at a deployment of a model: its own, or if it served
// hardly anything those of the pool, or what the configuration believes.
func (x *planes) of(m *admit.Model, deployment string) (prior admit.Prior, measured bool) {
	if p := x.sites[deployment]; p != nil && p.calls >= enoughCalls {
		return p.prior(), true
	}
	if p := x.pools[m.Name]; p != nil && p.calls >= enoughCalls {
		return p.prior(), false
	}
	return m.Prior, false
}

// upstreams are the servers behind the deployments of a policy. They are as
// fast as those that were measured however many calls they have: that is in
// the times already, as far as it was met.
func (x *planes) upstreams(p *admit.Policy) map[string]Upstream {
	ups := map[string]Upstream{}
	for i := range p.Models {
		m := &p.Models[i]
		for j := range m.Deployments {
			d := &m.Deployments[j]
			t, measured := x.of(m, d.Name)
			slots := d.Concurrency
			if d.Auto {
				slots = d.Most
			}
			u := Upstream{Slots: slots, First: t.First, PerInput: t.PerInput, PerOutput: t.PerOutput, Noise: unknownNoise}
			if site := x.sites[d.Name]; measured {
				u.slower(site.crowd)
			}
			ups[d.Name] = u
		}
	}
	return ups
}

// slower makes an upstream with the times of a plane depend on its calls at once.
func (u *Upstream) slower(c crowd) {
	u.First, u.PerInput, u.PerOutput = stretched(u.First, c.alone), stretched(u.PerInput, c.alone), stretched(u.PerOutput, c.alone)
	u.Slowdown = c.each / c.alone * float64(u.Slots-1)
}

func stretched(d time.Duration, x float64) time.Duration { return time.Duration(float64(d) * x) }

// unknownNoise is the sigma of calls of which nothing like them was seen.
const unknownNoise = 0.25

// learnt gives the policy the measured times as its prior, so that a run
// begins with predictions as good as the gateway's are.
func (x *planes) learnt(p *admit.Policy) {
	for i := range p.Models {
		if t := x.pools[p.Models[i].Name]; t != nil && t.calls >= enoughCalls {
			p.Models[i].Prior = t.prior()
		}
	}
}

// luckOf is how many times the mean a telling call took, if it had so many others
// beside it.
func luckOf(u *Upstream, s *Seen, others float64) Luck {
	a := Arrival{Input: s.Input, Output: s.Output}
	hurry := 1 + u.Slowdown*others/float64(max(u.Slots-1, 1))
	l := Luck{Total: s.service().Seconds() / max(u.mean(&a)*hurry, 1e-6)}
	if s.Stream && s.First > s.Waited {
		l.First = min((s.First-s.Waited).Seconds()/s.service().Seconds(), 1)
	}
	return l
}
