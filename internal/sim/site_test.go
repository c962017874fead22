package sim

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// courier sends every request at once where it is told, and after a failure
// to the next place.
type courier struct {
	baseline
	places []string
	tried  map[admit.ID]int
	told   []admit.Sample
	faults []admit.Fault
}

func (c *courier) run(id admit.ID) []admit.Decision {
	if c.tried == nil {
		c.tried = map[admit.ID]int{}
	}
	d := admit.Decision{ID: id, Verdict: admit.Run, Deployment: c.places[c.tried[id]]}
	c.tried[id]++
	return []admit.Decision{d}
}

func (c *courier) Offer(_ time.Time, r admit.Request) []admit.Decision { return c.run(r.ID) }

func (c *courier) Finish(_ time.Time, id admit.ID, o admit.Outcome) []admit.Decision {
	if o.OK {
		return nil
	}
	c.faults = append(c.faults, o.Fault)
	if c.tried[id] == len(c.places) {
		return nil
	}
	return c.run(id)
}

func (c *courier) Observe(_ time.Time, _ string, _ int, s admit.Sample) []admit.Decision {
	c.told = append(c.told, s)
	return nil
}

// couriered plays arrivals for the courier in two pools of one deployment each.
func couriered(t *testing.T, c *courier, ups map[string]Upstream, script []Happening, arrivals ...Arrival) *Result {
	t.Helper()
	p := &admit.Policy{Models: []admit.Model{
		{Name: "m", Deployments: []admit.Deployment{{Name: "a", Concurrency: 4}, {Name: "b", Concurrency: 4}}},
		{Name: "other", Deployments: []admit.Deployment{{Name: "c", Concurrency: 4}}},
	}, Tenants: []admit.Tenant{{Name: "t"}}}
	p.Defaults()
	for i := range arrivals {
		arrivals[i].Tenant, arrivals[i].Model = "t", "m"
	}
	r, err := newRun(World{Policy: p, Upstreams: ups, Seed: 1, Script: script}, &list{arrivals})
	if err != nil {
		t.Fatal(err)
	}
	r.decider = c
	got, err := r.run()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const oneSecond = time.Second

var threeUpstreams = map[string]Upstream{
	"a": {Slots: 4, Mean: oneSecond}, "b": {Slots: 4, Mean: 2 * oneSecond}, "c": {Slots: 4, Mean: 5 * oneSecond},
}

func TestFailedCallGoesOnElsewhere(t *testing.T) {
	for name, tt := range map[string]struct {
		places []string
		script []Happening
		want   float64 // seconds
		fault  admit.Fault
	}{
		"the first answers":                     {[]string{"a"}, nil, 1, admit.NoFault},
		"the second has its own speed":          {[]string{"b"}, nil, 2, admit.NoFault},
		"refused here, answered there":          {[]string{"a", "b"}, []Happening{{Do: on("a", func(now time.Time, s *server) { s.fall(now, &failure{how: reset, after: instant}) })}}, 2.001, admit.Failed},
		"silent here, answered there":           {[]string{"a", "b"}, []Happening{{Do: on("a", func(_ time.Time, s *server) { s.failing = failure{1, silence, silentFor} })}}, 12, admit.Silent},
		"broken here, answered by another pool": {[]string{"a", "c"}, []Happening{{Do: on("a", func(_ time.Time, s *server) { s.failing = failure{1, broken, oneSecond} })}}, 6, admit.Failed},
		"slow there only":                       {[]string{"b"}, []Happening{{Do: on("b", func(_ time.Time, s *server) { s.slow = 3 })}}, 6, admit.NoFault},
	} {
		t.Run(name, func(t *testing.T) {
			c := &courier{places: tt.places}
			r := couriered(t, c, threeUpstreams, tt.script, Arrival{})
			if r.OnTime != 1 || math.Abs(r.LatencyMean-tt.want) > 1e-6 {
				t.Errorf("%d answered, after %v s, want %v", r.OnTime, r.LatencyMean, tt.want)
			}
			if tt.fault != admit.NoFault && (len(c.faults) != 1 || c.faults[0] != tt.fault) {
				t.Errorf("the policy was told %v, want %v", c.faults, tt.fault)
			}
		})
	}
}

func TestFullServerIsSaturated(t *testing.T) {
	c := &courier{places: []string{"a", "b"}}
	ups := map[string]Upstream{"a": {Slots: 1, Queue: 1, Mean: oneSecond}, "b": {Slots: 4, Mean: oneSecond}}
	couriered(t, c, ups, nil, Arrival{}, Arrival{}, Arrival{}) // runs, waits inside, is turned away
	if len(c.faults) != 1 || c.faults[0] != admit.Saturated {
		t.Errorf("told %v", c.faults)
	}
}

func TestHeadersAreObserved(t *testing.T) {
	c := &courier{places: []string{"a"}}
	ups := map[string]Upstream{"a": {Slots: 4, Mean: oneSecond, Limit: Limit{Requests: 2, Per: 10 * oneSecond, Headers: true, RetryAfter: true}}}
	couriered(t, c, ups, nil, Arrival{}, Arrival{At: 2 * oneSecond}, Arrival{At: 4 * oneSecond})
	want := []admit.Told{
		{Limit: 2, Remaining: 1, Reset: 9 * oneSecond}, // the first answer: at 1 s, and its call counts until 10 s
		{Limit: 2, Remaining: 0, Reset: 9 * oneSecond}, // the second: at 3 s, counts until 12 s
		{Limit: 2, Remaining: 0, Reset: 8*oneSecond - instant},
	}
	if len(c.told) != len(want) {
		t.Fatalf("told %v", c.told)
	}
	for i, w := range want {
		if c.told[i].Requests != w {
			t.Errorf("answer %d: told %+v, want %+v", i, c.told[i].Requests, w)
		}
	}
	if len(c.faults) != 1 || c.faults[0] != admit.Throttled {
		t.Errorf("told %v", c.faults)
	}
}

// latecomer sends a request to a, and after its failure lets it wait in
// another pool until a second has passed.
type latecomer struct {
	baseline
	id    admit.ID
	since time.Time
}

func (l *latecomer) Offer(_ time.Time, r admit.Request) []admit.Decision {
	return []admit.Decision{{ID: r.ID, Verdict: admit.Run, Deployment: "a"}}
}

func (l *latecomer) Finish(now time.Time, id admit.ID, o admit.Outcome) []admit.Decision {
	if o.OK {
		return nil
	}
	l.id, l.since = id, now
	return []admit.Decision{{ID: id, Verdict: admit.Queue, Stage: admit.StageAgain, Model: "other"}}
}

func (l *latecomer) Next() time.Time {
	if l.id == 0 {
		return time.Time{}
	}
	return l.since.Add(oneSecond)
}

func (l *latecomer) Tick(time.Time) []admit.Decision {
	id := l.id
	l.id = 0
	return []admit.Decision{{ID: id, Verdict: admit.Run, Deployment: "c", Model: "other"}}
}

func TestFailedCallWaitsInAnotherPool(t *testing.T) {
	p := &admit.Policy{Models: []admit.Model{
		{Name: "m", Deployments: []admit.Deployment{{Name: "a", Concurrency: 1}}},
		{Name: "other", Deployments: []admit.Deployment{{Name: "c", Concurrency: 1}}},
	}, Tenants: []admit.Tenant{{Name: "t"}}}
	p.Defaults()
	ups := map[string]Upstream{"a": {Slots: 1, Mean: oneSecond}, "c": {Slots: 1, Mean: 2 * oneSecond}}
	script := []Happening{{Do: on("a", func(now time.Time, s *server) { s.fall(now, &failure{how: reset, after: instant}) })}}
	r, err := newRun(World{Policy: p, Upstreams: ups, Seed: 1, Script: script}, &list{[]Arrival{{Tenant: "t", Model: "m", Deadline: 10 * oneSecond}}})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	r.world.Check = func(Decider, time.Time) { most = max(most, r.pools["other"].waiting[admit.Interactive]) }
	r.decider = &latecomer{}
	got, err := r.run()
	if err != nil {
		t.Fatal(err)
	}
	if most != 1 || r.pools["m"].waiting[admit.Interactive] != 0 || r.pools["other"].waiting[admit.Interactive] != 0 {
		t.Errorf("at most %d waited in the other pool, and %v in the end", most, r.pools["other"].waiting)
	}
	if got.OnTime != 1 || math.Abs(got.LatencyMean-3.001) > 1e-6 { // a failure, a second's wait, two seconds there
		t.Errorf("%d in time, after %v s", got.OnTime, got.LatencyMean)
	}
}
