package telemetry

import "sync"

// mostPairs bounds the pairs of a tenant and a model that have series of their
// own: about a dozen each. Further ones are counted with the tenant "other", so
// that what is summed by model stays right; the ledger has every tenant.
const mostPairs = 1_000

// pairs are those that have series of their own. A pair keeps them over reloads,
// until one of its names is gone. It is safe for concurrent use.
type pairs struct {
	mu  sync.Mutex
	own map[pair]bool
}

type pair struct{ tenant, model string }

func newPairs() *pairs { return &pairs{own: map[pair]bool{}} }

// take says whether a pair has, or now gets, series of its own.
func (p *pairs) take(tenant, model string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := pair{tenant, model}
	if !p.own[x] && len(p.own) < mostPairs {
		p.own[x] = true
	}
	return p.own[x]
}

// forget makes room for others where a name is gone.
func (p *pairs) forget(next *catalogue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for x := range p.own {
		if !next.tenants.labels[x.tenant] || !next.models.labels[x.model] {
			delete(p.own, x)
		}
	}
}
