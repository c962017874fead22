package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The rules of the APIs that a conversation must keep, as far as edits could
// break them. They are written for the test alone, over decoded JSON, and know
// nothing of how the edits are made.

type object = map[string]any

func prompt(t rules, s Surface, body string) (top object, items []object) {
	if err := json.Unmarshal([]byte(body), &top); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, v := range top[s.promptMember()].([]any) {
		items = append(items, v.(object))
	}
	return top, items
}

// rules is what a check needs of a test.
type rules interface{ Fatalf(string, ...any) }

func blocks(m object) (list []object) {
	content, _ := m["content"].([]any)
	for _, b := range content {
		list = append(list, b.(object))
	}
	return list
}

// checkChat: results stand right behind the message that called for them, and
// all calls but the last ones have theirs.
func checkChat(t rules, body string) {
	_, items := prompt(t, ChatCompletions, body)
	open := map[any]bool{}
	for i, m := range items {
		if m["role"] == "tool" {
			if !open[m["tool_call_id"]] {
				t.Fatalf("message %d is a result without a call: %s", i, body)
			}
			delete(open, m["tool_call_id"])
			continue
		}
		if len(open) > 0 {
			t.Fatalf("message %d comes before all results: %s", i, body)
		}
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			open[c.(object)["id"]] = true
		}
	}
	if len(open) > 0 {
		t.Fatalf("results are missing: %s", body)
	}
}

// checkMessages: the user begins; every call has its result in the next message,
// and every result its call in the one before; nothing is empty; thinking has a
// budget below the cap, and what led to calls under way comes with them.
func checkMessages(t rules, body string) {
	top, items := prompt(t, Messages, body)
	if items[0]["role"] != "user" {
		t.Fatalf("the assistant begins: %s", body)
	}
	open := map[any]bool{}
	thoughts, loop := false, false
	for i, m := range items {
		if list, ok := m["content"].([]any); ok && len(list) == 0 {
			t.Fatalf("message %d is empty: %s", i, body)
		}
		calls := map[any]bool{}
		for k, b := range blocks(m) {
			switch b["type"] {
			case "tool_use":
				calls[b["id"]] = true
			case "tool_result":
				if loop = true; !open[b["tool_use_id"]] {
					t.Fatalf("message %d has a result without a call: %s", i, body)
				}
				delete(open, b["tool_use_id"])
			}
			if m["role"] == "assistant" && k == 0 {
				thoughts = b["type"] == "thinking" || b["type"] == "redacted_thinking"
			}
		}
		if len(open) > 0 {
			t.Fatalf("message %d lacks results: %s", i, body)
		}
		if open = calls; m["role"] == "assistant" {
			loop = false
		}
	}
	if len(open) > 0 {
		t.Fatalf("results are missing: %s", body)
	}
	if thinking, _ := top["thinking"].(object); thinking["type"] == "enabled" {
		if budget := thinking["budget_tokens"].(float64); budget < 1024 || budget >= top["max_tokens"].(float64) {
			t.Fatalf("budget of %v: %s", budget, body)
		}
		if loop && !thoughts {
			t.Fatalf("thoughts are missing in the last message: %s", body)
		}
	} else if cm, ok := top["context_management"]; ok && strings.Contains(fmt.Sprint(cm), "clear_thinking") {
		t.Fatalf("an edit that needs thinking: %s", body)
	}
}

// checkResponses: results have their calls before them and calls their results
// behind; thoughts are followed by what they led to, which is not accepted under
// its id without them. In these tests the id names the thoughts: rs_3, msg_3.
func checkResponses(t rules, body string) {
	_, items := prompt(t, Responses, body)
	calls, thoughts := map[any]bool{}, map[string]bool{}
	for i, m := range items {
		id, _ := m["id"].(string)
		kind, of, _ := strings.Cut(id, "_")
		switch {
		case m["type"] == "reasoning":
			thoughts[of] = true
			if i == len(items)-1 || items[i+1]["role"] == "user" || items[i+1]["type"] == "function_call_output" {
				t.Fatalf("item %d is thoughts that lead to nothing: %s", i, body)
			}
		case kind == "fc" || kind == "msg":
			if of != "0" && !thoughts[of] {
				t.Fatalf("item %d lacks its thoughts: %s", i, body)
			}
		}
		switch m["type"] {
		case "function_call":
			calls[m["call_id"]] = true
		case "function_call_output":
			if !calls[m["call_id"]] {
				t.Fatalf("item %d is a result without a call: %s", i, body)
			}
			delete(calls, m["call_id"])
		}
	}
	if len(calls) > 0 {
		t.Fatalf("results are missing: %s", body)
	}
}

var checks = map[Surface]func(rules, string){ChatCompletions: checkChat, Messages: checkMessages, Responses: checkResponses}

func TestEditKeepsTheRules(t *testing.T) {
	for s, check := range checks {
		t.Run(s.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				parts, last := drawTalk(rt, s)
				body := `{"model":"m","max_tokens":9000,"` + s.promptMember() + `":[` + strings.Join(parts, " , ") + `]`
				if s == Messages && rapid.Bool().Draw(rt, "thinking") && thinksBefore(parts) {
					body += `,"thinking":{"type":"enabled","budget_tokens":8000},"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}`
				}
				body += `}`
				check(rt, body)
				edits := drawEdits(rt)
				out := edited(t, s, body, edits)
				check(rt, out)
				keeps(rt, s, parts, last, out, edits)
				if again := edited(t, s, out, edits); again != out {
					rt.Fatalf("edited again: %s\n%s", out, again)
				}
				if edits.MaxInput > 1 {
					if e, _ := Parse(s, []byte(out)); e.Input > edits.MaxInput {
						edits.MaxInput = 1
						if most := edited(t, s, body, edits); most != out {
							rt.Fatalf("%d tokens, and there was more to trim:\n%s\n%s", e.Input, out, most)
						}
					}
				}
			})
		})
	}
}

// thinksBefore says whether a message that calls tools, and is the last of its
// kind, begins with thoughts, as the API demands if thinking is on.
func thinksBefore(parts []string) bool {
	for _, p := range slices.Backward(parts) {
		if strings.Contains(p, `"assistant"`) {
			return strings.Contains(p, `[{"type":"thinking"`)
		}
	}
	return true
}

// keeps checks what the caller was promised: the system's messages and the last
// turn are there, and what is there is byte for byte what was sent.
func keeps(t *rapid.T, s Surface, parts []string, last int, out string, edits Edits) {
	at := 0
	for i, p := range parts {
		found := strings.Index(out[at:], p)
		if found >= 0 {
			at += found + len(p)
			continue
		}
		system := strings.Contains(p, `"role":"system"`) || strings.Contains(p, `"role":"developer"`)
		if system || i >= last && !edits.Thinking {
			t.Fatalf("%s is gone: %s", p, out)
		}
	}
	if edits.Thinking || edits.Images || edits.MaxInput > 0 {
		return
	}
	_, items := prompt(t, s, out)
	whole := 0
	for _, p := range parts {
		var v object
		if err := json.Unmarshal([]byte(p), &v); err != nil {
			t.Fatalf("%v", err)
		}
		if whole < len(items) && fmt.Sprint(items[whole]) == fmt.Sprint(v) {
			whole++
		}
	}
	if whole != len(items) {
		t.Fatalf("item %d is none that was sent: %s", whole, out)
	}
}
