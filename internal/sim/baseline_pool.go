package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// slotPool is one model of a baseline: its slots and who waits for them.
type slotPool struct {
	rules
	model       *admit.Model
	deployments []slots
	turn        int // deployment to try first
	slots       int // of all deployments
	running     int
	waiting     int
	customers   []customer // by index in the policy's tenants
}

// slots are those of one deployment.
type slots struct {
	name    string
	index   int
	keys    int
	key     int // of the last call
	total   int
	running int
}

// customer is one tenant in one pool.
type customer struct {
	index   int
	tenant  *admit.Tenant
	waiting int
	list    ticketList // of the fair lines
	paid    int64      // what orders customers in a fair line
	pos     int        // in its heap
}

// ticket is one request, from Offer to its end.
type ticket struct {
	id         admit.ID
	seq        uint64 // in order of arrival
	pool       *slotPool
	customer   *customer
	deployment *slots // nil while it waits
	class      admit.Class
	stream     bool
	input      int64 // tokens
	maxOutput  int64 // tokens; 0 means no cap
	arrived    time.Time
	deadline   time.Time

	older, newer *ticket // in a ticketList
	pos          int     // in a heap
	charged      int64   // vtc: virtual tokens booked at the start

	first, total time.Duration // oracle: true times
	end          time.Time     // oracle: when it will be done, once it runs
	place        int           // oracle: among those that run
	works        []work        // oracle: by deployment
}

func newSlotPool(m *admit.Model, tenants []admit.Tenant) *slotPool {
	p := &slotPool{model: m, customers: make([]customer, len(tenants))}
	for i := range tenants {
		p.customers[i] = customer{index: i, tenant: &tenants[i]}
	}
	for i, d := range m.Deployments {
		p.deployments = append(p.deployments, slots{name: d.Name, index: i, keys: max(len(d.Keys), 1), total: d.Concurrency})
		p.slots += d.Concurrency
	}
	return p
}

// pick is the deployment with a free slot that is the least loaded in
// proportion; of equals the one whose turn it is. One must be free.
func (p *slotPool) pick() *slots {
	var best *slots
	n := len(p.deployments)
	for i := range n {
		d := &p.deployments[(p.turn+i)%n]
		if d.running < d.total && (best == nil || d.running*best.total < best.running*d.total) {
			best = d
		}
	}
	p.turn = (p.turn + 1) % n
	return best
}

// nextKey takes the keys in turn.
func (d *slots) nextKey() { d.key = (d.key + 1) % d.keys }

// expired drops what has missed its deadline already.
func expired(now time.Time, t *ticket) *refusal {
	if now.Before(t.deadline) {
		return nil
	}
	return tooLate
}

// ticketList keeps tickets in order of arrival. It is the line of everybody
// who is first come, first served.
type ticketList struct{ oldest, newest *ticket }

func (l *ticketList) push(_ time.Time, t *ticket) {
	t.older = l.newest
	if l.newest == nil {
		l.oldest = t
	} else {
		l.newest.newer = t
	}
	l.newest = t
}

func (l *ticketList) next(time.Time) *ticket { return l.oldest }

func (l *ticketList) remove(t *ticket) {
	if t.older == nil {
		l.oldest = t.newer
	} else {
		t.older.newer = t.newer
	}
	if t.newer == nil {
		l.newest = t.older
	} else {
		t.newer.older = t.older
	}
	t.older, t.newer = nil, nil
}
