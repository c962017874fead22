package load

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestOverlap(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name           string
		from, to, want time.Duration
	}{
		{"inside", 2 * s, 5 * s, 3 * s},
		{"began before the window", -s, 2 * s, 2 * s},
		{"ended after it", 9 * s, 12 * s, s},
		{"around it", -s, 12 * s, 10 * s},
		{"after it", 11 * s, 12 * s, 0},
		{"before it", -2 * s, -s, 0},
		{"nothing", 3 * s, 3 * s, 0},
	} {
		if got := overlap(c.from, c.to, 10*s); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// settledTally has one heavy and one light tenant, every outcome, and ten seconds of two slots.
func settledTally(t *testing.T) (plan, *tally) {
	p := planOf(t, Settings{Duration: 10 * time.Second, Tenants: []Tenant{{Name: "heavy", Rate: 9, Class: "batch"}, {Name: "light", Rate: 1}}})
	y := newTally(p)
	for _, r := range []struct {
		at     time.Duration
		result result
	}{
		{0, result{tenant: 0, outcome: onTime, statuses: []int{200}, answered: true, answer: answer{total: 4 * time.Second, service: 3 * time.Second, queue: time.Second}}},
		{8 * time.Second, result{tenant: 0, outcome: onTime, statuses: []int{429, 200}, refusals: []time.Duration{100 * ms}, answered: true,
			answer: answer{total: 4 * time.Second, first: time.Second, service: 3 * time.Second, queue: -1}}}, // one second of it in the window
		{0, result{tenant: 0, outcome: late, statuses: []int{0}}},
		{0, result{tenant: 0, outcome: refused, statuses: []int{429, 503}, refusals: []time.Duration{200 * ms, 300 * ms}}},
		{0, result{tenant: 0, outcome: failed, statuses: []int{500}, message: "boom"}},
		{0, result{tenant: 0, outcome: failed, statuses: []int{500}, message: "boom"}},
		{0, result{tenant: 0, outcome: left}},
		{0, result{tenant: 1, outcome: onTime, statuses: []int{200}, answered: true, answer: answer{total: 2 * time.Second, service: 2 * time.Second, queue: -1}}},
	} {
		y.offer(r.result.tenant)
		y.settle(r.at, r.result)
	}
	return p, y
}

func TestSummaryFigures(t *testing.T) {
	p, y := settledTally(t)
	s := y.summary(p, p.Duration, 2)
	near := func(name string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-3*want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if s.Offered != s.OnTime+s.Late+s.Refused+s.Errors+s.Left || s.Offered != 8 || s.OnTime != 3 || s.Errors != 2 || s.Left != 1 {
		t.Errorf("outcomes do not add up: %+v", s.Figures)
	}
	near("goodput_ratio", s.GoodputRatio, (3.0+1+2)/20)
	near("offered_ratio", s.OfferedRatio, 1) // 7 of 3 s and 1 of 2 s are more than 20
	near("light offered", s.Tenants["light"].OfferedRatio, 2.0/20)
	near("light possible", s.Tenants["light"].GoodputVsPossible, 1)
	near("heavy goodput", s.Classes["batch"].GoodputRatio, 4.0/20)
	near("jain", s.JainSlotSeconds, func() float64 { x := 4.0 / 18; return (1 + x) * (1 + x) / (2 * (1 + x*x)) }())
	near("refusal_mean_s", s.RefusalMean, 0.2)
	near("refusal_p99_s", s.RefusalP99, 0.3)
	near("latency_p99_s", s.LatencyP99, 4)
	near("ttft_p50_s", s.TTFTP50, 1)
	near("queue_p95_s", s.QueueP95, 1)
	near("queue_p99_s", s.QueueP99, 1)
	if s.Attempts != 9 || s.AttemptsPerOffered != 9.0/8 || s.RefusedAttempts != 3 || s.FinalRefusals != 1 || s.GoodputRPS != 0.3 {
		t.Errorf("attempts: %+v", s.Figures)
	}
	if s.Statuses["200"] != 3 || s.Statuses["429"] != 2 || s.Statuses["none"] != 1 || len(s.FirstErrors) != 1 {
		t.Errorf("statuses %v, errors %v", s.Statuses, s.FirstErrors)
	}
	if _, ok := s.Classes["none"]; !ok || len(s.Classes) != 2 || len(s.Notes) != 0 {
		t.Errorf("classes %v, notes %v", s.Classes, s.Notes)
	}
}

func TestSummaryWithoutSlotTime(t *testing.T) {
	p := planOf(t, Settings{})
	y := newTally(p)
	y.offer(0)
	y.settle(0, result{outcome: onTime, statuses: []int{200}, answered: true, answer: answer{total: 1, service: -1, queue: -1}})
	s := y.summary(p, p.Duration, 4)
	if s.GoodputRatio != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "no answer says its slot time") {
		t.Errorf("goodput %v, notes %q", s.GoodputRatio, s.Notes)
	}
	// Where nothing was on time the goodput is known without it.
	y = newTally(p)
	y.offer(0)
	y.settle(0, result{outcome: late})
	if s = y.summary(p, p.Duration, 4); s.GoodputRatio == nil || *s.GoodputRatio != 0 || s.JainSlotSeconds != nil {
		t.Errorf("goodput %v, want 0", s.GoodputRatio)
	}
}

// The keys are an interface: scripts and benchmarks read them.
func TestSummaryGolden(t *testing.T) {
	p, y := settledTally(t)
	s := y.summary(p, p.Duration, 2)
	s.Upstream, s.WastedSlotSeconds = &Upstream{Slots: ptr(2), Started: ptr(8), Finished: ptr(3)}, ptr(0)
	s.Notes = append(s.Notes, "a note")
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/summary.json", string(text)+"\n")
	golden(t, "testdata/summary.txt", s.Table())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", name, got)
	}
}
