package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// killed measures a gateway that is killed in the midst of its load, again and
// again: whether the ledger has what callers had, and whether budgets know what
// was spent.
type killed struct {
	Rounds int           // kills
	Every  time.Duration // that it serves before it is killed
	Rate   int           // requests a second
}

func (k killed) run(ctx context.Context, s *site, w io.Writer) error {
	const small = 0.005 // dollars, a few requests
	if err := s.configure("", tenant{"busy", ", budget: {day: 1000000, pace: off, alert: off}"}, tenant{"poor", fmt.Sprintf(", budget: {day: %v, pace: off}", small)}); err != nil {
		return err
	}
	var slowest time.Duration
	for round := range k.Rounds + 1 {
		began := time.Now()
		g, err := s.start(ctx)
		if err != nil {
			return err
		}
		slowest = max(slowest, time.Since(began))
		if err := k.knows(ctx, s, g, round); err != nil {
			g.Kill()
			return err
		}
		if round == k.Rounds {
			if err := g.Stop(); err != nil {
				return err
			}
			break
		}
		serving, stop := context.WithCancel(ctx)
		dead := time.AfterFunc(k.Every, func() { g.Kill(); stop() })
		s.callers.load(serving, g.base, "busy", 128, k.Rate)
		dead.Stop()
		stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	rows, err := s.readLedger(ctx, "")
	if err != nil {
		return err
	}
	list := s.callers.outcomes()
	a, t := s.audit(rows, list), tallyOf(list)
	fmt.Fprintf(w, "killed %d times, each after %v of %d requests/s offered, %.0f/s answered: %v; %d calls were under way and are in no row; slowest start %v\n",
		k.Rounds, k.Every, k.Rate, float64(t.complete)/(float64(k.Rounds)*k.Every.Seconds()), a, a.unknown, slowest.Round(time.Millisecond))
	if left, err := s.spooled(); err != nil || len(left) > 0 {
		return fmt.Errorf("after a stop the spool has %v, %v", left, err)
	}
	return a.err()
}

// knows compares the budgets of a gateway that has just begun with the ledger,
// and sees that a budget which was used up stays so.
func (k killed) knows(ctx context.Context, s *site, g *gateway, round int) error {
	if _, err := g.log.wait(ctx, "budgets know what was spent before", 10*time.Second); err != nil {
		return err
	}
	rows, err := s.readLedger(ctx, "")
	if err != nil {
		return err
	}
	for _, name := range []string{"busy", "poor"} {
		used, held, err := g.used(name)
		if err != nil {
			return err
		}
		if sum := spent(rows, name); used != sum || held != 0 {
			return fmt.Errorf("start %d: the ledger has %d micro-dollars of %s, its budget %d and holds %d", round, sum, name, used, held)
		}
	}
	for tries := 0; ; tries++ {
		o := s.callers.ask(ctx, g.base, "poor", 0)
		switch {
		case o.status == http.StatusPaymentRequired:
			return nil
		case !o.complete:
			return fmt.Errorf("start %d: status %d, %s", round, o.status, o.code)
		case round > 0:
			return fmt.Errorf("start %d: a budget that was used up has room again", round)
		case tries > 1000:
			return fmt.Errorf("start %d: the budget is never used up", round)
		}
	}
}
