package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// room is one pool in a run: the servers behind it and who waits for it.
type room struct {
	name    string
	servers []*server // each once, in the order of the deployments; at least one
	common  *server   // of deployments without one of their own; nil if there are none
	sites   []*site
	waiting [admit.NumClasses]int
	lanes   map[laneKey]*lane
	front   []ghost // whose lane is empty
	bill    *bill   // nil without prices
}

// site is one deployment in a run: the server that its calls go to, and the
// book of them.
type site struct {
	name   string
	room   *room
	server *server
	keys   int
	price  admit.Price
	siteBook
}

// rooms makes the pools of the policy. A deployment has a server of its own if
// the world knows its name; else the pool's deployments share one.
func (r *Run) rooms() {
	w := &r.world
	pools := map[string]bool{}
	for i := range w.Policy.Models {
		pools[w.Policy.Models[i].Name] = true
	}
	for i := range w.Policy.Models {
		m := &w.Policy.Models[i]
		p := &room{name: m.Name, lanes: map[laneKey]*lane{}}
		shared, given := w.Upstreams[m.Name]
		some := false // deployments have servers of their own
		for _, d := range m.Deployments {
			_, ok := w.Upstreams[d.Name]
			some = some || ok && !pools[d.Name]
		}
		if !given {
			shared = believed(m, slotsOf(m))
		}
		if given || !some {
			p.common = newServer(shared)
		}
		for j := range m.Deployments {
			d := &m.Deployments[j]
			s := p.common
			if u, ok := w.Upstreams[d.Name]; ok && !pools[d.Name] {
				s = newServer(u)
			} else if s == nil {
				s = newServer(believed(m, d.Concurrency))
			}
			s.own = s != p.common
			r.open(p, d, s)
		}
		if len(p.servers) == 0 {
			r.serve(p, p.common)
		}
		p.bill = newBill(p)
		r.named = r.named || some
		r.pools[m.Name] = p
		r.order = append(r.order, p)
	}
}

// believed is an upstream of which only the policy is known.
func believed(m *admit.Model, slots int) Upstream {
	return Upstream{Slots: slots, First: m.Prior.First, PerInput: m.Prior.PerInput, PerOutput: m.Prior.PerOutput, Noise: 0.25}
}

func (r *Run) open(p *room, d *admit.Deployment, s *server) *site {
	x := &site{name: d.Name, room: p, server: s, keys: max(len(d.Keys), 1), price: d.Price}
	p.sites = append(p.sites, x)
	r.sites[d.Name] = x
	r.serve(p, s)
	return x
}

func (r *Run) serve(p *room, s *server) {
	for _, known := range p.servers {
		if known == s {
			return
		}
	}
	p.servers = append(p.servers, s)
	r.servers = append(r.servers, s)
}

// site is where a decision sends a visit. A deployment that came with a change
// of the policy has the pool's common server, or one as it is told.
func (r *Run) site(v *visit, d *admit.Decision) *site {
	p := v.room
	if len(p.sites) > 0 && p.sites[0].name == d.Deployment {
		return p.sites[0]
	}
	if x := r.sites[d.Deployment]; x != nil {
		return x
	}
	if d.Model != "" {
		p = r.room(d.Model)
	}
	known := &admit.Deployment{Name: d.Deployment, Concurrency: 1}
	s := p.common
	for i := range r.world.Policy.Models {
		m := &r.world.Policy.Models[i]
		for j := range m.Deployments {
			if m.Deployments[j].Name != d.Deployment {
				continue
			}
			if known = &m.Deployments[j]; s == nil {
				s = newServer(believed(m, known.Concurrency))
				s.own = true
			}
		}
	}
	if s == nil {
		s = p.servers[0]
	}
	return r.open(p, known, s)
}

// first is the server by which the pool is judged where it is not known which
// one will serve.
func (p *room) first() *server { return p.servers[0] }

// slots are those of all servers.
func (p *room) slots() (n int) {
	for _, s := range p.servers {
		n += s.Slots
	}
	return n
}

// running are the calls with a slot.
func (p *room) running() (n int) {
	for _, s := range p.servers {
		n += s.running
	}
	return n
}

// usable is the slots that the policy can use now.
func (p *room) usable(policy *admit.Policy) (n int) {
	if p.common != nil && len(p.servers) == 1 {
		return min(slotsNow(policy, p.name), p.common.Slots)
	}
	for _, x := range p.sites {
		for i := range policy.Models {
			for _, d := range policy.Models[i].Deployments {
				switch {
				case d.Name != x.name:
				case d.Auto:
					n += x.server.Slots
				default:
					n += min(d.Concurrency, x.server.Slots)
				}
			}
		}
	}
	return n
}

// asked is the slot time that a request stands for: on the one server, or with
// every slot of several busy.
func (p *room) asked(v *visit) float64 {
	if len(p.servers) == 1 {
		return v.work.total * p.first().slow
	}
	slots, rate := 0.0, 0.0
	for _, s := range p.servers {
		slots += float64(s.Slots)
		rate += float64(s.Slots) / (s.work(v.normal, &v.arrival).total * s.slow)
	}
	return slots / rate
}

// mean is the expected slot time of a request, in the same sense, in seconds.
func (p *room) mean(a *Arrival) float64 {
	if len(p.servers) == 1 {
		return p.first().mean(a)
	}
	slots, rate := 0.0, 0.0
	for _, s := range p.servers {
		slots += float64(s.Slots)
		rate += float64(s.Slots) / s.mean(a)
	}
	return slots / rate
}

// refusedBy counts a call that the server did not take.
func (x *site) refusedBy(now time.Time, o *admit.Outcome) {
	switch o.Fault {
	case admit.Throttled:
		x.limited++
		x.second(now).limited++
	case admit.Saturated:
		x.full++
	default:
		x.broken++
	}
}

// left is what a call has cost whose caller hangs up, in micro-dollars: its
// input, and the part of its answer that was made.
func (x *site) left(now time.Time, v *visit) int64 {
	if !x.price.Known || !v.job.on {
		return 0
	}
	x.server.advance(now)
	j := &v.job
	done := j.work.total - (j.mark - x.server.clock)
	if j.first {
		done = j.work.first - (j.mark - x.server.clock)
	}
	share := (done - j.work.first) / max(j.work.total-j.work.first, 1e-9)
	cost := x.price.Of(v.form.input, int64(min(max(share, 0), 1)*float64(v.form.output)))
	x.cost += cost
	return cost
}
