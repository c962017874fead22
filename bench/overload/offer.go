package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/load"
	"github.com/spillway-llm/spillway/internal/mock"
)

// scene is a load on one system.
type scene struct {
	experiment string
	system     system
	tenants    []load.Tenant // with rates
	length     time.Duration
	schedule   string   // of the upstream's faults
	slow       slowness // what the schedule means; nil is full speed
}

// load is what is offered, over the capacity.
func (s scene) load() float64 {
	var rate float64
	for _, t := range s.tenants {
		rate += t.Rate
	}
	return math.Round(100*rate/capacity) / 100
}

// tenant is one kind of callers, with a key of its own.
func tenant(name string, rate float64) load.Tenant {
	return load.Tenant{Name: name, Key: "bench-key-of-" + name, Rate: rate, Deadline: deadline}
}

// offer carries out the scenes, each with an upstream of its own: at the same
// time, so that whatever disturbs the machine disturbs all, or one by one.
// Scenes that differ in the system alone have the same arrivals.
func (b *bench) offer(ctx context.Context, scenes ...scene) ([]run, error) {
	fmt.Fprintf(os.Stderr, "%s at %.3gx, %v ...\n", scenes[0].experiment, scenes[0].load(), scenes[0].length)
	runs, errs := make([]run, len(scenes)), make([]error, len(scenes))
	var all sync.WaitGroup
	for i, s := range scenes {
		all.Go(func() {
			if runs[i], errs[i] = b.play(ctx, s); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", s.system, errs[i])
			}
		})
		if b.apart {
			all.Wait()
		}
	}
	all.Wait()
	err := errors.Join(errs...)
	if err == nil {
		b.report.Runs = append(b.report.Runs, runs...)
	}
	return runs, err
}

// play carries out one scene.
func (b *bench) play(ctx context.Context, s scene) (_ run, err error) {
	u, err := b.start(ctx, s.system, s.tenants, fmt.Sprintf("%s-%gx", s.experiment, s.load()))
	if err != nil {
		return run{}, err
	}
	defer func() { err = errors.Join(err, u.stop()) }()
	if err := control(ctx, u.upstream, s.schedule); err != nil {
		return run{}, err
	}
	samples := filepath.Join(u.dir, "samples.csv")
	sum, err := load.Run(ctx, load.Settings{
		Target: u.target, Stats: u.upstream + "/stats", Tenants: s.tenants, Duration: s.length, Retries: retries, Seed: seed, CSV: samples, Sample: sampleTime,
	}, nil)
	if err != nil {
		return run{}, err
	}
	counts, err := arrivals(samples, s.length)
	if err != nil {
		return run{}, err
	}
	slow := s.slow
	if slow == nil {
		slow = fullSpeed
	}
	return run{Experiment: s.experiment, System: string(s.system), Load: s.load(), Possible: possible(counts, sampleTime, slow), Summary: sum}, nil
}

// control gives the upstream a schedule of faults, which begins now.
func control(ctx context.Context, upstream, schedule string) error {
	if schedule == "" {
		return nil
	}
	body, err := json.Marshal(mock.Control{Schedule: &schedule})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, upstream+"/control", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("schedule the upstream's faults: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("schedule the upstream's faults: status %d", resp.StatusCode)
	}
	return nil
}
