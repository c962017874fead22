package sim

import (
	"math"
	"strings"
	"testing"
)

func told(t *testing.T, story, policy string) *Result {
	t.Helper()
	s, err := ParseScenario("x", strings.NewReader(story))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Play(policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// With one upstream three times slower, the clairvoyant uses every slot for
// answers in time, and refuses before anything waits in vain.
func TestOracleOfSeveralUpstreams(t *testing.T) {
	const story = "deployment a slots=8\ndeployment b slots=8\nupstream b service=3s\ncaller x rate=1.5x deadline=6s\ncaller y rate=0.1x stream deadline=4s\nat 60s down on a until 90s\nfor 200s"
	for _, policy := range []string{"oracle", "oracle-rank"} {
		r := told(t, story, policy)
		if r.ServedLate > 0.012 { // what ran when a went down, and behind a guess of y's
			t.Errorf("%s: %.4f late", policy, r.ServedLate)
		}
		if r.GoodputWork < 0.92 { // a half for 30 of 200 s is lost
			t.Errorf("%s: %.3f of the slot time on answers in time", policy, r.GoodputWork)
		}
		if fifo := told(t, story, "depth"); fifo.OnTime >= r.OnTime {
			t.Errorf("%s: %d in time, %d without knowing anything", policy, r.OnTime, fifo.OnTime)
		}
	}
}

// What fits the cheap one costs its price; what does not, that of the dear.
func TestLeastBill(t *testing.T) {
	story := func(rate string) string {
		return "service 1s sigma=0\ndeployment cheap slots=8 price-request=1\ndeployment dear slots=8 price-request=3\ncaller x rate=" + rate + " deadline=4s\nfor 1000s"
	}
	low := told(t, story("4"), "depth")
	if want := float64(low.OnTime); math.Abs(low.leastCost/want-1) > 0.001 {
		t.Errorf("below the cheap one's capacity %v answers cost at least %v", low.OnTime, low.leastCost)
	}
	high := told(t, story("10.4"), "depth")
	cheap := 8000.0
	if want := cheap + 3*(float64(high.OnTime)-cheap); math.Abs(high.leastCost/want-1) > 0.02 {
		t.Errorf("above it %v answers cost at least %v, want about %v", high.OnTime, high.leastCost, want)
	}
	if cost := costOf(high.sites); cost < high.leastCost {
		t.Errorf("it cost %v, less than the least", cost)
	}
}

// Over upstreams that are alike it decides as the clairvoyant of one does.
func TestOracleOfEqualUpstreams(t *testing.T) {
	const story = "service tokens sigma=0.3\n%s\ncaller x rate=12 deadline=5s-20s spread=0.8\ncaller y rate=6 stream deadline=2s-6s\nfor 300s"
	one := told(t, strings.Replace(story, "%s", "slots 48", 1), "oracle")
	three := told(t, strings.Replace(story, "%s", "deployment a slots=16\ndeployment b slots=16\ndeployment c slots=16", 1), "oracle")
	if one.OnTime != three.OnTime || one.Refusals != three.Refusals {
		t.Errorf("%d in time and %d refused by one, %d and %d by three", one.OnTime, one.Refusals, three.OnTime, three.Refusals)
	}
}
