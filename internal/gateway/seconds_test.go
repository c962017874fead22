package gateway

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// TestHistory: what is decided and what ends, each in its second.
func TestHistory(t *testing.T) {
	began := time.Unix(1_764_000_000, 0)
	at := func(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }
	h := newHistory(began)
	h.configure([]string{"shop"})

	run, wait := telemetry.Record{Tenant: "shop"}, telemetry.Record{Tenant: "shop", PredictedWait: 2 * time.Second}
	h.decided(at(0.1), &run, &admit.Decision{Verdict: admit.Run, Stage: admit.StageFree}, true)
	h.decided(at(0.2), &wait, &admit.Decision{Verdict: admit.Queue, Stage: admit.StageQueue}, true)
	h.decided(at(0.3), &telemetry.Record{Tenant: "a stranger"}, &admit.Decision{Verdict: admit.Reject, Stage: admit.StageWait}, true)
	h.streamed(at(1.2), 1100*time.Millisecond)
	h.ended(at(1.5), &telemetry.Record{Tenant: "shop", Outcome: telemetry.Answered, TTFT: 1100 * time.Millisecond, Total: 9 * time.Second, Deadline: 2 * time.Second}, true) // its first token counts
	h.decided(at(3.2), &wait, &admit.Decision{Verdict: admit.Run, Stage: admit.StageQueue, Wait: 3 * time.Second, Rungs: 1}, false)
	h.decided(at(3.9), &wait, &admit.Decision{Verdict: admit.Run, Stage: admit.StageAgain}, false) // a retry of ours is no news
	h.ended(at(3.9), &telemetry.Record{Outcome: telemetry.Answered, Total: 9 * time.Second, Deadline: 2 * time.Second}, true)
	h.ended(at(3.9), &telemetry.Record{Outcome: telemetry.Cut}, true)
	h.ended(at(3.9), &telemetry.Record{Outcome: telemetry.Left}, true)
	h.ended(at(3.9), &telemetry.Record{Tenant: "shop", Outcome: telemetry.Answered, Recalled: true}, false) // from the cache, before any decision
	h.decided(at(3.9), &run, &admit.Decision{Verdict: admit.Recall}, false)
	h.decided(at(3.9), &run, &admit.Decision{Verdict: admit.Reject, Stage: admit.StageLate}, false)

	want := []Second{
		{At: 1_764_000_000, Offered: 3, Ran: 1, Queued: 1, Refused: map[string]int64{"wait": 1}},
		{At: 1_764_000_001, Good: 1, First: 1.1},
		{At: 1_764_000_002},
		{At: 1_764_000_003, Offered: 1, Degraded: 3, Started: 1, Wait: 3, Foretold: 2, Worst: 3, Good: 1, Late: 1, Failed: 1, Left: 1, Refused: map[string]int64{"late": 1}},
	}
	if got := h.last(at(4.5), 900); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v,\nwant %+v", got, want)
	}
	if got := h.last(at(4.5), 1); !reflect.DeepEqual(got, want[3:]) {
		t.Errorf("the last is %+v", got)
	}
	if offered, refused, degraded := h.rates(at(4.5), "shop"); offered != 0.3 || refused != 0.1 || degraded != 0.3 {
		t.Errorf("shop offers %v, is refused %v and degraded %v a second", offered, refused, degraded)
	}
	if offered, _, _ := h.rates(at(4.5), "a stranger"); offered != 0 {
		t.Error("a tenant that is not configured is counted")
	}
	if offered, _, _ := h.rates(at(60), "shop"); offered != 0 {
		t.Error("what was a minute ago is counted")
	}
}

// TestHistoryAgrees: the ring says what a list of everything says, whatever the
// pauses are.
func TestHistoryAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	began := time.Unix(1_764_000_000, 0)
	h, now, all := newHistory(began), began, map[int64]int64{}
	for range 20_000 {
		now = now.Add(time.Duration(rng.ExpFloat64() * float64(300*time.Millisecond)))
		if rng.IntN(500) == 0 {
			now = now.Add(time.Duration(rng.IntN(2000)) * time.Second)
		}
		h.ended(now, &telemetry.Record{Outcome: telemetry.Left}, true)
		all[now.Unix()]++
		if rng.IntN(50) > 0 {
			continue
		}
		list := h.last(now, keptSeconds)
		if n := min(now.Unix()-began.Unix(), keptSeconds); int64(len(list)) != n {
			t.Fatalf("%d seconds, want %d", len(list), n)
		}
		for i, s := range list {
			if want := now.Unix() - int64(len(list)-i); s.At != want || s.Left != all[want] {
				t.Fatalf("second %d of %d: %+v, want %d left in %d", i, len(list), s, all[want], want)
			}
		}
	}
}

// BenchmarkHistory is what a request adds: it waits, runs, streams and ends.
func BenchmarkHistory(b *testing.B) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("tenant-%03d", i))
	}
	h := newHistory(time.Now())
	h.configure(names)
	request := func(i int, queued bool) {
		r := telemetry.Record{Tenant: names[i%200], Outcome: telemetry.Answered, Arrived: h.began}
		now := time.Now()
		if queued {
			h.decided(now, &r, &admit.Decision{Verdict: admit.Queue}, true)
			now = time.Now()
		}
		h.decided(now, &r, &admit.Decision{Verdict: admit.Run}, !queued)
		h.streamed(now, time.Second)
		h.ended(now, &r, true)
	}
	b.Run("runs", func(b *testing.B) {
		b.ReportAllocs()
		defer onCPU(b)()
		for i := 0; b.Loop(); i++ {
			request(i, false)
		}
	})
	b.Run("waits", func(b *testing.B) {
		b.ReportAllocs()
		defer onCPU(b)()
		for i := 0; b.Loop(); i++ {
			request(i, true)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				request(i, false)
			}
		})
	})
}
