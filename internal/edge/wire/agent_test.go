package wire

import (
	"strings"
	"testing"
)

// TestAgentTrimmed: an agent of a hundred turns is over its budget, and more of
// the past goes with every step down. The newest is there to the end.
func TestAgentTrimmed(t *testing.T) {
	for _, s := range talkers {
		body := string(agentTalk(s, 100, 2300))
		e, perr := Parse(s, []byte(body))
		if perr != nil {
			t.Fatal(perr)
		}
		o, err := s.Outline([]byte(body), &e)
		if err != nil || o.UserTurns != 101 || !o.TurnBegins {
			t.Fatalf("%v: %d turns %v", s, o.UserTurns, err)
		}
		before, turns := e.Input, 0
		for _, budget := range []int64{e.Input - 1, e.Input * 3 / 4, e.Input / 2, e.Input / 10, e.Input / 50, 1} {
			out := edited(t, s, body, Edits{MaxInput: budget})
			checks[s](t, out)
			after, _ := Parse(s, []byte(out))
			if after.Input > budget && budget > 1 || after.Input >= before {
				t.Errorf("%v: %d tokens of %d", s, after.Input, budget)
			}
			before = after.Input

			// First results become notes, the oldest first; then turns go. Those of
			// the last exchange stay as they are.
			turns = strings.Count(out, `"content":"Question `)
			results := strings.Count(out, `"tool_call_id":`) + strings.Count(out, `"type":"tool_result"`) + strings.Count(out, `"type":"function_call_output"`)
			if long := results - strings.Count(out, noteResult); turns < 100 && long != 2 || long < 2 {
				t.Errorf("%v: %d turns and %d long results at %d tokens", s, turns, long, budget)
			}
			for _, want := range []string{`"content":"Question 0: `, `And now the last question.`, `call_400`, `call_401`} {
				if s == Messages {
					want = strings.Replace(want, "call_", "toolu_", 1)
				}
				if !strings.Contains(out, want) {
					t.Errorf("%v: %s is gone at %d tokens", s, want, budget)
				}
			}
		}
		if turns != 1 { // the first one, for what it is about
			t.Errorf("%v: %d questions are left at the least", s, turns)
		}
	}
}

// A loop of tools in messages with thinking is one answer to the API: what was
// thought in it must come with it, or thinking must be off.
func TestThinkingInALoop(t *testing.T) {
	const loop = `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]`
	const bare = `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]`
	const done = `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"one"}]},{"role":"user","content":"more"}]`
	const plain = `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"one"}]},{"role":"user","content":"more"}]`
	const on, free, off = `,"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":8000}}`, `,"max_tokens":9000,"thinking":{"type":"adaptive"}}`, `,"max_tokens":9000,"thinking":{"type":"disabled"}}`
	for _, tt := range []struct {
		name  string
		edits Edits
		body  string
		want  string
	}{
		{"another model: no thoughts, no thinking", Edits{Thinking: true}, loop + on, bare + off},
		{"as much as it finds right needs none before", Edits{Thinking: true}, loop + free, bare + free},
		{"between turns it goes on", Edits{Thinking: true}, done + on, plain + on},
		{"it was off", Edits{Thinking: true}, loop + off, bare + off},
		{"a loop that began without", Edits{Thinking: true}, bare + on, bare + on},
		{"it cannot be turned off", Edits{Effort: "none"}, loop + on, strings.Replace(loop+on, "8000", "1024", 1)},
		{"but lowered", Edits{Effort: "low"}, loop + on, strings.Replace(loop+on, "8000", "4096", 1)},
		{"and needs its room", Edits{MaxOutput: 500}, loop + on, strings.NewReplacer("8000", "1024", "9000", "2048").Replace(loop + on)},
		{"between turns it can", Edits{Effort: "none"}, done + on, done + off},
		{"with another model, too", Edits{Effort: "none", Thinking: true, MaxOutput: 500}, loop + on, strings.Replace(bare+off, "9000", "500", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := edited(t, Messages, tt.body, tt.edits); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// What is not in the request cannot be trimmed, and what belongs to it stays.
func TestHistoryElsewhere(t *testing.T) {
	all := Edits{MaxTurns: 1, MaxInput: 1, Images: true, Thinking: true}
	parts := talk(Responses)
	for name, head := range map[string]string{
		"a response before": `{"previous_response_id":"resp_1",`,
		"a conversation":    `{"conversation":{"id":"conv_1"},`,
	} {
		body := head + bodyOf(Responses, parts)[1:]
		if got := edited(t, Responses, body, all); got != body {
			t.Errorf("%s: %s", name, got)
		}
	}
	reference := append([]string{`{"type":"item_reference","id":"rs_0"}`}, parts...)
	if got := edited(t, Responses, bodyOf(Responses, reference), Edits{Thinking: true}); got != bodyOf(Responses, reference) {
		t.Errorf("thoughts are gone that references may lean on: %s", got)
	}
	null := `{"previous_response_id":null,` + bodyOf(Responses, parts)[1:]
	if got := edited(t, Responses, null, all); len(got) >= len(null) {
		t.Error("null is not said")
	}
}

// A call and its result can stand on both sides of words of the user: then the
// turns are one.
func TestPairsAcrossTurns(t *testing.T) {
	for name, pairs := range map[string][2]string{
		"a function": {`{"type":"function_call","call_id":"\u0063","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`},
		"a screen":   {`{"type":"computer_call","id":"cu","call_id":"c","action":{"type":"screenshot"}}`, `{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"u"}}`},
		"an approval": {`{"type":"mcp_approval_request","id":"c","name":"f","arguments":"{}","server_label":"s"}`,
			`{"type":"mcp_approval_response","approval_request_id":"c","approve":true}`},
		"a custom tool": {`{"call_id":"c","type":"custom_tool_call","name":"f","input":"x"}`, `{"call_id":"c","output":"x","type":"custom_tool_call_output"}`},
	} {
		parts := []string{`{"role":"user","content":"one"}`, `{"role":"assistant","content":"1"}`, `{"role":"user","content":"two"}`, pairs[0], `{"role":"user","content":"three"}`, pairs[1], `{"role":"user","content":"four"}`}
		for turns, want := range map[int]int{1: 6, 2: 2, 3: 2} {
			if got := edited(t, Responses, bodyOf(Responses, parts), Edits{MaxTurns: turns}); got != bodyOf(Responses, parts[want:]) {
				t.Errorf("%s, %d turns: %s", name, turns, got)
			}
		}
		if got := edited(t, Responses, bodyOf(Responses, parts[:6]), Edits{MaxInput: 1}); got != bodyOf(Responses, append(parts[:1:1], parts[2:6]...)) {
			t.Errorf("%s, under way: %s", name, got)
		}
	}
}

// The last exchange with tools is kept as a whole or not at all.
func TestLastExchange(t *testing.T) {
	for _, tt := range []struct {
		name    string
		surface Surface
		parts   []string
		want    []int
	}{
		{"a result of a call long before", Responses, []string{`{"role":"user","content":"one"}`,
			`{"type":"function_call","call_id":"a"}`, `{"type":"function_call","call_id":"b"}`, `{"type":"function_call_output","call_id":"b","output":"x"}`,
			`{"type":"function_call","call_id":"c"}`, `{"type":"function_call_output","call_id":"a","output":"x"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`,
			`{"role":"user","content":"two"}`}, []int{0, 7}},
		{"one call after the other", Responses, []string{`{"role":"user","content":"one"}`,
			`{"type":"function_call","call_id":"a"}`, `{"type":"function_call_output","call_id":"a","output":"x"}`,
			`{"type":"reasoning","id":"rs"}`, `{"role":"assistant","content":"I look"}`, `{"type":"function_call","id":"fc","call_id":"c"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`,
			`{"role":"user","content":"two"}`}, []int{0, 3, 4, 5, 6, 7}},
		{"a call that is not here", Responses, []string{`{"role":"user","content":"one"}`,
			`{"type":"item_reference","id":"fc"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`, `{"role":"user","content":"two"}`}, []int{0, 3}},
		{"functions, as they were before tools", ChatCompletions, []string{`{"role":"user","content":"one"}`, `{"role":"assistant","content":"1"}`, `{"role":"user","content":"two"}`,
			`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`, `{"role":"function","name":"f","content":"x"}`, `{"role":"user","content":"three"}`}, []int{0, 3, 4, 5}},
		{"a summary by the API", Responses, []string{`{"role":"user","content":"one"}`, `{"role":"assistant","content":"1"}`, `{"type":"compaction","id":"cmp","encrypted_content":"x"}`, `{"role":"user","content":"two"}`}, []int{0, 2, 3}},
		{"the same in messages", Messages, []string{`{"role":"user","content":"one"}`, `{"role":"assistant","content":[{"type":"compaction","content":"all of it"},{"type":"text","text":"1"}]}`,
			`{"role":"user","content":"two"}`, `{"role":"assistant","content":"2"}`, `{"role":"user","content":"three"}`}, []int{0, 1, 4}},
		{"a greeting comes before all", ChatCompletions, []string{`{"role":"assistant","content":"hello"}`, `{"role":"user","content":"one"}`, `{"role":"assistant","content":"1"}`, `{"role":"user","content":"two"}`}, []int{1, 3}},
	} {
		var want []string
		for _, i := range tt.want {
			want = append(want, tt.parts[i])
		}
		if got := edited(t, tt.surface, bodyOf(tt.surface, tt.parts), Edits{MaxInput: 1}); got != bodyOf(tt.surface, want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	thoughts := bodyOf(Responses, []string{`{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}]}`})
	if got := edited(t, Responses, thoughts, Edits{Thinking: true}); got != thoughts {
		t.Errorf("nothing is left: %s", got)
	}
}

func TestOutlineOfAnotherBody(t *testing.T) {
	body := []byte(bodyOf(ChatCompletions, talk(ChatCompletions)))
	e, _ := Parse(ChatCompletions, body)
	if _, err := ChatCompletions.Outline(body[:50], &e); err == nil {
		t.Error("an outline of another body")
	}
	o, err := ChatCompletions.Outline(body, &e)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ChatCompletions.Edit(body[:50], o, Edits{}, (*Features).Tokens); err == nil {
		t.Error("an edit of another body")
	}
	if _, err := Messages.Edit(body, o, Edits{}, (*Features).Tokens); err == nil {
		t.Error("an edit of another surface")
	}
}

// The memory of an outline is bounded: of more messages, or more parts of one,
// than an agent says, only the settings are changed.
func TestOutlineIsBounded(t *testing.T) {
	repeat := func(s string) string { return strings.TrimSuffix(strings.Repeat(s+",", mostItems+1), ",") }
	for name, parts := range map[string][]string{
		"messages": {repeat(`{"role":"user"},{"role":"assistant"}`)},
		"pictures": {`{"role":"user","content":[` + repeat(`{"type":"image_url","image_url":{"url":"u"}}`) + `]}`, `{"role":"user","content":"x"}`},
		"last":     {`{"role":"user","content":[` + repeat(`{"type":"file"}`) + `]}`},
	} {
		body := bodyOf(ChatCompletions, parts)
		if got := edited(t, ChatCompletions, body, Edits{MaxTurns: 1, MaxInput: 1, Images: true, Thinking: true, MaxOutput: 5}); got != strings.Replace(body, "9000", "5", 1) {
			t.Errorf("%s: the conversation is changed", name)
		}
	}
}
