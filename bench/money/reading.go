package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/store"
)

// reading measures what reports beside the gateway do to its callers.
type reading struct {
	Rows   int // that are in the ledger before
	Cycles int
	Phase  time.Duration // with reports, and as long without
	Rate   int
}

func (r reading) run(ctx context.Context, s *site, w io.Writer) error {
	if err := s.configure("", tenant{"busy", ""}); err != nil {
		return err
	}
	if err := r.fill(ctx, s); err != nil {
		return err
	}
	g, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer g.Kill()
	loading, stop := context.WithCancel(ctx)
	defer stop()
	loaded := make(chan struct{})
	go func() { defer close(loaded); s.callers.load(loading, g.base, "busy", 64, r.Rate) }()
	pause(ctx, time.Second) // connections are made
	var without, with []outcome
	var reports int
	var took time.Duration
	for range r.Cycles {
		from := len(s.callers.outcomes())
		pause(ctx, r.Phase)
		without = append(without, s.callers.outcomes()[from:]...)
		from = len(s.callers.outcomes())
		for end := time.Now().Add(r.Phase); time.Now().Before(end); {
			began := time.Now()
			cmd := exec.CommandContext(ctx, s.binary, "usage", "--config", s.file(), "--by", "tenant,model,day")
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("spillway usage: %w\n%s", err, out)
			}
			reports++
			took += time.Since(began)
		}
		with = append(with, s.callers.outcomes()[from:]...)
	}
	stop()
	<-loaded
	if err := g.Stop(); err != nil {
		return err
	}
	rows, err := s.readLedger(ctx, "")
	if err != nil {
		return err
	}
	list := s.callers.outcomes()
	a, all, t, d := s.audit(rows, list), tallyOf(list), tallyOf(without), tallyOf(with)
	fmt.Fprintf(w, "spillway usage beside the gateway, %d times over %d rows and more, %v each: %v; %d requests broke\n", reports, r.Rows, (took / time.Duration(max(reports, 1))).Round(time.Millisecond), a, all.broken)
	fmt.Fprintf(w, "added latency p50/p99: without reports %.2f/%.2f ms (%d), with %.2f/%.2f ms (%d)\n", ms(t.p50), ms(t.p99), t.complete, ms(d.p50), ms(d.p99), d.complete)
	if all.broken+all.refused > 0 {
		return fmt.Errorf("%d requests were refused and %d broke", all.refused, all.broken)
	}
	return a.err()
}

// fill puts rows of the last days into the ledger.
func (r reading) fill(ctx context.Context, s *site) error {
	l, err := store.Open(ctx, store.Options{Directory: s.ledger()})
	if err != nil {
		return err
	}
	now := time.Now()
	for i := range r.Rows {
		err := l.Append(&store.Row{ID: strconv.Itoa(i), Time: now.Add(-time.Duration(i%2000) * time.Minute), Tenant: "busy", ModelAsked: "chat", ModelUsed: "chat", Outcome: "answered", Cost: 1000, Priced: true})
		if err != nil {
			return err
		}
	}
	return l.Close(ctx)
}
