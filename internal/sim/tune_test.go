package sim

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

func TestKnee(t *testing.T) {
	at := func(load, late float64, wait time.Duration) Step {
		return Step{Load: load, Rate: 10 * load, Late: late, Wait95: wait}
	}
	for _, tt := range []struct {
		name      string
		steps     []Step
		good, bad float64
		found     bool
	}{
		{"lateness", []Step{at(0.3, 0, 0), at(0.8, 0.01, 0), at(0.9, 0.05, 0), at(1, 0.5, 0)}, 0.8, 0.9, true},
		{"waits", []Step{at(0.3, 0, 0), at(0.8, 0, time.Second), at(0.9, 0, 3*time.Second)}, 0.8, 0.9, true},
		{"the base is not held against it", []Step{at(0.3, 0.10, 0), at(0.8, 0.11, 0), at(0.9, 0.13, 0)}, 0.8, 0.9, true},
		{"the first departure counts", []Step{at(0.3, 0, 0), at(0.8, 0.05, 0), at(0.9, 0, 0), at(1, 0.5, 0)}, 0.3, 0.8, true},
		{"never", []Step{at(0.3, 0, 0), at(2, 0, 0)}, 2, 2, false},
		{"from the beginning", []Step{at(0.3, 0, 3*time.Second), at(2, 1, 0)}, 0.3, 0.3, false},
	} {
		r := Ramp{Profile: Profile{Service: time.Second, Service95: 2 * time.Second}, Steps: tt.steps}
		good, bad, found := r.Knee()
		if good.Load != tt.good || bad.Load != tt.bad || found != tt.found {
			t.Errorf("%s: %v, %v, %v; want %v, %v, %v", tt.name, good.Load, bad.Load, found, tt.good, tt.bad, tt.found)
		}
	}
}

// A target whose waits take off at a rate is found to within a sixteenth of
// the last step, and with few measurements.
func TestClimb(t *testing.T) {
	for _, knee := range []float64{1.5, 7, 40, 333} {
		r := &Ramp{Profile: Profile{Service: time.Second, Service95: 2 * time.Second}}
		runs := 0
		err := Climb(r, 1, 1000, 1.5, func(rate float64) error {
			runs++
			s := Step{Rate: rate}
			if rate > knee {
				s.Late = 0.3
			}
			r.Steps = append(r.Steps, s)
			return nil
		})
		good, bad, found := r.Knee()
		if err != nil || !found || good.Rate > knee || bad.Rate < knee || bad.Rate-good.Rate > good.Rate/15 || runs > 22 {
			t.Errorf("knee %v: between %v and %v after %d runs (found %v, %v)", knee, good.Rate, bad.Rate, runs, found, err)
		}
		if !slices.IsSortedFunc(r.Steps, func(a, b Step) int { return int(a.Rate*1e6) - int(b.Rate*1e6) }) {
			t.Error("the steps are not in order")
		}
		if c := r.Concurrency(); c != max(int(good.Rate*0.9), 1) { // a second each
			t.Errorf("concurrency %d at %v a second", c, good.Rate)
		}
	}

	r := &Ramp{Profile: Profile{Service95: time.Second}}
	calm := func(rate float64) error { r.Steps = append(r.Steps, Step{Rate: rate}); return nil }
	if err := Climb(r, 1, 10, 2, calm); err != nil || len(r.Steps) != 4 {
		t.Errorf("%d steps to 10, want 1, 2, 4, 8: %v", len(r.Steps), err)
	}
	if _, _, found := r.Knee(); found {
		t.Error("found a knee in calm water")
	}
	down := errors.New("connection refused")
	if err := Climb(&Ramp{}, 1, 10, 2, func(float64) error { return down }); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}

// Whatever was measured, the patch is valid, and its parts fit each other.
func TestAnyAdviceIsAValidPatch(t *testing.T) {
	const file = `
providers: {gpu: {base_url: "http://127.0.0.1:1/v1"}, spare: {base_url: "http://127.0.0.1:2/v1"}}
models:
  "we:ird#{}": {deployments: [{provider: gpu, model: big, concurrency: 3}], queue: {order: fifo, low: 10ms, high: 20ms, per_tenant: 2, total: 3}}
  plain: {deployments: [{provider: spare}, {provider: gpu}]}
`
	rapid.Check(t, func(t *rapid.T) {
		lasts := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
		}
		r := Ramp{Profile: Profile{
			Slots: rapid.IntRange(0, 5000).Draw(t, "slots"), Service: 1 + lasts("service", time.Minute), Patience: lasts("patience", time.Hour), Tenants: map[string]float64{},
		}}
		r.Service95 = 2 * r.Service
		for i := range rapid.IntRange(0, 30).Draw(t, "tenants") {
			r.Tenants[fmt.Sprint(i)] = 1
		}
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			r.Steps = append(r.Steps, Step{Rate: float64(1 + i), Late: rapid.Float64Range(0, 1).Draw(t, "late"), Wait95: lasts("wait", time.Hour)})
		}
		a := r.Advise()
		if a.High > 0 && (a.Low <= 0 || a.Low >= a.High || a.PerTenant > a.Total || a.PerTenant < fewest) || a.High == 0 && a.Total > 0 {
			t.Fatalf("advice %+v", a)
		}
		if r.Curve() == "" {
			t.Fatal("no curve")
		}
		if rapid.Bool().Draw(t, "marks") {
			a = a.withoutMarks()
		}
		patch := a.Patch("we:ird#{}", &Deployment{"gpu", "big"})
		if (patch == "") != a.Nothing() {
			t.Fatalf("%+v as a patch: %q", a, patch)
		}
		if patch == "" {
			return
		}
		patch = "models:\n" + patch
		c, err := config.Parse("merged.yaml", merged(t, file, patch), unset)
		if err != nil {
			t.Fatalf("%v\n%s", err, patch)
		}
		m := c.Models["we:ird#{}"]
		want := a.apply(admit.Model{Queue: admit.QueuePolicy{Low: 10 * time.Millisecond, High: 20 * time.Millisecond, PerTenant: 2, Total: 3}}).Queue
		if q := m.Queue; q.Low != want.Low || q.High != want.High || q.Total != want.Total || q.PerTenant != want.PerTenant || q.Order != config.FIFO {
			t.Fatalf("applied %+v, want %+v", q, a)
		}
		if d := m.Deployments[0]; a.Concurrency > 0 && (int(d.Concurrency) != a.Concurrency || d.Model != "big") {
			t.Fatalf("deployment %+v", d)
		}
		if len(c.Models["plain"].Deployments) != 2 {
			t.Fatal("the patch changed another model")
		}
	})
}

func unset(string) (string, bool) { return "", false }

type fataler interface{ Fatal(...any) }

// merged lays a patch over a file: maps key by key, all else as a whole.
func merged(t fataler, file, patch string) []byte {
	var a, b map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(file), &a), yaml.Unmarshal([]byte(patch), &b)); err != nil {
		t.Fatal(err, patch)
	}
	lay(a, b)
	out, err := yaml.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func lay(a, b map[string]any) {
	for k, v := range b {
		x, ok := a[k].(map[string]any)
		y, both := v.(map[string]any)
		if ok && both {
			lay(x, y)
			continue
		}
		a[k] = v
	}
}

// tuning is a world with two pools of eight slots, a second a call, and their
// callers.
func tuning(deadline time.Duration, tenants int) (World, func() (Source, error)) {
	p := &admit.Policy{Models: []admit.Model{{Name: "*"}, {Name: "chat"}, {Name: "unused"}}}
	ups := map[string]Upstream{}
	for i := range p.Models {
		p.Models[i].Deployments = []admit.Deployment{{Name: p.Models[i].Name, Concurrency: 8}}
		ups[p.Models[i].Name] = Upstream{Slots: 8, Mean: time.Second, Noise: 0.3}
	}
	for i := range tenants {
		p.Tenants = append(p.Tenants, admit.Tenant{Name: fmt.Sprintf("t%d", i+1)})
	}
	p.Tenants = append(p.Tenants, admit.Tenant{Name: "t"}, admit.Tenant{Name: "other"})
	p.Defaults()
	callers := []Caller{
		{Name: "t", Tenants: tenants, Model: "chat", Rate: 5, Deadline: deadline, Manners: Manners{Patient: true}},
		{Name: "other", Model: "something", Rate: 2, Deadline: 10 * time.Second},
	}
	return World{Policy: p, Upstreams: ups, Seed: 1}, func() (Source, error) { return Poisson(callers, 10*time.Minute, 1), nil }
}

func TestTuneFindsTheKneeOfEachPool(t *testing.T) {
	w, workload := tuning(5*time.Second, 4)
	tuned, err := Tune(w, workload, nil)
	if err != nil || len(tuned) != 2 {
		t.Fatalf("%d pools, want those two that are used: %v", len(tuned), err)
	}
	for _, x := range tuned {
		good, bad, found := x.Knee()
		// Poisson arrivals at eight slots: waits stay short to about nine tenths.
		if !found || good.Load < 0.75 || bad.Load > 1.1 || bad.Load-good.Load > 0.05 {
			t.Errorf("%s: between %.2f and %.2f (%v)", x.Model, good.Load, bad.Load, found)
		}
		if len(x.Steps) != 18+halvings || len(x.Trials) != len(trialLoads) {
			t.Errorf("%s: %d steps, %d trials", x.Model, len(x.Steps), len(x.Trials))
		}
		if x.Service < 900*time.Millisecond || x.Service > 1100*time.Millisecond || x.Slots != 8 {
			t.Errorf("%s: %+v", x.Model, x.Profile)
		}
		if x.Advice.Concurrency != 0 {
			t.Errorf("%s: concurrency %d, but the slots are right", x.Model, x.Advice.Concurrency)
		}
	}
	chat := tuned[1]
	if n := slices.Sorted(maps.Keys(chat.Tenants)); len(n) != 4 || chat.Model != "chat" {
		t.Errorf("%s: tenants %v", chat.Model, n)
	}
	// Deadlines of 5 s leave 4 s, of which a fifth is kept: 3.2 s. Eight slots serve 26 in that time.
	if a := chat.Ramp.Advise(); a.High < 2800*time.Millisecond || a.High > 3600*time.Millisecond || a.Total < 25 || a.Total > 40 {
		t.Errorf("advice %+v", a)
	}
	again, err := Tune(w, workload, nil)
	if err != nil || !reflect.DeepEqual(tuned, again) {
		t.Errorf("a second run differs: %v", err)
	}
}

func TestTuneNoticesSlotsThatDiffer(t *testing.T) {
	w, workload := tuning(5*time.Second, 1)
	u := w.Upstreams["chat"]
	u.Slots = 6
	w.Upstreams["chat"] = u
	tuned, err := Tune(w, workload, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := tuned[1].Advice; a.Concurrency != 6 || !strings.Contains(a.Patch("chat", &Deployment{Provider: "gpu"}), "concurrency: 6}") {
		t.Errorf("advice %+v", a)
	}
}

// Advice that loses goodput is not given.
func TestTuneKeepsWhatDoesBetter(t *testing.T) {
	w, workload := tuning(0, 1) // nobody says a deadline: what is refused is lost
	for i := range w.Policy.Classes {
		w.Policy.Classes[i].MaxWait = time.Second // the advice is drawn from this
	}
	tuned, err := Tune(w, workload, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tuned {
		for _, trial := range x.Trials {
			before := trial.Results["as configured"]
			name := "all"
			switch {
			case x.Advice.Nothing():
				name = "as configured"
			case x.High == 0:
				name = "bounds alone"
			}
			if got := trial.Results[name]; got.GoodputWork < before.GoodputWork-worth || got.GoodputCount < before.GoodputCount-worth {
				t.Errorf("%s at %.1f: advises %q, which takes %.3f of goodput to %.3f", x.Model, trial.Load, name, before.GoodputCount, got.GoodputCount)
			}
		}
	}
}

func TestTuneOfNothing(t *testing.T) {
	w, _ := tuning(time.Second, 1)
	none := func() (Source, error) { return Poisson(nil, time.Second, 1), nil }
	if tuned, err := Tune(w, none, nil); err != nil || len(tuned) != 0 {
		t.Errorf("%d pools, %v", len(tuned), err)
	}
	once := func() (Source, error) { return Merge(&onlyOne{}), nil }
	if _, err := Tune(w, once, nil); err == nil || !strings.Contains(err.Error(), "model chat: its 1 requests come all at once") {
		t.Errorf("got %v", err)
	}
	broken := errors.New("line 3: what")
	if _, err := Tune(w, func() (Source, error) { return nil, broken }, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// onlyOne is a source of one request.
type onlyOne struct{ done bool }

func (s *onlyOne) Next() (Arrival, bool, error) {
	ok := !s.done
	s.done = true
	return Arrival{Tenant: "t", Model: "chat"}, ok, nil
}
