package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// crowd measures a budget that many callers run against at once.
type crowd struct {
	Callers int
	Budget  int64 // micro-dollars a day
}

func (c crowd) run(ctx context.Context, s *site, w io.Writer) error {
	if err := s.configure("", tenant{"crowd", fmt.Sprintf(", budget: {day: %v, pace: off}", float64(c.Budget)/1e6)}); err != nil {
		return err
	}
	g, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer g.Kill()
	// Refused callers come again until nobody is served any more: then none of
	// them was kept out by what others only held.
	var served atomic.Int64
	var all sync.WaitGroup
	for range c.Callers {
		all.Go(func() {
			for idle := 0; idle < 3 && ctx.Err() == nil; idle++ {
				before := served.Load()
				if s.callers.ask(ctx, g.base, "crowd", 0).complete {
					served.Add(1)
					idle = -1
					continue
				}
				if pause(ctx, 4*answerTime); served.Load() != before {
					idle = -1
				}
			}
		})
	}
	all.Wait()
	at, held, err := g.used("crowd")
	if err != nil {
		return err
	}
	// What is left is for small requests, one after the other.
	last := 0
	for ; last < 1000 && ctx.Err() == nil; last++ {
		if o := s.callers.ask(ctx, g.base, "crowd", 1); !o.complete {
			if o.status != http.StatusPaymentRequired {
				return fmt.Errorf("a small request was answered with %d, %s", o.status, o.code)
			}
			break
		}
	}
	used, held2, err := g.used("crowd")
	if err != nil {
		return err
	}
	f, err := g.figures()
	if err != nil {
		return err
	}
	if err := g.Stop(); err != nil {
		return err
	}
	rows, err := s.readLedger(ctx, "")
	if err != nil {
		return err
	}
	list := s.callers.outcomes()
	var costs []int64
	for _, o := range list {
		if o.complete {
			costs = append(costs, o.cost)
		}
	}
	slices.Sort(costs)
	dearest, most := costs[len(costs)-1], costs[len(costs)*9/10] // what is held is a quantile of nine in ten
	a, t := s.audit(rows, list), tallyOf(list)
	over := max(used-c.Budget, 0)
	fmt.Fprintf(w, "%d callers, budget %d micro-dollars: %d served, %d refused; spent %d, over by %d (dearest request %d, nine in ten below %d); %d was left when all were refused, %d after %d small ones\n",
		c.Callers, c.Budget, t.complete, t.refused, used, over, dearest, most, c.Budget-at, c.Budget-used, last)
	fmt.Fprintf(w, "budget %d + held %d, ledger %d, callers %d micro-dollars; leaked %v\n", used, held2, spent(rows, "crowd"), t.spent, f["spillway_budget_leaked_dollars"])
	const small = 2 * (60*inputPrice + outputPrice)
	switch {
	case t.broken > 0:
		return fmt.Errorf("%d requests broke", t.broken)
	case held != 0 || held2 != 0 || f["spillway_budget_leaked_dollars"] != 0:
		return fmt.Errorf("nothing runs, and %d micro-dollars are held", held+held2)
	case used != spent(rows, "crowd") || used != t.spent:
		return fmt.Errorf("the budget counts %d, the ledger %d, callers had answers for %d micro-dollars", used, spent(rows, "crowd"), t.spent)
	case over > dearest-most:
		return fmt.Errorf("spent %d micro-dollars more than the budget, which is more than one request's error", over)
	case c.Budget-used > small:
		return fmt.Errorf("%d micro-dollars are left, and a request for less was refused", c.Budget-used)
	}
	return a.err()
}

// runaway measures a loop that spends as fast as its limit of concurrency lets it.
type runaway struct {
	Loops  int
	Budget int64         // micro-dollars a day
	Most   time.Duration // until it must have been slowed
	Watch  time.Duration // after that
}

func (r runaway) run(ctx context.Context, s *site, w io.Writer) error {
	if err := s.configure("", tenant{"agent", fmt.Sprintf(", budget: {day: %v}, concurrency: %d", float64(r.Budget)/1e6, r.Loops)}); err != nil {
		return err
	}
	g, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer g.Kill()
	began := time.Now()
	looping, stop := context.WithTimeout(ctx, r.Most)
	defer stop()
	var slowed atomic.Int64 // from began
	var gone atomic.Int64   // micro-dollars then
	var all sync.WaitGroup
	for range r.Loops {
		all.Go(func() {
			for looping.Err() == nil {
				o := s.callers.ask(context.WithoutCancel(looping), g.base, "agent", 0)
				if o.complete {
					continue
				}
				if slowed.CompareAndSwap(0, int64(time.Since(began))) {
					spent, _, _ := g.used("agent")
					gone.Store(spent)
					time.AfterFunc(r.Watch, stop)
				}
				pause(looping, answerTime) // it does not listen to Retry-After
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if slowed.Load() == 0 {
		return fmt.Errorf("it was not slowed within %v", r.Most)
	}
	alarm, err := g.log.wait(ctx, "budget fast", time.Second)
	if err != nil {
		return err
	}
	used, _, err := g.used("agent")
	if err != nil {
		return err
	}
	if err := g.Stop(); err != nil {
		return err
	}
	rows, err := s.readLedger(ctx, "")
	if err != nil {
		return err
	}
	list := s.callers.outcomes()
	a, t := s.audit(rows, list), tallyOf(list)
	part := func(n int64) float64 { return 100 * float64(n) / float64(r.Budget) }
	rate := float64(gone.Load()) / time.Duration(slowed.Load()).Seconds()
	at := time.Duration(slowed.Load())
	fmt.Fprintf(w, "runaway loop of %d at once, which would spend its day's budget of %.0f dollars in %v: alarm after %v (spent %v dollars), slowed after %v with %.1f %% of the day gone; after %v %.1f %% gone, %d requests refused\n",
		r.Loops, float64(r.Budget)/1e6, time.Duration(float64(r.Budget)/rate*1e9).Round(time.Second), alarm.at.Sub(began).Round(10*time.Millisecond), alarm.all["spent"],
		at.Round(10*time.Millisecond), part(gone.Load()), took.Round(time.Second), part(used), t.refused)
	switch {
	case alarm.at.After(began.Add(at)):
		return fmt.Errorf("it was slowed before anybody was told")
	case part(used) > 100./6*1.05+part(int64(r.Loops)*5000):
		return fmt.Errorf("%.1f %% of the day's budget are gone, want a sixth", part(used))
	}
	return a.err()
}
