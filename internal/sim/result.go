package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Figures describe some callers. Shares are from 0 to 1, times in seconds. A
// nil figure could not be measured in this run.
type Figures struct {
	Offered int64 `json:"offered"` // requests
	OnTime  int64 `json:"on_time"`
	// GoodputCount is the share of offered requests that were answered in time.
	GoodputCount float64 `json:"goodput_count"`
	// GoodputWork is the slot time of those answers over all the slot time there was.
	GoodputWork float64 `json:"goodput_work"`
	// OfferedWork is the slot time that all requests would have taken, over all there was.
	OfferedWork float64 `json:"offered_work"`
	// OracleCount and OracleWork are the same of the clairvoyant on the same requests, if it ran.
	OracleCount *float64 `json:"oracle_count"`
	OracleWork  *float64 `json:"oracle_work"`

	// ServedLate and ExpiredInQueue are shares of admitted attempts: answered
	// or abandoned after the deadline, and dropped after they had been queued.
	ServedLate     float64 `json:"served_late"`
	ExpiredInQueue float64 `json:"expired_in_queue"`
	// RejectedFeasible is the share of offered requests that were refused on
	// their first attempt although in hindsight they would have made it.
	RejectedFeasible float64 `json:"rejected_feasible"`
	// Refused is the share of offered requests that ended in a refusal.
	Refused  float64 `json:"refused"`
	Expired  int64   `json:"expired"`  // requests that ended by being dropped from the queue
	Refusals int64   `json:"refusals"` // attempts refused, also from the queue
	Left     int64   `json:"left"`
	Failed   int64   `json:"failed"`
	Errors   int64   `json:"errors"` // attempts that ended with a failure of the upstream
	// Overshed is what was refused or expired beyond what the clairvoyant
	// refuses, as a share of offered.
	Overshed *float64 `json:"overshed"`

	RefusalMean float64 `json:"refusal_mean_s"` // from an attempt to its refusal, also in the queue
	RefusalP99  float64 `json:"refusal_p99_s"`
	WaitMean    float64 `json:"wait_mean_s"` // of what started
	WaitP95     float64 `json:"wait_p95_s"`
	WaitP99     float64 `json:"wait_p99_s"`
	WaitMAE     float64 `json:"wait_mae_s"`  // predicted against real
	QueueP95    float64 `json:"queue_p95_s"` // waits of answers in time, as their Server-Timing says
	QueueP99    float64 `json:"queue_p99_s"`
	LatencyMean float64 `json:"latency_mean_s"`
	LatencyP99  float64 `json:"latency_p99_s"`

	Attempts           int64   `json:"attempts"`
	AttemptsPerOffered float64 `json:"attempts_per_offered"`
	RunsPerOffered     float64 `json:"runs_per_offered"`
	WastedWork         float64 `json:"wasted_work"` // slot time on anything else, over all there was
	// SlotSeconds is the slot time of answers in time.
	SlotSeconds float64 `json:"slot_seconds"`
	// Degraded is the share of the answers that are not as they were asked, and
	// StoodFor the slot time that those in time would have taken as they were
	// asked, over all there was.
	Degraded float64 `json:"degraded"`
	StoodFor float64 `json:"stood_for"`
}

// Result is what a run came to. Its JSON has the names of docs/simulator.md.
type Result struct {
	Figures
	// JainSlotSeconds is Jain's index over slot time by weighted max-min share,
	// of tenants with demand.
	JainSlotSeconds float64 `json:"jain_slot_seconds"`
	// Recovery is the time from the end of the last disturbance to the first
	// ten seconds with 95 % on time; nil without a disturbance or a recovery.
	Recovery *float64 `json:"recovery_s"`
	// PossibleWork is the slot time that an upstream which never idles while
	// anything fresh is wanted could have spent, over all there was: what was
	// asked, carried over for as long as the most patient caller waits.
	PossibleWork float64             `json:"possible_work"`
	Duration     float64             `json:"duration_s"`
	Stages       map[string]int64    `json:"refusals_by_stage"`
	Tenants      map[string]Figures  `json:"tenants,omitempty"`
	Classes      map[string]Figures  `json:"classes"`
	Deployments  []DeploymentFigures `json:"deployments,omitempty"` // that have upstreams of their own

	Ladders []LadderFigures `json:"ladders,omitempty"`
	// Spending is what accounts spent of their budgets, the worst of a tenant's
	// users and of its sessions for all of them.
	Spending []SpendingFigures `json:"spending,omitempty"`

	Course []Second `json:"-"`
	Groups []Group  `json:"-"` // in order of first appearance

	counts    []*counts
	courses   []*course
	sites     []*record
	ladders   []*ladderBook
	leastCost float64 // dollars, of the same answers
	capacity  float64 // slot-seconds
}

// Group is one group of callers in one class.
type Group struct {
	Name  string
	Class admit.Class
	Figures
}

func (t *tally) result(r *Run) *Result {
	length := max(r.end.Sub(epoch).Seconds(), 1e-9)
	capacity := t.capacity * length
	out := &Result{
		Duration: length, Stages: map[string]int64{}, Tenants: map[string]Figures{}, Classes: map[string]Figures{}, Course: t.course,
		JainSlotSeconds: t.jain(capacity), Recovery: t.recovery(),
		PossibleWork: t.possible() / capacity, counts: t.order, courses: t.courses, capacity: capacity,
	}
	var all counts
	var groups []*counts
	tenants, classes := map[string]*counts{}, map[string]*counts{}
	for _, c := range t.order {
		all.add(c)
		if tenants[c.tenant] == nil {
			tenants[c.tenant] = c // most have one class and one group: nothing to add up
		} else {
			sum := counts{}
			sum.add(tenants[c.tenant])
			sum.add(c)
			tenants[c.tenant] = &sum
		}
		into(classes, c.class.String()).add(c)
		i := slices.IndexFunc(groups, func(g *counts) bool { return g.group == c.group && g.class == c.class })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &counts{group: c.group, class: c.class})
		}
		groups[i].add(c)
	}
	for _, c := range groups {
		out.Groups = append(out.Groups, Group{c.group, c.class, c.figures(capacity)})
	}
	out.Figures = all.figures(capacity)
	for name, c := range tenants {
		out.Tenants[name] = c.figures(capacity)
	}
	for name, c := range classes {
		out.Classes[name] = c.figures(capacity)
	}
	for stage, n := range t.stages {
		if n > 0 {
			out.Stages[admit.Stage(stage).String()] = n
		}
	}
	out.ladders = t.ladders
	for _, b := range t.ladders {
		out.Ladders = append(out.Ladders, b.figures(r.end))
	}
	out.Spending = t.purses.figures()
	out.sites = r.records()
	for _, p := range r.order {
		if p.bill != nil {
			out.leastCost += p.bill.least() / 1e6
		}
	}
	if r.named {
		for _, x := range out.sites {
			out.Deployments = append(out.Deployments, out.deployment(x))
		}
	}
	return out
}

func into(m map[string]*counts, key string) *counts {
	if m[key] == nil {
		m[key] = &counts{}
	}
	return m[key]
}

func (c *counts) add(o *counts) {
	for i, n := range o.requests {
		c.requests[i] += n
	}
	c.offered, c.attempts, c.runs, c.admitted = c.offered+o.offered, c.attempts+o.attempts, c.runs+o.runs, c.admitted+o.admitted
	c.refusals, c.feasible, c.errors = c.refusals+o.refusals, c.feasible+o.feasible, c.errors+o.errors
	c.stood, c.answers, c.degraded = c.stood+o.stood, c.answers+o.answers, c.degraded+o.degraded
	c.demand, c.onTime, c.wasted, c.waitError = c.demand+o.demand, c.onTime+o.onTime, c.wasted+o.wasted, c.waitError+o.waitError
	c.waits.merge(&o.waits)
	c.answered.merge(&o.answered)
	c.toRefusal.merge(&o.toRefusal)
	c.latency.merge(&o.latency)
	c.first.merge(&o.first)
	c.cost += o.cost
}

func (c *counts) figures(capacity float64) Figures {
	offered := float64(max(c.offered, 1))
	admitted := float64(max(c.admitted, 1))
	f := Figures{
		Offered: c.offered, OnTime: c.requests[endOnTime], Expired: c.requests[endExpired], Refusals: c.refusals, Left: c.requests[endLeft], Failed: c.requests[endFailed], Errors: c.errors,
		GoodputCount: float64(c.requests[endOnTime]) / offered, GoodputWork: c.onTime / capacity, OfferedWork: c.demand / capacity,
		ServedLate: float64(c.requests[endLate]) / admitted, ExpiredInQueue: float64(c.requests[endExpired]) / admitted,
		RejectedFeasible: float64(c.feasible) / offered, Refused: float64(c.requests[endRefused]) / offered,
		RefusalMean: c.toRefusal.mean(), RefusalP99: c.toRefusal.quantile(0.99),
		WaitMean: c.waits.mean(), WaitP95: c.waits.quantile(0.95), WaitP99: c.waits.quantile(0.99),
		WaitMAE: c.waitError / float64(max(c.waits.n, 1)), LatencyMean: c.latency.mean(), LatencyP99: c.latency.quantile(0.99),
		QueueP95: c.answered.quantile(0.95), QueueP99: c.answered.quantile(0.99),
		Attempts: c.attempts, AttemptsPerOffered: float64(c.attempts) / offered, RunsPerOffered: float64(c.runs) / offered,
		WastedWork: c.wasted / capacity, SlotSeconds: c.onTime,
		Degraded: float64(c.degraded) / float64(max(c.answers, 1)), StoodFor: c.stood / capacity,
	}
	return f
}

// jain is Jain's index over x = slot time by weighted max-min share.
func (t *tally) jain(capacity float64) float64 {
	type tenant struct{ weight, demand, onTime float64 }
	tenants := map[string]*tenant{}
	var names []string
	for _, c := range t.order {
		x := tenants[c.tenant]
		if x == nil {
			x = &tenant{weight: c.weight}
			tenants[c.tenant] = x
			names = append(names, c.tenant)
		}
		x.demand, x.onTime = x.demand+c.demand, x.onTime+c.onTime
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := tenants[a], tenants[b]
		if d := x.demand/x.weight - y.demand/y.weight; d != 0 {
			if d < 0 {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	weight := 0.0
	for _, n := range names {
		weight += tenants[n].weight
	}
	left, sum, squares, n := capacity, 0.0, 0.0, 0.0
	for _, name := range names { // least demand by weight first: who wants less than its share leaves the rest more
		c := tenants[name]
		share := min(c.demand, c.weight*left/weight)
		left, weight = left-share, weight-c.weight
		if share <= 0 {
			continue
		}
		x := c.onTime / share
		sum, squares, n = sum+x, squares+x*x, n+1
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (n * squares)
}

const (
	recoveryWindow = 10   // seconds
	recovered      = 0.95 // share on time
)

func (t *tally) recovery() *float64 {
	if t.disturbed == 0 {
		return nil
	}
	first := int(t.disturbed / time.Second)
	for i := first; i+recoveryWindow <= len(t.course); i++ {
		var offered, onTime int32
		for _, s := range t.course[i : i+recoveryWindow] {
			offered += s.Offered
			onTime += s.OnTime
		}
		if offered > 0 && float64(onTime) >= recovered*float64(offered) {
			took := float64(i - first)
			return &took
		}
	}
	return nil
}

// Against fills in what only a comparison with the clairvoyant's run tells.
func (r *Result) Against(oracle *Result) {
	r.Figures.against(&oracle.Figures)
	for name, f := range r.Tenants {
		if o, ok := oracle.Tenants[name]; ok {
			f.against(&o)
			r.Tenants[name] = f
		}
	}
	for name, f := range r.Classes {
		if o, ok := oracle.Classes[name]; ok {
			f.against(&o)
			r.Classes[name] = f
		}
	}
}

func (f *Figures) against(o *Figures) {
	count, work := o.GoodputCount, o.GoodputWork
	f.OracleCount, f.OracleWork = &count, &work
	shed := func(f *Figures) float64 { return f.Refused + float64(f.Expired)/float64(max(f.Offered, 1)) }
	over := max(shed(f)-shed(o), 0)
	f.Overshed = &over
}

func (t *tally) possible() (sum float64) {
	backlog := 0.0
	for i := range t.course {
		s := &t.course[i]
		backlog += float64(s.Asked)
		served := min(backlog, float64(s.Slots))
		sum += served
		backlog = min(backlog-served, float64(s.Slots)*t.patience.Seconds())
	}
	return sum
}
