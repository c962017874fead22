package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func ask(id admit.ID, tenant, model string, now time.Time) admit.Request {
	return admit.Request{ID: id, Tenant: tenant, Model: model, Arrived: now, Deadline: now.Add(time.Hour)}
}

func TestDecidersByName(t *testing.T) {
	p := smallPolicy(1)
	lines := Deciders()
	for i, name := range deciderNames() {
		if !strings.HasPrefix(lines[i], name+" ") {
			t.Errorf("line %q does not describe %q", lines[i], name)
		}
		_, err := NewDecider(name, p, nil, 1)
		if clairvoyant := strings.HasPrefix(name, "oracle"); (err != nil) != clairvoyant {
			t.Errorf("%s without a truth: %v", name, err)
		}
	}
	if _, err := NewDecider("fifi", p, nil, 1); err == nil || !strings.Contains(err.Error(), "fifo") {
		t.Errorf("an unknown name should be told the known ones: %v", err)
	}
}

func TestBaselineFindsThePool(t *testing.T) {
	p := smallPolicy(1, func(p *admit.Policy) {
		p.Models = append(p.Models, admit.Model{Name: "none"})
		p.Models[0].Deployments = append(p.Models[0].Deployments, admit.Deployment{Name: "e", Concurrency: 2})
	})
	offer := func(p *admit.Policy, r admit.Request) admit.Decision {
		d, err := NewDecider("fifo", p, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		return d.Offer(epoch, r)[0]
	}
	odd := ask(1, "a", "m", epoch)
	odd.Class = admit.NumClasses
	for _, c := range []struct {
		what string
		r    admit.Request
		want admit.Stage
	}{
		{"known", ask(1, "a", "m", epoch), admit.StageFree},
		{"unknown tenant", ask(1, "x", "m", epoch), admit.StageUnknown},
		{"unknown model", ask(1, "a", "x", epoch), admit.StageUnknown},
		{"unknown class", odd, admit.StageUnknown},
		{"no slots", ask(1, "a", "none", epoch), admit.StageCapacity},
	} {
		if d := offer(p, c.r); d.Stage != c.want {
			t.Errorf("%s: stage %s, want %s", c.what, d.Stage, c.want)
		}
	}
	p.Models[0].Name = admit.AnyModel
	if d := offer(p, ask(1, "a", "x", epoch)); d.Verdict != admit.Run {
		t.Errorf("the pool of all other models: %v %v", d.Verdict, d.Stage)
	}
}

func TestBaselineSpreadsOverDeployments(t *testing.T) {
	d, err := NewDecider("fifo", smallPolicy(1, func(p *admit.Policy) {
		p.Models[0].Deployments = append(p.Models[0].Deployments, admit.Deployment{Name: "e", Concurrency: 2})
	}), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for id := admit.ID(1); id <= 3; id++ {
		got += d.Offer(epoch, ask(id, "a", "m", epoch))[0].Deployment
	}
	d.Offer(epoch, ask(4, "a", "m", epoch))
	got += d.Finish(epoch, 1, admit.Outcome{})[0].Deployment // where a slot became free
	if got != "deed" {
		t.Errorf("deployments by load: %s, want deed", got)
	}
	d.Finish(epoch, 2, admit.Outcome{})
	for id := admit.ID(3); id <= 4; id++ {
		d.Finish(epoch, id, admit.Outcome{})
	}
	got = ""
	for id := admit.ID(5); id <= 8; id++ {
		got += d.Offer(epoch, ask(id, "a", "m", epoch))[0].Deployment
		d.Finish(epoch, id, admit.Outcome{})
	}
	if got != "dede" && got != "eded" {
		t.Errorf("equal ones in turn: %s", got)
	}
}

// TestBreaker: 20 calls of ten seconds, half of them failed, open it.
func TestBreaker(t *testing.T) {
	broken := admit.Outcome{Status: 502}
	fine := admit.Outcome{Status: 200, OK: true}
	d, err := NewDecider("breaker", smallPolicy(3), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	id := admit.ID(0)
	now := epoch
	expect := func(what string, d admit.Decision, v admit.Verdict, s admit.Stage) {
		t.Helper()
		if d.Verdict != v || d.Stage != s {
			t.Errorf("%s: %s by %s, want %s by %s", what, d.Verdict, d.Stage, v, s)
		}
	}
	offer := func() admit.Decision { id++; return d.Offer(now, ask(id, "a", "m", now))[0] }
	for i := range 19 { // one fine, one broken, and so on
		expect("while it is closed", offer(), admit.Run, admit.StageFree)
		o := broken
		if i%2 == 0 {
			o = fine
		}
		d.Finish(now, id, o)
	}
	offer()
	d.Finish(now, id, admit.Outcome{CallerGone: true}) // is no failure
	for range 3 {
		expect("nineteen are too few", offer(), admit.Run, admit.StageFree)
	}
	expect("all slots taken", offer(), admit.Queue, admit.StageQueue)
	ds := d.Finish(now, id-1, broken) // the twentieth: 10 of 20
	expect("whoever waits is refused too", ds[0], admit.Reject, admit.StageCapacity)
	expect("open", offer(), admit.Reject, admit.StageCapacity)
	d.Finish(now, id-3, fine) // begun before: it proves nothing
	now = now.Add(breakerPause - 1)
	expect("still open", offer(), admit.Reject, admit.StageCapacity)
	d.Finish(now, id-5, broken) // begun before, too
	now = now.Add(1)
	expect("the trial", offer(), admit.Run, admit.StageFree)
	trial := id
	expect("one at a time", offer(), admit.Reject, admit.StageCapacity)
	d.Finish(now, trial, admit.Outcome{CallerGone: true})
	expect("another trial, as its caller left", offer(), admit.Run, admit.StageFree)
	d.Finish(now, id, fine)
	expect("closed", offer(), admit.Run, admit.StageFree)
	d.Finish(now, id, broken)
	expect("and what was is forgotten", offer(), admit.Run, admit.StageFree)
	d.Finish(now, id, broken)
	for range 18 {
		expect("closed again", offer(), admit.Run, admit.StageFree)
		d.Finish(now, id, broken)
	}
	expect("open again", offer(), admit.Reject, admit.StageCapacity)
	now = now.Add(breakerPause)
	expect("a third trial", offer(), admit.Run, admit.StageFree)
	d.Finish(now, id, broken)
	expect("which fails", offer(), admit.Reject, admit.StageCapacity)
	now = now.Add(breakerPause)
	expect("a fourth", offer(), admit.Run, admit.StageFree)
}

// servedTwo keeps both tenants' lines full for a while, where a's requests are
// four times as large as b's, and gives what each was served in requests.
func servedTwo(t *testing.T, name string, weightA int) (a, b int) {
	t.Helper()
	d, err := NewDecider(name, smallPolicy(4, func(p *admit.Policy) { p.Tenants[0].Weight = weightA }), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	id, counts, tenants := admit.ID(0), map[string]int{}, map[admit.ID]string{}
	var running []admit.ID
	take := func(ds []admit.Decision) {
		for _, d := range ds {
			if d.Verdict == admit.Run {
				running = append(running, d.ID)
			}
		}
	}
	for now := epoch; id < 8000; now = now.Add(time.Second) {
		for range 4 {
			for _, tenant := range []string{"a", "b"} {
				id++
				tenants[id] = tenant
				take(d.Offer(now, ask(id, tenant, "m", now)))
			}
		}
		ended := running
		running = nil
		for _, done := range ended {
			n := int64(100)
			if tenants[done] == "a" {
				n = 400
			}
			counts[tenants[done]]++
			take(d.Finish(now, done, admit.Outcome{Status: 200, OK: true, Known: true, Input: n, Output: n}))
		}
	}
	return counts["a"], counts["b"]
}

func TestFairLines(t *testing.T) {
	for _, c := range []struct {
		name   string
		weight int
		want   float64 // of b's requests for each of a's
	}{
		{"rr", 1, 1},
		{"rr", 2, 1}, // it knows no weights
		{"vtc", 1, 4},
		{"vtc", 2, 2},
	} {
		a, b := servedTwo(t, c.name, c.weight)
		if ratio := float64(b) / float64(max(a, 1)); ratio < c.want*0.97 || ratio > c.want*1.03 {
			t.Errorf("%s with weight %d: %d of a, %d of b, want 1 to %v", c.name, c.weight, a, b, c.want)
		}
	}
}
