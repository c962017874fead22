package sim

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// ladderBook is what came of the ladder of one model.
type ladderBook struct {
	model  string
	rungs  []admit.Rung
	slots  float64    // of the model alone
	demand float64    // slot-seconds of all requests, as they were asked
	asked  rungBook   // answers that are as they were asked
	books  []rungBook // by rung, of those whose lowest rung it was
	steps  [admit.NumClasses][]levelStep
	offers [admit.NumClasses]bool // somebody of the class asked

	moved, returned, torn int64 // sessions that went to another model, came back, and did that in the midst of a turn
}

// rungBook is what came of the answers of one rung.
type rungBook struct {
	answers, onTime int64
	took            float64 // slot-seconds of all answers
	stood           float64 // slot-seconds of those in time, as they were asked
	latency         float64 // seconds until them
	saved           int64   // tokens
	course          []int32 // answers by second
}

// levelStep is a change of the level of one class.
type levelStep struct {
	at time.Time
	to uint8
}

func ladderBooks(r *Run) (list []*ladderBook) {
	p := r.world.Policy
	for i := range p.Models {
		if rungs := p.Models[i].Ladder.Rungs; len(rungs) > 0 {
			list = append(list, &ladderBook{model: p.Models[i].Name, rungs: rungs, slots: float64(r.order[i].usable(p)), books: make([]rungBook, len(rungs))})
		}
	}
	return list
}

// ladder is the book of the model that a visit asked for; nil without a ladder.
func (t *tally) ladder(v *visit) *ladderBook {
	for _, b := range t.ladders {
		if b.model == v.arrival.Model {
			return b
		}
	}
	return nil
}

// of is the book of the lowest of some rungs.
func (b *ladderBook) of(rungs admit.Rungs) *rungBook {
	x := &b.asked
	for i := range b.books {
		if rungs.Has(i) {
			x = &b.books[i]
		}
	}
	return x
}

// served books an answer.
func (t *tally) served(r *Run, v *visit, inTime bool) {
	stood := v.room.asked(v)
	if v.arrival.Stream {
		v.counts.first.add(v.firstAt.Sub(v.offered).Seconds())
	}
	v.counts.answer(v.rungs != 0 || v.site.room != v.room, inTime, stood)
	b := t.ladder(v)
	if b == nil {
		return
	}
	x := b.of(v.rungs)
	x.answer(r, v, inTime, stood)
	x.took += r.now.Sub(v.started).Seconds()
	x.saved += v.arrival.Input + v.arrival.Output - v.form.input - v.form.output
}

// recalled books an answer from before.
func (t *tally) recalled(r *Run, v *visit) {
	stood := v.room.asked(v)
	v.counts.answer(true, true, stood)
	if b := t.ladder(v); b != nil {
		x := b.of(v.rungs)
		x.answer(r, v, true, stood)
		x.saved += v.arrival.Input + v.arrival.Output
	}
}

// answer books an answer, by what it would have taken as it was asked.
func (c *counts) answer(degraded, inTime bool, stood float64) {
	c.answers++
	if degraded {
		c.degraded++
	}
	if inTime {
		c.stood += stood
	}
}

func (x *rungBook) answer(r *Run, v *visit, inTime bool, stood float64) {
	x.answers++
	done := r.now
	if v.arrival.Stream {
		done = v.firstAt
	}
	x.latency += done.Sub(v.intended).Seconds()
	if inTime {
		x.onTime++
		x.stood += stood
	}
	second := secondOf(r.now)
	for len(x.course) <= second {
		x.course = append(x.course, 0)
	}
	x.course[second]++
}

// went notes by which model a session is served, if by another than its own.
func (t *tally) went(v *visit, model string) {
	k := v.arrival.talk
	b := t.ladder(v)
	if k == nil || b == nil {
		return
	}
	if !b.another(v.rungs) {
		model = "" // other deployments of the same model may come and go
	}
	switch {
	case k.model == model:
	case model == "":
		b.returned++
		if !v.arrival.Turn {
			b.torn++
		}
	default:
		b.moved++
	}
	k.model = model
}

// another says that with the rungs another model answers.
func (b *ladderBook) another(rungs admit.Rungs) bool {
	if rungs == 0 {
		return true // a fallback, if any
	}
	for i := range b.rungs {
		if rungs.Has(i) && b.rungs[i].Kind == admit.RungModel {
			return true
		}
	}
	return false
}

// heard takes what the policy says of levels and accounts.
func (t *tally) heard(r *Run) {
	if len(t.ladders) == 0 && !t.purses.kept {
		return
	}
	c, ok := r.decider.(interface{ Changes() []admit.Change })
	if !ok {
		return
	}
	for _, x := range c.Changes() {
		switch {
		case x.Spending != nil:
			t.purses.alarm(x.At, x.Spending)
		case x.Level != nil:
			for _, b := range t.ladders {
				if b.model == x.Level.Model {
					b.steps[x.Level.Class] = append(b.steps[x.Level.Class], levelStep{x.At, x.Level.To})
				}
			}
		}
	}
}

// level is that of a class at a time.
func (b *ladderBook) level(class admit.Class, at time.Time) (level uint8) {
	for _, s := range b.steps[class] {
		if s.at.After(at) {
			break
		}
		level = s.to
	}
	return level
}

// held is the time that a class spent at each level until the end.
func (b *ladderBook) held(class admit.Class, end time.Time) (held [admit.NumLevels]time.Duration) {
	from, level := epoch, uint8(0)
	for _, s := range b.steps[class] {
		at := s.at
		if at.After(end) {
			break
		}
		held[level] += at.Sub(from)
		from, level = at, s.to
	}
	held[level] += max(end.Sub(from), 0)
	return held
}

// LadderFigures are what came of the ladder of one model.
type LadderFigures struct {
	Model  string         `json:"model"`
	Load   float64        `json:"load"`   // slot time that was asked for, over that of the model's own slots
	Rungs  []RungFigures  `json:"rungs"`  // the first is what is as it was asked
	Levels []LevelFigures `json:"levels"` // of classes that asked for the model
	// Moved and Returned are sessions that went to another model and came back,
	// Torn those that came back in the midst of a turn.
	Moved    int64 `json:"sessions_moved"`
	Returned int64 `json:"sessions_returned"`
	Torn     int64 `json:"sessions_torn"`
}

// RungFigures are of the answers whose lowest rung it was.
type RungFigures struct {
	Name     string  `json:"name"`
	Level    int     `json:"level"` // 0 is as it was asked, 4 an answer from before
	Answers  int64   `json:"answers"`
	OnTime   int64   `json:"on_time"`
	SlotMean float64 `json:"slot_mean_s"`
	Latency  float64 `json:"latency_mean_s"`
	// StoodFor is the slot time that those in time would have taken as asked, seconds.
	StoodFor    float64 `json:"stood_for_s"`
	TokensSaved int64   `json:"tokens_saved"`
}

// LevelFigures are how long a class was at each level, from 0 to 1, and how
// often that changed.
type LevelFigures struct {
	Class   string                   `json:"class"`
	Held    [admit.NumLevels]float64 `json:"held"`
	Changes int                      `json:"changes"`
}

func (b *ladderBook) figures(end time.Time) LadderFigures {
	f := LadderFigures{Model: b.model, Load: b.demand / max(b.slots*end.Sub(epoch).Seconds(), 1e-9), Moved: b.moved, Returned: b.returned, Torn: b.torn}
	f.Rungs = append(f.Rungs, b.asked.figures("as asked", 0))
	for i := range b.books {
		f.Rungs = append(f.Rungs, b.books[i].figures(b.rungs[i].Name, int(b.rungs[i].Kind)+1))
	}
	for class := range admit.Class(admit.NumClasses) {
		if !b.offers[class] {
			continue
		}
		x := LevelFigures{Class: class.String(), Changes: len(b.steps[class])}
		for i, d := range b.held(class, end) {
			x.Held[i] = d.Seconds() / max(end.Sub(epoch).Seconds(), 1e-9)
		}
		f.Levels = append(f.Levels, x)
	}
	return f
}

func (x *rungBook) figures(name string, level int) RungFigures {
	n := float64(max(x.answers, 1))
	return RungFigures{name, level, x.answers, x.onTime, x.took / n, x.latency / n, x.stood, x.saved}
}
