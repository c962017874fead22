package wire

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// settings are the members of the top level that edits change.
type settings struct {
	surface  Surface
	open     int     // where a member can be put in front of all
	members  []piece // all of the top level
	logprobs int     // of those, what asks for logprobs; -1 for none
	top      int     // and for how many
	include  span    // of responses: a list that asks for them

	caps   [2]limit // what the answer may have, the newer name first
	effort span     // the word, with its quotes
	rank   int      // its rank; 0 if none is said

	thinking thinking
	thinks   span  // of messages: the value of thinking
	budget   int64 // its tokens
	budgetAt span
	output   span // of messages: the value of output_config
	clearing span // of messages: a list of edits by the API that need thinking
}

// limit is a member that bounds the answer.
type limit struct {
	at    span
	value int64 // at most 0 is none
}

// thinking is how a request of messages wants it.
type thinking uint8

const (
	thinkingUnsaid thinking = iota
	thinkingBudget          // so many tokens of it: enabled
	thinkingFree            // as much as the model finds right: adaptive
)

// logprobsInclude asks for logprobs in the list of responses.
const logprobsInclude = "message.output_text.logprobs"

// read looks over the members of the top level.
func (t *settings) read(o *Outline, body []byte, e *Envelope) {
	s := o.surface
	*t = settings{surface: s, open: e.open, logprobs: -1, top: -1, members: make([]piece, 0, 16)}
	echo := false
	for m := membersOf(body); m.next(); {
		t.members = append(t.members, piece{span: span{m.at, m.value.to}})
		v := jsontext.Value(m.value.of(body))
		if v.Kind() == 'n' {
			t.null(s, &m)
			continue
		}
		switch string(m.name) {
		case "max_completion_tokens", "max_tokens", "max_output_tokens":
			t.limit(s, &m)
		case "logprobs":
			if s == ChatCompletions && v.Kind() == 't' || s == Completions && v.Kind() == '0' {
				t.logprobs = len(t.members) - 1
			}
		case "top_logprobs":
			if s == ChatCompletions || s == Responses {
				t.top = len(t.members) - 1
			}
		case "echo":
			echo = v.Kind() == 't'
		case "include":
			if s == Responses && asksLogprobs(body, m.value) {
				t.include = m.value
			}
		case "reasoning_effort":
			if s == ChatCompletions {
				t.effortAt(body, m.value)
			}
		case "reasoning":
			if s == Responses {
				t.effortAt(body, memberOf(body, m.value, "effort"))
			}
		case "output_config":
			if s == Messages && v.Kind() == '{' {
				t.output = m.value
				t.effortAt(body, memberOf(body, m.value, "effort"))
			}
		case "thinking":
			if s == Messages {
				t.thinkingAt(body, m.value)
			}
		case "context_management":
			if s == Messages && bytes.Contains(v, []byte(`"clear_thinking`)) {
				t.clearing = memberOf(body, m.value, "edits")
			}
		case "previous_response_id", "conversation":
			if s == Responses { // what came before is not here
				o.whole, o.sealed = false, true
			}
		}
	}
	if echo { // the logprobs of a prompt are all that such a request is for
		t.logprobs = -1
	}
	if s == ChatCompletions && t.logprobs < 0 {
		t.top = -1
	}
}

func asksLogprobs(body []byte, list span) bool {
	for l := elementsOf(body, list); l.next(); {
		if string(unquoted(l.value.of(body))) == logprobsInclude {
			return true
		}
	}
	return false
}

// null takes a member that is there and says nothing: a value can take its place.
func (t *settings) null(s Surface, m *members) {
	switch string(m.name) {
	case "max_completion_tokens", "max_tokens", "max_output_tokens":
		t.limit(s, m)
	case "output_config":
		t.output = m.value
	}
}

func (t *settings) limit(s Surface, m *members) {
	i := 0
	switch string(m.name) {
	case "max_completion_tokens":
		if s != ChatCompletions {
			return
		}
	case "max_output_tokens":
		if s != Responses {
			return
		}
	case "max_tokens":
		if s == Responses || s == Embeddings {
			return
		}
		i = 1
	}
	l := limit{at: m.value}
	_ = integer("", jsontext.Value(m.value.of(m.data)), &l.value) // null is none
	t.caps[i] = l
}

func (t *settings) effortAt(body []byte, at span) {
	if !at.absent() {
		t.effort, t.rank = at, effortRank(string(unquoted(at.of(body))))
	}
}

func (t *settings) thinkingAt(body []byte, at span) {
	t.thinks = at
	switch string(unquoted(stringMember(body, at, "type"))) {
	case "enabled":
		if t.budgetAt = memberOf(body, at, "budget_tokens"); t.budgetAt.absent() {
			return
		}
		if integer("", t.budgetAt.of(body), &t.budget) == nil {
			t.thinking = thinkingBudget
		}
	case "adaptive":
		t.thinking = thinkingFree
	}
}

// cap is the bound of the answer that counts; 0 if there is none.
func (t *settings) cap() int64 {
	if t.caps[0].value > 0 {
		return t.caps[0].value
	}
	return max(t.caps[1].value, 0)
}
