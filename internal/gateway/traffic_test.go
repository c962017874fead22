package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// TestTrafficMemory: what is kept of a request is small, and what is kept of
// all is bounded whatever comes.
func TestTrafficMemory(t *testing.T) {
	if size := unsafe.Sizeof(Passed{}); size > 150 {
		t.Errorf("a request takes %d bytes", size)
	}
	var f traffic
	for i := range int64(3 * trafficMost) {
		if n := f.begin(&Passed{At: i}); n != i { // all within a second
			t.Fatalf("request %d has the number %d", i, n)
		}
	}
	chunks := 0
	for _, c := range f.chunks {
		if c != nil {
			chunks++
		}
	}
	if most := trafficMost/trafficChunk + 1; chunks > most {
		t.Errorf("%d chunks are held, at most %d may be", chunks, most)
	}
	list := f.since(0)
	if len(list) < trafficMost || len(list) > trafficMost+trafficChunk {
		t.Fatalf("%d requests are remembered, want %d and at most a chunk more", len(list), trafficMost)
	}
	for i := range list {
		if want := int64(3*trafficMost - len(list) + i); list[i].At != want {
			t.Fatalf("request %d of those that are remembered is %d, want %d", i, list[i].At, want)
		}
	}
}

// TestTrafficForgets what is older than ten minutes, and not the rest.
func TestTrafficForgets(t *testing.T) {
	var f traffic
	const second = int64(time.Second)
	for i := range int64(20 * trafficChunk) { // ten a second: a chunk is 100 s
		f.begin(&Passed{At: i * second / 10})
	}
	list := f.since(0)
	if len(list) < 6*trafficChunk || len(list) > 8*trafficChunk {
		t.Errorf("%d requests are remembered, ten minutes have 6,000", len(list))
	}
	if recent := f.since(1990 * second); len(recent) != 100 {
		t.Errorf("the last ten seconds have %d requests, want 100", len(recent))
	}
	f.end(0, &telemetry.Record{}, 1) // long forgotten: nothing happens
	for _, p := range f.since(0) {
		if p.Marks.Has(MarkEnded) {
			t.Fatalf("the request at %d has ended by another's end", p.At)
		}
	}
}

// TestTrafficOfGateway: a request that runs, one that waits for it and one that
// is refused are remembered with what came of them, one that is wrong is not.
func TestTrafficOfGateway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, fmt.Sprintf(provider, "")+`models: {chat: {deployments: [{provider: up, model: vendor/m-2026, concurrency: 1}], queue: {total: 1}}}`, quick())
		first := r.background(t.Context(), chatPath, plainAsk, "X-Spillway-Deadline-Ms", "30000")
		synctest.Wait()
		second := r.background(t.Context(), chatPath, streamAsk)
		synctest.Wait()
		r.ask(chatPath, plainAsk, "X-Stainless-Retry-Count", "1") // the queue is full
		r.ask(chatPath, `{"model":"nothing"}`)
		list, _ := r.g.Traffic(time.Minute)
		if len(list) != 3 || list[0].Marks.Has(MarkEnded) || list[1].Marks.Has(MarkEnded) || !list[2].Marks.Has(MarkEnded) {
			t.Fatalf("before the first has ended: %+v", list)
		}
		<-first
		<-second
		synctest.Wait()
		list, now := r.g.Traffic(time.Minute)
		ran, waited, refused := list[0], list[1], list[2]
		if ran.Outcome != telemetry.Answered || ran.Waited != 0 || ran.Total == 0 || ran.Output == 0 || ran.Deadline != 30 || !ran.Marks.Has(MarkTold) || ran.Deployment == "" {
			t.Errorf("the one that ran: %+v", ran)
		}
		if waited.Outcome != telemetry.Answered || waited.Waited != ran.Total || waited.First < waited.Waited || waited.Total < waited.First || waited.Deadline != 600 || waited.Marks.Has(MarkTold) || !waited.Marks.Has(MarkStream) {
			t.Errorf("the one that waited: %+v", waited)
		}
		if refused.Outcome != telemetry.Refused || refused.Stage != admit.StageBound || refused.Attempt != 1 || !refused.Marks.Has(MarkCounts) || ran.Marks.Has(MarkCounts) || refused.Sent != 0 || refused.RetryAfter == 0 {
			t.Errorf("the one that was refused: %+v", refused)
		}
		if age := now.UnixNano() - ran.At; age <= 0 || age > int64(time.Minute) {
			t.Errorf("the first came %v ago", time.Duration(age))
		}
		if list, _ := r.g.Traffic(0); len(list) != 0 {
			t.Errorf("of no time at all there are %d requests", len(list))
		}
	})
}

func BenchmarkTraffic(b *testing.B) {
	var f traffic
	p := Passed{Tenant: "shop", Model: "chat", Deployment: "gpu", Input: 100}
	r := telemetry.Record{Deployment: "gpu", Waited: time.Second, Total: 2 * time.Second, Output: 100, Decision: admit.Decision{Verdict: admit.Run}}
	b.ReportAllocs()
	for b.Loop() {
		p.At += int64(time.Millisecond)
		p.User, p.Session = hashed("user-0815"), hashed("session-4711")
		f.end(f.begin(&p), &r, 1)
	}
}
