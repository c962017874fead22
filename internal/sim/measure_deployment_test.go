package sim

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Two deployments, of which the courier uses the second when the first fails.
func TestDeploymentMeasures(t *testing.T) {
	const s = time.Second
	var arrivals []Arrival
	for i := range 60 {
		arrivals = append(arrivals, Arrival{At: time.Duration(i)*s + s/2, Input: 1000, Output: 500})
	}
	ups := map[string]Upstream{
		"a": {Slots: 4, Mean: s / 4, Limit: Limit{Requests: 20, Per: 20 * s, Kind: Fixed}}, // one a second
		"b": {Slots: 4, Mean: s / 4},
	}
	halved := ups["a"].Limit
	halved.Requests = 10
	script := []Happening{
		{At: 20 * s, Do: on("a", func(now time.Time, s *server) { s.enforce(now, halved) })},
		{At: 40 * s, Do: on("a", func(now time.Time, s *server) { s.enforce(now, ups["a"].Limit) })},
		{At: 40 * s, Do: on("b", func(now time.Time, s *server) { s.fall(now, &failure{how: reset, after: instant}) })},
	}
	r := couriered(t, &courier{places: []string{"a", "b"}}, ups, script, arrivals...)
	for _, tt := range []struct {
		line string
		want float64
	}{
		{"calls a >= 0", 60},
		{"calls b >= 0", 10}, // those that a refused from 30 s to 40 s
		{"calls >= 0", 70},
		{"calls a after 30s >= 0", 30},
		{"share b >= 0", 100. * 10 / 70},
		{"limited a >= 0", 100. * 10 / 60},
		{"limited b >= 0", 0},
		{"limited >= 0", 100. * 10 / 70},
		{"utilisation a >= 0", 100}, // 20 + 10 + 20
		{"limit-recovery a >= 0", 0},
		{"probes a >= 0", 0},
		{"probes b >= 0", 0}, // down, but nobody called
		{"errors >= 0", 0},
		{"cost >= 0", 0},
	} {
		p := &parser{s: &Scenario{Policies: []string{"x"}}}
		if err := p.expect(strings.Fields(tt.line)); err != nil {
			t.Fatal(err)
		}
		got, err := p.s.Expects[0].measure(p.s, map[string]*Result{"x": r})
		if err != nil || math.Abs(got-tt.want) > 1 {
			t.Errorf("%s: got %v, %v, want %v", tt.line, got, err, tt.want)
		}
	}
	if table := r.Table(); !strings.Contains(table, "\nb              10  14.29%    0.00%   0.00%   0.04        -  0.0000$\n") {
		t.Errorf("the table has no such line:\n%s", table)
	}
}

func TestProbesOfAnOutage(t *testing.T) {
	x := &record{outages: []outage{{from: epoch.Add(10 * time.Second), to: epoch.Add(40 * time.Second)}}}
	for _, at := range []int{5, 12, 14, 25, 31, 34, 39, 40, 41} {
		x.called(epoch.Add(time.Duration(at) * time.Second))
	}
	if got := probes([]*record{x}); got != 3 { // 31, 34 and 39: before 20 s it is not known yet, at 40 s it is up
		t.Errorf("%v calls", got)
	}
}

func TestFlaps(t *testing.T) {
	x := &record{}
	for second := range 100 {
		if second/10 != 3 && second/10 != 4 && second/10 != 8 {
			x.called(epoch.Add(time.Duration(second) * time.Second))
		}
	}
	if got := flaps(&Result{Duration: 100}, []*record{x}); got != 2 {
		t.Errorf("%v times", got)
	}
}

func TestMeasureOfNoDeployment(t *testing.T) {
	s, err := ParseScenario("x", strings.NewReader("deployment a slots=1\ncaller c rate=1\nfor 10s\nexpect calls b >= 1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tell(nil); err == nil || err.Error() != `line 4: unknown deployment "b"; known are a` {
		t.Errorf("got %v", err)
	}
}
