package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/sim"
)

// The files of one live run.
const (
	configFile = "spillway.yaml"
	eventsFile = "events.jsonl" // recorded by the gateway
)

// simulated plays what the gateway of a live run recorded in dir, with its
// configuration, once with each seed.
func (b *bench) simulated(dir string) ([]figures, error) {
	cfg, err := config.Load(filepath.Join(dir, configFile))
	if err != nil {
		return nil, err
	}
	var runs []figures
	for seed := range b.seeds {
		f, err := b.simulate(cfg, filepath.Join(dir, eventsFile), uint64(seed+1))
		if err != nil {
			return nil, fmt.Errorf("simulate: %w", err)
		}
		runs = append(runs, f)
	}
	return runs, nil
}

func (b *bench) simulate(cfg *config.Config, events string, seed uint64) (figures, error) {
	in, err := os.Open(events)
	if err != nil {
		return figures{}, err
	}
	defer in.Close()
	source, err := sim.Trace(events, in, sim.TraceOptions{Seed: seed})
	if err != nil {
		return figures{}, err
	}
	upstreams, callers := sim.FromConfig(cfg)
	world := sim.World{Policy: sim.PolicyOf(cfg), Upstreams: upstreams, Seed: seed, Length: b.length}
	r, err := sim.Simulate(world, sim.Dress(source, callers, seed))
	if err != nil {
		return figures{}, err
	}
	return figures{
		goodput: r.GoodputWork, waitP95: r.QueueP95, waitP99: r.QueueP99, attempts: r.AttemptsPerOffered, onTime: r.GoodputCount,
		refused: r.Refused + float64(r.Expired)/float64(max(1, r.Offered)), // a caller hears the same of both
		service: r.SlotSeconds / float64(max(1, r.OnTime)),
	}, nil
}
