package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
)

// remark is one thing about a gateway that somebody should know.
type remark struct {
	text string
	ink  ink // alarm: callers are turned away for it, or soon will be; warn: it is not as it should be
}

const (
	slowBy   = 1.25 // running calls that take so much longer are worth a word
	wrongBy  = 2    // and waits that were so much longer than predicted
	longWait = 1    // seconds below which nobody minds a wrong prediction
)

// health says in words what is wrong with a gateway, the worst first; or that
// nothing is.
func health(p *gateway.Picture, now time.Time) []remark {
	var all []remark
	say := func(i ink, format string, args ...any) { all = append(all, remark{fmt.Sprintf(format, args...), i}) }
	if p.Draining {
		say(alarm, "it is draining: new requests are refused")
	}
	nothingLeft(p, say)
	for i := range p.Models {
		modelHealth(&p.Models[i], say)
	}
	for i := range p.Upstream {
		u := &p.Upstream[i]
		if state := trusted(u, now); state.ink != good {
			say(state.ink, "upstream %s: %s", u.Name, state.text)
		}
	}
	for _, b := range p.Budgets {
		lasts := ""
		if b.Lasts != nil {
			lasts = ", lasts " + seconds(*b.Lasts)
		}
		switch b.Alarm {
		case "", "calm":
		case "exhausted":
			say(alarm, "budget %s is exhausted: what does not fit is refused", budgetName(&b))
		default:
			say(warn, "budget %s: %s%s", budgetName(&b), b.Alarm, lasts)
		}
	}
	if x := &p.Second; x.Started > 0 && x.Wait > longWait && x.Wait > wrongBy*x.Foretold {
		say(warn, "waits are %s, and %s were predicted", seconds(x.Wait), seconds(x.Foretold))
	}
	for _, t := range p.Tenants {
		if t.Distrusted {
			say(warn, "tenant %s: predictions are not believed for it, because they were wrong", t.Tenant)
		}
	}
	turnedAway(p, say)
	if len(all) == 0 {
		return []remark{{calm(p), good}}
	}
	slices.SortStableFunc(all, func(a, b remark) int { return cmp.Compare(b.ink, a.ink) })
	return all
}

// nothingLeft says which models have no upstream that is trusted with a call.
func nothingLeft(p *gateway.Picture, say func(ink, string, ...any)) {
	left := map[string]int{}
	for i := range p.Upstream {
		left[p.Upstream[i].Model] += p.Upstream[i].Usable
	}
	for _, m := range slices.Sorted(maps.Keys(left)) {
		if left[m] == 0 {
			say(alarm, "model %s: no upstream is left", m)
		}
	}
}

// turnedAway says how many are refused, and whom it meets most. Over ten
// seconds, so that it can be read.
func turnedAway(p *gateway.Picture, say func(ink, string, ...any)) {
	all, most := 0.0, gateway.TenantPicture{}
	for _, t := range p.Tenants {
		all += t.Refused
		if t.Refused > most.Refused {
			most = t
		}
	}
	if all == 0 {
		return
	}
	stage := ""
	if _, name := refused(&p.Second); name != "" {
		stage = ", at the moment most by " + name
	}
	say(warn, "%s a second are refused, %s of them of tenant %s%s", rate(all), percent(most.Refused/all), most.Tenant, stage)
}

// modelHealth says whether running calls are slow, and which classes pay for it.
func modelHealth(m *gateway.ModelPicture, say func(ink, string, ...any)) {
	if m.Brownout >= slowBy {
		say(warn, "model %s: running calls take %.1f times as long as they should", m.Model, m.Brownout)
	}
	var back []string
	figures := ""
	for _, c := range m.Classes {
		if held(&c) {
			if figures == "" {
				figures = fmt.Sprintf("predicted wait %s, above %s", seconds(c.Wait), seconds(c.High))
			}
			back = append(back, c.Class)
		}
		if c.Level > 0 {
			say(warn, "model %s, %s: level %d of its ladder", m.Model, c.Class, c.Level)
		}
	}
	if back != nil {
		say(alarm, "model %s, held back: %s (%s)", m.Model, strings.Join(back, ", "), figures)
	}
}

// held says whether a class is above its watermark, so that what comes of it is
// refused.
func held(c *gateway.ClassPicture) bool { return c.High > 0 && c.Wait > c.High }

// refused counts the refusals of a second, and names the stage of most.
func refused(s *gateway.Second) (n int64, most string) {
	for _, stage := range slices.Sorted(maps.Keys(s.Refused)) {
		n += s.Refused[stage]
		if most == "" || s.Refused[stage] > s.Refused[most] {
			most = stage
		}
	}
	return n, most
}

func calm(p *gateway.Picture) string {
	t := totals(p)
	switch {
	case t.waiting > 0:
		return fmt.Sprintf("all is well: %d wait, at most %s by prediction", t.waiting, seconds(t.worst))
	case t.slots > 0 && t.running >= t.slots:
		return "all is well: every slot is in use, and nobody waits"
	}
	return "all is well: slots are free, and nobody waits"
}

// total is the sum over all models.
type total struct {
	running, slots, waiting int
	worst                   float64 // wait predicted for one more where anybody waits, in seconds
	where                   string  // of which tenant
}

// longest writes the worst wait, and whose it is.
func (t *total) longest() string {
	if t.worst == 0 {
		return "-"
	}
	return seconds(t.worst) + " " + t.where
}

func totals(p *gateway.Picture) (t total) {
	for _, m := range p.Models {
		t.running, t.slots = t.running+m.Running, t.slots+m.Slots
		for _, c := range m.Classes {
			t.waiting += c.Waiting
		}
	}
	for _, l := range p.Lanes {
		if l.Wait > t.worst {
			t.worst, t.where = l.Wait, l.Tenant
		}
	}
	return t
}
