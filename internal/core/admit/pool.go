package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
	"github.com/spillway-llm/spillway/internal/core/predict"
	"github.com/spillway-llm/spillway/internal/core/queue"
	"github.com/spillway-llm/spillway/internal/core/route"
)

// pool is one model: its slots, what runs on them, and what waits for them.
type pool struct {
	index       int
	policy      *Model
	retired     bool // no longer in the policy; lives until its calls have ended
	deployments []*deployment
	supply
	turns    float64    // virtual time of the balances that go in turn
	pace     pace       // of all calls, as those of its deployments
	tokens   meter.Mean // of a call, input and output
	running  []*call
	parked   []*call   // between two attempts
	wake     time.Time // when a call may run by time alone; zero if none waits for that
	over     int       // waiting calls that need more than the ranks before the last can serve in time
	lent     int       // of their places, those that others took
	queues   [NumClasses]*queue.Queue[*call]
	credit   [NumClasses]int64 // slot time owed to a class by its floor, nanoseconds
	lanes    [NumClasses][]*lane
	rates    [NumClasses]meter.Rate // admitted work: raw slot-seconds
	service  *predict.Service
	done     meter.Recent // calls completed
	idle     meter.Recent // slot time unused that was refused to somebody, milliseconds
	counted  time.Time    // until when idle is
	promised time.Time    // until when every slot works, if refusals by prediction were right
	lastDone time.Time
	late     meter.Hist // real waits over predicted ones
	outlook
	demands []predict.Demand // reused

	rungs   []rung // of its ladder, as in the policy
	moving  Rungs  // those of them that other pools serve
	whole   rung   // the same of calls that are as they were asked
	levels  [NumClasses]level
	dearest Price // no deployment costs more

	lengths    meter.Hist // of answers, over the expected
	lengthsNew int        // since their quantile was looked at
	spreadOf   float64    // which it is; 0 while there are too few

	picks []place           // reused
	peers []*deployment     // reused
	cands []route.Candidate // reused
	fit   []int             // reused
}

// outlook is what the wait is computed from, refreshed now and then.
type outlook struct {
	refreshed time.Time
	events    int
	shares    [NumClasses]predict.Share
	free      [NumClasses]float64 // slots left to the class by better ones
	wanted    [NumClasses]float64 // slots that the tenants of the class wanted of late, all together
	margin    float64             // what a predicted wait is multiplied with before it must fit
}

const (
	// A wait must fit with a margin for its error: the quantile of recent
	// errors, within bounds. Without it the queue stands at the callers'
	// deadlines, and half of what is admitted last dies waiting.
	marginQuantile = 0.6
	marginMost     = 1.25
	leastWait      = 500 * time.Millisecond // shorter predictions tell little of errors

	refreshMin  = 20 * time.Millisecond // shares are not refreshed more often
	refreshMax  = time.Second           // nor less often while requests come
	refreshPart = 8                     // lanes and calls looked at for each event, on average
	busiest     = 0.95                  // better classes are never believed to take more than this
	forgetLane  = 4 * meter.RateTau     // an idle lane stops counting as demand
)

func (p *pool) waiting() (n int) {
	for _, q := range p.queues {
		n += q.Len()
	}
	return n
}

func (p *pool) waitingBytes() (n int64) {
	for _, q := range p.queues {
		n += q.Bytes()
	}
	return n
}

// count books, until now, the unused slot time of which a refusal said that
// there would be none; called before a slot changes hands.
func (p *pool) count(now time.Time) {
	until := now
	if p.promised.Before(now) {
		until = p.promised
	}
	if unused := min(p.slots, int(p.capacity)) - len(p.running); unused > 0 && until.After(p.counted) {
		p.idle.Add(now, int(until.Sub(p.counted).Milliseconds())*unused)
	}
	p.counted = now
}

// work is the time all slots need for what waits.
func (p *pool) work() time.Duration {
	var w int64
	for _, q := range p.queues {
		w += q.Work()
	}
	return time.Duration(float64(p.service.Slots(time.Duration(w))) / p.size())
}

// look takes the ages of running calls, of all and of each deployment, to
// notice one that slows down before anything ends.
func (p *pool) look(now time.Time) {
	several := len(p.deployments) > 1
	var ages predict.Ages
	for _, k := range p.running {
		age := now.Sub(k.started)
		ages.Add(p.service, age, k.est.Raw)
		if several {
			k.deployment.ages.Add(p.service, age, k.est.Raw)
		}
	}
	p.service.Brownout(ages)
	for _, d := range p.deployments {
		d.slow = p.service.SlowBy(d.ages)
		d.ages = predict.Ages{}
	}
}

// due says whether shares are refreshed after so many events.
func (p *pool) due(now time.Time, events int) bool {
	age := now.Sub(p.refreshed)
	size := len(p.running)
	for _, l := range p.lanes {
		size += len(l)
	}
	return age >= refreshMin && (events >= size/refreshPart || age >= refreshMax)
}

// refresh recomputes shares and the brownout factor, at a cost bounded by the
// events since the last time.
func (p *pool) refresh(now time.Time) {
	p.events++
	if !p.due(now, p.events) {
		return
	}
	p.refreshed, p.events = now, 0

	p.look(now)
	p.survey(now)
	p.margin = min(max(p.late.Quantile(marginQuantile), 1), marginMost)

	factor := p.service.Factor()
	taken := 0.0
	for class := range Class(NumClasses) {
		slots := p.size()
		p.free[class] = slots - min(taken, busiest*slots)
		demands := p.demandsOf(now, class, factor)
		p.wanted[class] = 0
		for _, d := range demands {
			p.wanted[class] += d.Slots
		}
		p.shares[class] = predict.NewShare(p.free[class], demands)
		taken += p.rates[class].PerSecond(now) * factor
	}
}

func (p *pool) demandsOf(now time.Time, class Class, factor float64) []predict.Demand {
	p.demands = p.demands[:0]
	list := p.lanes[class]
	for i := 0; i < len(list); {
		l := list[i]
		if l.flow.Len() == 0 && now.Sub(l.lastUse) > forgetLane {
			last := len(list) - 1
			list[i] = list[last]
			list[i].demand = i
			l.demand, l.counted = -1, predict.Demand{}
			list = list[:last]
			continue
		}
		l.counted = l.wants(now, factor)
		p.demands = append(p.demands, l.counted)
		i++
	}
	p.lanes[class] = list
	return p.demands
}

func (l *lane) wants(now time.Time, factor float64) predict.Demand {
	return predict.Demand{
		Weight: float64(l.flow.Weight),
		Slots:  l.rate.PerSecond(now) * factor,
		Backed: l.flow.Len() > 0,
	}
}

// shareOf is the slots that the lane would get with work waiting all the time.
func (p *pool) shareOf(l *lane) float64 {
	return p.shares[l.class].Of(float64(l.flow.Weight), l.counted)
}

// demanded books admitted work of a lane.
func (p *pool) demanded(now time.Time, l *lane, raw time.Duration) {
	l.rate.Add(now, raw.Seconds())
	l.lastUse = now
	p.rates[l.class].Add(now, raw.Seconds())
	if l.demand < 0 {
		l.demand = len(p.lanes[l.class])
		p.lanes[l.class] = append(p.lanes[l.class], l)
	}
}

// wait predicts how long a request of the lane, put behind the lane's others,
// waits until it starts, when all slots are taken. It is a fluid model: the
// class gets the slots that better classes leave, and of them the lane gets
// its weighted max-min share; ahead of the request are all waiting work of
// better classes, and the lane's own work and debt, or the first items of
// tenants that also just came; and a slot must become free.
func (p *pool) wait(now time.Time, l *lane) time.Duration {
	p.refresh(now)
	return p.ahead(now, l)
}

// ahead is wait by the shares as they are.
func (p *pool) ahead(now time.Time, l *lane) time.Duration {
	var better int64
	for class := range l.class {
		better += p.queues[class].Work()
	}
	q := p.queues[l.class]
	free := max(p.free[l.class], 1e-3)
	factor := p.service.Factor()
	share := p.shareOf(l)
	own := float64(l.flow.Work()+q.Debt(l.flow)) / share
	if rest := free - (p.wanted[l.class] - l.counted.Slots); rest > 0 {
		// No longer than all that waits, and what others still bring, takes:
		// tenants with little waiting do not take their share for ever.
		own = min(own, float64(q.Work()+q.Debt(l.flow))/rest)
	}
	own = max(own, float64(q.Fresh())/free)
	w := span((float64(better)/free + own) * factor)
	size := p.size()
	w += time.Duration(float64(p.service.Residual())/size) + p.closed(now)
	if still := now.Sub(p.lastDone); !p.lastDone.IsZero() && still > p.service.Mean() {
		// Nothing completed for longer than a call takes: at this pace every
		// round of all slots takes as long again.
		ahead := float64(l.flow.Len()+1) * size / share
		w = max(w, span(ahead*float64(still)/size))
	}
	return w
}

// span is a time in nanoseconds, at most some decades.
func span(ns float64) time.Duration { return time.Duration(min(ns, 1<<60)) }
