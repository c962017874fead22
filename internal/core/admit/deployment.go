package admit

import (
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/breaker"
	"github.com/spillway-llm/spillway/internal/core/meter"
	"github.com/spillway-llm/spillway/internal/core/predict"
)

// deployment is one upstream of a pool: its slots, what it can be trusted
// with, what each key of it allows, and how fast it is beside the others.
type deployment struct {
	// What every choice looks at comes first, to be one line of the cache.
	slots    int // calls at once, configured or learnt
	running  int
	rank     int  // place of its tier in the pool, 0 first
	left     bool // no longer in the policy; lives until its calls have ended
	off      bool // the policy gives it no further calls
	troubled bool // its breaker may leave less than all
	limited  bool // its keys may limit something

	name    string
	hash    uint64 // of the name, for affinity
	policy  Deployment
	pool    *pool
	recent  int    // of its calls, those begun in an epoch of the breaker
	epoch   uint32 // which that is: the last call's
	breaker breaker.Breaker
	auto    *breaker.Auto // nil: the concurrency is fixed
	keys    []*key
	turn    int     // the key to look at first
	served  float64 // calls over weight, in the pool's virtual time
	pace    pace    // real over expected time
	ages    predict.Ages
	slow    float64 // by the ages of its running calls; at least 1
	tally   Tally
	times   times
	told    breaker.State // as the last Change said
	warned  bool
}

// pace is how long calls take beside what is expected of the pool's.
type pace struct{ first, total meter.Mean }

// times are how long its good calls took of late, in seconds, as operators ask
// for it: nothing is decided by them.
type times struct{ first, total meter.Hist }

// key is one credential of the provider with what it allows.
type key struct {
	requests, tokens breaker.Pacer
	day              meter.Day
	paused           time.Time // by a Retry-After
	denied           time.Time // refused by the provider, until it is asked again
	denials          int
	refusals         int // 429s in a row
}

const (
	paceMemory  = 32
	tokenMemory = 200
	paceBelief  = 4           // samples that "like the others" weighs
	paceMost    = 16.0        // no upstream is believed to differ by more
	deniedFirst = time.Minute // until a refused key is tried again; doubles
	deniedMost  = 30 * time.Minute
	pauseMost   = 25 * time.Hour // an honest Retry-After of a daily limit
)

// hashOf is FNV-1a: the same name has the same place in every process.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// configure sets what the policy says and keeps all that was learnt.
func (d *deployment) configure(policy Deployment, b breaker.Policy) {
	wasAuto := d.auto != nil
	d.policy, d.left, d.off = policy, false, policy.Off
	d.breaker.Configure(b)
	switch {
	case !policy.Auto:
		d.auto, d.slots = nil, policy.Concurrency
	case !wasAuto:
		d.auto = breaker.NewAuto(policy.Concurrency)
		d.slots = policy.Concurrency
	default:
		d.auto.Bound(policy.Most)
		d.slots = d.auto.Limit()
	}
	for len(d.keys) < len(policy.Keys) {
		d.keys = append(d.keys, &key{})
	}
	d.keys = d.keys[:max(len(policy.Keys), 1)]
	d.turn %= len(d.keys)
	for i, q := range policy.Keys {
		k := d.keys[i]
		k.requests.Configure(q.Requests)
		k.tokens.Configure(q.Tokens)
		k.day.Limit, k.day.Midnight = q.Daily, q.Midnight
	}
	d.flag()
}

// calls is how many calls at once it is trusted with now.
func (d *deployment) calls(now time.Time) int {
	switch {
	case d.left || d.off:
		return 0
	case !d.troubled:
		return d.slots
	}
	return d.breaker.Calls(now, d.slots)
}

// room says whether one more call may run on it, its keys apart.
func (d *deployment) room(now time.Time) bool {
	if d.running >= d.slots || d.left || d.off {
		return false
	}
	return !d.troubled || d.begun() < d.calls(now)
}

// flag notes whether there is anything to look at beyond the slots.
func (d *deployment) flag() {
	d.troubled = d.breaker.Troubled()
	d.limited = slices.ContainsFunc(d.keys, func(k *key) bool { return !k.plain() })
}

// begun is how many of its calls began in the present epoch of its breaker.
func (d *deployment) begun() int {
	if d.breaker.Epoch() != d.epoch {
		return 0
	}
	return d.recent
}

// plain says that its keys limit nothing.
func (k *key) plain() bool {
	return k.paused.IsZero() && k.denied.IsZero() && k.day.Limit == 0 && !k.requests.Paced() && !k.tokens.Paced()
}

// wait is how long until the key lets a call of tokens pass; first says that
// the class comes first in what a day allows.
func (k *key) wait(now time.Time, tokens int64, first bool) time.Duration {
	if k.plain() {
		return 0
	}
	w := max(k.paused.Sub(now), k.denied.Sub(now), 0)
	if !k.day.Fits(now, tokens, first) {
		w = max(w, k.day.Left(now))
	}
	return max(w, k.requests.Wait(now, 1), k.tokens.Wait(now, tokens))
}

// key is the key that lets a call pass now, in turn; -1 if none does, and then
// how long until one does.
func (d *deployment) key(now time.Time, tokens int64, first bool) (int, time.Duration) {
	if !d.limited {
		return d.turn, 0
	}
	least := time.Duration(1<<63 - 1)
	for i := range d.keys {
		n := (d.turn + i) % len(d.keys)
		w := d.keys[n].wait(now, tokens, first)
		if w == 0 {
			return n, 0
		}
		least = min(least, w)
	}
	return -1, least
}

// take books a call that begins.
func (d *deployment) take(now time.Time, k *call, n int) {
	d.running++
	d.recent, d.epoch = d.begun()+1, d.breaker.Epoch()
	k.deployment, k.key, k.epoch = d, n, d.epoch
	d.turn = (n + 1) % len(d.keys)
	q := d.keys[n]
	q.requests.Take(now, 1)
	q.tokens.Take(now, k.size())
	q.day.Add(now, k.size(), comesFirst(k.lane.class))
	d.tally.Sent++
}

// release takes a call off that has ended, used is the tokens it took;
// negative means that nobody knows, and the estimate stands.
func (d *deployment) release(now time.Time, k *call, used int64) {
	d.running--
	if d.begun() > 0 && k.epoch == d.epoch {
		d.recent--
	}
	if k.key >= len(d.keys) || used < 0 {
		return
	}
	q := d.keys[k.key]
	q.tokens.Settle(now, k.size(), used)
	q.day.Add(now, used-k.size(), comesFirst(k.lane.class))
}

// comesFirst says that the class has the first claim on what a day allows.
func comesFirst(c Class) bool { return c <= Standard }

// size is the tokens that a call is believed to take.
func (k *call) size() int64 { return k.input + k.est.Output }

// ratio is how much longer calls take here than on the pool's mean; 1 if it is
// the only one.
func (d *deployment) ratio(first bool) float64 {
	p := d.pool
	if len(p.deployments) < 2 {
		return 1
	}
	own, all := &d.pace.total, &p.pace.total
	if first {
		own, all = &d.pace.first, &p.pace.first
	}
	mean := all.Shrunk(1, paceBelief)
	r := own.Shrunk(mean, paceBelief) / mean
	if d.slow > p.service.Slow() {
		r *= d.slow / p.service.Slow()
	}
	return min(max(r, 1/paceMost), paceMost)
}

// paced takes the measured and the expected time of a call, and gives how much
// longer such calls take here than on the pool's mean.
func (d *deployment) paced(first bool, took, expected time.Duration) float64 {
	own, all := &d.pace.total, &d.pool.pace.total
	if first {
		own, all = &d.pace.first, &d.pool.pace.first
	}
	x := min(max(took.Seconds()/max(expected.Seconds(), 1e-4), 1.0/64), 64)
	own.Add(x, paceMemory)
	all.Add(x, paceMemory)
	mean := all.Shrunk(1, paceBelief)
	return min(max(own.Shrunk(mean, paceBelief)/mean, 1/paceMost), paceMost)
}
