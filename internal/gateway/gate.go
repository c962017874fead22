package gateway

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// Gate is the live shell of the decision core: one lock, one timer, and one
// buffered channel for each request that waits. The clock is read after the
// lock is taken, so that the order of events is the order of time. It is safe
// for concurrent use.
//
// A panic inside the core ends the process, after the last events were
// written: state that is half changed is worse than a restart.
type Gate struct {
	die func(reason any, dump func(io.Writer) error)

	began time.Time        // with the monotonic clock
	wall  func() time.Time // the wall clock alone; read by who applies a configuration

	mu       sync.Mutex
	core     *admit.Controller
	recorder *telemetry.Recorder
	waiters  map[admit.ID]chan admit.Decision
	lastID   admit.ID
	changes  chan admit.Change // for Changes; what nobody takes is lost
	timer    *time.Timer
	armed    time.Time // when the timer fires; zero when it does not
}

// NewGate starts a controller with a policy.
func NewGate(p *admit.Policy, recorder *telemetry.Recorder) *Gate {
	g := &Gate{die: crash, began: time.Now(), wall: wallClock, recorder: recorder, waiters: map[admit.ID]chan admit.Decision{}, changes: make(chan admit.Change, 256)}
	now, seed := g.now(), telemetry.Seed{rand.Uint64(), rand.Uint64()}
	recorder.Start(now, seed)
	recorder.Configure(now, p)
	g.core = newCore(now, p, seed)
	g.timer = time.AfterFunc(time.Hour, g.tick)
	g.timer.Stop()
	return g
}

func wallClock() time.Time { return time.Now().Round(0) }

// newCore is a controller as the gate makes it, and a replay again.
func newCore(now time.Time, p *admit.Policy, s telemetry.Seed) *admit.Controller {
	return admit.New(now, p, rand.New(rand.NewPCG(s[0], s[1])))
}

// now is the core's time: the wall clock as it stood when the gate began, and
// what the monotonic clock has measured since. It survives being written down
// to the nanosecond, so that a recording can be replayed, and no step of the
// wall clock disturbs it.
func (g *Gate) now() time.Time { return g.coreTime(time.Now()) }

// coreTime is a reading of the clock on the core's axis.
func (g *Gate) coreTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return g.began.Round(0).UTC().Add(t.Sub(g.began))
}

// clock tells times of the core to people, whose wall clock may have been set
// since the gate began.
type clock struct{ wall, core time.Time }

func (g *Gate) clock() clock {
	now := time.Now()
	return clock{now, g.coreTime(now)}
}

// left is how long it is until a time of the core; 0 if it is past.
func (c clock) left(t time.Time) time.Duration { return max(t.Sub(c.core), 0) }

// future is a time of the core on the wall; nil if it is past.
func (c clock) future(t time.Time) *time.Time {
	left := c.left(t)
	if left == 0 {
		return nil
	}
	at := c.wall.Add(left).Round(0)
	return &at
}

// Close stops the timer and ends the recording.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer.Stop()
	g.recorder.Close()
}

// Offer asks for a decision and gives the request its ID. If the verdict is
// Queue, the next decision on it comes through the channel; whoever stops
// listening must call Cancel.
func (g *Gate) Offer(r *admit.Request) (admit.Decision, <-chan admit.Decision) {
	g.mu.Lock()
	defer g.unlock()
	now := g.now()
	g.lastID++
	r.ID = g.lastID
	q := *r
	q.Arrived, q.Deadline, q.RecentUntil = g.coreTime(r.Arrived), g.coreTime(r.Deadline), g.coreTime(r.RecentUntil)
	g.recorder.Offer(now, &q)
	return g.own(now, q.ID, g.core.Offer(now, q))
}

// Finish ends an attempt. ok is false if that was the end of the request;
// else it goes on with the decision, as after Offer.
func (g *Gate) Finish(id admit.ID, o admit.Outcome) (d admit.Decision, next <-chan admit.Decision, ok bool) {
	g.mu.Lock()
	defer g.unlock()
	now := g.now()
	g.recorder.Finish(now, id, &o)
	d, next = g.own(now, id, g.core.Finish(now, id, o))
	return d, next, d.ID == id
}

// FirstByte tells that the upstream began to answer.
func (g *Gate) FirstByte(id admit.ID) {
	g.mu.Lock()
	defer g.unlock()
	now := g.now()
	g.recorder.FirstByte(now, id)
	g.core.FirstByte(now, id)
	g.tell()
}

// Observe tells what was learnt of a deployment.
func (g *Gate) Observe(deployment string, key int, s admit.Sample) {
	g.mu.Lock()
	defer g.unlock()
	now := g.now()
	g.recorder.Observe(now, deployment, key, &s)
	g.own(now, 0, g.core.Observe(now, deployment, key, s))
}

// Remembers says that every budget knows what was spent before it was there.
func (g *Gate) Remembers() bool {
	g.mu.Lock()
	defer g.unlock()
	return g.core.Remembers()
}

// Restore tells of money that was spent before, or by others.
func (g *Gate) Restore(list []admit.Deposit) {
	g.mu.Lock()
	defer g.unlock()
	now := g.now()
	for i := range list {
		list[i].At = g.coreTime(list[i].At)
	}
	g.recorder.Restore(now, list)
	g.core.Restore(now, list)
	g.tell()
}

// Changes is what happens to deployments.
func (g *Gate) Changes() <-chan admit.Change { return g.changes }

// Cancel tells that the caller left before its request was sent.
func (g *Gate) Cancel(id admit.ID) {
	g.mu.Lock()
	defer g.unlock()
	now := g.now()
	delete(g.waiters, id)
	g.recorder.Cancel(now, id)
	g.own(now, id, g.core.Cancel(now, id))
}

// Configure changes the policy while everything goes on.
func (g *Gate) Configure(p *admit.Policy) {
	g.mu.Lock()
	defer g.unlock()
	now := g.now()
	g.recorder.Configure(now, p)
	g.own(now, 0, g.core.Configure(now, p))
}

// Explain is a dry run of a request.
func (g *Gate) Explain(r admit.Request) admit.Trace {
	g.mu.Lock()
	defer g.unlock()
	r.Arrived, r.Deadline, r.RecentUntil = g.coreTime(r.Arrived), g.coreTime(r.Deadline), g.coreTime(r.RecentUntil)
	return g.core.Explain(g.now(), r)
}

// Calm says that the request would be served as it is, as far as can be seen
// before it is offered: a slot is free, and neither level nor budget asks for
// less.
func (g *Gate) Calm(r *admit.Request) bool {
	g.mu.Lock()
	defer g.unlock()
	return g.core.Calm(g.now(), r)
}

// Depth is how many requests of a class wait for a model.
func (g *Gate) Depth(model string, class admit.Class) int {
	g.mu.Lock()
	defer g.unlock()
	return g.core.Depth(model, class)
}

// Quota is what is left of a tenant's own limits for a model.
func (g *Gate) Quota(tenant, model string) (requests, tokens admit.Allowance) {
	g.mu.Lock()
	defer g.unlock()
	return g.core.Quota(g.now(), tenant, model)
}

// Dump writes the last events. A slow w keeps nobody waiting.
func (g *Gate) Dump(w io.Writer) error {
	g.mu.Lock()
	r := g.recorder.Clone()
	g.mu.Unlock()
	return r.Dump(w)
}

func (g *Gate) tick() {
	g.mu.Lock()
	defer g.unlock()
	now := g.now()
	g.armed = time.Time{}
	g.recorder.Tick(now)
	g.own(now, 0, g.core.Tick(now))
}

// own hands decisions to those they are about, and gives back the last one
// on id with the channel for the one after it.
func (g *Gate) own(now time.Time, id admit.ID, ds []admit.Decision) (d admit.Decision, next chan admit.Decision) {
	g.recorder.Decisions(now, ds)
	for i := range ds {
		if ds[i].ID == id {
			d = ds[i]
			continue
		}
		if c := g.waiters[ds[i].ID]; c != nil {
			delete(g.waiters, ds[i].ID)
			c <- ds[i] // never blocks: one place, one decision for each wait
		}
	}
	if d.ID == id && id != 0 && d.Verdict == admit.Queue {
		next = make(chan admit.Decision, 1)
		g.waiters[id] = next
	}
	g.arm(now)
	g.tell()
	return d, next
}

// tell passes on what happened to deployments, without ever waiting.
func (g *Gate) tell() {
	for _, c := range g.core.Changes() {
		select {
		case g.changes <- c:
		default:
		}
	}
}

// arm sets the timer to what the core wants; a timer that is early is left,
// as it then arms itself again.
func (g *Gate) arm(now time.Time) {
	due := g.core.Next()
	if due.IsZero() || !g.armed.IsZero() && !due.Before(g.armed) {
		return
	}
	g.armed = due
	g.timer.Reset(max(due.Sub(now), 0))
}

func (g *Gate) unlock() {
	if r := recover(); r != nil {
		g.recorder.Close()
		g.die(r, g.recorder.Dump)
	}
	g.mu.Unlock()
}

// crash writes the flight recorder and ends the process.
func crash(reason any, dump func(io.Writer) error) {
	fmt.Fprintf(os.Stderr, "spillway: panic in the decision core: %v\n%s\n", reason, debug.Stack())
	name := fmt.Sprintf("spillway-crash-%d.jsonl", os.Getpid())
	if f, err := os.Create(name); err != nil {
		fmt.Fprintf(os.Stderr, "spillway: write flight recorder: %v\n", err)
	} else {
		err = dump(f)
		f.Close()
		fmt.Fprintf(os.Stderr, "spillway: the last events are in %s (error: %v)\n", name, err)
	}
	os.Exit(2)
}
