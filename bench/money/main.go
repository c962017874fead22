// Package main measures what the gateway does with money when processes fail:
// the ledger when the gateway is killed and when its database is away, budgets
// when many callers run against them, and what reading the ledger costs.
//
// Gateway and database are real processes on loopback, before a fake provider
// that answers within 20 ms. Each experiment ends with an error if a figure
// that must hold does not.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

type settings struct {
	Spillway string        `default:"bin/spillway" help:"The gateway's binary."`
	Only     string        `enum:",killed,outage,crowd,runaway,reading" default:"" help:"One experiment instead of all."`
	Down     time.Duration `default:"5m" help:"How long the database is away, the first time."`
	Rate     int           `default:"1000" help:"Requests a second."`
	Limit    time.Duration `default:"30m" help:"End of the run, whatever happens."`
}

// experiment measures something at a site of its own.
type experiment interface {
	run(ctx context.Context, s *site, w io.Writer) error
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("money"), kong.Description("Measure ledger and budgets while processes fail."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limit, fmt.Errorf("not done within %v", s.Limit))
	defer cancel()
	failed := false
	for _, e := range []struct {
		name string
		experiment
	}{
		{"killed", killed{Rounds: 10, Every: 10 * time.Second, Rate: s.Rate}},
		{"crowd", crowd{Callers: 200, Budget: 1e6}},
		{"runaway", runaway{Loops: 10, Budget: 500e6, Most: 10 * time.Minute, Watch: time.Minute}},
		{"reading", reading{Rows: 300_000, Cycles: 5, Phase: 5 * time.Second, Rate: s.Rate / 2}},
		{"outage", outage{Downs: []time.Duration{s.Down, 30 * time.Second, 30 * time.Second}, Up: 30 * time.Second, Rate: s.Rate / 2}},
	} {
		if s.Only != "" && s.Only != e.name {
			continue
		}
		if err := measure(ctx, s.Spillway, e, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "bench/money: %s: %v\n", e.name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func measure(ctx context.Context, binary string, e experiment, w io.Writer) error {
	s, err := newSite(binary)
	if err != nil {
		return err
	}
	defer s.close()
	return e.run(ctx, s, w)
}
