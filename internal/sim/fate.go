package sim

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Fate is what came of requests that were made within a span: first tries
// with all that followed. Times are in seconds.
type Fate struct {
	Offered  int64   `json:"offered"`
	Served   int64   `json:"served"`   // complete answers
	OnTime   int64   `json:"on_time"`  // of these before the deadline
	Refused  int64   `json:"refused"`  // ended in a refusal
	Degraded int64   `json:"degraded"` // answers that are not as they were asked
	Late     int64   `json:"late"`     // answered after the deadline, or given up then
	Goodput  float64 `json:"goodput_per_s"`
	WaitP50  float64 `json:"wait_p50_s"` // of answers in time
	WaitP99  float64 `json:"wait_p99_s"`
	FirstP50 float64 `json:"ttft_p50_s"` // of streams that were answered, with the wait
	FirstP99 float64 `json:"ttft_p99_s"`
	Cost     float64 `json:"cost_dollars"`
}

func (c *counts) fate(span time.Duration) Fate {
	return Fate{
		Offered: c.offered, Served: c.answers, OnTime: c.requests[endOnTime], Refused: c.requests[endRefused] + c.requests[endExpired],
		Degraded: c.degraded, Late: c.requests[endLate], Goodput: thousandths(float64(c.requests[endOnTime]) / max(span.Seconds(), 1e-3)),
		WaitP50: thousandths(c.answered.quantile(0.5)), WaitP99: thousandths(c.answered.quantile(0.99)),
		FirstP50: thousandths(c.first.quantile(0.5)), FirstP99: thousandths(c.first.quantile(0.99)),
		Cost: float64(c.cost) / 1e6,
	}
}

// thousandths leaves out digits that mean nothing.
func thousandths(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// fates are those of all that counts, of its classes and of its tenants.
type fates struct {
	all     Fate
	classes [admit.NumClasses]Fate
	tenants map[string]Fate
}

func fatesOf(list []*counts, span time.Duration) *fates {
	var all counts
	var classes [admit.NumClasses]counts
	tenants := map[string]*counts{}
	for _, c := range list {
		if c.group == leadGroup {
			continue
		}
		all.add(c)
		classes[c.class].add(c)
		into(tenants, c.tenant).add(c)
	}
	o := &fates{all: all.fate(span), tenants: map[string]Fate{}}
	for i := range classes {
		o.classes[i] = classes[i].fate(span)
	}
	for name, c := range tenants {
		o.tenants[name] = c.fate(span)
	}
	return o
}

// measured is what really came of what was seen within a span. Attempts cannot
// be told apart by request: a retry is taken as of one that was refused.
func measured(seen []Seen, from, to time.Duration) Fate {
	var c counts
	for i := range seen {
		s := &seen[i]
		if s.At < from || s.At >= to {
			continue
		}
		c.cost += s.Cost
		if s.Attempt == 0 {
			c.offered++
		} else {
			c.requests[endRefused]--
		}
		switch {
		case s.Came == CameRefusal:
			c.requests[endRefused]++
		case s.late():
			c.requests[endLate]++
		case s.Came == CameAnswer:
			c.requests[endOnTime]++
			c.answered.add(s.Waited.Seconds())
		}
		if s.Came != CameAnswer {
			continue
		}
		c.answers++
		if s.Degraded {
			c.degraded++
		}
		if s.Stream && s.First > 0 {
			c.first.add(s.First.Seconds())
		}
	}
	c.requests[endRefused] = max(c.requests[endRefused], 0)
	return c.fate(to - from)
}
