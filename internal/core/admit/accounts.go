package admit

import (
	"container/list"
	"time"
)

// accounts is a bounded table of accounts with names that callers choose: end
// users and sessions. When it is full the one that was used longest ago, and
// holds nothing, is forgotten.
type accounts struct {
	scope     Scope
	tenant    string
	budget    *Budget
	byName    map[string]*account
	order     list.List // of *account, the one used last in front
	forgotten int64     // accounts that had to give way
	restored  bool      // what was spent before the table was there is in it
}

const (
	mostAccounts = 10_000 // of one tenant in one scope are kept
	shrinkLooks  = 8      // accounts looked at for one that is new
)

// table brings a table in line with its budget; nil if that limits nothing.
func table(now time.Time, t *accounts, s Scope, tenant string, b *Budget) *accounts {
	if b.None() {
		return nil
	}
	if t == nil {
		t = &accounts{scope: s, tenant: tenant, byName: map[string]*account{}}
	}
	t.budget = b
	t.each(func(a *account) { a.configure(now, b) })
	return t
}

// each visits the accounts, the one used last first.
func (t *accounts) each(visit func(*account)) {
	if t == nil {
		return
	}
	for e := t.order.Front(); e != nil; e = e.Next() {
		visit(e.Value.(*account))
	}
}

// find is the account of a name, nil if there is none yet.
func (t *accounts) find(name string) *account {
	if t == nil || name == "" {
		return nil
	}
	return t.byName[name]
}

// use is the account of a name, made if there is none, and marks it as used;
// nil without a table or a name.
func (t *accounts) use(now time.Time, name string) *account {
	if t == nil || name == "" {
		return nil
	}
	a := t.byName[name]
	if a == nil {
		a = newAccount(now, t.scope, t.tenant, name, t.budget)
		a.restored = t.restored
		t.byName[name] = a
		a.place = t.order.PushFront(a)
		t.shrink()
		return a
	}
	t.order.MoveToFront(a.place)
	return a
}

// shrink forgets what is too much. What holds something stays until a later
// time, so that the table is at most as much larger as requests are running.
func (t *accounts) shrink() {
	for looks := 0; looks < shrinkLooks && len(t.byName) > mostAccounts; looks++ {
		e := t.order.Back()
		if a := e.Value.(*account); a.holders == 0 {
			t.order.Remove(e)
			delete(t.byName, a.name)
			t.forgotten++
		} else { // it is in use, whenever it was asked for
			t.order.MoveToFront(e)
		}
	}
}
