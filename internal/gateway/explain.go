package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// Asked is a request as a caller would send it, to be explained.
type Asked struct {
	Tenant string // by name: an operator has no key of it
	Path   string // of the surface, such as /v1/chat/completions
	Header http.Header
	Body   []byte
}

// Explanation is how the core decides on a request, and what would change it.
type Explanation struct {
	Request admit.Request
	Trace   admit.Trace
	Others  []Other
}

// Other is the same request with one thing different, and what it would get.
type Other struct {
	What     string // what is different, in words
	Decision admit.Decision
}

// Explain says what the gateway would decide on a request now, without
// admitting it. A request that is refused before the core is asked gives the
// error that its caller would get. The cache of answers is not looked into.
func (g *Gateway) Explain(a Asked) (Explanation, *wire.Error) {
	x, e := g.understand(a)
	if e != nil {
		return Explanation{}, e
	}
	r := x.request()
	exp := g.explain(r)
	if exp.Trace.Decision.Verdict == admit.Reject && r.May&admit.MayDegrade != admit.MayDegrade && x.tenantOf.Consent(x.pool) != config.ConsentNever {
		x.intent.Degrade = "allow"
		if agreed := x.request(); agreed.May != r.May {
			exp.Others = append(exp.Others, g.other("the caller agrees to be degraded (x-spillway-degrade: allow)", agreed)...)
		}
	}
	return exp, nil
}

// understand reads a request as far as the core is told of it.
func (g *Gateway) understand(a Asked) (*exchange, *wire.Error) {
	s := g.state.Load()
	r, err := http.NewRequest(http.MethodPost, a.Path, io.NopCloser(bytes.NewReader(a.Body)))
	if err != nil {
		return nil, unknownPath(a.Path)
	}
	if a.Header != nil {
		r.Header = a.Header
	}
	x := &exchange{g: g, state: s, r: r, body: a.Body, intent: wire.ReadIntent(r.Header)}
	x.record.Arrived = time.Now()
	known := false
	for _, surface := range surfaces {
		if surface.path == r.URL.Path {
			x.surface, known = surface, true
		}
	}
	if !known {
		return nil, unknownPath(a.Path)
	}
	if x.tenantOf = s.config.Tenant(a.Tenant); x.tenantOf == nil {
		return nil, wire.CodeTenantNotFound.Of("tenant", fmt.Sprintf("no tenant is called %q", a.Tenant))
	}
	x.record.Tenant = x.tenantOf.Name
	return x, x.understand()
}

func unknownPath(path string) *wire.Error {
	return wire.CodeUnknownURL.Of("path", fmt.Sprintf("%q is not the path of a surface, such as /v1/chat/completions", path))
}

// ExplainAgain says what the gateway would decide now on a request that was
// refused before, arriving now with as much time as it had then.
func (g *Gateway) ExplainAgain(x Refusal) Explanation {
	r, now := x.Request, time.Now()
	if !r.Deadline.IsZero() {
		r.Deadline = now.Add(r.Deadline.Sub(r.Arrived))
	}
	r.ID, r.Arrived = 0, now
	return g.explain(r)
}

// explain looks at a request, and if it is refused at what would change that.
func (g *Gateway) explain(r admit.Request) Explanation {
	e := Explanation{Request: r, Trace: g.gate.Explain(r)}
	if e.Trace.Decision.Verdict != admit.Reject {
		return e
	}
	if r.Attempt > 0 {
		q := r
		q.Attempt = 0
		e.Others = append(e.Others, g.other("it is a first try, not a retry", q)...)
	}
	if t := g.state.Load().config.Tenant(r.Tenant); t != nil {
		for class := r.Class; class > 0; class-- {
			q := r
			if q.Class = class - 1; t.MayUse(q.Class) {
				if list := g.other("it is of class "+q.Class.String(), q); list != nil {
					e.Others = append(e.Others, list...)
					break
				}
			}
		}
	}
	e.Others = append(e.Others, g.later(r)...)
	if least := int64(16); r.MaxOutput == 0 || r.MaxOutput > least {
		q := r
		q.MaxOutput = least
		e.Others = append(e.Others, g.other(fmt.Sprintf("its answer has at most %d tokens", least), q)...)
	}
	return e
}

// other is a dry run of another request; none if that is refused as well.
func (g *Gateway) other(what string, r admit.Request) []Other {
	d := g.gate.Explain(r).Decision
	if d.Verdict == admit.Reject {
		return nil
	}
	return []Other{{what, d}}
}

// longest is the latest deadline that is tried.
const longest = time.Hour

// later finds about the earliest deadline with which a request is let in: twice
// its own, and so on, and then between the last two.
func (g *Gateway) later(r admit.Request) []Other {
	own := r.Deadline.Sub(r.Arrived)
	if r.Deadline.IsZero() {
		own = g.state.Load().config.Policy().Classes[r.Class].Deadline
	}
	try := func(d time.Duration) []Other {
		q := r
		q.Deadline = r.Arrived.Add(d)
		return g.other(fmt.Sprintf("its deadline is %s, not %s", d.Round(100*time.Millisecond), own.Round(100*time.Millisecond)), q)
	}
	for low, high := own, max(2*own, time.Second); high <= longest; low, high = high, 2*high {
		found := try(high)
		if found == nil {
			continue
		}
		for range 5 { // to a thirtieth of the step
			if middle := (low + high) / 2; try(middle) != nil {
				high = middle
			} else {
				low = middle
			}
		}
		return try(high)
	}
	return nil
}
