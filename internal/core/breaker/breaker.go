package breaker

import (
	"math"
	"time"
)

// State is where a breaker stands between trust and none.
type State uint8

const (
	Closed     State = iota // trusted, with a share by its failures
	Open                    // nothing passes until the cooldown is over
	HalfOpen                // one call at a time shows whether it has healed
	Recovering              // a growing share passes, in ten steps
)

var stateNames = [...]string{"closed", "open", "half_open", "recovering"}

func (s State) String() string { return stateNames[s] }

// Why is the reason of the last opening.
type Why uint8

const (
	Healthy     Why = iota
	Errors          // the share of failures in the window
	Consecutive     // failures in a row
	Space           // out of memory
	SlowFirst       // latency of the first token
	SlowToken       // time of one token
	SlowTotal       // time of a call
)

var whyNames = [...]string{"", "errors", "consecutive", "out_of_memory", "slow_first_token", "slow_tokens", "slow_calls"}

func (w Why) String() string { return whyNames[w] }

const (
	steps         = 10
	stepGood      = 3    // successes that a step needs, or as many as it lets pass at once
	leastShare    = 0.1  // of a closed breaker, so that it goes on measuring
	luck          = 1e-6 // a run of failures less likely than this is none of chance
	rareError     = 0.03 // the share of failures that every upstream is believed to have
	relapse       = 3    // failures in a row that end a recovery
	latelyMemory  = 20
	alonePatience = 3 // times the failures in a row, where nothing else is left
	aloneStep     = 4 // how much shorter the steps are where nothing else is left
	slowToHeal    = 4 // out of memory: cooldowns are this much longer
)

// Breaker is the share of one upstream's capacity that may be used now. It is
// a circuit breaker that takes away no more than it must: while closed, its
// share falls with the share of failures beyond the accepted one, so that an
// upstream which fails near the threshold does not flap; when the failures can
// be no chance it opens, cools down, lets one call probe, and then gives the
// traffic back by tenths, each of which must be earned.
//
// Where it stands for the only upstream that is left, it gives more away: what
// an upstream still answers is then all there is, so that no share of failures
// takes anything away, an opening waits less, and the steps are a quarter as long.
//
// Asking changes nothing, however often it is done: what time alone does is
// worked out each time, and only written down by what tells it something.
//
// The form of the closed share is that of adaptive throttling in "Site
// Reliability Engineering" (Beyer et al., 2016), ch. 21, with K = 1/(1-Errors).
type Breaker struct {
	policy Policy
	state  State
	why    Why
	epoch  uint32    // moves on with every opening: results of older calls say nothing any more
	until  time.Time // the cooldown's end, while open
	down   time.Time // when the outage began that is not over yet
	outage time.Duration
	step   int       // while recovering: tenths of the traffic
	since  time.Time // of the state or the step
	good   int       // successes of this step
	run    int       // failures in a row
	lately float64   // share of failures among the last calls before the run
	window results
	first  latency
	token  latency
	total  latency
	scaled time.Time // when more capacity was last found to be needed
	opened time.Time // when it opened last
	asked  time.Time // the end of a pause that the upstream asked for
	alone  bool
}

// Configure sets the thresholds, whose defaults are filled, and keeps all that is known.
func (b *Breaker) Configure(p Policy) { b.policy = p }

// Alone says whether no other upstream is left. A cooldown that was over by
// then stays over.
func (b *Breaker) Alone(now time.Time, yes bool) {
	b.advance(now)
	b.alone = yes
}

// Standing is what Alone may change of a breaker.
type Standing struct {
	state State
	since time.Time
	good  int
	alone bool
}

// Standing is to be given to Restore, when what Alone said was only assumed.
func (b *Breaker) Standing() Standing { return Standing{b.state, b.since, b.good, b.alone} }

// Restore takes back what Alone changed since.
func (b *Breaker) Restore(s Standing) {
	b.state, b.since, b.good, b.alone = s.state, s.since, s.good, s.alone
}

// Epoch marks the calls that begin now. Results are only told of calls whose
// mark is still the present one.
func (b *Breaker) Epoch() uint32 { return b.epoch }

// State is where the breaker stands at now, and why it last opened.
func (b *Breaker) State(now time.Time) (State, Why) {
	return b.at(now), b.why
}

// Run is how many calls have failed in a row.
func (b *Breaker) Run() int { return b.run }

// Failing is the share of failures in the window, once it means anything.
func (b *Breaker) Failing(now time.Time) float64 {
	if b.window.failed == 0 {
		return 0
	}
	failed, n := b.window.count(now, b.policy.Window)
	return float64(failed) / float64(max(n, b.policy.MinCount, 1))
}

// Opens is when an open breaker lets a probe pass; the zero time if it is not open.
func (b *Breaker) Opens(now time.Time) time.Time {
	if b.at(now) == Open {
		return b.closedUntil()
	}
	return time.Time{}
}

func (b *Breaker) closedUntil() time.Time {
	if until := b.opened.Add(b.policy.Alone); b.alone && until.Before(b.until) {
		return later(until, b.asked)
	}
	return later(b.until, b.asked)
}

// Step is the tenth of the traffic that a recovering upstream has reached, 10
// when it is closed, 0 before.
func (b *Breaker) Step(now time.Time) int {
	switch b.at(now) {
	case Closed:
		return steps
	case Recovering:
		return b.step
	}
	return 0
}

// Troubled says that there may be less than all: it is not closed, or has
// failures to look at.
func (b *Breaker) Troubled() bool { return b.state != Closed || b.window.failed > 0 }

// Share is the part of the capacity, in [0, 1], that may be used now. A probe
// is no capacity.
func (b *Breaker) Share(now time.Time) float64 {
	switch b.at(now) {
	case Closed:
		return b.trust(now)
	case Recovering:
		return float64(b.step) / steps
	}
	return 0
}

// trust is the share of a closed breaker.
func (b *Breaker) trust(now time.Time) float64 {
	failed, n := b.window.count(now, b.policy.Window)
	if b.alone || n < b.policy.MinCount || failed*100 <= n*b.policy.Errors {
		return 1
	}
	accepted := 1 - float64(b.policy.Errors)/100
	return max(float64(n-failed)/float64(n)/accepted, leastShare)
}

// Calls is how many calls of slots may run now that began in this epoch.
func (b *Breaker) Calls(now time.Time, slots int) int {
	if !b.Troubled() { // the usual case, without arithmetic
		return slots
	}
	switch b.at(now) {
	case Open:
		return 0
	case HalfOpen:
		return min(slots, 1)
	}
	return min(slots, max(1, int(math.Round(float64(slots)*b.Share(now)))))
}

// Success is the result of a call that showed the upstream healthy. usable is
// the calls at once that it has now.
func (b *Breaker) Success(now time.Time, usable int) {
	b.advance(now)
	b.ran()
	b.lately -= b.lately / latelyMemory
	b.window.add(now, b.policy.Window, false)
	switch b.state {
	case HalfOpen:
		b.turn(now, Recovering)
		b.step = 1
	case Recovering:
		least := b.policy.Step
		if b.alone {
			least /= aloneStep
		}
		if b.good++; b.good < min(stepGood, max(usable, 1)) || now.Sub(b.since) < least {
			return
		}
		if b.step++; b.step >= steps {
			b.turn(now, Closed)
			b.outage, b.down = now.Sub(b.down), time.Time{}
			return
		}
		b.since, b.good = now, 0
	}
}

// Failure is the result of a call that the upstream failed. space says that
// it is out of memory, after is the pause that it asked for.
func (b *Breaker) Failure(now time.Time, space bool, after time.Duration) {
	b.advance(now)
	b.run++
	b.good = 0
	b.window.add(now, b.policy.Window, true)
	switch b.state {
	case Open:
		b.asked = later(b.asked, now.Add(after))
	case HalfOpen:
		b.open(now, b.why, after)
	case Recovering:
		if space || b.run >= b.patient(relapse) {
			b.open(now, b.why, after)
		}
	case Closed:
		failed, n := b.window.count(now, b.policy.Window)
		switch {
		case space && b.run > 1:
			b.open(now, Space, after)
		case b.inRow(failed, n):
			b.open(now, Consecutive, after)
		case !b.alone && n >= b.policy.MinCount && failed*100 >= n*b.policy.Open:
			b.open(now, Errors, after)
		}
	}
}

// inRow says whether the present run of failures is more than the share of
// failures before it explains.
func (b *Breaker) inRow(failed, n int) bool {
	if b.policy.Consecutive < 0 || b.run < b.patient(b.policy.Consecutive) {
		return false
	}
	share := max(rareError, b.lately)
	if before := n - b.run; before > 0 {
		share = max(share, float64(failed-b.run)/float64(before))
	}
	return math.Pow(share, float64(b.run)) <= max(luck, math.Pow(rareError, float64(b.policy.Consecutive)))
}

// patient is how many failures in a row count for n.
func (b *Breaker) patient(n int) int {
	if b.alone {
		return alonePatience * n
	}
	return n
}

// ran ends a run of failures.
func (b *Breaker) ran() {
	for ; b.run > 0; b.run-- {
		b.lately += (1 - b.lately) / latelyMemory
	}
}

// open takes everything away for a cooldown that grows with the outage; of two
// deadlines the later one holds.
func (b *Breaker) open(now time.Time, why Why, after time.Duration) {
	if b.down.IsZero() {
		b.down = now
	} else {
		b.outage = now.Sub(b.down)
	}
	cooldown := max(b.policy.Cooldown, 2*b.outage)
	if why == Space {
		cooldown = max(cooldown, slowToHeal*b.policy.Cooldown)
	}
	b.opened, b.until = now, later(b.until, now.Add(min(cooldown, b.policy.CooldownMax)))
	if after > 0 {
		b.asked = later(b.asked, now.Add(after))
	}
	b.turn(now, Open)
	b.why = why
	b.epoch++
	b.ran()
	b.window = results{}
	b.first.forget()
	b.token.forget()
	b.total.forget()
}

// at is the state, in which a cooldown that is over has ended.
func (b *Breaker) at(now time.Time) State {
	if b.state == Open && !now.Before(b.closedUntil()) {
		return HalfOpen
	}
	return b.state
}

// advance writes that down.
func (b *Breaker) advance(now time.Time) {
	if s := b.at(now); s != b.state {
		b.turn(now, s)
	}
}

func (b *Breaker) turn(now time.Time, s State) {
	b.state, b.since, b.good = s, now, 0
	if s == Closed {
		b.why = Healthy
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
