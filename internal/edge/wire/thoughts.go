package wire

import "bytes"

// SettleThoughts makes a body of messages one that Anthropic accepts although
// models of other providers have answered in between. What those thought is left
// out, as Anthropic has not signed it. Thinking is turned off while the last
// answer waits for results of tools and does not begin with thoughts, as the API
// demands them before the calls; it is on again with the next words of the user.
// foreign says whether a signature is none of Anthropic's.
//
// It returns body itself if nothing must change. A body without a budget and
// without a foreign signature is not read message by message.
func SettleThoughts(body []byte, foreign func(signature []byte) bool) []byte {
	strange, budgeted := holds(body, `"signature"`, foreign) || holds(body, `"data"`, foreign), bytes.Contains(body, []byte(`"budget_tokens"`))
	if !strange && !budgeted {
		return body
	}
	var messages, thinking, management span
	for m := membersOf(body); m.next(); {
		switch string(m.name) {
		case "messages":
			messages = m.value
		case "thinking":
			thinking = m.value
		case "context_management":
			management = m.value
		}
	}
	var list []edit
	var answer []piece // blocks of the assistant's last message
	results := false   // behind it come results of tools
	for l := elementsOf(body, messages); l.next(); {
		content := memberOf(body, l.value, "content")
		if roleOf(unquoted(stringMember(body, l.value, "role"))) != roleAssistant {
			results = results || bringsResults(body, content)
			continue
		}
		answer, results = answer[:0], false
		gone := 0
		for b := elementsOf(body, content); b.next(); {
			p := piece{span: b.value}
			p.gone = strange && foreignBlock(body, b.value, foreign)
			if p.gone {
				gone++
			}
			answer = append(answer, p)
		}
		if gone > 0 && gone == len(answer) {
			list = append(list, edit{span{answer[0].from, answer[gone-1].to}, thoughtNote.with})
		} else if gone > 0 {
			list = cutAll(list, answer)
		}
	}
	if budgeted && results && thoughtless(body, answer) && string(unquoted(stringMember(body, thinking, "type"))) == "enabled" {
		off := settings{clearing: memberOf(body, management, "edits")}
		list = append(list, edit{thinking, `{"type":"disabled"}`})
		list = off.dropClearing(list, body)
	}
	return withEdits(body, list)
}

// SettleReasoning makes a body of responses one that OpenAI accepts although
// models of other providers have answered in between: what was thought is left
// out. foreign says whether an encrypted_content is none of OpenAI's. It returns
// body itself if nothing must change, or Parse does not accept it.
func SettleReasoning(body []byte, foreign func(sealed []byte) bool) []byte {
	if !holds(body, `"encrypted_content"`, foreign) {
		return body
	}
	e, bad := Parse(Responses, body)
	if bad != nil {
		return body
	}
	o, err := Responses.Outline(body, &e)
	if err != nil {
		return body
	}
	settled, err := Responses.Edit(body, o, Edits{Thinking: true}, (*Features).Tokens)
	if err != nil {
		return body
	}
	return settled
}

// foreignBlock says whether a block is what another provider's model thought.
func foreignBlock(body []byte, at span, foreign func([]byte) bool) bool {
	switch string(unquoted(stringMember(body, at, "type"))) {
	case "thinking":
		return foreign(unquoted(stringMember(body, at, "signature")))
	case "redacted_thinking":
		return foreign(unquoted(stringMember(body, at, "data")))
	}
	return false
}

// holds says whether there may be a member of that name, with its quotes, whose
// text is foreign.
func holds(body []byte, name string, foreign func([]byte) bool) bool {
	mark := []byte(name)
	for at := 0; ; {
		i := bytes.Index(body[at:], mark)
		if i < 0 {
			return false
		}
		at += i + len(mark)
		colon := skipSpace(body, at)
		if colon >= len(body) || body[colon] != ':' {
			continue
		}
		from := skipSpace(body, colon+1)
		if from >= len(body) || body[from] != '"' {
			continue
		}
		to := bytes.IndexByte(body[from+1:], '"')
		if to < 0 || foreign(body[from+1:from+1+to]) {
			return true
		}
	}
}

// bringsResults says whether a content has results of tools.
func bringsResults(body []byte, content span) bool {
	for b := elementsOf(body, content); b.next(); {
		if string(unquoted(stringMember(body, b.value, "type"))) == "tool_result" {
			return true
		}
	}
	return false
}

// thoughtless says whether an answer does not begin with thoughts when those that
// are gone are left out.
func thoughtless(body []byte, answer []piece) bool {
	for _, p := range answer {
		if p.gone {
			continue
		}
		kind := string(unquoted(stringMember(body, p.span, "type")))
		return kind != "thinking" && kind != "redacted_thinking"
	}
	return len(answer) > 0
}
