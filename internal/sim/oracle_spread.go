package sim

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// manyTruth is a Truth of pools whose deployments have upstreams of their own.
type manyTruth interface {
	Truth
	Apart(pool string) bool
	Work(id admit.ID, deployment string) (first, total float64) // seconds, alone there
	Speed(deployment string) float64                            // now; 0 means that it answers nothing
	Left(id admit.ID) time.Duration                             // of a call that runs, at the present speed
}

// Apart makes a Run a manyTruth.
func (r *Run) Apart(pool string) bool { return len(r.pools[pool].servers) > 1 }

// Work is described at manyTruth.
func (r *Run) Work(id admit.ID, deployment string) (first, total float64) {
	v, x := r.visits[id], r.sites[deployment]
	if v == nil || x == nil {
		return 0, 0
	}
	w := v.workOf(x.server, v.arrival.asked())
	return w.first, w.total
}

// Speed is described at manyTruth.
func (r *Run) Speed(deployment string) float64 {
	if x := r.sites[deployment]; x != nil && x.server.outage == nil {
		return x.server.speed()
	}
	return 0
}

// Left is described at manyTruth.
func (r *Run) Left(id admit.ID) time.Duration {
	v := r.visits[id]
	if v == nil || v.state != running {
		return 0
	}
	s := v.site.server
	if !v.job.on {
		return durationOf(v.job.work.total / s.speed())
	}
	s.advance(r.now)
	left := v.job.mark - s.clock
	if v.job.first {
		left += v.job.work.total - v.job.work.first
	}
	return durationOf(left / s.speed())
}

// spreadOracle is the clairvoyant of a pool with several upstreams. It lets in
// what will make its deadline behind all that runs and waits, each where it
// will be done first, and serves in order of arrival, or the best class first.
// It knows the present speeds and who is down; not what will come, nor limits.
type spreadOracle struct {
	oracle
	truth  manyTruth
	speeds []float64
	free   [][]time.Duration // by deployment: when each slot is free, from now
}

func newSpreadOracle(p *slotPool, truth manyTruth, byClass bool) rules {
	o := &spreadOracle{oracle: oracle{pool: p, byClass: byClass}, truth: truth}
	return rules{line: o, enter: o.enter, drop: o.drop, started: o.started, ended: o.ended, choose: o.choose}
}

// need is the time from a start at a deployment to what the deadline means,
// and to its end; not ok if it answers nothing.
func (o *spreadOracle) need(t *ticket, at int) (need, total time.Duration, ok bool) {
	if t.works == nil {
		for i := range o.pool.deployments {
			first, total := o.truth.Work(t.id, o.pool.deployments[i].name)
			t.works = append(t.works, work{first, total})
		}
	}
	speed := o.speeds[at]
	if speed == 0 {
		return 0, 0, false
	}
	w := t.works[at]
	total = durationOf(w.total / speed)
	if need = total; t.stream {
		need = durationOf(w.first / speed)
	}
	return need, total, true
}

func (o *spreadOracle) look() {
	o.speeds = o.speeds[:0]
	for i := range o.pool.deployments {
		o.speeds = append(o.speeds, o.truth.Speed(o.pool.deployments[i].name))
	}
}

// best is where a ticket would be done first, given when slots are free; -1 if
// it makes its deadline nowhere.
func (o *spreadOracle) best(now time.Time, t *ticket, free func(deployment int) (time.Duration, bool)) int {
	best, done := -1, time.Duration(math.MaxInt64)
	for i := range o.pool.deployments {
		start, some := free(i)
		need, _, ok := o.need(t, i)
		if some && ok && start+need < done && !now.Add(start+need).After(t.deadline) {
			best, done = i, start+need
		}
	}
	return best
}

// enter lays all that runs and waits on the slots, and the ticket behind.
func (o *spreadOracle) enter(now time.Time, t *ticket) *refusal {
	o.look()
	o.free = o.free[:0]
	for i := range o.pool.deployments {
		o.free = append(o.free, make([]time.Duration, o.pool.deployments[i].total))
	}
	used := make([]int, len(o.free))
	for _, r := range o.running {
		i := r.deployment.index
		o.free[i][used[i]] = o.truth.Left(r.id)
		used[i]++
	}
	soonest := func(i int) (time.Duration, bool) { return o.free[i][earliest(o.free[i])], true }
	lay := func(t *ticket) bool {
		at := o.best(now, t, soonest)
		if at < 0 {
			return false
		}
		_, total, _ := o.need(t, at)
		o.free[at][earliest(o.free[at])] += total
		return true
	}
	for rank := range o.rank(t) + 1 {
		for w := o.lines[rank].oldest; w != nil; w = w.newer {
			lay(w)
		}
	}
	if !lay(t) {
		return hopeless
	}
	return nil
}

func earliest(at []time.Duration) int {
	best := 0
	for i := range at {
		if at[i] < at[best] {
			best = i
		}
	}
	return best
}

// idle is a start at once where a slot is free.
func (o *spreadOracle) idle(i int) (time.Duration, bool) {
	d := &o.pool.deployments[i]
	return 0, d.running < d.total
}

// next is the first that makes it where a slot is free, or makes it nowhere.
func (o *spreadOracle) next(now time.Time) *ticket {
	o.look()
	anywhere := func(int) (time.Duration, bool) { return 0, true }
	for rank := range o.lines {
		for t := o.lines[rank].oldest; t != nil; t = t.newer {
			if o.best(now, t, o.idle) >= 0 || o.best(now, t, anywhere) < 0 {
				return t
			}
		}
	}
	return nil
}

func (o *spreadOracle) drop(now time.Time, t *ticket) *refusal {
	if o.best(now, t, o.idle) < 0 {
		return tooLate
	}
	return nil
}

func (o *spreadOracle) choose(now time.Time, t *ticket) *slots {
	return &o.pool.deployments[o.best(now, t, o.idle)]
}

func (o *spreadOracle) started(_ time.Time, t *ticket) {
	t.place = len(o.running)
	o.running = append(o.running, t)
}

func (o *spreadOracle) ended(_ time.Time, t *ticket, _ *admit.Outcome) {
	if t.deployment == nil {
		return
	}
	last := len(o.running) - 1
	o.running[t.place] = o.running[last]
	o.running[t.place].place = t.place
	o.running = o.running[:last]
}
