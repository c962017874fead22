package sim

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Advice is the thresholds that a ramp suggests for one pool. A zero leaves
// what is configured.
type Advice struct {
	Low, High        time.Duration // watermarks
	PerTenant, Total int           // bounds
	Concurrency      int           // of the pool's only deployment
	why              reasons
}

// reasons are the words behind each figure.
type reasons struct{ low, high, perTenant, total, concurrency string }

const (
	patienceKept = 0.8        // of the patience is High: predictions err
	boundKept    = 1.25       // times what is served within High may wait: work comes unevenly
	fewest       = 10         // may a tenant always have waiting
	mostWaiting  = 10_000_000 // and mostCalls: what a configuration takes
	mostCalls    = 100_000

	leastHigh = 100 * time.Millisecond // callers who bear less are not served by a mark
)

// Advise draws thresholds from a ramp. Watermarks come from what callers can
// bear and what waits are healthy; bounds from what is served in that time.
func (r *Ramp) Advise() Advice {
	good, _, _ := r.Knee()
	var a Advice
	slots := float64(r.Slots)
	if r.Slots == 0 {
		a.Concurrency = r.Concurrency()
		a.why.concurrency = fmt.Sprintf("%.3g requests a second of %s each where all is well, less a tenth", good.Rate, rounded(r.Service))
		slots = float64(a.Concurrency)
	}
	high := rounded(time.Duration(float64(r.Patience) * patienceKept))
	if high < leastHigh {
		return a
	}
	a.High, a.Low = high, rounded(min(max(good.Wait95, high/4), high/2))
	a.Total = min(max(twoDigits(slots*high.Seconds()/max(r.Service.Seconds(), 1e-6)*boundKept), fewest), mostWaiting)
	a.PerTenant = a.Total
	a.why.perTenant = "there are no other tenants"
	if tenants := len(r.Tenants); tenants > 1 {
		a.PerTenant = min(a.Total, max(twoDigits(2*float64(a.Total)/float64(tenants)), fewest))
		a.why.perTenant = fmt.Sprintf("twice the even share of %d tenants", tenants)
	}
	a.why.low = fmt.Sprintf("the P95 wait is %s where all is well; at least a quarter of high, at most half", rounded(good.Wait95))
	a.why.high = fmt.Sprintf("nine of ten requests can wait at most %s; a fifth is kept for errors of prediction", rounded(r.Patience))
	a.why.total = fmt.Sprintf("what %.0f slots serve within high at %s each, and a quarter more", slots, rounded(r.Service))
	return a
}

// withoutMarks are the bounds alone.
func (a Advice) withoutMarks() Advice {
	a.Low, a.High = 0, 0
	return a
}

// Nothing says whether there is no change in it.
func (a Advice) Nothing() bool {
	a.why = reasons{}
	return a == Advice{}
}

// Because is the reason of Concurrency, to stand behind it in a sentence; "" if
// there is none.
func (a Advice) Because() string {
	if a.why.concurrency == "" {
		return ""
	}
	return ": " + a.why.concurrency
}

// apply gives a model with the advice in place; Concurrency is not a matter
// of the queue.
func (a Advice) apply(m admit.Model) admit.Model {
	if a.High > 0 {
		m.Queue.Low, m.Queue.High = a.Low, a.High
	}
	if a.Total > 0 {
		m.Queue.Total, m.Queue.PerTenant = a.Total, a.PerTenant
	}
	return m
}

// Deployment is what a patch must repeat of the configuration to change the
// concurrency of one: lists are replaced as a whole.
type Deployment struct{ Provider, Model string }

// Patch is the advice as it stands below "models:" of a configuration, with
// its reasons; "" if there is nothing to change. only is the pool's deployment
// if there is just one.
func (a Advice) Patch(model string, only *Deployment) string {
	if a.High == 0 && a.Total == 0 && (a.Concurrency == 0 || only == nil) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %q:\n", model)
	if a.Concurrency > 0 && only != nil {
		fmt.Fprintf(&b, "    deployments: # %s\n", a.why.concurrency)
		fmt.Fprintf(&b, "      - {provider: %q", only.Provider)
		if only.Model != "" {
			fmt.Fprintf(&b, ", model: %q", only.Model)
		}
		fmt.Fprintf(&b, ", concurrency: %d}\n", a.Concurrency)
	}
	if a.High == 0 && a.Total == 0 {
		return b.String()
	}
	b.WriteString("    queue:\n")
	if a.High > 0 {
		fmt.Fprintf(&b, "      low: %s # %s\n", a.Low, a.why.low)
		fmt.Fprintf(&b, "      high: %s # %s\n", a.High, a.why.high)
	}
	if a.Total > 0 {
		fmt.Fprintf(&b, "      total: %d # %s\n", a.Total, a.why.total)
		fmt.Fprintf(&b, "      per_tenant: %d # %s\n", a.PerTenant, a.why.perTenant)
	}
	return b.String()
}

// twoDigits rounds up to a number as people write them.
func twoDigits(x float64) int {
	if x <= 0 {
		return 0
	}
	digit := math.Pow(10, max(math.Floor(math.Log10(x))-1, 0))
	return int(math.Ceil(x/digit) * digit)
}
