package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// In an honest overload the predictor is believed, also right after a time in
// which slots idled.
func TestGuardKeepsQuiet(t *testing.T) {
	for name, story := range map[string]string{
		"ten times the capacity from the start":       "slots 16\ncaller a rate=10x deadline=8s retries=2\nfor 60s",
		"ten times the capacity after an idle minute": "slots 16\ncaller a rate=0 deadline=8s retries=2\nat 60s rate a 10x\nfor 90s",
		"bursts with rests between them":              "slots 16\ncaller a rate=10x deadline=8s\nat 3s rate a 0\nat 15s rate a 10x\nat 18s rate a 0\nfor 30s",
		"just above capacity":                         "slots 16\ncaller a rate=1.3x deadline=8s retries=2\nfor 60s",
		"an upstream that turns three times as slow":  "slots 16\ncaller a rate=1x deadline=8s retries=2\nat 40s slow 3 until 80s\nfor 120s",
		"service times that differ greatly":           "slots 16\nservice 1s sigma=1.5\ncaller a rate=2x deadline=8s retries=2\nfor 60s",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseScenario("story", strings.NewReader("prior 1s\n"+story))
			if err != nil {
				t.Fatal(err)
			}
			events, distrusted := 0, false
			_, err = s.Play("ours", func(d Decider, now time.Time) {
				if events++; events%50 == 0 {
					distrusted = distrusted || d.(*admit.Controller).Payer(now, 0).Distrusted
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if distrusted {
				t.Error("distrusted in an honest overload")
			}
		})
	}
}

// Light tenants beside loud ones, and priority, hold whatever the seed.
func TestBarsHoldForEverySeed(t *testing.T) {
	for _, file := range []string{"overload-2x", "overload-10x", "brownout-1", "priority", "fairness"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			story := readScenario(t, file)
			for seed := uint64(100); seed < 105; seed++ {
				s, err := ParseScenario(file, strings.NewReader(story))
				if err != nil {
					t.Fatal(err)
				}
				s.Seed = seed
				o, err := s.Tell(nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range o.Missed {
					if file == "brownout-1" && strings.HasPrefix(m, "refusal-mean") {
						continue // how much waited when the upstream turned slow is chance
					}
					t.Errorf("seed %d: %s", seed, m)
				}
			}
		})
	}
}
