package sim

import (
	"math"
	"strings"
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

// Every request ends once and nothing stays anywhere, in every policy, with
// several upstreams and whatever happens to them.
func TestEveryRequestEndsOnceOverSeveralUpstreams(t *testing.T) {
	const story = `service 1s
deployment a slots=6 keys=2 rpm=300 price-in=1
deployment b slots=4 tpm=90000 price-in=2
upstream a requests=2 per=1s limit=fixed headers retry-after
upstream b service=tokens tokens=20000 per=10s limit=bucket headers queue=2 slots=3
model other
deployment c slots=4
upstream c requests=100 day=30000
caller x rate=1.2x deadline=4s retries=2 leave=0.2
caller y rate=0.4x deadline=8s stream patient retries=1
caller z rate=1x deadline=20s hasty retries=3 class=batch model=other spread=0.8
at 5s slow 3 on b until 9s
at 10s fail 30% error=silence after=3s on a until 20s
at 15s fail 50% error=500 on c until 20s
at 25s down error=reset on b until 30s
at 32s down error=silence until 36s
at 40s limit requests=1 per=2s limit=rolling refused-count headers on a until 50s
for 60s`
	for _, name := range deciderNames() {
		t.Run(name, func(t *testing.T) {
			s, err := ParseScenario("x", strings.NewReader(story))
			if err != nil {
				t.Fatal(err)
			}
			var last *Run
			s.Script = append(s.Script, Happening{At: time.Hour, Do: func(r *Run) { last = r }}) // when all is over
			r, err := s.Play(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			ends := int64(0)
			for _, c := range r.counts {
				for _, n := range c.requests {
					ends += n
				}
			}
			if ends != r.Offered || r.Offered == 0 || len(last.visits) != 0 {
				t.Errorf("%d requests, %d ends, %d are still there", r.Offered, ends, len(last.visits))
			}
			for _, p := range last.order {
				if p.running() != 0 || p.waiting != [admit.NumClasses]int{} {
					t.Errorf("%s: %d run and %v wait after the end", p.name, p.running(), p.waiting)
				}
			}
			calls := int64(0)
			for _, x := range r.sites {
				calls += x.calls
				if x.calls != x.accepted+x.limited+x.full+x.broken {
					t.Errorf("%s: %d calls, %d taken, %d limited, %d without a place, %d failed", x.name, x.calls, x.accepted, x.limited, x.full, x.broken)
				}
			}
			if runs := int64(math.Round(r.RunsPerOffered * float64(r.Offered))); runs != calls {
				t.Errorf("%d calls in the books of deployments, %d in those of callers", calls, runs)
			}
		})
	}
}
