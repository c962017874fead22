package sim

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// uncontrolled sends everything at once, deployments in turn, whatever they
// can bear and however little time is left.
func uncontrolled(p *slotPool) rules {
	p.slots = math.MaxInt
	return rules{line: new(ticketList), choose: func(time.Time, *ticket) *slots {
		d := &p.deployments[p.turn]
		p.turn = (p.turn + 1) % len(p.deployments)
		d.nextKey()
		return d
	}}
}

const (
	paceShare    = 0.8         // of the limit that the operator was told
	paceDecrease = 0.7         // by a 429
	paceIncrease = 0.01        // of the first rate, each second with something to send
	paceEpoch    = time.Second // in which all 429s are one
)

// pace sends to each deployment at a rate of its own, first come, first served
// and without a bound, and drops what has expired when its turn comes. The
// rate is what the operator was told of its limits, or without limits what its
// slots do by the model's prior. It bounds nothing else: not the calls at once,
// nor what is told by headers.
type pace struct {
	pool     *slotPool
	paced    []paced
	adaptive bool // the rate falls by 429 and rises by time
	turn     int
}

// paced is the rate of one deployment, and when the next may go.
type paced struct {
	requests, tokens float64 // a second; 0 is no limit
	speed            float64 // times these
	next             time.Time
	raised           time.Time
	eased            time.Time // no decrease before
}

func fixedPace(p *slotPool) rules    { return newPace(p, false) }
func adaptivePace(p *slotPool) rules { return newPace(p, true) }

func newPace(pool *slotPool, adaptive bool) rules {
	p := &pace{pool: pool, adaptive: adaptive}
	pool.slots = math.MaxInt
	prior := pool.model.Prior
	usual := prior.First + 100*prior.PerInput + time.Duration(prior.Output)*prior.PerOutput
	for i := range pool.model.Deployments {
		d := &pool.model.Deployments[i]
		rpm, tpm := int64(0), int64(0)
		for _, k := range d.Keys {
			rpm, tpm = rpm+k.Requests, tpm+k.Tokens
		}
		x := paced{requests: float64(d.Concurrency) / usual.Seconds(), speed: 1, next: epoch, raised: epoch}
		if rpm > 0 || tpm > 0 {
			x.requests, x.tokens = paceShare*float64(rpm)/60, paceShare*float64(tpm)/60
		}
		p.paced = append(p.paced, x)
	}
	return rules{line: new(ticketList), drop: expired, choose: p.choose, started: p.started, ended: p.ended, due: p.due}
}

// choose is the deployment whose time came first, of equals the next in turn.
// The time of one has come.
func (p *pace) choose(time.Time, *ticket) *slots {
	best := -1
	for i := range p.paced {
		k := (p.turn + i) % len(p.paced)
		if best < 0 || p.paced[k].next.Before(p.paced[best].next) {
			best = k
		}
	}
	p.turn = (best + 1) % len(p.paced)
	d := &p.pool.deployments[best]
	d.nextKey()
	return d
}

// due is when the next may be sent.
func (p *pace) due() time.Time {
	if p.pool.waiting == 0 {
		return time.Time{}
	}
	next := p.paced[0].next
	for _, x := range p.paced[1:] {
		if x.next.Before(next) {
			next = x.next
		}
	}
	return next
}

func (p *pace) started(now time.Time, t *ticket) {
	x := &p.paced[t.deployment.index]
	if p.adaptive {
		x.speed += paceIncrease * min(now.Sub(x.raised).Seconds(), 1)
		x.raised = now
	}
	gap := 0.0
	if x.requests > 0 {
		gap = 1 / (x.requests * x.speed)
	}
	if x.tokens > 0 {
		output := t.maxOutput
		if output == 0 {
			output = p.pool.model.Prior.Output
		}
		gap = max(gap, float64(t.input+output)/(x.tokens*x.speed))
	}
	if x.next.Before(now) {
		x.next = now // what was not sent is not made up for
	}
	x.next = x.next.Add(durationOf(gap))
}

func (p *pace) ended(now time.Time, t *ticket, o *admit.Outcome) {
	if !p.adaptive || t.deployment == nil || o == nil || o.Status != 429 {
		return
	}
	x := &p.paced[t.deployment.index]
	if now.Before(x.eased) {
		return
	}
	x.speed *= paceDecrease
	x.eased = now.Add(paceEpoch)
}
