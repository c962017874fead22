package gateway

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// consent is what the caller agrees to: what its header says, within what its
// tenant may, else what the tenant's configuration says. A model that was named
// in x-model-id is pinned: another never answers instead.
func (x *exchange) consent() (c admit.Consent) {
	if x.intent.RespondAsync {
		c |= admit.MayDefer
	}
	return c | x.degradable()
}

func (x *exchange) degradable() (c admit.Consent) {
	setting := x.tenantOf.Consent(x.pool)
	switch {
	case setting == config.ConsentNever, x.intent.Degrade == "deny":
		return 0
	case x.intent.Degrade == "allow":
		c = admit.MayDegrade
	case x.intent.Degrade == "features":
		c = admit.MayFeatures
	case setting == config.ConsentAny:
		c = admit.MayDegrade
	case setting == config.ConsentFeatures:
		c = admit.MayFeatures
	}
	if x.intent.Model != "" {
		c &^= admit.MayModel
	}
	return c
}

// shapes tells the core what the rungs of the model's ladder would make of the
// request. It costs a look over the conversation, and is left out while nothing
// could come of it.
func (x *exchange) shapes(r *admit.Request) {
	m := x.state.config.Models[x.pool]
	if m == nil {
		return
	}
	degrades := len(m.Degrade) > 0 && r.May&admit.MayDegrade != 0
	if !degrades && (r.Session == "" || !m.Fallback.Any()) || x.g.gate.Calm(r) || !x.outlined() {
		return
	}
	r.Turn = x.outline.TurnBegins
	if !degrades {
		return
	}
	pool, edits := x.pool, wire.Edits{}
	last := admit.Shape{Input: r.Input, MaxOutput: r.MaxOutput}
	for i := range m.Degrade {
		rung := &m.Degrade[i]
		shape := last
		switch {
		case !rung.Enabled:
		case rung.Kind == admit.RungRecent:
			shape.Changes = x.recent != nil && time.Since(x.recentSince) <= rung.MaxAge
			if r.Recent = shape.Changes; r.Recent {
				r.RecentUntil = x.recentSince.Add(min(x.recentMost, rung.MaxAge))
			}
		case rung.Precision != "" || rung.Model != "":
			to := rung.Model
			if to == "" {
				to = config.PoolOf(x.pool, rung.Precision)
			}
			moved := edits
			x.convert(&moved, x.pool, to)
			input, _ := x.outline.Cost(moved, x.weigh(to))
			if shape.Changes = x.serves(to, input, shape.MaxOutput, moved); shape.Changes {
				pool, edits, shape.Input = to, moved, input
			}
		default:
			next := edits
			merge(&next, rung)
			input, changes := x.outline.Cost(next, x.weigh(pool))
			was, before := x.outline.Cost(edits, x.weigh(pool))
			if before && changes {
				_, changes = x.outline.Cost(only(rung), x.weigh(pool))
			}
			most := x.outline.MaxOutput(next)
			if len(rung.Drop) == 0 && rung.Effort == "" { // of an earlier rung's work nothing is left to do
				changes = changes && (input != was || most != x.outline.MaxOutput(edits))
			}
			if shape.Changes = changes; changes {
				edits, shape.Input, shape.MaxOutput = next, input, most
			}
		}
		r.Rungs[i] = shape
		shape.Changes = false
		last = shape
	}
}

// outlined makes the outline of the conversation, once; false if there is none.
func (x *exchange) outlined() bool {
	if x.outline == nil {
		o, err := x.surface.wire.Outline(x.body, &x.envelope)
		if err != nil {
			return false
		}
		x.outline = o
	}
	return true
}

func (x *exchange) weigh(pool string) wire.Weigh {
	name, _ := x.state.config.ModelOf(pool)
	return func(f *wire.Features) int64 { return x.g.tokens.Tokens(name, f) }
}

// merge adds what a rung does to the edits; the stricter counts.
func merge(e *wire.Edits, r *config.Rung) {
	for _, name := range r.Drop {
		e.Drop = append(e.Drop[:len(e.Drop):len(e.Drop)], string(name))
	}
	if r.Effort != "" {
		e.Effort = string(r.Effort)
	}
	e.MaxOutput, e.MaxInput, e.MaxTurns = least(e.MaxOutput, r.MaxOutputTokens), least(e.MaxInput, r.MaxInputTokens), least(e.MaxTurns, r.MaxTurns)
}

func only(r *config.Rung) (e wire.Edits) {
	merge(&e, r)
	return e
}

// least is the smaller of two bounds of which 0 is none.
func least[T int | int64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// convert adds what a conversation must lose to go on with another model: what
// that one cannot see, and thoughts that only its own model can read.
func (x *exchange) convert(e *wire.Edits, from, to string) {
	name, m := x.state.config.ModelOf(to)
	if m == nil {
		return
	}
	e.Images = e.Images || !m.Images
	if own, _ := x.state.config.ModelOf(from); name != own {
		e.Thinking = true
	}
}

// serves says whether a pool can serve the request as it would be edited: with
// its tools, its stream and its last pictures, within its context, and in the
// language of its provider.
func (x *exchange) serves(pool string, input, maxOutput int64, e wire.Edits) bool {
	_, m := x.state.config.ModelOf(pool)
	switch {
	case m == nil || len(x.state.pools[pool]) == 0:
		return false
	case x.envelope.Stream && !m.Streaming, x.envelope.Tools && !m.Tools, x.outline.LastImages && !m.Images:
		return false
	case m.Context > 0 && input*9/10+maxOutput/max(x.envelope.Choices, 1) > m.Context:
		return false
	}
	return x.sayable(pool, e)
}

// sayable says whether some deployment of a pool could be told the request.
func (x *exchange) sayable(pool string, e wire.Edits) bool {
	for _, name := range x.state.pools[pool] {
		t := x.state.targets[name]
		if t == nil || x.speaks(t) == upstream.Native {
			return true // asked as it is
		}
	}
	other := exchange{g: x.g, state: x.state, surface: x.surface, r: x.r, envelope: x.envelope, body: x.body, pool: pool}
	other.record.AskedModel = x.record.AskedModel
	body, err := x.surface.wire.Edit(x.body, x.outline, e, x.weigh(pool))
	if err != nil {
		return false
	}
	other.body = body
	return other.expressible() == nil
}

// become makes the request what the core decided: the rungs of the set, and
// what another model needs. It is done once, before the first attempt.
func (x *exchange) become(d *admit.Decision) {
	is := form{d.Rungs, d.Model}
	if is == x.became {
		return
	}
	x.became = is
	_, m := x.state.config.ModelOf(x.pool)
	e, smaller := wire.Edits{}, false
	x.record.Rungs = x.record.Rungs[:0]
	for i := range m.Degrade {
		if rung := &m.Degrade[i]; d.Rungs.Has(i) {
			merge(&e, rung)
			smaller = smaller || rung.Model != ""
			x.record.Rungs, x.record.Lowest = append(x.record.Rungs, rung.Name), rung.Kind
		}
	}
	pool := x.pool
	if d.Model != "" {
		pool = d.Model
		x.convert(&e, x.pool, pool)
		own, _ := x.state.config.ModelOf(x.pool)
		switch name, _ := x.state.config.ModelOf(pool); {
		case name == own: // other deployments of the same
		case smaller:
			x.answersAs = name
		default:
			x.instead = name
		}
	}
	if !x.outlined() {
		return
	}
	body, err := x.surface.wire.Edit(x.body, x.outline, e, x.weigh(pool))
	if err != nil {
		x.g.log.Slog().Error("a request could not be degraded, and is served as it was asked", "request", x.record.ID, "error", err.Error())
		return
	}
	if len(body) == len(x.body) && &body[0] == &x.body[0] {
		return
	}
	envelope, bad := wire.Parse(x.surface.wire, body)
	if bad != nil {
		x.g.log.Slog().Error("a degraded request cannot be read, and is served as it was asked", "request", x.record.ID, "error", bad.Message)
		return
	}
	name, _ := x.state.config.ModelOf(pool)
	envelope.Input = x.g.tokens.Tokens(name, &envelope.Features)
	x.body, x.envelope, x.neutral, x.translation, x.outline = body, envelope, nil, nil, nil
}

// form is what a request has become.
type form struct {
	rungs admit.Rungs
	model string
}
