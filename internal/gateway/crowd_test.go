package gateway

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/mock"
)

// Ten thousand callers in every mood: they leave at random moments, name
// deadlines, stop reading, meet faults. At the end nothing is held, and each of
// them was settled exactly once.
func TestTenThousandCallersLeave(t *testing.T) { // B035, B177
	const callers, atOnce = 10_000, 250
	bubble(t, func(t *testing.T) {
		conf := one(24, "limits: {write_stall: 2s}", "retry: {attempts: 3}", tenantsOf(
			"{name: a, keys: [KEY]}", "{name: b, keys: [KEY2], weight: 3, concurrency: 60, limits: {rpm: 4000, tpm: 900000}}"))
		conf = strings.Replace(conf, "concurrency: 24}]", "concurrency: 24}], queue: {total: 120}", 1)
		conf = strings.Replace(conf, `http: "1.1", `, `http: "1.1", timeouts: {idle: 3s, first_token: 5s, headers: 5s}`, 1)
		r := setup(t, conf, mock.Settings{Slots: 32, ServiceMean: 400 * time.Millisecond, OutputMean: 20, Seed: 7,
			Faults: "429=0.02,503=0.02,reset=0.02,cut=0.02,error-event=0.02,stall=0.01,silence=0.005,html=0.01,malformed=0.01,slow=0.03"})
		var wg sync.WaitGroup
		for worker := range atOnce {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(11, uint64(worker)))
				for range callers / atOnce {
					visit(r, rng)
				}
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Second) // longer than any stall
		synctest.Wait()

		r.idle()
		snap := r.g.gate.Snapshot()
		for _, tenant := range snap.Tenants {
			if tenant.Active != 0 || tenant.Waiting != 0 {
				t.Errorf("tenant %s: %d active, %d waiting", tenant.Name, tenant.Active, tenant.Waiting)
			}
		}
		if n := len(r.g.gate.waiters); n != 0 || r.g.active.Load() != 0 {
			t.Errorf("%d waiters, %d active", n, r.g.active.Load())
		}
		if s := r.mock.Stats(); s.Inflight != 0 {
			t.Errorf("the upstream still works on %d", s.Inflight)
		}
		ended, _ := r.log.requests()
		offered, ids, logged := 0, map[any]bool{}, map[string]float64{}
		for _, line := range ended {
			ids[line["http.request.id"]] = true
			logged[line["spillway.outcome"].(string)]++
			if line["spillway.verdict"] != nil {
				offered++
			}
		}
		if len(ids) != len(ended) || uint64(offered) != uint64(r.g.gate.lastID) {
			t.Errorf("%d ends of %d requests; %d were offered, the core saw %d", len(ended), len(ids), offered, r.g.gate.lastID)
		}
		counted := r.counters("spillway_requests_total", "outcome")
		if fmt.Sprint(counted) != fmt.Sprint(logged) {
			t.Errorf("counted %v, logged %v", counted, logged)
		}
		for _, outcome := range []string{"answered", "refused", "failed", "cut", "timed_out", "left"} {
			if counted[outcome] < 10 {
				t.Errorf("only %v requests ended %s: the crowd is too tame", counted[outcome], outcome)
			}
		}
		t.Logf("%d requests: %v", len(ended), counted)
	})
}

// visit is one caller.
func visit(r *rig, rng *rand.Rand) {
	time.Sleep(time.Duration(rng.IntN(int(2 * time.Second))))
	route := routes[rng.IntN(len(routes))]
	header := []string{"Authorization", "Bearer " + []string{"secret", "other-secret"}[rng.IntN(2)]}
	header = append(header, "X-Spillway-Class", []string{"interactive", "standard", "batch", "speculative"}[rng.IntN(4)])
	if rng.IntN(3) == 0 {
		header = append(header, "X-Spillway-Deadline-Ms", fmt.Sprint(50+rng.IntN(1500)))
	}
	if rng.IntN(8) == 0 {
		header = append(header, "X-Stainless-Retry-Count", "1")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rng.IntN(2) == 0 {
		defer time.AfterFunc(time.Duration(rng.IntN(int(3*time.Second))), cancel).Stop()
	}
	res, err := r.open(ctx, route.path, route.body, header...)
	if err != nil {
		return
	}
	defer res.Body.Close()
	switch rng.IntN(8) {
	case 0: // reads a part and leaves
		io.ReadFull(res.Body, make([]byte, 1+rng.IntN(500)))
	case 1: // stops reading, and comes back when it is too late
		time.Sleep(time.Duration(rng.IntN(int(4 * time.Second))))
		io.Copy(io.Discard, res.Body)
	default:
		io.Copy(io.Discard, res.Body)
	}
}

// Nothing is left behind by streams.
func TestStreamsLeaveNothing(t *testing.T) { // B184
	bubble(t, func(t *testing.T) {
		const streams, chunks = 200, 100
		parts := make([]string, 0, chunks+2)
		for range chunks {
			parts = append(parts, chunk("some words of an answer"))
		}
		r := setup(t, one(streams), events(append(parts, finish, done)...))
		round := func() (goroutines int, heap uint64) {
			var all []<-chan answer
			for range streams {
				all = append(all, r.background(t.Context(), chatPath, streamAsk))
			}
			for _, c := range all {
				if a := <-c; a.err != nil || !strings.HasSuffix(a.body, done) {
					t.Errorf("%d %v", a.status, a.err)
				}
			}
			time.Sleep(3 * time.Minute) // every unused connection is closed by then
			synctest.Wait()
			r.log.mu.Lock()
			r.log.all = nil
			r.log.mu.Unlock()
			runtime.GC()
			runtime.GC() // a second one empties the pools
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return runtime.NumGoroutine(), m.HeapAlloc
		}
		goroutines, heap := round()
		for range 3 {
			g, h := round()
			if g > goroutines || h > heap+heap/5+1<<20 {
				t.Errorf("%d goroutines and %d bytes, %d and %d after the first round", g, h, goroutines, heap)
			}
		}
	})
}
