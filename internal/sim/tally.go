package sim

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// tally is the book of a run: what everybody experienced, by tenant and class,
// and the course of it by second.
type tally struct {
	capacity  float64 // slots
	byKey     map[countsKey]*counts
	order     []*counts // by first appearance
	courses   []*course
	course    []Second
	disturbed time.Duration // when the last disturbance ended; 0 if there was none
	stages    [admit.NumStages]int64
	patience  time.Duration // the longest deadline
	ladders   []*ladderBook // of models that have one, in the order of the policy
	purses    purseBook
}

type countsKey struct {
	group, tenant string
	class         admit.Class
}

// counts are one tenant in one class, as far as it belongs to one group of callers.
type counts struct {
	group, tenant string
	class         admit.Class
	weight        float64

	requests [numEndings]int64 // by ending
	offered  int64
	attempts int64
	runs     int64
	admitted int64 // attempts that were queued or run
	refusals int64
	errors   int64 // attempts that ended with a failure of the upstream
	feasible int64 // requests refused first although they would have made it

	demand            float64 // slot-seconds of all requests
	onTime            float64 // slot-seconds within the run of answers in time
	stood             float64 // slot-seconds that answers in time would have taken as they were asked
	answers, degraded int64   // all answers, and those that are not as they were asked
	wasted            float64 // slot-seconds within the run of everything else

	course *course // of its group

	waits     sketch  // real waits of what started
	answered  sketch  // real waits of what was answered in time
	toRefusal sketch  // from an attempt to its refusal
	latency   sketch  // from the first try to the answer, or a stream's first token
	first     sketch  // from the attempt to the first token of streams that were answered
	cost      int64   // micro-dollars, of all attempts
	waitError float64 // sum of |predicted - real| over what started
}

// share is how many requests of a second were answered in time, those whose
// callers left early apart.
type share struct{ offered, onTime, left int32 }

// course is the shares on time of one group in one class, by the second in
// which requests were made.
type course struct {
	group  string
	class  admit.Class
	byTime []share
}

func (c *course) second(at time.Time) *share {
	i := secondOf(at)
	for len(c.byTime) <= i {
		c.byTime = append(c.byTime, share{})
	}
	return &c.byTime[i]
}

// Second is one second of the course of a run.
type Second struct {
	Offered, OnTime, Refused int32                  // by the second in which the request was made
	Stages                   [admit.NumStages]int32 // Refused, by what decided last
	Waiting                  [admit.NumClasses]int32
	Running                  int32
	Predicted, Real          float32 // sums of waits, seconds, over Started
	Started                  int32
	Asked                    float32 // slot-seconds that the requests of the second stand for
	Slots                    float32
}

// secondOf numbers the seconds of a run, which begins with a whole one.
func secondOf(at time.Time) int { return int(at.Unix() - epoch.Unix()) }

func newTally(r *Run) *tally {
	t := &tally{byKey: map[countsKey]*counts{}}
	for i, p := range r.order {
		if r.named {
			t.capacity += float64(p.usable(r.world.Policy))
		} else {
			t.capacity += float64(slotsOf(&r.world.Policy.Models[i]))
		}
	}
	t.ladders = ladderBooks(r)
	t.purses.policy = r.world.Policy
	t.purses.kept = budgeted(r.world.Policy)
	return t
}

func (t *tally) second(at time.Time) *Second {
	i := secondOf(at)
	for len(t.course) <= i {
		t.course = append(t.course, Second{})
	}
	return &t.course[i]
}

// until notes the state of queues for the seconds that have passed.
func (t *tally) until(r *Run) {
	if secondOf(r.now) < len(t.course) {
		return
	}
	if r.now.After(r.end) && !r.more {
		return
	}
	s := t.second(r.now)
	for _, p := range r.order {
		for class, n := range p.waiting {
			s.Waiting[class] += int32(n)
		}
		s.Running += int32(p.running())
		s.Slots += float32(p.usable(r.world.Policy))
	}
}

func slotsNow(p *admit.Policy, model string) int {
	for i := range p.Models {
		if p.Models[i].Name == model {
			return slotsOf(&p.Models[i])
		}
	}
	return 0
}

func (t *tally) offered(r *Run, v *visit) *counts {
	group := v.arrival.Group
	if group == "" {
		group = v.arrival.Tenant
	}
	key := countsKey{group, v.arrival.Tenant, v.arrival.Class}
	c := t.byKey[key]
	if c == nil {
		c = &counts{group: group, tenant: v.arrival.Tenant, class: v.arrival.Class, weight: 1}
		for i := range r.world.Policy.Tenants {
			if x := &r.world.Policy.Tenants[i]; x.Name == c.tenant {
				c.weight = float64(max(x.Weight, 1))
			}
		}
		for _, o := range t.courses {
			if o.group == group && o.class == c.class {
				c.course = o
			}
		}
		if c.course == nil {
			c.course = &course{group: group, class: c.class}
			t.courses = append(t.courses, c.course)
		}
		t.byKey[key] = c
		t.order = append(t.order, c)
	}
	c.offered++
	if b := t.ladder(v); b != nil {
		b.offers[c.class] = true
	}
	if v.room != nil {
		asked := v.room.asked(v)
		c.demand += asked
		if b := t.ladder(v); b != nil {
			b.demand += asked
		}
		t.second(r.now).Asked += float32(asked)
	}
	if d := v.arrival.Deadline; d > t.patience {
		t.patience = d
	}
	t.second(r.now).Offered++
	c.course.second(r.now).offered++
	return c
}

func (t *tally) began(r *Run, v *visit) {
	c := v.counts
	c.runs++
	c.admitted++
	wait := r.now.Sub(v.offered).Seconds()
	c.waits.add(wait)
	c.waitError += math.Abs(v.promised.Seconds() - wait)
	s := t.second(v.offered)
	s.Started++
	s.Predicted += float32(v.promised.Seconds())
	s.Real += float32(wait)
}

func (t *tally) refused(r *Run, v *visit, d *admit.Decision, admitted bool) {
	c := v.counts
	c.refusals++
	t.stages[d.Stage]++
	c.toRefusal.add(r.now.Sub(v.offered).Seconds())
	if admitted {
		c.admitted++ // it never began
	}
	if v.attempt == 0 && !admitted && v.arrival.Deadline > 0 && v.room != nil {
		v.room.haunt(v)
	}
}

// worked books slot time that was spent on a visit, as far as it lies before
// the last arrival: what is served after it would need arrivals to follow.
func (t *tally) worked(r *Run, v *visit, inTime bool) {
	to := r.now
	if to.After(r.end) {
		to = r.end
	}
	spent := max(to.Sub(v.started).Seconds(), 0)
	v.site.busy += spent
	if inTime {
		v.counts.onTime += spent
	} else {
		v.counts.wasted += spent
	}
}

func (t *tally) closed(r *Run, v *visit, how ending) {
	c := v.counts
	c.requests[how]++
	c.cost += v.cost
	t.purses.spent(r.now, v)
	s := t.second(v.intended)
	switch how {
	case endLeft:
		c.course.second(v.intended).left++
	case endOnTime:
		s.OnTime++
		if v.room.bill != nil && v.site != nil {
			v.room.bill.answered(v)
		}
		c.course.second(v.intended).onTime++
		done := r.now
		if v.arrival.Stream {
			done = v.firstAt
		}
		c.latency.add(done.Sub(v.intended).Seconds())
		c.answered.add(v.started.Sub(v.offered).Seconds())
	case endRefused, endExpired:
		s.Refused++
		s.Stages[v.stage]++
	}
}
