package load

import (
	"fmt"
	"strconv"
	"time"
)

// Summary is what the callers of one run experienced. It marshals to one JSON object; the keys of Figures stand in it
// directly, and again for each tenant and class. The class of callers that name none is "none".
type Summary struct {
	Figures
	Upstream *Upstream          `json:"upstream"` // nil without accounts
	Tenants  map[string]Figures `json:"tenants"`
	Classes  map[string]Figures `json:"classes"`
	// Statuses counts attempts by the status of their answer; "none" are those without one.
	Statuses map[string]int64 `json:"statuses"`
	// FirstErrors are the first different messages of requests that ended in error.
	FirstErrors []string `json:"first_errors"`
	// Notes say what a reader must know to trust the figures, such as why one is missing.
	Notes []string `json:"notes"`
}

// Figures describe some callers. offered = on_time + late + refused + errors + left. A nil figure could not be
// measured. Times are in seconds and count from the intended start unless said otherwise.
type Figures struct {
	Offered int64 `json:"offered"`
	OnTime  int64 `json:"on_time"`
	// GoodputRPS is on-time answers by second of the window.
	GoodputRPS float64 `json:"goodput_rps"`
	// GoodputRatio is the upstream's slot time inside the window that went into on-time answers, over all the slot
	// time it had.
	GoodputRatio *float64 `json:"goodput_ratio"`
	// OfferedRatio is the slot time that the offered requests would have taken, over what the upstream had, at most 1.
	// Requests without an answer are taken to need the mean of their tenant's answers.
	OfferedRatio *float64 `json:"offered_ratio"`
	// GoodputVsPossible is GoodputRatio over OfferedRatio.
	GoodputVsPossible *float64 `json:"goodput_vs_possible"`

	Late    int64 `json:"late"`
	Refused int64 `json:"refused"` // the last attempt was refused
	Errors  int64 `json:"errors"`
	Left    int64 `json:"left"` // lost patience before the deadline

	Attempts           int64   `json:"attempts"`
	AttemptsPerOffered float64 `json:"attempts_per_offered"`

	// Latencies are those of complete answers, on time or not.
	LatencyMean *float64 `json:"latency_mean_s"`
	LatencyP50  *float64 `json:"latency_p50_s"`
	LatencyP95  *float64 `json:"latency_p95_s"`
	LatencyP99  *float64 `json:"latency_p99_s"`
	TTFTP50     *float64 `json:"ttft_p50_s"` // streams only
	TTFTP99     *float64 `json:"ttft_p99_s"`
	// Refusal times run from the start of an attempt to its refusal, over all refused attempts.
	RefusalMean     *float64 `json:"refusal_mean_s"`
	RefusalP99      *float64 `json:"refusal_p99_s"`
	RefusedAttempts int64    `json:"refused_attempts"`
	FinalRefusals   int64    `json:"final_refusals"` // equal to refused

	// JainSlotSeconds is Jain's index over the tenants' served slot time over their weighted max-min share.
	JainSlotSeconds *float64 `json:"jain_slot_seconds"`
	// WastedSlotSeconds is the upstream's work for callers that had already gone.
	WastedSlotSeconds *float64 `json:"wasted_slot_seconds"`
	QueueP95          *float64 `json:"queue_p95_s"` // waits as Server-Timing of the answers says
	QueueP99          *float64 `json:"queue_p99_s"`
	Duration          float64  `json:"duration_s"` // of the window
}

// figures computes what needs no knowledge of the upstream. window is in seconds.
func (g *group) figures(window float64) Figures {
	f := Figures{
		Offered: g.offered, OnTime: g.ended[onTime], Late: g.ended[late], Refused: g.ended[refused], Errors: g.ended[failed], Left: g.ended[left],
		Attempts: g.attempts, FinalRefusals: g.ended[refused], Duration: window,
		LatencyMean: g.latency.mean(), LatencyP50: g.latency.quantile(50), LatencyP95: g.latency.quantile(95), LatencyP99: g.latency.quantile(99),
		TTFTP50: g.first.quantile(50), TTFTP99: g.first.quantile(99),
		RefusalMean: g.refusal.mean(), RefusalP99: g.refusal.quantile(99),
		QueueP95: g.queue.quantile(95), QueueP99: g.queue.quantile(99),
	}
	if g.refusal.h != nil {
		f.RefusedAttempts = g.refusal.h.TotalCount()
	}
	if window > 0 {
		f.GoodputRPS = float64(f.OnTime) / window
	}
	if f.Offered > 0 {
		f.AttemptsPerOffered = float64(f.Attempts) / float64(f.Offered)
	}
	return f
}

// rate adds the figures that compare with what the upstream could do. capacity and demand are in slot seconds.
func (f *Figures) rate(g *group, capacity, demand float64) {
	f.GoodputRatio = ptr(g.work / capacity)
	if demand > 0 {
		f.OfferedRatio = ptr(min(1, demand/capacity))
		f.GoodputVsPossible = ptr(*f.GoodputRatio / *f.OfferedRatio)
	}
}

// summary adds up the run. slots is 0 if unknown.
func (t *tally) summary(p plan, window time.Duration, slots float64) Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Summary{
		Figures: t.total.figures(window.Seconds()), Tenants: map[string]Figures{}, Classes: map[string]Figures{},
		Statuses: map[string]int64{}, FirstErrors: append([]string{}, t.messages...), Notes: []string{},
	}
	for status, n := range t.statuses {
		name := "none"
		if status != 0 {
			name = strconv.Itoa(status)
		}
		s.Statuses[name] = n
	}
	demands := t.demands()
	capacity := slots * window.Seconds()
	// Without one on-time answer the goodput is a known zero.
	rated := capacity > 0 && (t.total.told > 0 || t.total.ended[onTime] == 0)
	switch {
	case capacity == 0: // the runner says why
	case !rated:
		s.Notes = append(s.Notes, "goodput_ratio is null: no answer says its slot time (mock.service_s)")
	case t.total.untold > 0:
		s.Notes = append(s.Notes, fmt.Sprintf("%d on-time answers did not say their slot time (mock.service_s) and count as no work in goodput_ratio", t.total.untold))
	}

	var demand float64
	byClass := map[string]float64{}
	served, weights := make([]float64, len(p.tenants)), make([]float64, len(p.tenants))
	for i, tenant := range p.tenants {
		g := &t.tenants[i]
		f := g.figures(window.Seconds())
		if rated {
			f.rate(g, capacity, demands[i])
		}
		s.Tenants[tenant.Name] = f
		served[i], weights[i] = g.served, tenant.Weight
		demand += demands[i]
		byClass[className(tenant)] += demands[i]
	}
	for name, g := range t.classes {
		f := g.figures(window.Seconds())
		if rated {
			f.rate(g, capacity, byClass[name])
		}
		s.Classes[name] = f
	}
	if rated {
		s.rate(&t.total, capacity, demand)
		if index, ok := jain(served, maxMinShares(capacity, demands, weights)); ok {
			s.JainSlotSeconds = &index
		}
	}
	return s
}

// demands estimates the slot seconds each tenant asked for: its offered requests at the mean of its answers, or of all
// answers if it got none.
func (t *tally) demands() []float64 {
	demands := make([]float64, len(t.tenants))
	for i := range t.tenants {
		g := &t.tenants[i]
		known := g
		if g.told == 0 {
			known = &t.total
		}
		if known.told > 0 {
			demands[i] = float64(g.offered) * known.services / float64(known.told)
		}
	}
	return demands
}
