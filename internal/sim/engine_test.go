package sim

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// list is a source of given arrivals.
type list struct{ arrivals []Arrival }

func (l *list) Next() (Arrival, bool, error) {
	if len(l.arrivals) == 0 {
		return Arrival{}, false, nil
	}
	a := l.arrivals[0]
	l.arrivals = l.arrivals[1:]
	return a, true, nil
}

func policy(slots int, tenants ...string) *admit.Policy {
	p := &admit.Policy{Models: []admit.Model{{Name: "m", Deployments: []admit.Deployment{{Name: "d", Concurrency: slots}}}}}
	for _, t := range tenants {
		p.Tenants = append(p.Tenants, admit.Tenant{Name: t})
	}
	p.Defaults()
	return p
}

// ended plays arrivals without noise and gives each request's end in seconds
// after its arrival, by a story told in full.
func ended(t *testing.T, u Upstream, slots int, script []Happening, arrivals ...Arrival) *Result {
	t.Helper()
	for i := range arrivals {
		arrivals[i].Tenant, arrivals[i].Model = "a", "m"
	}
	r, err := Simulate(World{Policy: policy(slots, "a"), Upstreams: map[string]Upstream{"m": u}, Seed: 1, Script: script}, &list{arrivals})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTimesOfOneCall(t *testing.T) {
	const s = time.Second
	u := Upstream{Slots: 4, First: s, PerInput: 10 * time.Millisecond, PerOutput: 100 * time.Millisecond}
	for name, tt := range map[string]struct {
		arrival Arrival
		script  []Happening
		want    float64
	}{
		"prefill and decode":             {Arrival{Input: 100, Output: 10}, nil, 3},               // 1 + 1 + 1
		"a stream's answer is its first": {Arrival{Input: 100, Output: 10, Stream: true}, nil, 2}, // 1 + 1
		"three times slower in the middle": {Arrival{Input: 100, Output: 10}, []Happening{
			{At: s, Do: upstreams(func(s *server) { s.slow = 3 })},
			{At: 4 * s, Do: upstreams(func(s *server) { s.slow = 1 })},
		}, 5}, // 1 s of work, 3 s for another, 1 s
	} {
		t.Run(name, func(t *testing.T) {
			r := ended(t, u, 4, tt.script, tt.arrival)
			if got := r.LatencyMean; math.Abs(got-tt.want) > 1e-6 {
				t.Errorf("took %v s, want %v", got, tt.want)
			}
		})
	}
}

// The waits of answers in time leave out what started too late to be one, as a
// caller never reads the wait of an answer that it did not get.
func TestWaitsOfAnswersInTime(t *testing.T) {
	const s = time.Second
	var arrivals []Arrival
	for range 3 {
		arrivals = append(arrivals, Arrival{Tenant: "a", Model: "m", Deadline: 5 * s / 2})
	}
	w := World{Policy: policy(1, "a"), Upstreams: map[string]Upstream{"m": {Slots: 1, Mean: s}}, Decider: "fifo", Seed: 1}
	r, err := Simulate(w, &list{arrivals})
	if err != nil {
		t.Fatal(err)
	}
	// They start after 0, 1 and 2 s; the last is cut off at 2.5 s.
	if r.OnTime != 2 || math.Abs(r.WaitP99-2) > 0.05 || math.Abs(r.QueueP99-1) > 0.05 || r.QueueP95 != r.QueueP99 {
		t.Errorf("%d on time; p99 of all waits %v, of answers in time %v", r.OnTime, r.WaitP99, r.QueueP99)
	}
}

// Calls that share the upstream slow each other down; the twin integrates
// their progress in small steps.
func TestSharedSpeedAgainstSmallSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	u := Upstream{Slots: 8, PerOutput: 20 * time.Millisecond, Slowdown: 1.5}
	var arrivals []Arrival
	at := 0.0
	for range 40 {
		at += rng.ExpFloat64() * 0.4
		arrivals = append(arrivals, Arrival{At: durationOf(at), Output: 20 + rng.Int64N(200)})
	}
	type running struct{ left, began float64 }
	var active []running
	var want []float64
	const step = 1e-4
	waiting, next := []running{}, 0
	for now := 0.0; len(want) < len(arrivals); now += step {
		for next < len(arrivals) && arrivals[next].At.Seconds() <= now {
			waiting = append(waiting, running{0.02 * float64(arrivals[next].Output), arrivals[next].At.Seconds()})
			next++
		}
		for len(active) < 8 && len(waiting) > 0 {
			active, waiting = append(active, waiting[0]), waiting[1:]
		}
		speed := 1 / (1 + 1.5*float64(max(len(active)-1, 0))/7)
		for i := 0; i < len(active); i++ {
			if active[i].left -= step * speed; active[i].left <= 0 {
				want = append(want, now-active[i].began)
				active = slices.Delete(active, i, i+1)
				i--
			}
		}
	}
	sum := 0.0
	for _, w := range want {
		sum += w
	}
	r := ended(t, u, 8, nil, arrivals...)
	if got := r.LatencyMean; math.Abs(got-sum/40) > 0.01*sum/40 {
		t.Errorf("mean latency %v, in small steps %v", got, sum/40)
	}
	if r.OnTime != 40 {
		t.Errorf("%d of 40 answered", r.OnTime)
	}
}

// The same input and seed give the same bytes.
func TestSameSeedSameBytes(t *testing.T) {
	play := func(seed uint64) string {
		s, err := ParseScenario("x", strings.NewReader("slots 16\nservice tokens sigma=0.5 slowdown=0.5\n"+
			"caller a rate=1.5x deadline=5s-20s retries=2 leave=0.1 spread=0.8 stream tenants=20\ncaller b class=batch rate=0.5x deadline=60s\n"+
			"at 10s slow 2 until 15s\nat 20s down until 22s\nat 25s fail 0.3 until 30s\nfor 60s"))
		if err != nil {
			t.Fatal(err)
		}
		s.Seed = seed
		r, err := s.Play("ours", nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if a, b := play(1), play(1); a != b {
		t.Errorf("the same seed gave\n%s\nand\n%s", a, b)
	}
	if play(1) == play(2) {
		t.Error("another seed gave the same")
	}
}

// Every request ends once, in every policy, whatever happens.
func TestEveryRequestEndsOnce(t *testing.T) {
	for _, name := range deciderNames() {
		t.Run(name, func(t *testing.T) {
			s, err := ParseScenario("x", strings.NewReader("slots 8 8\ntenant a requests=600\n"+
				"caller a rate=1.5x deadline=4s retries=2 leave=0.2\ncaller b rate=0.5x deadline=8s stream patient\ncaller c class=batch rate=1x hasty retries=3 deadline=20s\n"+
				"at 10s slow 3 until 15s\nat 20s down until 22s\nat 25s fail 0.5 until 30s\nat 35s limit requests=100 retry-after until 40s\nat 45s slots 8 until 50s\nfor 60s"))
			if err != nil {
				t.Fatal(err)
			}
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
			if ends != r.Offered || r.Offered == 0 {
				t.Errorf("%d requests, %d ends", r.Offered, ends)
			}
			if work := r.GoodputWork + r.WastedWork; work > 1.0001 && !unbound[name] {
				t.Errorf("%.2f of the slot time was spent", work)
			}
		})
	}
}

// The clairvoyant of one tenant refuses nothing that would have made it, and
// serves nothing late: the measure and the oracle agree.
func TestHindsightAgreesWithTheOracle(t *testing.T) {
	s, err := ParseScenario("x", strings.NewReader("slots 16\nservice tokens sigma=0.25\ncaller a rate=1.5x deadline=5s-30s spread=0.8\nfor 300s"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Play("oracle", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.RejectedFeasible > 0.002 || r.ServedLate > 0 || r.Refused < 0.1 {
		t.Errorf("feasible %.4f, late %.4f, refused %.3f", r.RejectedFeasible, r.ServedLate, r.Refused)
	}
	if strict, err := s.Play("codel", nil); err != nil || strict.RejectedFeasible != 0 {
		t.Errorf("codel refuses nobody at the door: %v, %v", strict.RejectedFeasible, err)
	}
}

// Recovery is counted from the end of the last disturbance.
func TestRecovery(t *testing.T) {
	for name, tt := range map[string]struct {
		story    string
		from, to float64
	}{
		"an outage that leaves nothing behind": {"slots 16\ncaller a rate=0.5x deadline=4s\nat 20s down until 25s\nfor 60s", 0, 4},
		"a backlog of a minute":                {"slots 4\ncaller a rate=0.9x deadline=8s patient\nat 20s slow 3 until 50s\npolicies fifo\nfor 200s", 20, 200},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseScenario("x", strings.NewReader(tt.story))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Play(s.Policies[0], nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Recovery == nil {
				t.Fatal("never recovered")
			}
			if got := *r.Recovery; got < tt.from || got > tt.to {
				t.Errorf("recovered after %v s, want %v to %v", got, tt.from, tt.to)
			}
		})
	}
}

func BenchmarkSimulate(b *testing.B) {
	s, err := ParseScenario("x", strings.NewReader("slots 64\nservice 1s sigma=0.25\ncaller a tenants=1000 rate=1.2x deadline=8s retries=2\nfor 600s"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		r, err := s.Play("ours", nil)
		if err != nil {
			b.Fatal(err)
		}
		n += r.Offered
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "arrivals/s")
}
