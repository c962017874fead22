package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// settleTime bounds the wait for the upstream to finish its accounts of callers that have gone.
const settleTime = 5 * time.Second

// runner carries out one plan.
type runner struct {
	plan      plan
	transport http.RoundTripper
	makers    []maker // of plan.tenants
	tally     *tally
	progress  func(Progress)
	samples   *sampler // nil = none

	start    time.Time
	inFlight atomic.Int64
	callers  sync.WaitGroup
	lag      times // of starts behind the schedule; only the scheduling goroutine's until it ends
}

func newRunner(p plan, transport http.RoundTripper, progress func(Progress)) *runner {
	r := &runner{plan: p, transport: transport, tally: newTally(p), progress: progress}
	for _, t := range p.tenants {
		r.makers = append(r.makers, newMaker(p, t))
	}
	return r
}

// sampleTo makes the runner write a line of CSV to w every plan.Sample.
func (r *runner) sampleTo(w io.Writer) { r.samples = newSampler(w) }

func (r *runner) run(parent context.Context) (Summary, error) {
	before, beforeErr := r.accounts(parent)
	if beforeErr != nil && r.plan.statsRequired {
		return Summary{}, beforeErr
	}
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)

	r.start = time.Now()
	watched := r.watch()
	r.schedule(ctx)
	// The window is measured to its end, also where the last caller came before it.
	sleep(ctx, time.Until(r.start.Add(r.plan.Duration)))
	window := min(time.Since(r.start), r.plan.Duration)
	grace := time.AfterFunc(r.plan.Grace, func() {
		stop(fmt.Errorf("no end %v after the last arrivals", r.plan.Grace))
	})
	r.callers.Wait()
	grace.Stop()
	watched()

	var slots float64
	var after accounts
	afterErr := beforeErr
	if beforeErr == nil && r.plan.Stats != "none" {
		if after, afterErr = r.settledAccounts(parent); afterErr == nil {
			slots = *after.slots
		}
	}
	s := r.tally.summary(r.plan, window, slots)
	switch {
	case r.plan.Stats == "none":
		s.Notes = append(s.Notes, "goodput_ratio is null: the upstream's accounts were not asked for")
	case afterErr != nil:
		s.Notes = append(s.Notes, fmt.Sprintf("goodput_ratio is null: %v (see --stats)", afterErr))
	default:
		s.Upstream = after.since(before)
		s.WastedSlotSeconds = minus(after.wasted, before.wasted)
	}
	r.note(&s)
	if cause := context.Cause(parent); cause != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("stopped early, with %.1f s of %v offered: %v", window.Seconds(), r.plan.Duration, cause))
		return s, fmt.Errorf("load stopped early: %w", cause)
	}
	return s, nil
}

// schedule starts every caller at its time, and returns after the last or when ctx ends.
func (r *runner) schedule(ctx context.Context) {
	next := r.plan.arrivals()
	for a, ok := next(); ok; a, ok = next() {
		intended := r.start.Add(a.at)
		if wait := time.Until(intended); wait > 0 && !sleep(ctx, wait) || ctx.Err() != nil {
			return
		}
		r.lag.add(time.Since(intended))
		r.tally.offer(a.tenant)
		if r.inFlight.Load() >= int64(r.plan.MaxInFlight) {
			r.tally.settle(a.at, result{tenant: a.tenant, outcome: failed, message: errSaturated.Error()})
			continue
		}
		c := &caller{tenant: r.plan.tenants[a.tenant], make: r.makers[a.tenant], transport: r.transport, plan: &r.plan, arrival: a, intended: intended}
		r.inFlight.Add(1)
		r.callers.Go(func() {
			r.tally.settle(a.at, c.live(ctx))
			r.inFlight.Add(-1)
		})
	}
}

var errSaturated = errors.New("load generator saturated: as many callers in flight as --max-in-flight allows")

// watch reports progress and samples until the returned function is called, which does so once more and waits.
func (r *runner) watch() (stop func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	report := func() {
		if r.progress != nil {
			p := r.tally.progress()
			p.Elapsed, p.InFlight = time.Since(r.start), r.inFlight.Load()
			r.progress(p)
		}
	}
	sample := func() {
		if r.samples != nil {
			r.samples.sample(r.tally, time.Since(r.start), r.inFlight.Load())
		}
	}
	watching.Go(func() {
		second, samples := time.NewTicker(time.Second), time.NewTicker(r.plan.Sample)
		defer second.Stop()
		defer samples.Stop()
		for {
			select {
			case <-second.C:
				report()
			case <-samples.C:
				sample()
			case <-done:
				report()
				sample()
				return
			}
		}
	})
	return func() {
		close(done)
		watching.Wait()
	}
}

func (r *runner) accounts(ctx context.Context) (accounts, error) {
	if r.plan.Stats == "none" {
		return accounts{}, nil
	}
	return readAccounts(ctx, r.transport, r.plan.Stats)
}

// settledAccounts reads the accounts once the upstream has noticed that the last callers are gone. It does so even if
// the run was interrupted.
func (r *runner) settledAccounts(ctx context.Context) (a accounts, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	for {
		if a, err = r.accounts(ctx); err != nil || !a.working || !sleep(ctx, 50*time.Millisecond) {
			return a, err
		}
	}
}

// lagNoted is from where on the generator's own lateness is worth a note.
const lagNoted = 20 * time.Millisecond

// note adds what the generator has to say about itself.
func (r *runner) note(s *Summary) {
	if q := r.lag.quantile(99); q != nil && *q > lagNoted.Seconds() {
		s.Notes = append(s.Notes, fmt.Sprintf("the load generator itself was late: 1 %% of the callers started more than %.3f s after their time", *q))
	}
	if r.samples != nil && r.samples.err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("the samples are not complete: %v", r.samples.err))
	}
}
