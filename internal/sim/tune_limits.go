package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Arithmetic is Little's law for the configured limits: what each allows, in
// requests a minute.
type Arithmetic struct {
	Facts    []string
	Warnings []string // where one limit makes another unreachable
}

// far is from what ratio on a limit is called out of reach: means differ from
// day to day.
const far = 2

// mostFacts bounds the lines about tenants.
const mostFacts = 50

// Limits does the arithmetic for the pools that were profiled. p has its
// defaults filled.
func Limits(p *admit.Policy, profiles []Profile) (a Arithmetic) {
	for i := range profiles {
		f := &profiles[i]
		for j := range p.Models {
			if m := &p.Models[j]; m.Name == f.Model {
				a.pool(p, m, f)
				a.providers(m, f)
				a.tenants(p, m, f)
			}
		}
	}
	return a
}

func (a *Arithmetic) fact(format string, args ...any) {
	a.Facts = append(a.Facts, fmt.Sprintf(format, args...))
}
func (a *Arithmetic) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

func (a *Arithmetic) pool(p *admit.Policy, m *admit.Model, f *Profile) {
	slots := slotsOf(m)
	perMinute := float64(slots) / f.Service.Minutes()
	a.fact("%s: concurrency %d x 60 s / %s a request = %s requests a minute, %s tokens a minute", m.Name, slots, rounded(f.Service), short(perMinute), short(perMinute*f.Tokens))
	if f.Slots > 0 && slots > f.Slots {
		a.warn("%s: concurrency %d is above the %d slots of the upstream: the difference waits there, unseen", m.Name, slots, f.Slots)
	}
	var plain admit.Policy
	plain.Models = []admit.Model{{}}
	plain.Defaults()
	q, d := m.Queue, plain.Models[0].Queue
	wait := func(n int) time.Duration {
		return rounded(time.Duration(float64(n) * float64(f.Service) / float64(slots)))
	}
	a.fact("%s: queue.total %d = %s of wait, queue.per_tenant %d = %s", m.Name, q.Total, wait(q.Total), q.PerTenant, wait(q.PerTenant))
	longest := time.Duration(0)
	for _, c := range p.Classes {
		longest = max(longest, c.MaxWait)
	}
	marks := []struct {
		name string
		mark time.Duration
	}{{"high", q.High}, {"the longest max_wait", longest}}
	for _, b := range []struct {
		name     string
		n, plain int
	}{{"queue.total", q.Total, d.Total}, {"queue.per_tenant", q.PerTenant, d.PerTenant}} {
		if b.n == b.plain {
			continue // nobody chose it
		}
		for _, k := range marks {
			if k.mark > 0 && wait(b.n) > far*k.mark {
				a.warn("%s: %s %d never fills before %s: so many would wait %s, and nobody waits beyond %s", m.Name, b.name, b.n, k.name, wait(b.n), k.mark)
				break
			}
		}
	}
	if q.High > longest*4/5 {
		a.warn("%s: queue.high %s is never reached: no class plans to wait beyond %s (four fifths of max_wait)", m.Name, q.High, longest*4/5)
	}
	if q.DepthHigh > q.Total {
		a.warn("%s: queue.depth_high %d is never reached: queue.total %d ends it first", m.Name, q.DepthHigh, q.Total)
	}
	if n := len(p.Tenants); n > 0 && q.Total != d.Total && n*q.PerTenant < q.Total {
		a.warn("%s: queue.total %d never fills: %d tenants of at most %d (queue.per_tenant) are %d", m.Name, q.Total, n, q.PerTenant, n*q.PerTenant)
	}
	if q.PerTenant > q.Total && q.PerTenant != d.PerTenant {
		a.warn("%s: queue.per_tenant %d never fills: queue.total %d ends it first", m.Name, q.PerTenant, q.Total)
	}
	if q.Work > far*longest && q.Work != d.Work {
		a.warn("%s: queue.work %s never fills: no class waits beyond %s (max_wait)", m.Name, q.Work, longest)
	}
}

func (a *Arithmetic) tenants(p *admit.Policy, m *admit.Model, f *Profile) {
	told, more := 0, 0
	for i := range p.Tenants {
		t := &p.Tenants[i]
		l, ok := t.Limits[m.Name]
		if !ok {
			l = t.Limits[""]
		}
		if l == (admit.Limits{}) && t.Concurrency == 0 {
			continue
		}
		if told++; told > mostFacts {
			more++
		}
		a.tenant(m, f, t, l, told <= mostFacts)
	}
	if more > 0 {
		a.fact("%s: and %d tenants more", m.Name, more)
	}
}

// tenant is what each limit of a tenant allows it, and which ends it first.
func (a *Arithmetic) tenant(m *admit.Model, f *Profile, t *admit.Tenant, l admit.Limits, tell bool) {
	allows := map[string]float64{}
	var parts []string
	if l.Requests > 0 {
		allows["rpm"] = float64(l.Requests)
		parts = append(parts, fmt.Sprintf("rpm %d", l.Requests))
	}
	if l.Tokens > 0 && f.Tokens > 0 {
		allows["tpm"] = float64(l.Tokens) / f.Tokens
		parts = append(parts, fmt.Sprintf("tpm %d / %.0f a request = %s requests", l.Tokens, f.Tokens, short(allows["tpm"])))
	}
	if t.Concurrency > 0 && f.Service > 0 {
		allows["concurrency"] = float64(t.Concurrency) / f.Service.Minutes()
		parts = append(parts, fmt.Sprintf("concurrency %d x 60 s / %s = %s requests", t.Concurrency, rounded(f.Service), short(allows["concurrency"])))
	}
	if len(allows) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(allows))
	least := slices.MinFunc(names, func(x, y string) int {
		switch {
		case allows[x] < allows[y]:
			return -1
		case allows[x] > allows[y]:
			return 1
		}
		return 0
	})
	if tell {
		a.fact("%s at %s: %s; %s ends it first, at %s a minute", t.Name, m.Name, strings.Join(parts, ", "), least, short(allows[least]))
	}
	capacity := float64(slotsOf(m)) / f.Service.Minutes()
	for _, n := range names {
		switch {
		case n != least && allows[n] > far*allows[least]:
			a.warn("%s at %s: %s is out of reach: it would allow %s requests a minute, and %s ends at %s", t.Name, m.Name, n, short(allows[n]), least, short(allows[least]))
		case n == least && n != "concurrency" && allows[n] > capacity:
			a.warn("%s at %s: %s is out of reach: it would allow %s requests a minute, and the whole pool can do %s", t.Name, m.Name, n, short(allows[n]), short(capacity))
		}
	}
	if t.Concurrency > 0 && t.Concurrency <= m.Queue.PerTenant && m.Queue.PerTenant != 1000 {
		a.warn("%s at %s: queue.per_tenant %d never fills: the tenant's concurrency %d counts waiting requests too", t.Name, m.Name, m.Queue.PerTenant, t.Concurrency)
	}
}

// short is a number to three digits.
func short(x float64) string {
	switch {
	case x >= 1e7:
		return fmt.Sprintf("%.3gM", x/1e6)
	case x >= 1e5:
		return fmt.Sprintf("%.0fk", x/1e3)
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
