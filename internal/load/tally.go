package load

import (
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// histogramMax bounds what a histogram can hold, in microseconds; longer times count as this.
const histogramMax = 2_000_000_000

// maxMessages bounds the samples of error messages.
const maxMessages = 10

// tally adds up results. Safe for concurrent use.
type tally struct {
	window time.Duration // work counts between 0 and here

	mu       sync.Mutex
	total    group
	tenants  []group // as plan.tenants
	classes  map[string]*group
	classOf  []*group // of each tenant
	statuses map[int]int64
	messages []string
	sample   group // since the last sample
}

// group is the figures of some callers while they are added up.
type group struct {
	offered  int64
	ended    [outcomes]int64
	attempts int64

	latency, first, refusal, queue times

	work     float64 // slot seconds of on-time answers inside the window
	served   float64 // slot seconds of all sound answers inside the window
	services float64 // slot seconds of all sound answers
	told     int64   // sound answers that said their slot time
	untold   int64   // on-time answers that did not
}

// times is a distribution of durations, to the microsecond and to three digits; two where there are very many.
type times struct {
	h      *hdrhistogram.Histogram
	sum    time.Duration
	coarse bool
}

func (t *times) add(d time.Duration) {
	if t.h == nil {
		digits := 3
		if t.coarse {
			digits = 2
		}
		t.h = hdrhistogram.New(1, histogramMax, digits)
	}
	t.sum += d
	t.h.RecordValue(min(max(1, d.Microseconds()), histogramMax)) // in range, so it cannot fail
}

// quantile returns seconds, or nil if nothing was added.
func (t *times) quantile(percent float64) *float64 {
	if t.h == nil {
		return nil
	}
	return ptr(float64(t.h.ValueAtQuantile(percent)) / 1e6)
}

func (t *times) mean() *float64 {
	if t.h == nil {
		return nil
	}
	return ptr(t.sum.Seconds() / float64(t.h.TotalCount()))
}

func ptr(v float64) *float64 { return &v }

// manyTenants is the number from which the tenants' histograms are coarse: fine ones take 170 KB each.
const manyTenants = 64

func newTally(p plan) *tally {
	t := &tally{
		window: p.Duration, tenants: make([]group, len(p.tenants)), classes: map[string]*group{},
		classOf: make([]*group, len(p.tenants)), statuses: map[int]int64{},
	}
	for i, tenant := range p.tenants {
		if len(p.tenants) > manyTenants {
			g := &t.tenants[i]
			g.latency.coarse, g.first.coarse, g.refusal.coarse, g.queue.coarse = true, true, true, true
		}
		name := className(tenant)
		if t.classes[name] == nil {
			t.classes[name] = &group{}
		}
		t.classOf[i] = t.classes[name]
	}
	return t
}

// className names the class of a tenant in the summary.
func className(t Tenant) string {
	if t.Class == "" {
		return "none"
	}
	return t.Class
}

// groups are all that a tenant's result counts for.
func (t *tally) groups(tenant int) [4]*group {
	return [4]*group{&t.total, &t.tenants[tenant], t.classOf[tenant], &t.sample}
}

// offer counts an arrival.
func (t *tally) offer(tenant int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups(tenant) {
		g.offered++
	}
}

// settle counts the end of an arrival. at is the intended start, from the start of the run.
func (t *tally) settle(at time.Duration, r result) {
	inWindow := 0.0
	if r.answered && r.service >= 0 {
		inWindow = overlap(at+r.total-r.service, at+r.total, t.window).Seconds()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups(r.tenant) {
		g.add(r, inWindow)
	}
	for _, s := range r.statuses {
		t.statuses[s]++
	}
	if r.outcome == failed && len(t.messages) < maxMessages && !slices.Contains(t.messages, r.message) {
		t.messages = append(t.messages, r.message)
	}
}

func (g *group) add(r result, inWindow float64) {
	g.ended[r.outcome]++
	g.attempts += int64(len(r.statuses))
	for _, d := range r.refusals {
		g.refusal.add(d)
	}
	if !r.answered {
		return
	}
	g.latency.add(r.total)
	if r.first > 0 {
		g.first.add(r.first)
	}
	if r.queue >= 0 {
		g.queue.add(r.queue)
	}
	switch {
	case r.service >= 0:
		g.told++
		g.services += r.service.Seconds()
		g.served += inWindow
		if r.outcome == onTime {
			g.work += inWindow
		}
	case r.outcome == onTime:
		g.untold++
	}
}

// overlap is the part of [from, to] that lies in [0, window].
func overlap(from, to, window time.Duration) time.Duration {
	return max(0, min(to, window)-max(0, from))
}
