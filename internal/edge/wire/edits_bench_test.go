package wire

import (
	"fmt"
	"strings"
	"testing"
)

// agentTalk is the body of a long conversation of an agent with its tools: turns
// of the user, each with two rounds of two calls and their results.
func agentTalk(s Surface, turns, result int) []byte {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	text := func(n int) string {
		const line = `func main() {\n\tfmt.Println(\"the harbour clerk reads the tide\") // and writes it down\n}\n`
		return strings.Repeat(line, n/len(line)+1)
	}
	id := 0
	if s == ChatCompletions {
		add(`{"role":"system","content":"You are a careful agent. %s"}`, text(2000))
	}
	for turn := range turns {
		add(`{"role":"user","content":"Question %d: %s"}`, turn, text(300))
		for range 2 {
			id += 2
			switch s {
			case ChatCompletions:
				add(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{}"}}]}`, id, id+1)
				add(`{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, id, text(result))
				add(`{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, id+1, text(result))
			case Messages:
				add(`{"role":"assistant","content":[{"type":"thinking","thinking":"%s","signature":"EqQBCgIYAhIM"},{"type":"tool_use","id":"toolu_%d","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"toolu_%d","name":"read","input":{}}]}`, text(200), id, id+1)
				add(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"},{"type":"tool_result","tool_use_id":"toolu_%d","content":[{"type":"text","text":"%s"}]}]}`, id, text(result), id+1, text(result))
			default:
				add(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"%s"}`, id, strings.Repeat("gAAA", 100))
				add(`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"read","arguments":"{\"path\":\"a\"}"}`, id, id)
				add(`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"read","arguments":"{}"}`, id, id+1)
				add(`{"type":"function_call_output","call_id":"call_%d","output":"%s"}`, id, text(result))
				add(`{"type":"function_call_output","call_id":"call_%d","output":"%s"}`, id+1, text(result))
			}
		}
		add(`{"role":"assistant","content":"Answer %d: %s"}`, turn, text(300))
	}
	add(`{"role":"user","content":"And now the last question."}`)
	return []byte(`{"model":"m","max_tokens":9000,"stream":true,"` + s.promptMember() + `":[` + strings.Join(parts, ",") + `],"temperature":0.5}`)
}

// benchTalk is one of about a megabyte, with its outline.
func benchTalk(b *testing.B, s Surface) ([]byte, Envelope, *Outline) {
	body := agentTalk(s, 100, 2300)
	e, perr := Parse(s, body)
	if perr != nil {
		b.Fatal(perr)
	}
	o, err := s.Outline(body, &e)
	if err != nil {
		b.Fatal(err)
	}
	return body, e, o
}

var talkers = []Surface{ChatCompletions, Messages, Responses}

func BenchmarkOutline(b *testing.B) {
	for _, s := range talkers {
		body, e, _ := benchTalk(b, s)
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := s.Outline(body, &e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCost(b *testing.B) {
	for _, tt := range []struct {
		name  string
		edits Edits
	}{
		{"settings", Edits{Drop: []string{DropLogprobs}, MaxOutput: 500}},
		{"turns", Edits{MaxTurns: 3}},
		{"half", Edits{MaxInput: -2}},
		{"tenth", Edits{MaxInput: -10, Images: true, Thinking: true}},
	} {
		for _, s := range talkers {
			_, e, o := benchTalk(b, s)
			if tt.edits.MaxInput < 0 {
				tt.edits.MaxInput = e.Input / -tt.edits.MaxInput
			}
			b.Run(tt.name+"/"+s.String(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					o.Cost(tt.edits, (*Features).Tokens)
				}
			})
		}
	}
}

func BenchmarkEdit(b *testing.B) {
	for _, s := range talkers {
		body, e, o := benchTalk(b, s)
		for _, part := range []int64{2, 10} {
			b.Run(fmt.Sprintf("%s/%d", s, part), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if _, err := s.Edit(body, o, Edits{MaxInput: e.Input / part, Thinking: true}, (*Features).Tokens); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
