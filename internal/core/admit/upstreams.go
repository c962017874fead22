package admit

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/breaker"
	"github.com/spillway-llm/spillway/internal/core/meter"
)

// Tally is what calls to a deployment came to, since it was first configured.
type Tally struct {
	Sent   int64
	Good   int64
	Left   int64            // whose caller left
	Faults [NumFaults]int64 // by kind
	Input  int64            // tokens, as the upstream counted them or they were estimated
	Output int64
	Cost   int64 // micro-dollars, as the shell worked it out
}

func (t *Tally) count(o *Outcome, fault Fault) {
	switch {
	case o.OK:
		t.Good++
	case o.CallerGone:
		t.Left++
	default:
		t.Faults[fault]++
	}
	t.Input += o.Input
	t.Output += o.Output
	t.Cost += o.Cost
}

// Quantiles are of one kind of time, over the last 128 to 256 good calls. Zero
// means that none was measured.
type Quantiles struct{ P50, P95, P99 time.Duration }

func quantiles(h *meter.Hist) (q Quantiles) {
	if h.Count() == 0 {
		return q
	}
	at := func(share float64) time.Duration { return time.Duration(h.Quantile(share) * float64(time.Second)) }
	return Quantiles{at(0.5), at(0.95), at(0.99)}
}

// DeploymentState is one deployment: what it has, and what it can do now.
type DeploymentState struct {
	Name        string
	Model       string
	Tier        int
	Reserve     bool
	Slots       int // calls at once, configured or learnt
	Auto        bool
	Calls       int // of these, what it is trusted with now
	Running     int
	State       breaker.State
	Why         breaker.Why
	Opens       time.Time // when an open breaker lets a probe pass
	Step        int       // tenth of the traffic while it recovers; 10 when closed
	Share       float64   // of its capacity that the breaker leaves
	Warned      bool      // latency comes near the point where the breaker opens
	Ratio       float64   // how much longer calls take here than on the model's mean
	First       Quantiles // until the first token of a stream, from dispatch
	Total       Quantiles // of a whole call
	Keys        []KeyState
	Tally       Tally
	Concurrency int // advice: calls at once that its limits can feed, with a quarter of headroom; 0 if nothing limits it
}

// KeyState is one key of a deployment.
type KeyState struct {
	Paused   time.Time // by a Retry-After; past or zero if it is not
	Denied   time.Time // refused by the provider until then
	Requests float64   // a second that it paces to; +Inf if nothing is known
	Tokens   float64   // the same of tokens
	Today    int64     // tokens of the provider's day
	Daily    int64     // their limit; 0 if there is none
}

// headroom is what a useful concurrency has above what the limits feed on average.
const headroom = 1.25

// Feeds is how many calls a second the limits of all its keys let pass when each
// takes so many tokens, with the margin that is kept from them; +Inf if none is known.
func (d *Deployment) Feeds(tokens float64) (rate float64) {
	for _, q := range d.Keys {
		var r, t breaker.Pacer
		r.Configure(q.Requests)
		t.Configure(q.Tokens)
		rate += min(r.Rate(time.Time{}), t.Rate(time.Time{})/max(tokens, 1))
	}
	return rate
}

// Useful is how many calls at once use up such a rate when each takes so long,
// with headroom; 0 if nothing limits it.
func Useful(rate float64, call time.Duration) int {
	if math.IsInf(rate, 1) {
		return 0
	}
	return int(math.Ceil(min(rate*call.Seconds()*headroom, math.MaxInt32)))
}

// state reads a deployment.
func (d *deployment) state(now time.Time) DeploymentState {
	state, why := d.breaker.State(now)
	s := DeploymentState{
		Name: d.name, Model: d.pool.policy.Name, Tier: d.policy.Tier, Reserve: d.policy.Reserve, Slots: d.slots, Auto: d.auto != nil,
		Calls: d.calls(now), Running: d.running, State: state, Why: why, Opens: d.breaker.Opens(now), Step: d.breaker.Step(now),
		Share: d.breaker.Share(now), Warned: d.breaker.Warned(), Ratio: d.ratio(false), Tally: d.tally,
		First: quantiles(&d.times.first), Total: quantiles(&d.times.total),
	}
	rate := 0.0
	for _, k := range d.keys {
		x := KeyState{Paused: k.paused, Denied: k.denied, Requests: k.requests.Rate(now), Tokens: k.tokens.Rate(now), Today: k.day.Used(now), Daily: k.day.Limit}
		s.Keys = append(s.Keys, x)
		rate += min(x.Requests, x.Tokens/d.pool.meanTokens())
	}
	s.Concurrency = Useful(rate, time.Duration(float64(d.pool.service.Mean())*s.Ratio))
	return s
}
