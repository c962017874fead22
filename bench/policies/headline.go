package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-llm/spillway/bench/table"
	"github.com/spillway-llm/spillway/internal/sim"
)

// published are the gains of a system of this kind over static limits and a
// breaker: success 72 to 93 %, mean latency 1.8 to 1.2 s, recovery 120 to 45 s,
// sustainable load 800 to 1500 a second.
var published = struct{ success, latency, recovery, load float64 }{93.0 / 72, 1.2 / 1.8, 45.0 / 120, 1500.0 / 800}

const (
	sustained  = 0.95 // the share on time that a sustainable load keeps
	rampLength = 5 * time.Minute
)

// headline plays the story with the static limits as they are, half, double
// and without, ramps its load, and compares the gains with the published ones.
func headline(file string) ([]bar, error) {
	fmt.Printf("\n## %s\n\nSustainable is the load of which %g %% is answered in time.\n\n", filepath.Base(file), 100*sustained)
	rows := [][]string{{"policy", "static limits", "on time", "mean latency", "recovery", "sustainable"}}
	var ours figures
	var bars []bar
	for _, of := range []struct {
		policy, limits string
		factor         float64
	}{{"ours", "none", 0}, {"breaker", "half", 0.5}, {"breaker", "as in the story", 1}, {"breaker", "double", 2}, {"breaker", "none", 0}} {
		f, err := measure(file, of.policy, of.factor)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{of.policy, of.limits, share100.String(f.success), seconds.String(f.latency), seconds.String(f.recovery), fmt.Sprintf("%.1f a second", f.load)})
		switch {
		case of.policy == "ours":
			ours = f
		case of.factor == 1:
			bars = gains(filepath.Base(file), ours, f)
		}
	}
	table.Write(os.Stdout, rows)
	return bars, nil
}

// figures are those that are published.
type figures struct{ success, latency, recovery, load float64 }

func measure(file, policy string, limits float64) (f figures, err error) {
	s, err := readStory(file, limits)
	if err != nil {
		return f, err
	}
	r, err := s.Play(policy, nil)
	if err != nil {
		return f, err
	}
	f = figures{success: r.GoodputCount, latency: r.LatencyMean, recovery: r.Duration}
	if r.Recovery != nil {
		f.recovery = *r.Recovery
	}
	f.load, err = sustainable(s, policy)
	return f, err
}

func readStory(file string, limits float64) (*sim.Scenario, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s, err := sim.ParseScenario(file, in)
	if err != nil {
		return nil, err
	}
	for tenant, n := range s.Static {
		s.Static[tenant] = int64(limits * float64(n))
	}
	return s, nil
}

// sustainable is the highest rate of the story's callers, in requests a second,
// that is answered in time when nothing else happens.
func sustainable(s *sim.Scenario, policy string) (float64, error) {
	calm := *s
	calm.Script, calm.Length = nil, rampLength
	idle := 0.0
	for _, c := range s.Callers {
		idle += c.Rate
	}
	from, to := 0.0, 16.0 // times the idle rate
	for to-from > 0.02 {
		factor := (from + to) / 2
		calm.Callers = nil
		for _, c := range s.Callers {
			c.Rate, c.Changes = c.Rate*factor, nil
			calm.Callers = append(calm.Callers, c)
		}
		r, err := calm.Play(policy, nil)
		if err != nil {
			return 0, err
		}
		if r.GoodputCount >= sustained {
			from = factor
		} else {
			to = factor
		}
	}
	return from * idle, nil
}

// gains are the bars: ours by theirs.
func gains(story string, ours, theirs figures) []bar {
	of := func(what string, s sense, limit, ours, theirs float64) bar {
		return bar{item: "headline", workload: story, what: what + ", of the breaker's", sense: s, limit: limit, unit: number, figure: ours / theirs}
	}
	bars := []bar{
		of("on time", atLeast, published.success, ours.success, theirs.success),
		of("mean latency", atMost, published.latency, ours.latency, theirs.latency),
		of("sustainable load", atLeast, published.load, ours.load, theirs.load),
	}
	if theirs.recovery > 0 {
		return append(bars, of("recovery", atMost, published.recovery, ours.recovery, theirs.recovery))
	}
	return append(bars, bar{item: "headline", workload: story, what: "recovery (the breaker's takes no time)", sense: atMost, limit: 45, unit: seconds, figure: ours.recovery})
}
