package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// rung is what is known of one rung of a pool's ladder.
type rung struct {
	ratio   meter.Mean // real over what the numbers of tokens said, of calls whose lowest rung it was
	took    meter.Mean // seconds of slot time of these
	usual   meter.Mean // seconds that they would have taken as asked, by prediction
	served  int64
	asleep  time.Time // until then it is left out: it did not help
	samples int
}

const (
	rungMemory  = 100
	rungBelief  = 10               // samples that the configured saving weighs
	rungSamples = 100              // between two judgements
	rungHelps   = 0.98             // of the time that is needed without it is no help
	rungRest    = 10 * time.Minute // until one that did not help is tried again
)

// ladderOf brings the rungs in line with a policy and keeps what was learnt.
func ladderOf(old []rung, was, now []Rung) []rung {
	list := make([]rung, min(len(now), MaxRungs))
	for i := range list {
		for j := range min(len(old), len(was)) {
			if was[j].Name == now[i].Name {
				list[i] = old[j]
			}
		}
	}
	return list
}

// factor is what the rungs of a set leave of a call's time, beyond what the
// numbers of its tokens say: what calls at the lowest of them really took, and
// until there were some what the policy believes.
func (p *pool) factor(set Rungs) float64 {
	if set == 0 {
		return 1
	}
	believed, last := 1.0, -1
	for i := range p.rungs {
		if x := &p.policy.Ladder.Rungs[i]; set.Has(i) {
			if x.Model != "" {
				return 1 // another pool, whose times are known by themselves
			}
			believed *= 1 - float64(min(max(x.Saving, 0), 95))/100
			last = i
		}
	}
	if last < 0 {
		return 1
	}
	return min(p.rungs[last].ratio.Shrunk(believed, rungBelief), 1)
}

// descended learns from a good call what its rungs really saved.
func (k *call) descended(now time.Time, took time.Duration, output int64) {
	if k.home == nil || len(k.home.rungs) == 0 {
		return
	}
	if k.rungs == 0 {
		if k.pool() == k.home {
			x := &k.home.whole
			x.took.Add(took.Seconds(), rungMemory)
			x.usual.Add(k.home.sized(k, k.input, output), rungMemory)
		}
		return
	}
	last := -1
	for i := range k.home.rungs {
		if k.rungs.Has(i) {
			last = i
		}
	}
	if last < 0 {
		return // the ladder was shortened meanwhile
	}
	x := &k.home.rungs[last]
	x.served++
	x.took.Add(took.Seconds(), rungMemory)
	usual := k.usual.Seconds()
	if !k.shorter {
		usual = k.home.sized(k, k.asked, output)
	}
	x.usual.Add(usual, rungMemory)
	if k.pool() != k.home {
		return
	}
	plain := k.home.service.Slots(k.plain).Seconds() * k.home.longer(k, k.input, output)
	x.ratio.Add(min(took.Seconds()/max(plain, 1e-4), 4), rungMemory)
	if x.samples++; x.samples < rungSamples {
		return
	}
	// Judged by what calls took beside what they would have taken as asked, as far
	// off as that is for those that are, and not again with every call: by chance
	// it would soon look useless.
	x.samples = 0
	if x.took.Shrunk(0, 0) > rungHelps*x.usual.Shrunk(0, 0)*k.home.whole.off() {
		x.asleep = now.Add(rungRest)
	}
}

// off is how far real times are off the predicted ones.
func (x *rung) off() float64 { return x.took.Shrunk(1, rungBelief) / x.usual.Shrunk(1, rungBelief) }

// sized is what a call of these tokens takes, in seconds: not by what is known
// of its tenant, as a tenant of whom all is degraded teaches nothing of it.
func (p *pool) sized(k *call, input, output int64) float64 {
	_, raw := p.service.Expected(k.est, input, output)
	return p.service.Slots(raw).Seconds()
}

// longer is how much longer calls of an answer's length take than those of the
// length that was expected.
func (p *pool) longer(k *call, input, output int64) float64 {
	_, real := p.service.Expected(k.est, input, output)
	_, expected := p.service.Expected(k.est, input, 0)
	return real.Seconds() / max(expected.Seconds(), 1e-4)
}
