package admit

import (
	"math/rand/v2"
	"testing"
	"time"
)

// desk is a controller in tests that tell a story in time. The invariants are
// checked after every event.
type desk struct {
	t      *testing.T
	c      *Controller
	ledger *ledger
	last   ID
	rest   []Decision // what followed the decision on the request itself
}

func newDesk(t *testing.T, p *Policy) *desk {
	t.Helper()
	p.Defaults()
	d := &desk{t: t, c: New(t0, p, rand.New(rand.NewPCG(1, 1)))}
	d.ledger = newLedger(d.c)
	return d
}

// exact makes predictions simple: a call takes a second.
func exact(p *Policy) *Policy {
	for i := range p.Models {
		p.Models[i].Prior = Prior{First: time.Second, PerInput: 1, PerOutput: 1, Output: 100}
	}
	return p
}

// after is an instant of the story.
func after(d time.Duration) time.Time { return t0.Add(d) }

// offer asks for r at the instant; tenant a, model m and a deadline of eight
// seconds, if r names none.
func (d *desk) offer(at time.Duration, r Request) Decision {
	d.t.Helper()
	d.last++
	r.ID = d.last
	if r.Tenant == "" {
		r.Tenant = "a"
	}
	if r.Model == "" {
		r.Model = "m"
	}
	if r.Arrived.IsZero() {
		r.Arrived = after(at)
	}
	if r.Deadline.IsZero() {
		r.Deadline = r.Arrived.Add(8 * time.Second)
	}
	d.ledger.offered(r.ID)
	ds := d.c.Offer(after(at), r)
	d.took(at, ds)
	d.rest = append([]Decision(nil), ds[1:]...)
	return ds[0]
}

// run offers r, which must run at once, and gives its ID.
func (d *desk) run(at time.Duration, r Request) ID {
	d.t.Helper()
	got := d.offer(at, r)
	d.is(got, Run, StageFree)
	return got.ID
}

// fill offers n requests at the instant.
func (d *desk) fill(at time.Duration, n int, r Request) {
	d.t.Helper()
	for range n {
		d.offer(at, r)
	}
}

func (d *desk) finish(at time.Duration, id ID, o Outcome) []Decision {
	d.t.Helper()
	ds := d.c.Finish(after(at), id, o)
	for _, x := range ds {
		if x.ID == id {
			d.took(at, ds)
			return ds
		}
	}
	d.ledger.settled(id)
	d.took(at, ds)
	return ds
}

// good ends a call well, with the tokens it was predicted to take.
func (d *desk) good(at time.Duration, id ID) []Decision {
	d.t.Helper()
	return d.finish(at, id, Outcome{Status: 200, OK: true, Known: true, Input: 0, Output: 100})
}

func (d *desk) cancel(at time.Duration, id ID) []Decision {
	d.t.Helper()
	d.ledger.settled(id)
	ds := d.c.Cancel(after(at), id)
	d.took(at, ds)
	return ds
}

func (d *desk) tick(at time.Duration) []Decision {
	d.t.Helper()
	ds := d.c.Tick(after(at))
	d.took(at, ds)
	return ds
}

func (d *desk) configure(at time.Duration, p *Policy) []Decision {
	d.t.Helper()
	p.Defaults()
	ds := d.c.Configure(after(at), p)
	d.took(at, ds)
	return ds
}

func (d *desk) took(at time.Duration, ds []Decision) {
	d.t.Helper()
	for _, x := range ds {
		if x.Verdict == Reject {
			d.ledger.settled(x.ID)
		}
	}
	d.ledger.decided(after(at))
}

// is fails unless the decision has the verdict and the stage.
func (d *desk) is(got Decision, v Verdict, s Stage) {
	d.t.Helper()
	if got.Verdict != v || got.Stage != s {
		d.t.Fatalf("got %v by %v, want %v by %v: %+v", got.Verdict, got.Stage, v, s, got)
	}
}

// only fails unless there is one decision, with the ID, verdict and stage.
func (d *desk) only(ds []Decision, id ID, v Verdict, s Stage) Decision {
	d.t.Helper()
	if len(ds) != 1 || ds[0].ID != id {
		d.t.Fatalf("got %+v, want one decision on %d", ds, id)
	}
	d.is(ds[0], v, s)
	return ds[0]
}
