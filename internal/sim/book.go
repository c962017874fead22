package sim

import (
	"slices"
	"time"
)

// siteBook is what came of the calls to one deployment.
type siteBook struct {
	calls    int64
	accepted int64
	limited  int64 // 429 for a limit
	full     int64 // 429 for its own queue
	broken   int64
	tokens   int64   // of accepted calls
	busy     float64 // slot-seconds of the gateway, up to the last arrival
	cost     int64   // micro-dollars
	course   []siteSecond
}

// siteSecond is one second of it, by the starts of calls.
type siteSecond struct {
	calls, accepted, limited int32
	tokens                   int64
}

func (b *siteBook) second(at time.Time) *siteSecond {
	i := secondOf(at)
	for len(b.course) <= i {
		b.course = append(b.course, siteSecond{})
	}
	return &b.course[i]
}

// called counts a call as it begins.
func (b *siteBook) called(now time.Time) {
	b.calls++
	b.second(now).calls++
}

// took counts a call that the server took.
func (b *siteBook) took(now time.Time, tokens int64) {
	b.accepted++
	b.tokens += tokens
	s := b.second(now)
	s.accepted++
	s.tokens += tokens
}

// record is what is kept of a deployment after the run.
type record struct {
	name, model string
	server      int // deployments with the same number share one
	keys        int
	allowed     []allowance
	outages     []outage
	siteBook
}

func (r *Run) records() (out []*record) {
	for _, p := range r.order {
		for _, x := range p.sites {
			out = append(out, &record{
				name: x.name, model: p.name, server: slices.Index(r.servers, x.server), keys: x.keys,
				allowed: x.server.allowed, outages: x.server.outages, siteBook: x.siteBook,
			})
		}
	}
	return out
}
