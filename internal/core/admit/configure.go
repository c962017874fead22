package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/predict"
	"github.com/spillway-llm/spillway/internal/core/queue"
)

// Configure changes the policy while everything goes on: waiting requests
// keep their places, windows what they counted, and predictions what they
// learnt. A pool or tenant that is no longer named takes nothing new and lives
// until its requests have ended; what waits in such a pool is still served.
// The decisions returned are for requests that a larger pool can now run.
func (c *Controller) Configure(now time.Time, p *Policy) []Decision {
	c.out = c.out[:0]
	c.policy = p
	old := c.byModel
	c.byModel = make(map[string]*pool, len(p.Models))
	for i := range p.Models {
		m := &p.Models[i]
		q := old[m.Name]
		delete(old, m.Name)
		if q == nil {
			q = c.revive(m.Name)
		}
		if q == nil {
			q = c.newPool(m)
		}
		q.configure(m)
		c.byModel[m.Name] = q
	}
	for _, q := range old {
		q.retired = true
	}
	clear(c.byName)
	for _, q := range c.byModel {
		for _, d := range q.deployments {
			if !d.left {
				c.byName[d.name] = d
			}
		}
		q.survey(now)
	}
	c.configureTenants(now, p)
	c.configureSpend(now, p)
	for _, q := range c.pools {
		c.dispatch(now, q)
	}
	return c.out
}

// revive finds a retired pool of the name, so that a model which comes back
// finds what was learnt of it.
func (c *Controller) revive(name string) *pool {
	for _, q := range c.pools {
		if q.retired && q.policy.Name == name {
			return q
		}
	}
	return nil
}

func (c *Controller) newPool(m *Model) *pool {
	q := &pool{index: len(c.pools), policy: m, service: predict.NewService(m.Prior.predict())}
	for i := range q.queues {
		q.queues[i] = queue.New(c.expiry)
	}
	c.pools = append(c.pools, q)
	return q
}

func (p *pool) configure(m *Model) {
	p.rungs = ladderOf(p.rungs, p.policy.Ladder.Rungs, m.Ladder.Rungs)
	p.moving = 0
	for i := range p.rungs {
		if x := m.Ladder.Rungs[i].Model; x != "" && x != m.Name {
			p.moving |= 1 << i
		}
	}
	p.policy, p.retired, p.dearest = m, false, dearestOf(m.Deployments)
	kept := make([]*deployment, 0, len(m.Deployments))
	for _, o := range p.deployments {
		o.left = true
	}
	for i := range m.Deployments {
		policy := m.Deployments[i]
		dep := &deployment{name: policy.Name, hash: hashOf(policy.Name), pool: p, slow: 1}
		for _, o := range p.deployments {
			if o.name == policy.Name {
				dep = o // a release acts on the deployment that was taken
			}
		}
		dep.configure(policy, m.Breaker)
		kept = append(kept, dep)
	}
	for _, o := range p.deployments {
		if o.left && o.running > 0 {
			kept = append(kept, o) // should it come back, it is still as busy
		}
	}
	p.deployments = kept
	p.order()
}

func (c *Controller) configureTenants(now time.Time, p *Policy) {
	old := c.tenants
	c.tenants = make(map[string]*tenant, len(p.Tenants))
	for _, t := range p.Tenants {
		known := old[t.Name]
		if known == nil {
			known = &tenant{}
		}
		known.policy = t
		for _, m := range known.members {
			if m != nil {
				m.limit(now, t)
			}
		}
		c.tenants[t.Name] = known
	}
}
