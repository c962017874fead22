package sim

import (
	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Rung is what a rung of a model's ladder really does to requests. What the
// policy believes of it stands in its admit.Rung. The zero value changes every
// request and saves nothing.
type Rung struct {
	Changes   float64 // share of the requests that it changes; 0 is all
	Saving    float64 // share of a call's time that it saves beyond what tokens say
	Input     float64 // share of the input that it leaves; 0 is all
	Output    float64 // share of the answer that it leaves; 0 is all
	MaxInput  int64   // tokens of input that it leaves at most; 0 is no bound
	MaxOutput int64   // tokens of answer that it leaves at most; 0 is no bound
	Hit       float64 // of a rung for answers from before: share of the requests that there is one for
}

// form is what a request asks of an upstream, as it was made or down a ladder.
type form struct {
	input, output int64   // tokens
	share         float64 // of the time that the tokens take
}

// cut is the form with the rung.
func (f form) cut(g *Rung) form {
	f.input, f.output = cut(f.input, g.Input, g.MaxInput), cut(f.output, g.Output, g.MaxOutput)
	f.share *= 1 - g.Saving
	return f
}

func cut(tokens int64, share float64, most int64) int64 {
	if share > 0 {
		tokens = max(int64(float64(tokens)*share), 1)
	}
	if most > 0 {
		tokens = min(tokens, most)
	}
	return tokens
}

// changes says that the rung would make the form another one.
func (g *Rung) changes(f form, luck float64) bool {
	if g.Changes > 0 && luck >= g.Changes {
		return false
	}
	tokens := g.Input > 0 || g.Output > 0 || g.MaxInput > 0 || g.MaxOutput > 0
	if g.Saving > 0 || !tokens {
		return true
	}
	return f.cut(g) != f
}

// asked is the request as it was made.
func (a *Arrival) asked() form { return form{a.Input, a.Output, 1} }

// willing finds which rungs would change a request, and whether there is an
// answer from before. It is drawn once for each request, so that every policy
// meets the same.
func (r *Run) willing(v *visit) {
	ladder := r.world.Ladders[v.arrival.Model]
	if len(ladder) == 0 || v.arrival.May&admit.MayDegrade == 0 {
		return
	}
	f := v.arrival.asked()
	for i := range ladder {
		g, luck := &ladder[i], r.luck.Float64()
		if g.Hit > 0 {
			v.recent = v.recent || luck < g.Hit
			continue
		}
		if g.changes(f, luck) {
			v.changes |= 1 << i
			f = f.cut(g)
		}
	}
}

// shapes is what the policy is told of the ladder.
func (r *Run) shapes(v *visit, q *admit.Request) {
	if v.changes == 0 {
		return
	}
	ladder := r.world.Ladders[v.arrival.Model]
	f, most := v.arrival.asked(), q.MaxOutput
	for i := range ladder {
		if !v.changes.Has(i) {
			continue
		}
		f = f.cut(&ladder[i])
		if most > 0 {
			most = cut(most, ladder[i].Output, 0)
		}
		if n := ladder[i].MaxOutput; n > 0 && (most == 0 || n < most) {
			most = n
		}
		q.Rungs[i] = admit.Shape{Changes: true, Input: f.input, MaxOutput: most}
	}
}

// formOf is the request with the rungs of a decision.
func (r *Run) formOf(v *visit, rungs admit.Rungs) form {
	f := v.arrival.asked()
	if rungs == 0 {
		return f
	}
	ladder := r.world.Ladders[v.arrival.Model]
	for i := range ladder {
		if rungs.Has(i) {
			f = f.cut(&ladder[i])
		}
	}
	return f
}

// workOf is the work of a form of a visit on a server.
func (v *visit) workOf(s *server, f form) work {
	if f == v.arrival.asked() {
		if v.room.first() == s {
			return v.work
		}
		return s.work(v.normal, &v.arrival)
	}
	a := v.arrival
	a.Input, a.Output = f.input, f.output
	w := s.work(v.normal, &a)
	if a.Luck.First > 0 { // a shorter answer does not begin earlier
		asked := s.work(v.normal, &v.arrival)
		w.first = min(asked.first*float64(f.input)/float64(max(v.arrival.Input, 1)), w.total)
	}
	return work{w.first * f.share, w.total * f.share}
}
