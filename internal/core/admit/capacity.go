package admit

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/breaker"
)

// supply is what the deployments of a pool can do now, as predictions see it:
// in slots of the pool's mean service time, whatever holds the capacity down.
type supply struct {
	surveyed time.Time
	slots    int       // calls at once that breakers and concurrency allow
	capacity float64   // slots that can be busy all the time, by limits too, at the pool's speed
	ranks    []float64 // capacity of the deployments up to each rank
	base     int       // the best rank that can take anything
	opens    time.Time // when something may come back, if slots or capacity are nothing now
	refused  bool      // some deployment would serve, had the provider not refused every key
}

// order gives the deployments their ranks: by tier, behind all tiers the
// reserve, and for the balance Cost by price within a tier.
func (p *pool) order() {
	price := func(d *deployment) int64 {
		if p.policy.Balance != Cost {
			return 0
		}
		return d.policy.Price.Of(blendInput, blendOutput)
	}
	before := func(a, b *deployment) int {
		reserve := func(d *deployment) int {
			if d.policy.Reserve {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(reserve(a), reserve(b)), cmp.Compare(a.policy.Tier, b.policy.Tier), cmp.Compare(price(a), price(b)))
	}
	list := slices.Clone(p.deployments)
	slices.SortStableFunc(list, before)
	rank := 0
	for i, d := range list {
		if i > 0 && before(list[i-1], d) != 0 {
			rank++
		}
		d.rank = rank
	}
	p.ranks = make([]float64, rank+1)
}

// Prices are compared for an answer of a quarter of its question, as most are;
// in micro-dollars for a million, so that nothing is rounded away.
const (
	blendInput  = 4_000_000
	blendOutput = 1_000_000
)

// survey counts again what the deployments can do.
func (p *pool) survey(now time.Time) {
	p.supply = supply{surveyed: now, ranks: p.ranks}
	for i := range p.ranks {
		p.ranks[i] = 0
	}
	mean, tokens := p.service.Mean().Seconds(), p.meanTokens()
	p.companions(now)
	for _, d := range p.deployments {
		if d.auto != nil {
			d.slots = d.auto.Limit()
		}
		if d.off {
			continue // nothing of it comes back by itself
		}
		calls := d.calls(now)
		denied, paused, rate := true, time.Time{}, 0.0
		for _, k := range d.keys {
			denied = denied && k.denied.After(now)
			if free := latest(k.paused, k.denied); free.After(now) {
				if paused.IsZero() || free.Before(paused) {
					paused = free
				}
				continue
			}
			r := math.Inf(1)
			if k.requests.Paced() {
				r = k.requests.Rate(now)
			}
			if k.tokens.Paced() {
				r = min(r, k.tokens.Rate(now)/tokens)
			}
			if !k.day.Fits(now, 1, true) {
				r = 0
			}
			rate += r
		}
		p.refused = p.refused || denied && calls > 0
		if calls == 0 || denied {
			opens := latest(d.breaker.Opens(now), paused)
			p.opensAt(now, opens)
			continue
		}
		p.slots += calls
		capacity := min(float64(calls)/d.ratio(false), rate*mean)
		if rate == 0 {
			p.opensAt(now, paused)
		}
		p.ranks[d.rank] += capacity
	}
	p.base = -1
	for i := range p.ranks {
		if p.ranks[i] > 0 && p.base < 0 {
			p.base = i
		}
		p.capacity += p.ranks[i]
		p.ranks[i] = p.capacity
	}
	p.base = max(p.base, 0)
}

// companions tells each breaker whether another deployment is left that is
// trusted with anything. What opened together is as good as alone.
func (p *pool) companions(now time.Time) {
	usable := 0
	for _, d := range p.deployments {
		if d.trusted(now) {
			usable++
		}
	}
	for _, d := range p.deployments {
		others := usable
		if d.trusted(now) {
			others--
		}
		d.breaker.Alone(now, others == 0)
	}
}

// trusted says that it is worth a call now, whether or not it has room.
func (d *deployment) trusted(now time.Time) bool {
	state, _ := d.breaker.State(now)
	return !d.left && !d.off && (state == breaker.Closed || state == breaker.Recovering) && d.usable(now)
}

// meanTokens is what a call of the pool takes of late, at least one.
func (p *pool) meanTokens() float64 {
	out := float64(p.policy.Prior.Output)
	return max(p.tokens.Shrunk(out*(1+blendInput/blendOutput), 1), 1)
}

func (p *pool) opensAt(now, t time.Time) {
	if t.After(now) && (p.opens.IsZero() || t.Before(p.opens)) {
		p.opens = t
	}
}

// current surveys again if that was long ago, or what was closed may be open.
func (p *pool) current(now time.Time) {
	if p.outdated(now) {
		p.survey(now)
	}
}

func (p *pool) outdated(now time.Time) bool {
	return now.Sub(p.surveyed) >= refreshMax || !p.opens.IsZero() && !now.Before(p.opens)
}

// size is the capacity that shares are made of. Where there is none at all the
// waits are those of what will be there again.
func (p *pool) size() float64 {
	if p.capacity > 0 {
		return p.capacity
	}
	n := 0
	for _, d := range p.deployments {
		n += d.slots
	}
	return float64(max(n, 1))
}

// closed is how long until there is any capacity again; 0 if there is some.
func (p *pool) closed(now time.Time) time.Duration {
	if p.capacity > 0 || p.opens.IsZero() {
		return 0
	}
	return max(p.opens.Sub(now), 0)
}

// tiered says that deployments are preferred in an order that is worth waiting for.
func (p *pool) tiered() bool { return len(p.ranks) > 1 }

// reach is the highest rank that a request may use now: the lowest one whose
// capacity, with that of the ranks before it, serves it within its patience,
// when with all the capacity it would wait for wait.
func (p *pool) reach(wait, patience time.Duration) int {
	if !p.tiered() {
		return anyRank
	}
	for r := p.base; r < len(p.ranks)-1; r++ {
		if p.ranks[r] > 0 && float64(wait)*p.capacity/p.ranks[r] <= float64(patience) {
			return r
		}
	}
	return anyRank
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
