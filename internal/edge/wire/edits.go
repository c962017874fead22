package wire

import (
	"fmt"
	"slices"
)

// Edits make a request cheaper, in the form its caller wrote it in. The zero
// value changes nothing. What each of them costs the caller is told in
// docs/degradation.md.
type Edits struct {
	// Drop names what is not asked for, of a list of what no caller's parser can
	// depend on: DropLogprobs. Other names are passed over. The number of
	// choices is not of the list, as callers index them.
	Drop []string

	// Effort is the most effort of reasoning: none, minimal, low, medium or high;
	// "" for any. What says less, or nothing, stays.
	Effort string

	// MaxOutput is the most tokens of one answer, those of reasoning included; 0
	// for any.
	MaxOutput int64

	// MaxTurns keeps the system's messages and the last turns; 0 keeps all.
	MaxTurns int

	// MaxInput is how many input tokens the conversation is trimmed to, as far as
	// that can be done; 0 does not trim.
	MaxInput int64

	// Images leaves out pictures and files of all turns but the last, with a note
	// in their place.
	Images bool

	// Thinking leaves out what models thought before, which another model cannot
	// read. Where messages demands it, thinking is turned off with it.
	Thinking bool
}

// DropLogprobs leaves out logprobs: the answer says that it has none.
const DropLogprobs = "logprobs"

// Weigh returns the tokens of a request's input, as an Estimator knows them for
// a model or Features.Tokens for any.
type Weigh func(*Features) int64

// Cost returns the input tokens of the request after the edits, and whether they
// would change it at all. It is what Edit would give, without making it: some
// microseconds for a long conversation.
func (o *Outline) Cost(e Edits, weigh Weigh) (input int64, changes bool) {
	var p plan
	o.plan(&p, &e, weigh)
	return weigh(&p.have), p.changes || o.changes(&e)
}

// MaxOutput is Envelope.MaxOutput as it is after the edits.
func (o *Outline) MaxOutput(e Edits) int64 {
	if t := o.tune(&e); t.output > 0 {
		return times(t.output, o.choices)
	}
	return o.output
}

func (o *Outline) changes(e *Edits) bool { return o.tune(e) != tuned{} }

// Edit returns the request with the edits: body itself if they change nothing,
// or else a copy in which all that stays is byte for byte the same. The result
// is accepted by Parse as the body was, and by the API as far as the body was:
// a call of a tool and its result stay or go together, and so do thoughts and
// what is not accepted without them.
//
// o must be the outline of this body; anything else is an error.
func (s Surface) Edit(body []byte, o *Outline, e Edits, weigh Weigh) ([]byte, error) {
	if o.surface != s || o.size != len(body) {
		return nil, fmt.Errorf("edit %s body: the outline is not of this body", s)
	}
	t := o.tune(&e)
	list := o.settings.edits(nil, body, &t)
	var p plan
	if o.plan(&p, &e, weigh); p.changes {
		list = o.trimmed(list, &p)
	}
	return withEdits(body, list), nil
}

// withEdits is a copy of the body with edits in any order; body itself if there
// are none.
func withEdits(body []byte, list []edit) []byte {
	if len(list) == 0 {
		return body
	}
	slices.SortStableFunc(list, func(a, b edit) int { return a.from - b.from })
	grows := 0
	for _, e := range list {
		grows += len(e.with) - (e.to - e.from)
	}
	return appendEdited(make([]byte, 0, len(body)+grows), body, list...)
}

// trimmed adds the edits of the conversation.
func (o *Outline) trimmed(list []edit, p *plan) []edit {
	pieces := make([]piece, len(o.items))
	for i := range o.items {
		pieces[i] = piece{o.items[i].span, o.drops(p, i)}
	}
	list = cutAll(list, pieces)
	for i := range o.cuts {
		if c := &o.cuts[i]; !pieces[c.item].gone && o.applies(p, i) {
			list = append(list, edit{c.span, c.with})
		}
	}
	return list
}
