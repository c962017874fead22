package admit

import (
	"testing"
	"time"
)

// TestLookAfterOverride: a raised budget has ended and nobody has come since. What
// operators are told is the limit in force, and the next request finds all as it was.
func TestLookAfterOverride(t *testing.T) {
	b := limits(Day, 1000)
	b.Raised = Override{Until: after(time.Hour)}
	b.Raised.Limits[Day] = 5000
	d := newDesk(t, priced(10, Budgets{All: b}))
	d.run(0, Request{Input: 500, MaxOutput: 100})
	before := portraitOf(d.c)
	now := after(2 * time.Hour)
	if s := d.c.Payer(now, 0); len(s.Accounts) != 1 || s.Accounts[0].Limit != 1000 {
		t.Errorf("%+v: the limit of every day counts again", s.Accounts)
	}
	if e := d.c.Explain(now, Request{Tenant: "a", Model: "m", Input: 2000, Arrived: now}); e.Decision.Stage != StageSpend {
		t.Errorf("%+v: it is above the limit of every day", e.Decision)
	}
	if x := before.changed(d.c); x != "" {
		t.Errorf("looking changed %s", x)
	}
}

// TestLookAtStranger: a tenant that never came to a model has nothing there, even
// after somebody asked what would become of its request.
func TestLookAtStranger(t *testing.T) {
	d := newDesk(t, priced(1, Budgets{Models: map[string]Budget{"m": limits(Day, 1000)}}))
	before := portraitOf(d.c)
	if e := d.c.Explain(t0, Request{Tenant: "a", Model: "m", Input: 100, Arrived: t0}); e.Decision.Verdict != Run {
		t.Errorf("%+v: a slot is free", e.Decision)
	}
	if x := before.changed(d.c); x != "" {
		t.Errorf("looking changed %s", x)
	}
}

// TestLookAtOutage: one of two upstreams is closed when the other goes away, and
// somebody looks at each moment of that.
func TestLookAtOutage(t *testing.T) {
	d := newDesk(t, deployments(Deployment{Name: "x", Concurrency: 4}, Deployment{Name: "y", Concurrency: 4}))
	looked := func(at time.Duration) {
		t.Helper()
		before := portraitOf(d.c)
		d.c.Explain(after(at), Request{Tenant: "a", Model: "m", Arrived: after(at)})
		viewAll(d.c, after(at), 10)
		if x := before.changed(d.c); x != "" {
			t.Errorf("after %v looking changed %s", at, x)
		}
	}
	for i := range 60 {
		at := time.Duration(i) * time.Second
		looked(at)
		if first := d.offer(at, Request{Deadline: after(time.Hour)}); first.Verdict == Run {
			o := failed
			if i >= 30 && first.Deployment == "x" {
				o = Outcome{Status: 200, OK: true}
			}
			d.finish(at+time.Second/2, first.ID, o)
		}
		looked(at + time.Second/2)
	}
}
