package admit

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// heap is what is in use after everything that can be is freed.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // a second one for what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Names that callers make up, each of them new: users, sessions and models
// that are not there. What is kept for them is bounded, whether the requests run,
// are refused, fail or are left by their callers (B184).
func TestNamesThatAreMadeUp(t *testing.T) {
	const names, settled = 120_000, 60_000
	p := priced(8, Budgets{Key: Budget{Limits: [NumSpans]int64{Hour: 1 << 50}}, User: Budget{Limits: [NumSpans]int64{Day: 1 << 50}}, Session: Budget{Limits: [NumSpans]int64{Minute: 1 << 50}}})
	r := Request{Tenant: "a", Input: 500}
	climb(p, &r)
	p.Models[0].Deployments = append(p.Models[0].Deployments, Deployment{Name: "e", Concurrency: 8})
	p.Defaults()
	c := newBench(p)
	var before uint64
	for i := range names {
		now := t0.Add(time.Duration(i) * 50 * time.Millisecond)
		name := fmt.Sprintf("made-up-%d", i)
		r.ID, r.Model, r.User, r.Session, r.Key, r.Arrived, r.Deadline = ID(i+1), "m", name, name, "k", now, now.Add(8*time.Second)
		r.Affinity = uint64(i)
		if i%10 == 9 {
			r.Model = name
		}
		if d := c.Offer(now, r); d[0].Verdict == Run {
			switch i % 5 {
			case 0:
				c.Cancel(now, r.ID)
			case 1:
				c.Finish(now, r.ID, Outcome{Status: 500, Fault: Failed})
			default:
				c.Finish(now, r.ID, Outcome{OK: true, Known: true, Input: 500, Output: 100, Status: 200, Cost: 600})
			}
		}
		if i == settled {
			before = heap()
		}
	}
	if after := heap(); after > before+before/10+1<<20 {
		t.Errorf("%d bytes after %d names, %d after %d", after, names, before, settled)
	}
	c.eachTable(func(x *accounts) {
		if len(x.byName) > mostAccounts+shrinkLooks || len(x.byName) < mostAccounts/2 {
			t.Errorf("%d accounts of %s", len(x.byName), x.scope)
		}
	})
	runtime.KeepAlive(c)
}
