package admit

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestWithinTenant: a tenant is served by what must start first, and first in
// first out where that is equal.
func TestWithinTenant(t *testing.T) {
	const s = time.Second
	long, short := Request{Deadline: after(90 * s)}, Request{Deadline: after(30 * s)}
	for _, c := range []struct {
		order Order
		want  []ID
	}{{Adaptive, []ID{3, 5, 2, 4}}, {FIFO, []ID{2, 3, 4, 5}}} {
		p := exact(onePool(1, Tenant{Name: "a"}))
		p.Models[0].Queue.Order = c.order
		p.Classes[Interactive].MaxWait = 100 * s
		d := newDesk(t, p)
		d.run(0, long)
		for _, r := range []Request{long, short, long, short} {
			d.is(d.offer(0, r), Queue, StageQueue)
		}
		last := ID(1)
		for i, want := range c.want {
			d.only(d.good(time.Duration(i+1)*s, last), want, Run, StageDispatch)
			last = want
		}
	}
}

// TestUrgencyIsPrivate: short deadlines bring a tenant nothing at the cost of
// another's.
func TestUrgencyIsPrivate(t *testing.T) {
	const s = time.Second
	p := exact(onePool(1, Tenant{Name: "a"}, Tenant{Name: "b"}))
	p.Classes[Interactive].MaxWait = 100 * s
	d := newDesk(t, p)
	d.run(0, Request{})
	for range 6 {
		d.offer(0, Request{Tenant: "a", Deadline: after(90 * s)})
		d.offer(0, Request{Tenant: "b", Deadline: after(30 * s)})
	}
	served, running := map[string]int{}, ID(1)
	for i := range 8 {
		ds := d.good(time.Duration(i+1)*s, running)
		if len(ds) != 1 || ds[0].Verdict != Run {
			t.Fatalf("got %+v", ds)
		}
		running = ds[0].ID
		served[d.c.calls[running].lane.member.tenant.policy.Name]++
	}
	if served["a"] != 4 || served["b"] != 4 {
		t.Errorf("of eight turns: %v", served)
	}
}

// TestPlacePredicted: what a decision tells about its wait is the wait of its
// own place, also if others overtake it.
func TestPlacePredicted(t *testing.T) {
	const s = time.Second
	p := exact(onePool(1, Tenant{Name: "a"}))
	p.Classes[Interactive].MaxWait = 100 * s
	d := newDesk(t, p)
	d.run(0, Request{})
	for range 4 {
		d.offer(0, Request{Deadline: after(90 * s)})
	}
	urgent := d.offer(0, Request{Deadline: after(20 * s)})
	if urgent.Wait < s/2 || urgent.Wait > 2*s {
		t.Errorf("an urgent one is told %v, want about a second: only the running call is ahead", urgent.Wait)
	}
	patient := d.offer(0, Request{Deadline: after(95 * s)})
	if patient.Wait < 5*s {
		t.Errorf("a patient one is told %v, want six seconds or more", patient.Wait)
	}
}

// TestOvertaking: the urgent are let in behind more work than they could wait
// for, since they overtake the patient, but not without end; nobody is let in
// to overtake his equals.
func TestOvertaking(t *testing.T) {
	const s = time.Second
	admitted := func(waiting, asking time.Duration) (n int) {
		p := exact(onePool(1, Tenant{Name: "a"}))
		p.Classes[Interactive].MaxWait = 100 * s
		d := newDesk(t, p)
		d.run(0, Request{})
		for range 10 {
			d.offer(0, Request{Deadline: after(waiting)})
		}
		before := d.c.pools[0].waiting()
		for range 20 {
			d.offer(0, Request{Deadline: after(asking)})
		}
		return d.c.pools[0].waiting() - before
	}
	if equals := admitted(9*s, 9*s); equals != 0 {
		t.Errorf("%d more let in where ten of the same deadline wait", equals)
	}
	if urgent := admitted(60*s, 10*s); urgent < 1 || urgent > 5 {
		t.Errorf("%d urgent ones let in past ten patient ones, want a few", urgent)
	}
}

// TestAgenda holds the sum by buckets against one by one.
func TestAgenda(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const maxWait = 30 * time.Second
	l, now := new(lane), t0
	var waiting []*call
	for range 5000 {
		now = now.Add(time.Duration(r.IntN(200)) * time.Millisecond)
		k := &call{}
		k.item.Cost = 1 + r.Int64N(1000)
		k.item.Due = now.Add(time.Duration(r.Int64N(int64(maxWait))))
		l.note(now, k, maxWait)
		waiting = append(waiting, k)
		for i := 0; i < len(waiting); i++ { // what expired goes, and some before
			if k := waiting[i]; k.item.Due.Before(now) || r.IntN(40) == 0 {
				l.unbook(k)
				waiting[i] = waiting[len(waiting)-1]
				waiting = waiting[:len(waiting)-1]
				i--
			}
		}
		due := now.Add(time.Duration(r.Int64N(int64(maxWait))))
		var least, most int64 // without and with what shares its bucket
		for _, k := range waiting {
			if at := k.item.Due; at.Before(due.Add(l.agenda.width)) {
				most += k.item.Cost
				if at.Before(due.Add(-l.agenda.width)) {
					least += k.item.Cost
				}
			}
		}
		if got := l.agenda.before(now, due); got < least || got > most {
			t.Fatalf("work before %v: %d, want %d to %d", due.Sub(now), got, least, most)
		}
	}
	for _, k := range waiting {
		l.unbook(k)
	}
	if l.agenda.work != [agendaSize]int64{} {
		t.Errorf("left in an empty lane: %v", l.agenda.work)
	}
	if far := time.Unix(1<<62, 0); l.agenda.before(now, far) != 0 || l.agenda.before(far, now) != 0 {
		t.Error("absurd times find work in an empty lane")
	}
}
