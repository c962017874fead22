package gateway

import "github.com/spillway-llm/spillway/internal/core/admit"

// sight is the core's state as operators see it, read in parts: each is of one
// moment, and the lock is let go of between them.
type sight struct {
	views    []admit.View
	lanes    []admit.Lane // the longest
	left     int          // that are shorter
	payers   []admit.PayerState
	accounts []admit.AccountState // of all tenants together first
}

// payersAtOnce are read under one lock: about as long as a pool takes.
const payersAtOnce = 8

// see reads the core, with so many of its lanes. With none it predicts nothing.
func (g *Gate) see(lanes int) sight {
	var s sight
	longest := &admit.Lanes{Limit: lanes}
	if lanes == 0 {
		longest = nil
	}
	for number := 0; g.view(&s, number, longest); number++ {
	}
	if longest != nil {
		s.lanes, s.left = longest.Longest(), longest.Left
	}
	for from := 0; g.pay(&s, from); from += payersAtOnce {
	}
	for i := range s.payers {
		s.accounts = append(s.accounts, s.payers[i].Accounts...)
	}
	return s
}

// views reads the pools alone.
func (g *Gate) views() []admit.View {
	var s sight
	for number := 0; g.view(&s, number, nil); number++ {
	}
	return s.views
}

// view adds one pool; false after the last.
func (g *Gate) view(s *sight, number int, lanes *admit.Lanes) bool {
	g.mu.Lock()
	defer g.unlock()
	if number >= g.core.Pools() {
		return false
	}
	if v, ok := g.core.View(g.now(), number, lanes); ok {
		s.views = append(s.views, v)
	}
	return true
}

// pay adds some tenants; false after the last.
func (g *Gate) pay(s *sight, from int) bool {
	g.mu.Lock()
	defer g.unlock()
	now, all := g.now(), g.core.Payers()
	if from == 0 {
		s.accounts = g.core.Treasury(now)
	}
	for i := from; i < min(from+payersAtOnce, all); i++ {
		s.payers = append(s.payers, g.core.Payer(now, i))
	}
	return from+payersAtOnce < all
}

// quotas are what is used of the tenants' own limits.
func (g *Gate) quotas() (list []admit.QuotaState) {
	for from, more := 0, true; more; from += payersAtOnce {
		list, more = g.someQuotas(list, from)
	}
	return list
}

func (g *Gate) someQuotas(list []admit.QuotaState, from int) (_ []admit.QuotaState, more bool) {
	g.mu.Lock()
	defer g.unlock()
	now, all := g.now(), g.core.Payers()
	for i := from; i < min(from+payersAtOnce, all); i++ {
		list = g.core.Quotas(now, i, list)
	}
	return list, from+payersAtOnce < all
}

// Money is what is held of budgets, by accounts and by requests.
func (g *Gate) Money() admit.MoneyState {
	g.mu.Lock()
	defer g.unlock()
	return g.core.Money()
}
