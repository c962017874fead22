package admit

import (
	"testing"
	"time"
)

// at puts the class of the interactive requests of m at a level.
func (d *desk) at(when time.Duration, to uint8) *level {
	l := &d.c.byModel["m"].levels[Interactive]
	l.step(after(when), to)
	l.seen = after(when)
	return l
}

// A level is left when what is asked for fits a level higher, not only when it
// fits as it is asked: one that the load does not need takes too much away.
func TestLevelIsLeftForOneThatSuffices(t *testing.T) {
	const s = time.Second
	d := newDesk(t, laddered(features, trim, smaller))
	l := d.at(0, 3)
	for i := range 90 { // every second what would take one and a half, or trimmed a half
		at := time.Duration(i) * s
		r := willing(at + 8*s)
		r.Input, r.Rungs[1].Input, r.Rungs[2].Input = 1500, 500, 500
		got := d.offer(at, r)
		if got.Verdict != Run {
			t.Fatalf("at %v: %+v", at, got)
		}
		took := s / 2
		if got.Model == "small" {
			took = s / 10
		}
		d.finish(at+took, got.ID, Outcome{Status: 200, OK: true, Known: true, Input: 500, Output: 100})
	}
	if l.at != 2 || l.held[1]+l.held[0] != 0 {
		t.Errorf("at level %d, %v at better ones; want it to stay at level 2", l.at, l.held[:2])
	}
}

// What the pool that a level moves requests to has no room for is its model's to serve.
func TestLevelKnowsTheRoomElsewhere(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		slots int
		want  uint8
	}{{1, 3}, {4, 2}} { // twenty requests a second of a tenth of a second each need two slots there
		p := laddered(Rung{Name: "int8", Kind: RungCompute, Model: "m@int8"}, smaller)
		p.Models = append(p.Models, Model{Name: "m@int8", Prior: p.Models[1].Prior, Deployments: []Deployment{{Name: "q", Concurrency: tt.slots}}})
		p.Models[1].Deployments[0].Concurrency = 40
		d := newDesk(t, p)
		l := d.at(0, 3)
		for i := range 600 {
			at := time.Duration(i) * s / 20
			r := Request{Input: 1000, May: MayDegrade, Deadline: after(at + 8*s), Rungs: [MaxRungs]Shape{{Changes: true, Input: 1000}, {Changes: true, Input: 1000}}}
			got := d.offer(at, r)
			if got.Verdict == Run {
				d.good(at, got.ID) // only what is asked for matters
			}
			if i == 400 { // 20 s
				break
			}
		}
		if l.at != tt.want {
			t.Errorf("with %d slots for the level above: at level %d, want %d", tt.slots, l.at, tt.want)
		}
	}
}

// Nobody of a class asking for a while is calm.
func TestLevelIsForgotten(t *testing.T) {
	d := newDesk(t, laddered(features, trim, smaller))
	l := d.at(0, 3)
	got := d.offer(29*time.Second, willing(40*time.Second))
	d.is(got, Run, StageFree)
	if got.Rungs != 1<<1 {
		t.Errorf("after half a minute: rungs %b, want those of level 2", got.Rungs)
	}
	d.good(30*time.Second, got.ID)
	if got = d.offer(10*time.Minute, willing(11*time.Minute)); got.Rungs != 0 || l.at != 0 {
		t.Errorf("after ten minutes: rungs %b at level %d", got.Rungs, l.at)
	}
}

// A pool that a level moves requests to is to relieve the model, and not to be
// waited for.
func TestLevelMovesNobodyIntoALongerQueue(t *testing.T) {
	p := laddered(features, trim, smaller)
	p.Models[0].Deployments[0].Concurrency = 4
	p.Models[1].Deployments[0].Concurrency = 1
	d := newDesk(t, p)
	d.at(0, 3)
	first := d.offer(0, willing(20*time.Second))
	if first.Model != "small" || first.Verdict != Run {
		t.Fatalf("%+v", first)
	}
	got := d.offer(0, willing(20*time.Second)) // no slot there
	if got.Verdict != Run || got.Model != "" || got.Rungs != 1<<1 {
		t.Errorf("got %+v, want its own model, as the level before has it", got)
	}
}

// Only want of slots keeps sessions where they were moved, and only that of
// their own class or a better one.
func TestSessionComesBackBesideOthersRefusals(t *testing.T) {
	const s = time.Second
	p := laddered(smaller)
	p.Models[0].Ladder.Hold = 30 * s
	p.Tenants[1].Limits = map[string]Limits{"": {Requests: 1}}
	d := newDesk(t, p)
	turn := func(at time.Duration) (model string) {
		t.Helper()
		got := d.offer(at, Request{Input: 1000, Session: "s", May: MayDegrade, Turn: true, Deadline: after(at + 1500*time.Millisecond), Rungs: [MaxRungs]Shape{{Changes: true, Input: 1000}}})
		if got.Verdict != Run {
			t.Fatalf("at %v: %+v", at, got)
		}
		d.good(at+50*time.Millisecond, got.ID)
		return got.Model
	}
	busy := d.run(0, Request{Input: 2000})
	if got := turn(0); got != "small" {
		t.Fatalf("served by %q while its own model is busy", got)
	}
	d.good(s, busy)
	for i := range 20 { // b is refused for its own limit, and batch because it cannot be in time
		at := 2*s + time.Duration(i)*2*s
		if got := d.offer(at, Request{Tenant: "b", Input: 10, Deadline: after(at + 8*s)}); got.Verdict == Run {
			d.good(at+50*time.Millisecond, got.ID)
		}
		held := d.run(at+60*time.Millisecond, Request{Input: 1000})
		d.offer(at+70*time.Millisecond, Request{Class: Batch, Input: 1000, Deadline: after(at + 100*time.Millisecond)})
		d.good(at+1060*time.Millisecond, held)
	}
	if got := turn(45 * s); got != "" {
		t.Errorf("served by %q, though nobody of its class lacked a slot for 45 s", got)
	}
}

// What is asked for may be less when it is served slower: after a long quiet
// time a level is left on trial, and after one that failed not so soon again.
func TestLevelIsTried(t *testing.T) {
	var l level
	p := LadderPolicy{}
	p.defaults()
	l.step(t0, 3)
	var steps []int
	for s, was := 1, l.at; s < 700; s++ {
		x := 0.0
		if l.at < 3 {
			x = 0.6 // too much for level 2, though not for a level that was never left
		}
		l.press(after(time.Duration(s)*time.Second), x, 1.4, Interactive, &p)
		if l.at != was {
			steps, was = append(steps, s), l.at
		}
	}
	if len(steps) != 4 || steps[0] != 121 || steps[1]-steps[0] > 10 || steps[2]-steps[1] < 240 || steps[3]-steps[2] > 10 {
		t.Errorf("steps at %v, want a trial after two minutes, and after it failed another after four", steps)
	}
	for s := 700; s < 2000 && l.at > 0; s++ {
		l.press(after(time.Duration(s)*time.Second), 0, 1.4, Interactive, &p)
	}
	if l.at != 0 || l.trial != 0 {
		t.Errorf("level %d, the next trial after %v, though every trial went well", l.at, l.trial)
	}
}
