package wire

import (
	"bytes"
	"strconv"
)

// The efforts, in their order, from 1 on.
var efforts = [...]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

const effortLow, effortHigh = 3, 5

// effortRank is the place of an effort among them; 0 if it is none of them.
func effortRank(word string) int {
	for i, e := range efforts {
		if e == word {
			return i + 1
		}
	}
	return 0
}

// budgets are the tokens of thinking that an effort is worth, by its rank.
var budgets = map[int]int64{2: leastBudget, 3: 4096, 4: 8192, 5: 16384}

const (
	leastBudget  = 1024            // the least that messages accepts
	leastForBoth = 2 * leastBudget // the least max_tokens that leaves room for an answer beside it
	leastOutput  = 16              // the least max_output_tokens that responses accepts
)

// tuned is what edits make of the settings. The zero value changes nothing.
type tuned struct {
	logprobs bool   // are not asked for
	effort   string // the word that is said instead
	budget   int64  // tokens of thinking instead; 0 for no change
	still    bool   // no thinking
	output   int64  // most tokens of the answer instead; 0 for no change
}

// tune decides what edits make of the settings.
func (o *Outline) tune(e *Edits) (t tuned) {
	s := &o.settings
	for _, name := range e.Drop {
		t.logprobs = t.logprobs || name == DropLogprobs && (s.logprobs >= 0 || s.top >= 0 || !s.include.absent())
	}
	t.effort = s.tuneEffort(effortRank(e.Effort), o.surface)
	if o.surface == Messages {
		o.tuneThinking(e, &t)
		return t
	}
	most := e.MaxOutput
	switch o.surface {
	case ChatCompletions:
	case Responses:
		if most > 0 {
			most = max(most, leastOutput)
		}
	case Completions: // where none is said it is 16 already
		if s.cap() == 0 {
			return t
		}
	default:
		return t
	}
	if now := s.cap(); most > 0 && (now == 0 || now > most) {
		t.output = most
	}
	return t
}

// tuneEffort is the word for an effort of at most a rank, "" if nothing changes.
// Messages have none below low.
func (t *settings) tuneEffort(most int, s Surface) string {
	now := t.rank
	if s == Messages {
		if most > 0 {
			most = max(most, effortLow)
		}
		if t.effort.absent() && t.thinking == thinkingFree {
			now = effortHigh // what the API takes if none is said
		}
	}
	if most == 0 || now <= most {
		return ""
	}
	return efforts[most-1]
}

// tuneThinking decides on the thinking and the bound of the answer in messages.
// The budget is part of the bound. While thoughts that lead to calls of tools
// are part of the request, a budget can be lowered, but thinking not be turned
// off; and it cannot stay on without them.
func (o *Outline) tuneThinking(e *Edits, t *tuned) {
	s := &o.settings
	on, budget := s.thinking == thinkingBudget, s.budget
	t.still = on && o.loop && e.Thinking && !o.sealed
	must := on && o.loop && !t.still
	if rank := effortRank(e.Effort); on && rank > 0 {
		switch worth := budgets[rank]; {
		case rank == 1 && !must:
			t.still = true
		case rank == 1:
			budget = min(budget, leastBudget)
		case worth > 0:
			budget = min(budget, worth)
		}
	}
	most := e.MaxOutput
	if must && most > 0 {
		most = max(most, leastForBoth)
	}
	if most > 0 && most < s.cap() {
		t.output = most
		if on && most <= leastBudget {
			t.still = true
		}
		budget = min(budget, max(most/2, leastBudget))
	}
	if on && !t.still && budget != s.budget {
		t.budget = budget
	}
}

// edits adds the edits of the body that make the settings so.
func (s *settings) edits(list []edit, body []byte, t *tuned) []edit {
	if t.logprobs {
		list = s.dropLogprobs(list, body)
	}
	if t.effort != "" {
		list = append(list, s.sayEffort(body, t.effort))
	}
	if t.still {
		list = append(list, edit{s.thinks, `{"type":"disabled"}`})
		list = s.dropClearing(list, body)
	}
	if t.budget > 0 {
		list = append(list, edit{s.budgetAt, strconv.FormatInt(t.budget, 10)})
	}
	if t.output > 0 {
		list = s.sayOutput(list, t.output)
	}
	return list
}

func (s *settings) dropLogprobs(list []edit, body []byte) []edit {
	pieces := append([]piece(nil), s.members...)
	for _, i := range [...]int{s.logprobs, s.top} {
		if i >= 0 {
			pieces[i].gone = true
		}
	}
	list = cutAll(list, pieces)
	pieces = pieces[:0]
	for l := elementsOf(body, s.include); l.next(); {
		pieces = append(pieces, piece{l.value, string(unquoted(l.value.of(body))) == logprobsInclude})
	}
	return cutAll(list, pieces)
}

// dropClearing leaves out what the API would refuse without thinking.
func (s *settings) dropClearing(list []edit, body []byte) []edit {
	var pieces []piece
	for l := elementsOf(body, s.clearing); l.next(); {
		kind := unquoted(stringMember(body, l.value, "type"))
		pieces = append(pieces, piece{l.value, bytes.HasPrefix(kind, []byte("clear_thinking"))})
	}
	return cutAll(list, pieces)
}

func (s *settings) sayEffort(body []byte, word string) edit {
	switch {
	case !s.effort.absent():
		return edit{s.effort, `"` + word + `"`}
	case s.output.absent():
		return edit{span{s.open, s.open}, `"output_config":{"effort":"` + word + `"},`}
	case body[s.output.from] != '{':
		return edit{s.output, `{"effort":"` + word + `"}`}
	}
	at := s.output.from + 1
	if body[skipSpace(body, at)] == '}' {
		return edit{span{at, at}, `"effort":"` + word + `"`}
	}
	return edit{span{at, at}, `"effort":"` + word + `",`}
}

func (s *settings) sayOutput(list []edit, most int64) []edit {
	value := strconv.FormatInt(most, 10)
	found := s.cap() > 0
	for _, l := range s.caps {
		if l.value > most || !found && !l.at.absent() {
			list = append(list, edit{l.at, value})
			found = true
		}
	}
	if !found {
		name := "max_completion_tokens"
		if s.surface == Responses {
			name = "max_output_tokens"
		}
		list = append(list, edit{span{s.open, s.open}, `"` + name + `":` + value + `,`})
	}
	return list
}

// cutAll adds the edits that leave out the pieces that are gone.
func cutAll(list []edit, pieces []piece) []edit {
	for i := 0; ; {
		at, _, to := removal(pieces, i)
		if at.absent() {
			return list
		}
		list = append(list, edit{at, ""})
		i = to
	}
}
