package gateway

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// tight is a model whose breaker opens when the first token is slower than a
// healthy upstream next door ever is.
func tight() string {
	return strings.Replace(one(64), "concurrency: 64}]", "concurrency: 64}], breaker: {min_count: 20, first_token: {warn: 200ms, open: 200ms}}", 1)
}

func (r *rig) breakerOf(i int) admit.DeploymentState { return r.g.gate.Snapshot().Deployments[i] }

// An upstream that is that slow opens it.
func TestSlowUpstreamOpens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, tight(), then(pause(210*time.Millisecond), events(chunk("a"), finish, usage, done)))
		for range 25 {
			r.ask(chatPath, streamAsk)
		}
		if d := r.breakerOf(0); d.State.String() != "open" || d.Why.String() != "slow_first_token" {
			t.Errorf("%v %v", d.State, d.Why)
		}
	})
}

// A gateway whose own processors are taken sees every upstream answer late. It
// must not blame them: with a healthy upstream nothing opens, although callers
// wait as long as would open it.
func TestOwnSaturationOpensNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes three seconds of every processor")
	}
	r := setupTCP(t, tight(), http.HandlerFunc(events(chunk("a"), finish, usage, done)))
	for range 30 { // healthy, and known to be
		r.askCtx(t.Context(), chatPath, streamAsk)
		time.Sleep(10 * time.Millisecond)
	}
	if d := r.breakerOf(0); d.State.String() != "closed" {
		t.Skipf("the breaker is %v although nothing else runs: the machine is too busy to tell anything", d.State)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	var busy, callers sync.WaitGroup
	for range 8 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				for i := range 100_000 {
					n ^= i
				}
			}
		})
	}
	var saturated atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	for range 16 {
		callers.Go(func() {
			for ctx.Err() == nil {
				a := r.askCtx(context.Background(), chatPath, streamAsk)
				if r.g.lag.Saturated(time.Now()) {
					saturated.Add(1)
				}
				mu.Lock()
				took = append(took, a.took)
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	busy.Wait()
	slices.Sort(took)
	d := r.breakerOf(0)
	t.Logf("%d calls, half of them slower than %v; %d while saturated; breaker %v, warned %v", len(took), took[len(took)/2], saturated.Load(), d.State, d.Warned)
	if n := r.counters("spillway_breaker_opened_total", "deployment"); len(n) > 0 || d.State.String() != "closed" || d.Share != 1 {
		t.Errorf("the breaker opened: %v %v %v", n, d.State, d.Why)
	}
	if took[len(took)/2] > 200*time.Millisecond && saturated.Load() == 0 {
		t.Error("calls were slow, and nobody noticed why")
	}
}
