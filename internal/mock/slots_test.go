package mock

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

func TestSlotsAreGrantedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant()) // two slots, a second each
		var mu sync.Mutex
		var ends []int
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				askChat(s, plainAsk)
				mu.Lock()
				ends = append(ends, i)
				mu.Unlock()
			})
		}
		time.Sleep(500 * time.Millisecond)
		if st := s.Stats(); st.Inflight != 2 || st.Queued != 4 {
			t.Errorf("at 0.5s: %d running, %d waiting; want 2 and 4", st.Inflight, st.Queued)
		}
		wg.Wait()
		if !slices.IsSorted(ends) {
			t.Errorf("requests ended in the order %v", ends)
		}
		st := s.Stats()
		if st.Started != 6 || st.Finished != 6 || st.MaxInflight != 2 || st.Aborted != 0 {
			t.Errorf("stats %+v", st)
		}
		near(t, "busy slot seconds", st.BusySlotSeconds, 6, 1e-6)
		near(t, "wasted slot seconds", st.WastedSlotSeconds, 0, 0)
	})
}

func TestFullQueueRefuses(t *testing.T) {
	for _, retryAfter := range []string{"", "7"} {
		synctest.Test(t, func(t *testing.T) {
			settings := constant()
			settings.Queue, settings.RetryAfter = new(1), retryAfter
			s := setup(t, settings)
			var refusedCount atomic.Int64
			within(5, func(int) { // two run, one waits, two are refused
				p := askChat(s, plainAsk)
				if p.status != 429 {
					return
				}
				refusedCount.Add(1)
				if p.end != 0 || p.header.Get("Retry-After") != retryAfter || gjson.GetBytes(p.body, "error.code").Str != "rate_limit_exceeded" {
					t.Errorf("after %v: %v %s", p.end, p.header, p.body)
				}
			})
			if st := s.Stats(); st.Rejected != 2 || refusedCount.Load() != 2 || st.Finished != 3 {
				t.Errorf("%d refused, stats %+v", refusedCount.Load(), st)
			}
		})
	}
}

func TestNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := constant()
		settings.Queue = new(0)
		s := setup(t, settings)
		within(3, func(int) { askChat(s, plainAsk) })
		if st := s.Stats(); st.Rejected != 1 || st.Finished != 2 {
			t.Errorf("stats %+v", st)
		}
	})
}

// A caller that leaves frees its slot at once (B177), and one that leaves while
// waiting costs nothing (B168).
func TestLeavingFreesTheSlot(t *testing.T) {
	for _, body := range []string{plainAsk, streamed} {
		synctest.Test(t, func(t *testing.T) {
			settings := constant()
			settings.Slots = 1
			s := setup(t, settings)
			leave := func(after time.Duration) *tape {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				return ask(ctx, s, "POST", chatPath, body)
			}
			var last *tape
			within(3, func(i int) {
				time.Sleep(time.Duration(i) * time.Millisecond)
				switch i {
				case 0: // runs from 0, leaves at 0.5 s
					if p := leave(500 * time.Millisecond); p.end != 500*time.Millisecond {
						t.Errorf("an aborted request ended after %v, want 0.5s", p.end)
					}
				case 1: // waits, leaves at 0.2 s
					leave(200 * time.Millisecond)
				case 2: // gets the slot at 0.5 s
					last = askChat(s, body)
				}
			})
			near(t, "the time of the last", last.end.Seconds(), 1.5-0.002, 1e-6)
			st := s.Stats()
			if st.Started != 2 || st.Finished != 1 || st.Aborted != 1 || st.Abandoned != 1 {
				t.Errorf("stats %+v", st)
			}
			near(t, "busy slot seconds", st.BusySlotSeconds, 1.5, 1e-6)
			near(t, "wasted slot seconds", st.WastedSlotSeconds, 0.5, 1e-6)
		})
	}
}

func TestIgnoreDisconnect(t *testing.T) {
	for _, body := range []string{plainAsk, streamed} {
		synctest.Test(t, func(t *testing.T) {
			settings := constant()
			settings.Slots, settings.IgnoreDisconnect = 1, true
			s := setup(t, settings)
			within(2, func(i int) { // the first leaves at 0.4 s while running, the second at 0.4 s while waiting
				time.Sleep(time.Duration(i) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
				defer cancel()
				ask(ctx, s, "POST", chatPath, body)
			})
			st := s.Stats()
			if st.Started != 2 || st.Finished != 2 || st.Aborted != 0 || st.Abandoned != 0 {
				t.Errorf("stats %+v", st)
			}
			near(t, "busy slot seconds", st.BusySlotSeconds, 2, 1e-6)
			near(t, "wasted slot seconds", st.WastedSlotSeconds, 0.6+1, 1e-6)
		})
	}
}

func TestStatsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		askChat(s, plainAsk)
		go askChat(s, plainAsk)
		time.Sleep(250 * time.Millisecond)
		ask(t.Context(), s, "GET", "/stats?reset=1", "")
		time.Sleep(250 * time.Millisecond)
		st := s.Stats()
		near(t, "busy slot seconds", st.BusySlotSeconds, 0.25, 1e-6)
		near(t, "uptime", st.UptimeS, 1.5, 1e-6)
		if st.Started != 0 || st.Finished != 0 || st.Inflight != 1 || st.MaxInflight != 1 {
			t.Errorf("stats %+v", st)
		}
		time.Sleep(time.Second)
	})
}

// Hundreds of callers that come and leave at random: no slot is lost or granted
// twice, every request is counted once, and busy time is what was used.
func TestRandomCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := Settings{Slots: 5, Queue: new(20), ServiceMean: 300 * time.Millisecond, Seed: 3}
		s := setup(t, settings)
		rng := rand.New(rand.NewPCG(1, 2))
		const n = 800
		type caller struct{ at, stay time.Duration }
		callers := make([]caller, n)
		for i := range callers {
			callers[i] = caller{time.Duration(rng.Int64N(int64(30 * time.Second))), time.Duration(rng.Int64N(int64(2 * time.Second)))}
		}
		within(n, func(i int) {
			time.Sleep(callers[i].at)
			ctx, cancel := context.WithTimeout(t.Context(), callers[i].stay)
			defer cancel()
			body := plainAsk
			if i%2 == 0 {
				body = streamed
			}
			ask(ctx, s, "POST", chatPath, body)
			if st := s.Stats(); st.Inflight > 5 || st.Queued > 20 || (st.Queued > 0 && st.Inflight < 5) {
				t.Errorf("%d running and %d waiting", st.Inflight, st.Queued)
			}
		})
		st := s.Stats()
		if st.Inflight != 0 || st.Queued != 0 || st.MaxInflight != 5 || st.Started != st.Finished+st.Aborted ||
			st.Started+st.Rejected+st.Abandoned != n || st.Aborted == 0 || st.Abandoned == 0 || st.Rejected == 0 {
			t.Errorf("stats %+v", st)
		}
		if st.BusySlotSeconds > 5*st.UptimeS || st.WastedSlotSeconds > st.BusySlotSeconds {
			t.Errorf("stats %+v", st)
		}
	})
}
