package admit

import "time"

// Ahead moves what the policy says in times of the calendar for a wall clock that
// is ahead of the core's time by so much, or behind for a negative one: hours,
// days and months begin, and raised limits end, when the wall says so. Nothing
// else looks at the wall.
func (p *Policy) Ahead(d time.Duration) {
	p.Budget.ahead(d)
	for i := range p.Tenants {
		b := &p.Tenants[i].Budgets
		for _, x := range []*Budget{&b.All, &b.Key, &b.User, &b.Session} {
			x.ahead(d)
		}
		for model, x := range b.Models {
			x.ahead(d)
			b.Models[model] = x
		}
	}
	for i := range p.Models {
		for j := range p.Models[i].Deployments {
			keys := p.Models[i].Deployments[j].Keys
			for k := range keys {
				keys[k].Midnight -= d // within no bounds: a day later is another day
			}
		}
	}
}

func (b *Budget) ahead(d time.Duration) {
	if b.Calendar {
		b.Zone += d
	}
	if !b.Raised.Until.IsZero() {
		b.Raised.Until = b.Raised.Until.Add(-d)
	}
}
