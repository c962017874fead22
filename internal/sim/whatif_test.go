package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

// watcher is a decider that notes what a gateway would remember of a run.
type watcher struct {
	Decider
	seen []Seen
	at   map[admit.ID]int
}

func (w *watcher) Offer(now time.Time, r admit.Request) []admit.Decision {
	w.at[r.ID] = len(w.seen)
	s := Seen{
		At: now.Sub(epoch), Tenant: r.Tenant, Model: r.Model, Class: r.Class, Attempt: r.Attempt, Input: r.Input, MaxOutput: r.MaxOutput,
		Deadline: 10 * time.Minute, Stream: r.Stream, May: r.May, Counts: r.Tenant == "busy",
	}
	if s.Told = !r.Deadline.IsZero(); s.Told {
		s.Deadline = r.Deadline.Sub(now)
	}
	w.seen = append(w.seen, s)
	return w.note(now, w.Decider.Offer(now, r))
}

func (w *watcher) note(now time.Time, ds []admit.Decision) []admit.Decision {
	for i := range ds {
		d := &ds[i]
		s := &w.seen[w.at[d.ID]]
		switch d.Verdict {
		case admit.Run:
			s.Sent, s.Deployment, s.Waited, s.Degraded = s.Sent+1, d.Deployment, now.Sub(epoch)-s.At, d.Rungs != 0
		case admit.Reject:
			s.Came, s.Total, s.RetryAfter, s.NoRetry = CameRefusal, now.Sub(epoch)-s.At, d.RetryAfter, d.NoRetry
		}
	}
	return ds
}

func (w *watcher) FirstByte(now time.Time, id admit.ID) {
	s := &w.seen[w.at[id]]
	s.First = now.Sub(epoch) - s.At
	w.Decider.FirstByte(now, id)
}

func (w *watcher) Finish(now time.Time, id admit.ID, o admit.Outcome) []admit.Decision {
	s := &w.seen[w.at[id]]
	s.Total, s.Came, s.Output, s.Cost = now.Sub(epoch)-s.At, CameAnswer, o.Output, o.Cost
	if o.CallerGone {
		s.Came = CameLeave
	}
	return w.note(now, w.Decider.Finish(now, id, o))
}

func (w *watcher) Cancel(now time.Time, id admit.ID) []admit.Decision {
	s := &w.seen[w.at[id]]
	s.Total, s.Came = now.Sub(epoch)-s.At, CameLeave
	return w.note(now, w.Decider.Cancel(now, id))
}

func (w *watcher) Tick(now time.Time) []admit.Decision { return w.note(now, w.Decider.Tick(now)) }

// shop is a gateway with one model; %s are settings of the model.
func shop(t testing.TB, slots int, model, more string) *config.Config {
	t.Helper()
	c, err := config.Parse("shop.yaml", fmt.Appendf(nil, `
providers: {up: {base_url: "http://127.0.0.1:1/v1"}}
models:
  chat:
    deployments: [{provider: up, concurrency: %d, price: {input: 1, output: 4}}]
    %s
tenants:
  - {name: busy, keys: ["sha256:%064d"]}
  - {name: calm, keys: ["sha256:%064d"]}
%s`, slots, model, 1, 2, more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// throng makes requests of two tenants: busy streams with short deadlines and comes
// back when refused, calm does neither and asks longer things.
func throng(rate float64, length time.Duration, seed uint64) []Arrival {
	rng := rand.New(rand.NewPCG(seed, 1))
	var list []Arrival
	for at := 0.0; ; {
		at += rng.ExpFloat64() / rate
		if at >= length.Seconds() {
			return list
		}
		a := Arrival{
			At: durationOf(at), Tenant: "busy", Model: "chat", Input: 200 + rng.Int64N(400), Output: 20 + rng.Int64N(60), Stream: true,
			Deadline: 4 * time.Second, May: admit.MayDegrade, Manners: &Manners{Retries: 2},
		}
		if rng.IntN(4) == 0 {
			a.Tenant, a.Class, a.Input, a.Output, a.Stream, a.Deadline, a.Manners = "calm", admit.Standard, 2*a.Input, 2*a.Output, false, 20*time.Second, &Manners{}
		}
		list = append(list, a)
	}
}

// really plays arrivals on the upstream as it is, and notes what a gateway would
// remember.
func really(t testing.TB, c *config.Config, list []Arrival, from, to time.Duration) (Fate, []Seen) {
	t.Helper()
	return reallyOn(t, Upstream{Slots: 64, First: 100 * time.Millisecond, PerInput: 200 * time.Microsecond, PerOutput: 15 * time.Millisecond, Noise: 0.3}, c, list, from, to)
}

func reallyOn(t testing.TB, up Upstream, c *config.Config, list []Arrival, from, to time.Duration) (Fate, []Seen) {
	t.Helper()
	return reallyOnAll(t, map[string]Upstream{"up/chat": up}, c, list, from, to)
}

func reallyOnAll(t testing.TB, ups map[string]Upstream, c *config.Config, list []Arrival, from, to time.Duration) (Fate, []Seen) {
	t.Helper()
	for i := range list {
		if list[i].Group = ""; list[i].At < from || list[i].At >= to {
			list[i].Group = leadGroup
		}
	}
	p := PolicyOf(c)
	r, err := newRun(World{Policy: p, Upstreams: ups, Ladders: laddersOf(c), Seed: 7}, &played{list: list})
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{Decider: r.decider, at: map[admit.ID]int{}}
	r.decider = w
	res, err := r.run()
	if err != nil {
		t.Fatal(err)
	}
	return fatesOf(res.counts, to-from).all, w.seen
}

// TestWhatIfComesTrue: what is foretold of another setting from what was
// recorded under today's is what comes when it is set: the law of the upstream,
// the lengths of what was refused and the callers' manners are not told to it.
func TestWhatIfComesTrue(t *testing.T) {
	const length, from = 4 * time.Minute, time.Minute
	for _, c := range []struct {
		name       string
		slots      int
		model      string
		more       string
		thenSlots  int
		thenModel  string
		thenMore   string
		mustDiffer func(now, then *Fate) bool
	}{
		{"more slots", 12, "", "", 18, "", "", func(now, then *Fate) bool { return then.OnTime > now.OnTime*11/10 }},
		{"fewer slots", 18, "", "", 10, "", "", func(now, then *Fate) bool { return then.Refused > now.Refused+100 }},
		{"a short queue", 12, "", "", 12, "queue: {total: 4}", "", func(now, then *Fate) bool { return then.WaitP50 < now.WaitP50/2 }},
		{"watermarks", 12, "", "", 12, "queue: {low: 200ms, high: 1s}", "", func(now, then *Fate) bool { return then.WaitP99 < now.WaitP99*0.8 }},
		{"a ladder", 12, "", "", 12, "degrade: [{name: short, max_output_tokens: 30}]", "", func(now, then *Fate) bool { return then.Degraded > 100 }},
		{"no ladder", 12, "degrade: [{name: short, max_output_tokens: 30}]", "", 12, "", "", func(now, then *Fate) bool { return now.Degraded > 100 && then.Refused > now.Refused }},
		{"a budget", 12, "", "", 12, "", "budget: {minute: 0.3}", func(now, then *Fate) bool { return then.Cost < now.Cost*0.8 }},
		{"shorter waits", 12, "", "", 12, "", "classes: {interactive: {max_wait: 500ms}}", func(now, then *Fate) bool { return then.WaitP99 < now.WaitP99 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := shop(t, c.slots, c.model, c.more), shop(t, c.thenSlots, c.thenModel, c.thenMore)
			list := throng(13, length, 3)
			was, seen := really(t, a, list, from, length)
			came, _ := really(t, b, list, from, length)
			w := WhatIf{Now: a, Then: b, Seen: seen, End: length, Asked: length - from, Seed: 1}
			f, err := w.Run()
			if err != nil {
				t.Fatal(err)
			}
			near(t, "now", &f.Now, &was)
			near(t, "measured", &f.Measured, &was)
			near(t, "then", &f.Then, &came)
			if !c.mustDiffer(&f.Now, &f.Then) || !c.mustDiffer(&was, &came) {
				t.Errorf("the setting makes no difference: %+v, %+v", f.Now, f.Then)
			}
		})
	}
}

// TestWhatIfOfBatches: on an upstream whose calls slow each other down fewer slots
// do not cost what they would with the times of today. It is learnt from what
// was seen, and nothing is learnt where it is not so.
func TestWhatIfOfBatches(t *testing.T) {
	const length, from = 4 * time.Minute, time.Minute
	up := Upstream{Slots: 24, First: 50 * time.Millisecond, PerInput: 100 * time.Microsecond, PerOutput: 8 * time.Millisecond, Noise: 0.3, Slowdown: 2}
	a, b := shop(t, 24, "", ""), shop(t, 10, "", "")
	list := throng(13, length, 3)
	_, seen := reallyOn(t, up, a, list, from, length)
	came, _ := reallyOn(t, up, b, list, from, length)
	w := WhatIf{Now: a, Then: b, Seen: seen, End: length, Asked: length - from, Seed: 1}
	f, err := w.Run()
	if err != nil {
		t.Fatal(err)
	}
	if d := 100 * float64(f.Then.OnTime-came.OnTime) / float64(came.Offered); math.Abs(d) > 2 {
		t.Errorf("%d are on time, really %d: %+.1f points", f.Then.OnTime, came.OnTime, d)
	}
	x, err := measure(PolicyOf(a), seen, w.rest)
	if err != nil {
		t.Fatal(err)
	}
	ups := x.upstreams(PolicyOf(a))
	if u := ups["up/chat"]; math.Abs(u.Slowdown-2) > 0.5 {
		t.Errorf("the slowdown is %v, really 2", u.Slowdown)
	}
	up.Slowdown = 0
	_, seen = reallyOn(t, up, a, list, from, length)
	if x, err = measure(PolicyOf(a), seen, w.rest); err != nil {
		t.Fatal(err)
	}
	ups = x.upstreams(PolicyOf(a))
	if u := ups["up/chat"]; u.Slowdown != 0 {
		t.Errorf("the slowdown is %v, really 0", u.Slowdown)
	}
}

// TestWhatIfOfTwoUpstreams: a call keeps its luck where another deployment, of
// another speed, takes it.
func TestWhatIfOfTwoUpstreams(t *testing.T) {
	const length, from = 4 * time.Minute, time.Minute
	of := func(fast, slow int) *config.Config {
		c, err := config.Parse("two.yaml", fmt.Appendf(nil, `
providers: {up: {base_url: "http://127.0.0.1:1/v1"}}
models: {chat: {deployments: [{name: fast, provider: up, concurrency: %d}, {name: slow, provider: up, concurrency: %d}]}}
tenants: [{name: busy, keys: ["sha256:%064d"]}, {name: calm, keys: ["sha256:%064d"]}]`, fast, slow, 1, 2), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ups := map[string]Upstream{
		"fast": {Slots: 64, First: 80 * time.Millisecond, PerInput: 100 * time.Microsecond, PerOutput: 8 * time.Millisecond, Noise: 0.3},
		"slow": {Slots: 64, First: 250 * time.Millisecond, PerInput: 300 * time.Microsecond, PerOutput: 24 * time.Millisecond, Noise: 0.3},
	}
	a, b := of(6, 12), of(6, 2)
	list := throng(13, length, 3)
	was, seen := reallyOnAll(t, ups, a, list, from, length)
	came, _ := reallyOnAll(t, ups, b, list, from, length)
	w := WhatIf{Now: a, Then: b, Seen: seen, End: length, Asked: length - from, Seed: 1}
	f, err := w.Run()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "now", &f.Now, &was)
	near(t, "then", &f.Then, &came)
	if came.OnTime > was.OnTime*95/100 {
		t.Errorf("the setting makes no difference: %+v, %+v", was, came)
	}
}

// near are the bounds of docs/simulator.md, but for two points in place of three:
// three tenths of a time, for two runs with other luck differ by as much.
func near(t *testing.T, what string, got, want *Fate) {
	t.Helper()
	t.Logf("%-8s %+v", what, *got)
	t.Logf("%-8s %+v", "true", *want)
	points := func(name string, a, b int64) {
		if d := 100 * float64(a-b) / float64(want.Offered); math.Abs(d) > 2 {
			t.Errorf("%s: %s is %d, really %d: %+.1f points", what, name, a, b, d)
		}
	}
	points("offered", got.Offered, want.Offered)
	points("on time", got.OnTime, want.OnTime)
	points("served", got.Served, want.Served)
	points("refused", got.Refused, want.Refused)
	points("degraded", got.Degraded, want.Degraded)
	points("late", got.Late, want.Late)
	about := func(name string, a, b float64) {
		if math.Abs(a-b) > max(0.3*b, 0.05) {
			t.Errorf("%s: %s is %.3f, really %.3f", what, name, a, b)
		}
	}
	about("p50 wait", got.WaitP50, want.WaitP50)
	about("p99 wait", got.WaitP99, want.WaitP99)
	about("p50 first token", got.FirstP50, want.FirstP50)
	about("cost", got.Cost, want.Cost)
}

var errEnough = errors.New("enough")

// TestWhatIfEnds when it is told to.
func TestWhatIfEnds(t *testing.T) {
	c := shop(t, 12, "", "")
	_, seen := really(t, c, throng(13, time.Minute, 3), 0, time.Minute)
	calls := 0
	w := WhatIf{Now: c, Then: c, Seen: seen, End: time.Minute, Asked: time.Minute, Interrupt: func() error {
		if calls++; calls > 3 {
			return errEnough
		}
		return nil
	}}
	if f, err := w.Run(); err != errEnough || f != nil {
		t.Errorf("%v, %v", f, err)
	}
}

// TestWhatIfWarns of what it does not know, and of nothing else.
func TestWhatIfWarns(t *testing.T) {
	const length = 4 * time.Minute
	now := shop(t, 12, "", "")
	_, plain := really(t, now, throng(5, length, 3), time.Minute, length)
	every := func(n int, change func(*Seen)) []Seen {
		list := slices.Clone(plain)
		for i := range list {
			if i%n == 0 {
				change(&list[i])
			}
		}
		return list
	}
	for _, c := range []struct {
		name string
		then *config.Config
		seen []Seen
		says string // "" is no warning
	}{
		{"nothing", shop(t, 12, "queue: {total: 9}", ""), plain, ""},
		{"few requests", now, plain[:200], "differences of a few per cent are chance"},
		{"a short recording", now, plain[600:], "are looked at, not the 3m0s asked for"},
		{"what is not over", now, every(20, func(s *Seen) { s.Came = CameNothing }), "have not ended yet"},
		{"retries", now, every(20, func(s *Seen) { s.Attempt = 1 }), "retries of callers are not played as they came"},
		{"failures", now, every(20, func(s *Seen) { s.Came = CameFailure }), "failed upstream"},
		{"an outage", now, every(20, func(s *Seen) { s.Came, s.Down = CameRefusal, true }), "nothing there could be used"},
		{"old answers", now, every(20, func(s *Seen) { s.Sent, s.Deployment = 0, "" }), "an answer from before"},
		{"more at once than ever", shop(t, 50, "", ""), plain, "with more, its upstream may be slower"},
		{"a budget", shop(t, 12, "", "budget: {day: 5}"), plain, "budgets begin empty"},
		{"a prior", shop(t, 12, "prior: {first_token: 9s}", ""), plain, "models.chat.prior shows no effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := WhatIf{Now: now, Then: c.then, Seen: slices.Clone(c.seen), End: length, Asked: 3 * time.Minute, Seed: 1}
			f, err := w.Run()
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(f.Warnings, "\n")
			if !strings.Contains(all, c.says) || c.says == "" && all != "" {
				t.Errorf("no %q in %q", c.says, all)
			}
		})
	}
	w := WhatIf{Now: now, Then: shop(t, 12, "", ""), Seen: plain, End: length, Asked: 3 * time.Minute, Seed: 1, Each: map[string]*config.Config{
		"log.level": shop(t, 12, "", "log: {level: debug}"), "models.chat.queue.total": shop(t, 12, "queue: {total: 9}", ""),
	}}
	f, err := w.Run()
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(f.Warnings, "\n"); !strings.Contains(all, "log.level shows no effect") || strings.Contains(all, "queue") {
		t.Errorf("of two settings one shows no effect: %q", all)
	}
	if f.Now != f.Then {
		t.Errorf("equal settings differ: %+v and %+v", f.Now, f.Then)
	}
}

func BenchmarkWhatIf(b *testing.B) {
	c := shop(b, 100, "", "")
	_, seen := really(b, c, throng(100, 5*time.Minute, 3), 0, 5*time.Minute)
	w := WhatIf{Now: c, Then: c, Seen: seen, End: 5 * time.Minute, Asked: 5 * time.Minute}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(seen)), "requests")
}
