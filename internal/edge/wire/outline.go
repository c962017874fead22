package wire

import (
	"fmt"
	"hash/maphash"
)

// Outline is what a conversation is made of, as far as it decides how a request
// could be made cheaper. It is made by Surface.Outline, for requests that may be
// degraded only, and belongs to the body that it was made from. It does not
// change and is safe for concurrent use.
//
// A turn begins with words of the user: one message of theirs, or several that
// follow one another. A message that brings results of tools begins none. What
// follows up to the next words is part of the turn.
type Outline struct {
	UserTurns  int  // turns that the user began
	TurnBegins bool // the request ends with words of the user, so nothing of its last turn is done yet
	Images     bool // there are pictures, sounds or files
	LastImages bool // there are in the last turn
	Thinking   bool // there are thoughts of a model in the conversation

	surface  Surface
	size     int // of the body, in bytes
	features Features
	choices  int64
	output   int64 // most tokens of all answers, 0 for not said
	settings settings
	items    []item // in the order of the body
	cuts     []cut  // by item
	turns    []turn // the first is what comes before any words of the user
	whole    bool   // history can be trimmed: all of it is here
	sealed   bool   // thoughts cannot be left out: what they belong to is not here
	thoughts int    // items that are nothing but thoughts
	loop     bool   // the request ends with results of tools, and there are thoughts since the last words of the user
}

// item is a message, or an item of responses.
type item struct {
	span
	features Features
	cuts     span // of Outline.cuts
	turn     int
	role     role
	calls    bool // it calls tools
	results  bool // it brings results of tools
	thought  bool // it is nothing but thoughts
	opens    bool // it is of the words that begin its turn
	kept     bool // it stays when its turn is trimmed
}

// role is who speaks.
type role uint8

const (
	roleOther role = iota
	roleSystem
	roleUser
	roleAssistant
	roleTool
)

// turn is one turn of the conversation.
type turn struct {
	first  int  // its first item
	joined bool // a result in it, or behind it, answers a call before it
}

// cut is a place where an item could be made shorter.
type cut struct {
	span
	with   string   // what stands there then
	change Features // what is counted then, less what was; modulo 2^32
	item   int
	within int // the cut that this one is inside of; -1 for none
	kind   cutKind
}

type cutKind uint8

const (
	cutMedium  cutKind = iota // a picture or a file
	cutThought                // thoughts, and what is not accepted without them
	cutResult                 // a long result of a tool
)

// mostItems bounds the items and the cuts of an outline, and so its memory, at
// some hundred bytes each. Of a conversation with more only the settings change.
const mostItems = 1 << 14

// Outline looks over a body that Parse has accepted. e must come from a Parse of
// the same body; anything else is an error.
func (s Surface) Outline(body []byte, e *Envelope) (*Outline, error) {
	if e.modelAt.absent() || e.modelAt.to > len(body) || e.promptAt.absent() || e.promptAt.to > len(body) {
		return nil, fmt.Errorf("outline of a %s body: the envelope is not of this body", s)
	}
	o := &Outline{surface: s, size: len(body), features: e.Features, choices: e.Choices, output: e.MaxOutput, whole: true, turns: make([]turn, 1, 8)}
	o.settings.read(o, body, e)
	switch {
	case s != ChatCompletions && s != Messages && s != Responses:
	case body[e.promptAt.from] == '"':
		o.UserTurns, o.TurnBegins = 1, true
	default:
		o.readItems(body, e.promptAt)
	}
	return o, nil
}

// outliner is the state of reading the items.
type outliner struct {
	*Outline
	body    []byte
	over    bool           // it is more than can be held
	words   bool           // the last item that is not the system's is words of the user
	thinks  int            // the last turn with an item of thoughts
	called  map[uint64]int // the item of each call, by the hash of its id
	pairs   []pair         // of calls and results
	call    []uint64       // ids of the calls of the item at hand
	result  []uint64       // and of the results
	long    []int          // the cuts that are long results of the item at hand
	rest    []byte         // the item at hand without them
	pieces  []piece        // of the list at hand
	hashing maphash.Seed   // of ids
}

// pair is the item of a result and that of its call, -1 if that is not here.
type pair struct{ call, result int }

func (o *Outline) readItems(body []byte, at span) {
	r := outliner{Outline: o, body: body, thinks: -1, hashing: maphash.MakeSeed()}
	o.items = make([]item, 0, min((at.to-at.from)/1024+8, 1024))
	for l := elementsOf(body, at); l.next(); {
		if r.over = r.over || len(o.items) == mostItems; r.over {
			break
		}
		r.item(l.value)
	}
	if r.over {
		o.items, o.cuts, o.turns, o.whole, o.Thinking = nil, nil, nil, false, false
		o.Images = o.features[ofImages]+o.features[ofDocuments] > 0
		o.LastImages = o.Images // maybe
		return
	}
	o.UserTurns, o.TurnBegins = len(o.turns)-1, r.words
	o.sealed = o.sealed || o.thoughts == len(o.items)
	last := o.lastTurn()
	for i := range o.items {
		it := &o.items[i]
		if it.features[ofImages]+it.features[ofDocuments] > 0 {
			o.Images, o.LastImages = true, i >= last
		}
		it.kept = it.kept && !it.calls && !it.results || it.opens && it.turn == 1
	}
	for _, c := range o.cuts {
		o.Images = o.Images || c.kind == cutMedium
		o.LastImages = o.LastImages || c.kind == cutMedium && c.item >= last
	}
	o.keepExchange(r.pairs)
	o.loop = o.inLoop()
}

// lastTurn is the first item of the last turn that the user began, from which on
// nothing is trimmed; 0 if there is none.
func (o *Outline) lastTurn() int {
	if o.UserTurns == 0 {
		return 0
	}
	return o.turns[o.UserTurns].first
}

// item takes one item.
func (r *outliner) item(at span) {
	n := len(r.items)
	r.items = append(r.items, item{span: at, cuts: span{len(r.cuts), 0}})
	it := &r.items[n]
	r.call, r.result, r.long = r.call[:0], r.result[:0], r.long[:0]
	if r.body[at.from] == '{' {
		it.features[ofMessages]++
		switch r.surface {
		case ChatCompletions:
			r.chat(it, n)
		case Messages:
			r.message(it, n)
		case Responses:
			r.response(it, n)
		}
	}
	it.cuts.to = len(r.cuts)
	r.measure(it)
	it.calls, it.results = it.calls || len(r.call) > 0, it.results || len(r.result) > 0
	if it.role != roleSystem {
		it.opens = it.role == roleUser && !it.results
		if it.opens && !r.words {
			r.turns = append(r.turns, turn{first: n})
		}
		r.words = it.opens
	}
	it.turn = len(r.turns) - 1
	r.pair(it, n)
}

// measure counts an item. What is counted of its long results is known already:
// they are most of what agents send, and need not be gone over twice.
func (r *outliner) measure(it *item) {
	if r.over {
		return
	}
	raw := it.of(r.body)
	if len(r.long) > 0 {
		r.rest = r.rest[:0]
		from := it.from
		for _, c := range r.long {
			at := r.cuts[c].span
			r.rest = append(append(r.rest, r.body[from:at.from]...), `""`...)
			from = at.to
			it.features.add(&resultNote.features)
			it.features.less(&r.cuts[c].change)
		}
		r.rest = append(r.rest, r.body[from:it.to]...)
		raw = r.rest
	}
	var f Features
	f.value(raw, partProse, false)
	it.features.add(&f)
}

// pair notes the calls of an item, and finds those that its results answer. The
// turns between the two belong together.
func (r *outliner) pair(it *item, n int) {
	first := it.turn
	for _, id := range r.result {
		at, found := r.called[id]
		if !found {
			at = -1
		} else {
			first = min(first, r.items[at].turn)
		}
		r.pairs = append(r.pairs, pair{at, n})
	}
	for t := first + 1; t <= it.turn; t++ {
		r.turns[t].joined = true
	}
	if r.called == nil && len(r.call) > 0 {
		r.called = map[uint64]int{}
	}
	for _, id := range r.call {
		r.called[id] = n
	}
}

// keepExchange marks the last calls of tools, their results and the answer: what
// the tools did last is the state of the work. They are kept only if no pair is torn.
func (o *Outline) keepExchange(pairs []pair) {
	end := o.resultsEnd()
	results := o.resultsBegin(end)
	from, calls := results, false
	for from > 0 {
		it := &o.items[from-1]
		if it.results || it.role == roleUser || it.role == roleSystem {
			break
		}
		from--
		calls = calls || it.calls
		if o.surface != Responses { // there all calls are in one message
			break
		}
	}
	if !calls {
		return
	}
	for i := len(pairs) - 1; i >= 0 && pairs[i].result >= results; i-- {
		if pairs[i].call < from {
			return
		}
	}
	// With what the assistant made of them: without it the results would seem to
	// be waiting for an answer still.
	for i := from; i < len(o.items) && (i < end || !o.items[i].opens); i++ {
		o.items[i].kept = true
	}
}

// resultsEnd is where the last results of tools end, 0 if there are none.
func (o *Outline) resultsEnd() int {
	end := len(o.items)
	for end > 0 && !o.items[end-1].results {
		end--
	}
	return end
}

// resultsBegin is where the results that end there begin.
func (o *Outline) resultsBegin(end int) int {
	for end > 0 && o.items[end-1].results {
		end--
	}
	return end
}

// inLoop says whether a request of messages ends with results of tools, and
// there are thoughts that led to their calls. Words behind the results begin a
// turn here, but are part of the same message to the API.
func (o *Outline) inLoop() bool {
	end := o.resultsEnd()
	if o.surface != Messages || end == 0 {
		return false
	}
	for _, it := range o.items[end:] {
		if it.role == roleAssistant {
			return false
		}
	}
	first := o.turns[o.items[end-1].turn].first
	for _, c := range o.cuts {
		if c.kind == cutThought && c.item >= first {
			return true
		}
	}
	return false
}
