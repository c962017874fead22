package console_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
)

// Names that would do something if the page took them for markup.
const (
	evilTenant = `<img src=x onerror="window.harmed=1">`
	evilModel  = `"><script>window.harmed=2</script>`
)

var classes = []string{"interactive", "standard", "batch", "speculative"}

// canned are pictures of one incident: a tenant that sends too much, an upstream
// that fails, a budget that is nearly gone.
type canned struct {
	models, tenants int
	evil            bool // some names are markup
}

func (c canned) model(i int) string {
	if c.evil && i == 1 {
		return evilModel
	}
	return [...]string{"chat", "embed", "summary", "code", "vision"}[i%5] + suffix(i/5)
}

func (c canned) tenant(i int) string {
	if c.evil && i == 1 {
		return evilTenant
	}
	return [...]string{"shop", "search", "mail", "lab", "desk", "sales", "news", "maps"}[i%8] + suffix(i/8)
}

func suffix(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("-%d", n)
}

// second is one second of the incident; at is Unix time. The same second is
// always the same.
func (c canned) second(at int64) gateway.Second {
	chance := rand.New(rand.NewPCG(uint64(at), 1))
	wave := 1 + 0.15*math.Sin(float64(at)/40) + 0.1*chance.Float64()
	storm := math.Max(0, math.Min(1, float64(at%600-200)/30)) // from the 200th second of each 600 on
	ran, queued := int64(38*wave), int64(16*wave*(1+storm))
	refused := map[string]int64{}
	if n := int64(30 * storm * wave); n > 0 {
		refused["wait"], refused["bound"], refused["requests"] = n, n/3, n/4
	}
	total := ran + queued
	for _, n := range refused {
		total += n
	}
	wait := 0.8 + 3.2*storm + 0.4*chance.Float64()
	return gateway.Second{
		At: at, Offered: total, Ran: ran, Queued: queued, Degraded: int64(6 * storm), Refused: refused,
		Good: ran + queued - 3, Late: int64(2 * storm), Failed: int64(1.5 * storm), Left: 1, Started: queued,
		Wait: wait, Foretold: wait*1.1 + 0.1*chance.Float64(), Worst: wait * 1.9, First: 0.4 + 0.5*storm,
	}
}

// picture is the state at a time.
func (c canned) picture(now time.Time) gateway.Picture {
	chance := rand.New(rand.NewPCG(uint64(now.Unix()), 2))
	p := gateway.Picture{At: now, Uptime: 86_400*3 + 3600, Active: 412, LanesOut: 12, Out: 4, Second: c.second(now.Unix() - 1)}
	for i := range c.models {
		busy := i < 3
		m := gateway.ModelPicture{Model: c.model(i), Slots: 40, Running: 8 + chance.IntN(10), Mean: 2.4 + float64(i%4), Factor: 1, Brownout: 1, Bound: 200, PerLane: 50}
		if busy {
			m.Running = 40
		}
		if i == 2 {
			m.Brownout = 1.6
		}
		for k, name := range classes {
			class := gateway.ClassPicture{Class: name, Running: m.Running / 4}
			if busy {
				class.Waiting, class.Wait, class.Work = (k+1)*(3-i)*6+chance.IntN(4), 4.2*float64(k+1)/float64(i+1), 30
				if k == 2 && i == 0 {
					class.Level = 2
				}
			}
			m.Classes = append(m.Classes, class)
		}
		p.Models = append(p.Models, m)
		for d := range 2 {
			u := gateway.UpstreamReport{
				Name: fmt.Sprintf("gpu-%d%c", i+1, 'a'+d), Model: m.Model, Concurrency: 20, Usable: 20, Running: min(m.Running/2, 20), Speed: 1, Sent: 12_000, Good: 11_900,
				Breaker: gateway.BreakerReport{State: "closed", Share: 1}, First: &gateway.TimesReport{P50: 0.32, P95: 0.9, P99: 1.4}, Faults: map[string]int64{"throttled": 60, "timeout": 40}, Limited: 0.005, Cost: 128.4,
			}
			rpm := 3000.0
			u.Keys = []gateway.KeyReport{{Key: 0, Requests: &rpm, Today: 41_000_000, Daily: 60_000_000}}
			switch {
			case i == 0 && d == 1:
				u.Usable, u.Breaker = 8, gateway.BreakerReport{State: "recovering", Share: 0.4, Step: 4, Reason: "errors"}
			case i == 4 && d == 0:
				until := now.Add(12 * time.Second)
				u.Usable, u.Running, u.Breaker = 0, 0, gateway.BreakerReport{State: "open", Reason: "consecutive", Until: &until}
			}
			p.Upstream = append(p.Upstream, u)
		}
	}
	for i := range c.tenants {
		t := gateway.TenantPicture{Tenant: c.tenant(i), Running: chance.IntN(4), Offered: 0.1 + chance.Float64()*0.4}
		switch {
		case i == 0:
			t.Waiting, t.Offered, t.Refused, t.Degraded = 50, 52, 38, 4
		case i < 8:
			t.Waiting, t.Offered, t.Refused = 8-i, 3+chance.Float64(), 1.2/float64(i)
		}
		t.Distrusted = i == 5
		p.Tenants = append(p.Tenants, t)
	}
	for i := range min(30, c.tenants) {
		p.Lanes = append(p.Lanes, gateway.LanePicture{Tenant: c.tenant(i), Model: c.model(i % min(3, c.models)), Class: classes[i%4], Waiting: 50 / (i + 1), Oldest: 8.0 / float64(i+1), Wait: 9.1 / float64(i+1)})
	}
	for i := range min(6, c.tenants) {
		lasts := 1800.0 * float64(i+1)
		b := gateway.BudgetPicture{Scope: "tenant", Tenant: c.tenant(i), Span: "day", Limit: 500, Spent: 480 / float64(i+1), Held: 6, Minute: 0.9 / float64(i+1), Alarm: "calm", Lasts: &lasts}
		if i == 0 {
			b.Alarm = "fast"
		}
		p.Budgets = append(p.Budgets, b)
	}
	return p
}
