package wire

// plan is what edits leave of a conversation.
//
// A turn goes as a whole, so that no call of a tool loses its result; turns that
// share a call and its result are one. The turns that MaxTurns does not keep go
// first. If the rest is still more than MaxInput, long results of tools in
// earlier turns become a note, the oldest first, and then the oldest turns go,
// one after the other. Of those stay the words that began the conversation,
// which usually say what it is about, and the last exchange with tools, which is
// the state of the work. The system's messages and the last turn always stay.
type plan struct {
	have     Features // what is counted of the request
	from     int      // turns before this one are gone
	until    int      // and those from there to before this one, but for what is kept
	results  int      // long results among the cuts before this one are notes
	images   bool     // pictures and files are notes
	thoughts bool     // thoughts are gone
	changes  bool
}

// plan fills p, which is nothing yet.
func (o *Outline) plan(p *plan, e *Edits, weigh Weigh) {
	p.have = o.features
	p.images = e.Images && o.Images && o.whole
	p.thoughts = e.Thinking && o.Thinking && !o.sealed
	if e.MaxTurns > 0 && o.whole && o.UserTurns > e.MaxTurns {
		p.from = o.UserTurns - e.MaxTurns + 1
		for p.from > 0 && o.turns[p.from].joined {
			p.from--
		}
	}
	p.until = p.from
	if p.from > 0 || p.images || p.thoughts {
		for i := range o.items {
			if o.drops(p, i) {
				p.have.less(&o.items[i].features)
				p.changes = true
			} else if o.cutsOf(p, i) {
				p.changes = true
			}
		}
	}
	if e.MaxInput > 0 && o.whole && weigh(&p.have) > e.MaxInput {
		o.trim(p, e.MaxInput, weigh)
	}
}

// drops says whether an item is gone.
func (o *Outline) drops(p *plan, i int) bool {
	it := &o.items[i]
	switch {
	case it.thought && p.thoughts:
		return true
	case it.role == roleSystem:
		return false
	case it.turn < p.from:
		return true
	}
	return it.turn < p.until && !o.spared(p, i)
}

// spared says whether an item stays when its turn is trimmed. Where MaxTurns has
// cut, the beginning of the conversation is gone, and what is kept of turns
// behind it would hang in the air.
func (o *Outline) spared(p *plan, i int) bool {
	return o.items[i].role == roleSystem || p.from <= 1 && o.items[i].kept
}

// applies says whether a cut is made in an item that stays.
func (o *Outline) applies(p *plan, i int) bool {
	c := &o.cuts[i]
	if c.within >= 0 && o.applies(p, c.within) {
		return false
	}
	switch c.kind {
	case cutMedium:
		return p.images && c.item < o.lastTurn()
	case cutThought:
		return p.thoughts
	}
	return i < p.results && o.old(c.item)
}

// old says whether results of tools in an item may become notes.
func (o *Outline) old(i int) bool { return i < o.lastTurn() && !o.items[i].kept }

// cutsOf counts the cuts that are made in an item, and says whether there are any.
func (o *Outline) cutsOf(p *plan, i int) (any bool) {
	for c := o.items[i].cuts.from; c < o.items[i].cuts.to; c++ {
		if o.applies(p, c) {
			p.have.add(&o.cuts[c].change)
			any = true
		}
	}
	return any
}

// trim makes the conversation as short as wanted, or as short as it may be.
func (o *Outline) trim(p *plan, most int64, weigh Weigh) {
	for i := range o.cuts {
		c := &o.cuts[i]
		if c.kind != cutResult || !o.old(c.item) || o.drops(p, c.item) {
			continue
		}
		p.have.add(&c.change)
		for k := i + 1; k < len(o.cuts) && o.cuts[k].within == i; k++ {
			if o.applies(p, k) {
				p.have.less(&o.cuts[k].change)
			}
		}
		p.results, p.changes = i+1, true
		if weigh(&p.have) <= most {
			return
		}
	}
	for p.until <= o.UserTurns {
		end := p.until + 1
		for end <= o.UserTurns && o.turns[end].joined {
			end++
		}
		if end > o.UserTurns { // the last turn is of this run
			return
		}
		for i := o.turns[p.until].first; i < o.turns[end].first; i++ {
			if !o.spared(p, i) && !o.drops(p, i) {
				o.leave(p, i)
			}
		}
		p.until = end
		if weigh(&p.have) <= most {
			return
		}
	}
}

// leave takes an item that goes out of the count, with the cuts in it.
func (o *Outline) leave(p *plan, i int) {
	p.have.less(&o.items[i].features)
	for c := o.items[i].cuts.from; c < o.items[i].cuts.to; c++ {
		if o.applies(p, c) {
			p.have.less(&o.cuts[c].change)
		}
	}
	p.changes = true
}
