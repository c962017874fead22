package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// outage measures a gateway whose database goes and comes back: what is lost,
// and what callers feel of it.
type outage struct {
	Downs []time.Duration // how long it is away, each time
	Up    time.Duration   // before and after each
	Rate  int
}

func (u outage) run(ctx context.Context, s *site, w io.Writer) error {
	db, err := newPostgres(ctx)
	if err != nil {
		return err
	}
	defer db.remove()
	if err := s.configure(fmt.Sprintf(", postgres: %q", db.dsn()), tenant{"busy", ", budget: {day: 1000000, pace: off, alert: off}"}); err != nil {
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
	go func() { defer close(loaded); s.callers.load(loading, g.base, "busy", 64, u.Rate) }()
	var up, down []outcome
	phase := func(list *[]outcome, d time.Duration) {
		from := len(s.callers.outcomes())
		pause(ctx, d)
		*list = append(*list, s.callers.outcomes()[from:]...)
	}
	pause(ctx, time.Second) // connections are made
	var spool float64
	for _, away := range u.Downs {
		phase(&up, u.Up)
		db.stop()
		phase(&down, away)
		f, err := g.figures()
		if err != nil {
			return err
		}
		if f["spillway_ledger_up"] != 0 && away > 2*time.Second {
			return fmt.Errorf("the database is stopped, and the gateway does not say so")
		}
		spool = max(spool, f["spillway_ledger_spool_bytes"])
		if err := db.start(ctx); err != nil {
			return err
		}
		phase(&up, u.Up)
	}
	stop()
	<-loaded
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := g.Stop(); err != nil {
		return err
	}
	rows, err := s.readLedger(ctx, db.dsn())
	if err != nil {
		return err
	}
	list := s.callers.outcomes()
	a, all, t, d := s.audit(rows, list), tallyOf(list), tallyOf(up), tallyOf(down)
	fmt.Fprintf(w, "database down for %v: %v; %d requests broke; the spool grew to %.1f MB\n", u.Downs, a, all.broken, spool/1e6)
	fmt.Fprintf(w, "added latency p50/p99: database up %.2f/%.2f ms (%d), down %.2f/%.2f ms (%d)\n", ms(t.p50), ms(t.p99), t.complete, ms(d.p50), ms(d.p99), d.complete)
	if left, err := s.spooled(); err != nil || len(left) > 0 {
		return fmt.Errorf("after a stop the spool has %v, %v", left, err)
	}
	if all.broken+all.refused > 0 {
		return fmt.Errorf("%d requests were refused and %d broke", all.refused, all.broken)
	}
	return a.err()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
