package gateway

import (
	"strings"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

const (
	// maxRefusals are kept, for operators to ask about: about a megabyte.
	maxRefusals = 1000
	// tracesPerSecond of them have their stages looked at in the moment of the
	// refusal. In a storm of refusals that is enough to see why, and next to
	// nothing of the work.
	tracesPerSecond = 10
)

// Refusal is one request that was turned away.
type Refusal struct {
	ID       string // the request_id of the error body
	At       time.Time
	Request  admit.Request // as it was offered
	Decision admit.Decision
	Steps    []admit.Step // as they stood then; none if there were too many at once, or it had waited
}

// refusals are the last ones. They are safe for concurrent use.
type refusals struct {
	mu     sync.Mutex
	ring   []Refusal
	total  int
	second time.Time // that traces are counted in
	traced int
}

// keep notes a refusal. What a caller chose the names of is copied and short:
// it must not keep a body alive.
func (f *refusals) keep(gate *Gate, id string, r *admit.Request, d *admit.Decision) {
	x := Refusal{ID: id, At: time.Now(), Request: *r, Decision: *d}
	for _, s := range []*string{&x.Request.Model, &x.Request.User, &x.Request.Session, &x.Request.Tier, &x.Request.Task} {
		*s = strings.Clone(name(*s))
	}
	if d.Stage < admit.StageQueue && f.mayTrace(x.At) {
		x.Steps = gate.Explain(*r).Steps
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ring) < maxRefusals {
		f.ring = append(f.ring, x)
	} else {
		f.ring[f.total%maxRefusals] = x
	}
	f.total++
}

func (f *refusals) mayTrace(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.second) >= time.Second {
		f.second, f.traced = now, 0
	}
	f.traced++
	return f.traced <= tracesPerSecond
}

// Refusals are the last n that were turned away, newest first, at most 1,000.
func (g *Gateway) Refusals(n int) []Refusal {
	f := &g.refused
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]Refusal, 0, min(max(n, 0), len(f.ring)))
	for i := range cap(list) {
		list = append(list, f.ring[(f.total-1-i)%maxRefusals])
	}
	return list
}

// Refusal finds one by the request_id of its error body; false if it is none of
// the last ones.
func (g *Gateway) Refusal(id string) (Refusal, bool) {
	for _, x := range g.Refusals(maxRefusals) {
		if x.ID == id {
			return x, true
		}
	}
	return Refusal{}, false
}
