package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops"
)

// table makes a section as it is sorted and filtered.
func (s *state) table(of section) *table {
	var t *table
	switch of {
	case models:
		t = modelTable(s.picture)
	case tenants:
		t = tenantTable(s.picture, s.order)
	case upstreams:
		t = upstreamTable(s.picture, s.now)
	case budgets:
		t = budgetTable(s.picture)
	case refusals:
		t = refusalTable(s.refusals, s.now)
		if s.unheard != "" {
			t.none = s.unheard
		}
	}
	t.matching(s.filter)
	return t
}

// modelTable has a line for each model, and one for each class of it that
// anybody uses or that is held back.
func modelTable(p *gateway.Picture) *table {
	t := &table{
		title: "MODELS", none: "no model is configured",
		columns: []column{{"", 22, false}, {"running", 7, true}, {"waiting", 7, true}, {"predicted", 9, true}, {"level", 5, true}, {"held at", 7, true}, {"service", 7, true}},
	}
	for _, m := range p.Models {
		busy, full := plain, plain
		if m.Slots > 0 && m.Running >= m.Slots {
			busy = warn
		}
		waiting, level, worst := 0, 0, 0.0
		for _, c := range m.Classes {
			waiting, level = waiting+c.Waiting, max(level, c.Level)
			if c.Waiting > 0 {
				worst = max(worst, c.Wait)
			}
		}
		if m.Bound > 0 && waiting*10 >= m.Bound*9 {
			full = alarm
		}
		t.rows = append(t.rows, row{m.Model, []span{
			{m.Model, strong}, {fmt.Sprintf("%d/%d", m.Running, m.Slots), busy}, {of(waiting, m.Bound), full}, {seconds(worst), plain},
			{leveled(level), levelInk(level)}, {"-", plain}, {seconds(m.Mean), plain},
		}})
		for _, c := range m.Classes {
			if c.Waiting == 0 && c.Running == 0 && c.Level == 0 && !held(&c) {
				continue
			}
			mark := plain
			if held(&c) {
				mark = alarm
			}
			t.rows = append(t.rows, row{m.Model + " " + c.Class, []span{
				{"  " + c.Class, plain}, {strconv.Itoa(c.Running), plain}, {strconv.Itoa(c.Waiting), plain}, {seconds(c.Wait), mark},
				{leveled(c.Level), levelInk(c.Level)}, {seconds(c.High), mark}, {"-", plain},
			}})
		}
	}
	return t
}

func tenantTable(p *gateway.Picture, by order) *table {
	oldest := map[string]float64{}
	for _, l := range p.Lanes {
		oldest[l.Tenant] = max(oldest[l.Tenant], l.Oldest)
	}
	list := slices.Clone(p.Tenants)
	slices.SortStableFunc(list, func(a, b gateway.TenantPicture) int {
		first := 0
		switch by {
		case byRefused:
			first = cmp.Compare(b.Refused, a.Refused)
		case byWaiting:
			first = cmp.Compare(b.Waiting, a.Waiting)
		case byRunning:
			first = cmp.Compare(b.Running, a.Running)
		case byOffered:
			first = cmp.Compare(b.Offered, a.Offered)
		case byName:
			return strings.Compare(a.Tenant, b.Tenant)
		}
		return cmp.Or(first, cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Waiting, a.Waiting), strings.Compare(a.Tenant, b.Tenant))
	})
	t := &table{
		title: fmt.Sprintf("TENANTS %d by %s", len(list), by), none: "nobody has asked for anything yet",
		columns: []column{{"", 22, false}, {"waiting", 7, true}, {"running", 7, true}, {"refused/s", 9, true}, {"offered/s", 9, true}, {"oldest", 6, true}, {"cheaper", 7, true}},
	}
	for _, x := range list {
		refused, name := plain, span{x.Tenant, plain}
		if x.Refused > 0 {
			refused = alarm
		}
		if x.Distrusted {
			name = span{x.Tenant + " ?", warn}
		}
		t.rows = append(t.rows, row{x.Tenant, []span{
			name, {strconv.Itoa(x.Waiting), plain}, {strconv.Itoa(x.Running), plain}, {rate(x.Refused), refused}, {rate(x.Offered), plain},
			{seconds(oldest[x.Tenant]), plain}, {rate(x.Degraded), plain},
		}})
	}
	return t
}

func upstreamTable(p *gateway.Picture, now time.Time) *table {
	t := &table{
		title: fmt.Sprintf("UPSTREAMS %d", len(p.Upstream)), none: "no upstream is configured",
		columns: []column{{"", 16, false}, {"calls", 7, true}, {"share", 5, true}, {"p95", 6, true}, {"429s", 5, true}, {"state", 24, false}},
	}
	for _, u := range p.Upstream {
		state, p95 := trusted(&u, now), "-"
		if u.Total != nil {
			p95 = seconds(u.Total.P95)
		}
		limited := plain
		if u.Limited > 0.05 {
			limited = warn
		}
		t.rows = append(t.rows, row{u.Model + " " + u.Name, []span{
			{u.Name, plain}, {fmt.Sprintf("%d/%d", u.Running, u.Concurrency), plain}, {percent(u.Breaker.Share), state.ink}, {p95, plain}, {percent(u.Limited), limited}, state,
		}})
	}
	return t
}

// trusted says how far an upstream is.
func trusted(u *gateway.UpstreamReport, now time.Time) span {
	b := &u.Breaker
	why := ""
	if b.Reason != "" && b.Reason != "none" {
		why = ", " + b.Reason
	}
	if u.State != "" && u.State != "enabled" { // on purpose: its breaker does not matter
		return span{u.State, warn}
	}
	refused, paused := 0, 0
	for _, k := range u.Keys {
		if k.Refused != nil && k.Refused.After(now) {
			refused++
		}
		if k.Paused != nil && k.Paused.After(now) {
			paused++
		}
	}
	switch {
	case b.State == "open" && b.Until != nil && b.Until.After(now):
		return span{"open" + why + ", probe in " + seconds(b.Until.Sub(now).Seconds()), alarm}
	case b.State == "open":
		return span{"open" + why, alarm}
	case b.State == "half_open":
		return span{"half open" + why, alarm}
	case b.State == "recovering":
		return span{fmt.Sprintf("recovering, step %d of 10%s", b.Step, why), warn}
	case refused > 0:
		return span{fmt.Sprintf("%d of %d keys refused", refused, len(u.Keys)), alarm}
	case paused > 0 && paused == len(u.Keys):
		return span{"paused by its limits", warn}
	case b.Share < 0.995:
		return span{b.State + ", fails too often", warn}
	case u.Slower >= 3:
		return span{fmt.Sprintf("%s, takes %.1f times as long as others", b.State, u.Slower), alarm}
	case u.Slower >= 2:
		return span{fmt.Sprintf("%s, takes %.1f times as long as others", b.State, u.Slower), warn}
	case b.Warned:
		return span{b.State + ", slow", warn}
	}
	return span{b.State, good}
}

func budgetTable(p *gateway.Picture) *table {
	t := &table{
		title: fmt.Sprintf("BUDGETS %d", len(p.Budgets)+p.Out), none: "no budget is configured",
		columns: []column{{"", 16, false}, {"used", 5, true}, {"of", 9, true}, {"lasts", 7, true}, {"a minute", 8, true}, {"alarm", 9, false}},
	}
	for _, b := range p.Budgets {
		used, lasts, mark := 0.0, "-", plain
		if b.Limit > 0 {
			used = (b.Spent + b.Held) / b.Limit
		}
		if b.Lasts != nil {
			lasts = seconds(*b.Lasts)
		}
		switch b.Alarm {
		case "", "calm":
		case "exhausted":
			mark = alarm
		default:
			mark = warn
		}
		t.rows = append(t.rows, row{budgetName(&b), []span{
			{budgetName(&b), plain}, {percent(used), mark}, {money(b.Limit), plain}, {lasts, plain}, {money(b.Minute), plain}, {cmp.Or(b.Alarm, "calm"), mark},
		}})
	}
	return t
}

func budgetName(b *gateway.BudgetPicture) string {
	return strings.Join(slices.DeleteFunc([]string{b.Scope, b.Tenant, b.Name, b.Span}, func(word string) bool { return word == "" }), " ")
}

func refusalTable(list []ops.Refused, now time.Time) *table {
	t := &table{
		title: "REFUSALS", none: "nobody was refused",
		columns: []column{{"", 16, false}, {"class", 8, false}, {"stage", 8, false}, {"ago", 5, true}, {"why", 20, false}},
	}
	for _, r := range list {
		_, why, ok := strings.Cut(r.Was.Words, "): ")
		if !ok {
			why = r.Was.Words
		}
		t.rows = append(t.rows, row{r.RequestID, []span{
			{r.Tenant + " " + r.Model, plain}, {r.Class, plain}, {r.Was.Stage, alarm}, {seconds(max(0, now.Sub(r.At).Seconds())), plain}, {why, plain},
		}})
	}
	return t
}
