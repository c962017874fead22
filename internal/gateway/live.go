package gateway

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

const (
	mostLanes   = 100 // that a picture shows
	mostBudgets = 100
)

// Picture is the state of the gateway now. It is read in parts, each of one
// moment: between two of them requests come and go.
func (g *Gateway) Picture() Picture {
	now := time.Now()
	s := g.gate.see(mostLanes)
	p := Picture{
		At: now.Round(0).UTC(), Uptime: seconds3(now.Sub(g.gate.began)), Draining: g.isDraining(), Active: g.active.Load(),
		Models: make([]ModelPicture, 0, len(s.views)), Tenants: []TenantPicture{}, Lanes: make([]LanePicture, 0, len(s.lanes)), LanesOut: s.left,
		Upstream: g.reports(s.views),
	}
	for i := range s.views {
		p.Models = append(p.Models, modelPicture(&s.views[i]))
	}
	for i := range s.payers {
		t := &s.payers[i]
		offered, refused, degraded := g.history.rates(now, t.Name)
		if t.Came || offered > 0 {
			p.Tenants = append(p.Tenants, TenantPicture{t.Name, t.Waiting, t.Active - t.Waiting, offered, refused, degraded, t.Distrusted})
		}
	}
	slices.SortFunc(p.Tenants, func(a, b TenantPicture) int { return strings.Compare(a.Tenant, b.Tenant) })
	for _, l := range s.lanes {
		p.Lanes = append(p.Lanes, LanePicture{l.Tenant, l.Model, l.Class.String(), l.Waiting, seconds3(l.Oldest), seconds3(l.Wait)})
	}
	p.Budgets, p.Out = budgetPictures(s.accounts)
	if last := g.history.last(now, 1); len(last) > 0 {
		p.Second = last[0]
	}
	return p
}

// History is the last seconds that are over, oldest first, at most 900 and none
// from before the gateway began.
func (g *Gateway) History(n int) []Second { return g.history.last(time.Now(), n) }

// Over ends with the gateway: when draining is over, or at Close.
func (g *Gateway) Over() <-chan struct{} { return g.life.Done() }

func modelPicture(v *admit.View) ModelPicture {
	m := ModelPicture{
		Model: v.Model, Slots: v.Slots, Running: v.Running, Mean: seconds3(v.Mean), Factor: round3(v.Factor), Brownout: round3(v.Brownout),
		Bound: v.Queue.Total, PerLane: v.Queue.PerTenant, Classes: make([]ClassPicture, 0, len(v.Classes)),
	}
	for _, r := range v.Rungs {
		m.Rungs = append(m.Rungs, r.Name)
	}
	for i, c := range v.Classes {
		m.Classes = append(m.Classes, ClassPicture{
			Class: admit.Class(i).String(), Waiting: c.Waiting, Running: c.Running, Work: seconds3(c.Work), Wait: seconds3(v.Entry[i]),
			Low: seconds3(v.Marks[i].Low), High: seconds3(v.Marks[i].High), Level: v.Levels[i].Level, Pressure: round3(v.Levels[i].Pressure),
		})
	}
	return m
}

// budgetPictures are the limits that are nearest to their ends, and how many
// there are besides.
func budgetPictures(list []admit.AccountState) (shown []BudgetPicture, out int) {
	part := func(a *admit.AccountState) float64 { return float64(a.Used+a.Held) / float64(max(a.Limit, 1)) }
	nearest := make([]*admit.AccountState, len(list))
	for i := range list {
		nearest[i] = &list[i]
	}
	slices.SortStableFunc(nearest, func(a, b *admit.AccountState) int {
		return cmp.Or(cmp.Compare(part(b), part(a)), cmp.Compare(a.Lasts, b.Lasts))
	})
	if over := len(nearest) - mostBudgets; over > 0 {
		nearest, out = nearest[:mostBudgets], over
	}
	shown = make([]BudgetPicture, 0, len(nearest))
	for _, a := range nearest {
		b := BudgetPicture{
			Scope: a.Scope.String(), Tenant: a.Tenant, Name: a.Name, Span: a.Span.String(), Limit: inDollars(a.Limit), Spent: inDollars(a.Used), Held: inDollars(a.Held),
			Minute: inDollars(a.PerMinute), Alarm: a.Alarm.String(),
		}
		if a.Lasts != math.MaxInt64 {
			lasts := seconds3(a.Lasts)
			b.Lasts = &lasts
		}
		shown = append(shown, b)
	}
	return shown, out
}

// inDollars of micro-dollars.
func inDollars(n int64) float64 { return float64(n) / 1e6 }

// seconds3 is a time in seconds to the millisecond: more says nothing, and each
// figure is sent to each listener each second.
func seconds3(d time.Duration) float64 { return round3(d.Seconds()) }

func round3(x float64) float64 { return math.Round(x*1000) / 1000 }
