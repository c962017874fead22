package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// purseBook is what accounts really spent, added up apart from the policy that
// limits it: every amount with its time.
type purseBook struct {
	policy *admit.Policy
	kept   bool // there are budgets
	byKey  map[purseKey]*purse
	order  []*purse
}

type purseKey struct {
	scope        admit.Scope
	tenant, name string
}

// purse is one account.
type purse struct {
	key    purseKey
	budget *admit.Budget
	spent  []payment
	alarms []AlarmFigures
}

type payment struct {
	at time.Time
	n  int64 // micro-dollars
}

// AlarmFigures are a change of the state of an account.
type AlarmFigures struct {
	At   float64 `json:"at_s"`
	From string  `json:"from"`
	To   string  `json:"to"`
	Used float64 `json:"used"` // of the limit that it is about, from 0
}

// SpendingFigures are what an account spent of one limit.
type SpendingFigures struct {
	Account   string         `json:"account"` // such as "tenant app"
	Span      string         `json:"span"`
	Limit     float64        `json:"limit_usd"`
	Most      float64        `json:"most_usd"` // in any span
	Overshoot float64        `json:"overshoot_usd"`
	Alarms    []AlarmFigures `json:"alarms,omitempty"`
}

func budgeted(p *admit.Policy) bool {
	return !p.Budget.None() || slices.ContainsFunc(p.Tenants, func(t admit.Tenant) bool {
		b := &t.Budgets
		return !b.All.None() || !b.Key.None() || !b.User.None() || !b.Session.None() || len(b.Models) > 0
	})
}

// spent books what a visit has cost on all that pay for it.
func (b *purseBook) spent(now time.Time, v *visit) {
	if !b.kept || v.cost == 0 {
		return
	}
	a := &v.arrival
	for _, k := range []purseKey{
		{admit.ScopeAll, "", ""}, {admit.ScopeTenant, a.Tenant, ""}, {admit.ScopeModel, a.Tenant, v.site.room.name},
		{admit.ScopeUser, a.Tenant, a.User}, {admit.ScopeSession, a.Tenant, a.Session},
	} {
		if x := b.of(k); x != nil {
			x.spent = append(x.spent, payment{now, v.cost})
		}
	}
}

// of is the account of a key, nil if it has no budget.
func (b *purseBook) of(k purseKey) *purse {
	if x := b.byKey[k]; x != nil {
		return x
	}
	budget := b.budget(k)
	if budget == nil || budget.None() {
		return nil
	}
	if b.byKey == nil {
		b.byKey = map[purseKey]*purse{}
	}
	x := &purse{key: k, budget: budget}
	b.byKey[k] = x
	b.order = append(b.order, x)
	return x
}

func (b *purseBook) budget(k purseKey) *admit.Budget {
	if k.scope == admit.ScopeAll {
		return &b.policy.Budget
	}
	i := slices.IndexFunc(b.policy.Tenants, func(t admit.Tenant) bool { return t.Name == k.tenant })
	if i < 0 || k.name == "" && k.scope != admit.ScopeTenant {
		return nil
	}
	t := &b.policy.Tenants[i].Budgets
	switch k.scope {
	case admit.ScopeTenant:
		return &t.All
	case admit.ScopeUser:
		return &t.User
	case admit.ScopeSession:
		return &t.Session
	case admit.ScopeModel:
		x, ok := t.Models[k.name]
		if !ok {
			x = t.Models[""]
		}
		return &x
	}
	return nil
}

// alarm notes what the policy says of an account.
func (b *purseBook) alarm(at time.Time, s *admit.Spending) {
	if x := b.of(purseKey{s.Scope, s.Tenant, s.Name}); x != nil {
		x.alarms = append(x.alarms, AlarmFigures{at.Sub(epoch).Seconds(), s.From.String(), s.To.String(), float64(s.Used) / float64(max(s.Limit, 1))})
	}
}

// most is the most that was spent in any span, or in one of the calendar.
func (x *purse) most(span admit.Span) (most int64) {
	if x.budget.Calendar && span != admit.Minute {
		sums := map[time.Time]int64{}
		for _, p := range x.spent {
			t := p.at.Add(x.budget.Zone).UTC()
			day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
			switch span {
			case admit.Hour:
				day = t.Truncate(time.Hour)
			case admit.Month:
				day = day.AddDate(0, 0, 1-t.Day())
			}
			sums[day] += p.n
			most = max(most, sums[day])
		}
		return most
	}
	from, sum := 0, int64(0)
	for _, p := range x.spent {
		for sum += p.n; !x.spent[from].at.After(p.at.Add(-span.Length())); from++ {
			sum -= x.spent[from].n
		}
		most = max(most, sum)
	}
	return most
}

// account is the name of an account in words; those of users and of sessions
// of a tenant have one together.
func (k purseKey) account() string {
	s := k.scope.String()
	if k.tenant != "" {
		s += " " + k.tenant
	}
	if k.scope == admit.ScopeModel {
		s += " " + k.name
	}
	return s
}

// figures are in the order of scopes, and within them of names.
func (b *purseBook) figures() (list []SpendingFigures) {
	order := slices.Clone(b.order)
	slices.SortStableFunc(order, func(x, y *purse) int {
		return cmp.Or(cmp.Compare(x.key.scope, y.key.scope), cmp.Compare(x.key.tenant, y.key.tenant), cmp.Compare(x.key.name, y.key.name))
	})
	for _, x := range order {
		for span := range admit.Span(admit.NumSpans) {
			limit := x.budget.Limits[span]
			if limit == 0 {
				continue
			}
			most := x.most(span)
			f := SpendingFigures{x.key.account(), span.String(), float64(limit) / 1e6, float64(most) / 1e6, float64(max(most-limit, 0)) / 1e6, x.alarms}
			i := slices.IndexFunc(list, func(o SpendingFigures) bool { return o.Account == f.Account && o.Span == f.Span })
			switch {
			case i < 0:
				list = append(list, f)
			case list[i].Most < f.Most:
				list[i] = f
			}
		}
	}
	return list
}
