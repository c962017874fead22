package wire

import (
	"strconv"
	"strings"
	"testing"
)

// A conversation of each surface, one message or item a line. What is in the
// table of the test is the lines that are left, by number from 1, in order; a
// line that is changed is written out behind its number.
var talks = map[Surface]string{
	ChatCompletions: `
	{"role":"developer","content":"be kind"}
	{"role":"user","content":"first","name":"ann"}
	{"role":"assistant","content":"one","reasoning_content":"hm","x_unknown":1.0}
	{"role":"user","content":[{"type":"text","text":"second"},{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}
	{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]}
	{"role":"tool","tool_call_id":"c2","content":"LONG"}
	{"role":"tool","tool_call_id":"c1","content":"LONG"}
	{"role":"assistant","content":"two"}
	{"role":"system","content":"be brief"}
	{"role":"user","content":"third"}
	{"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"f","arguments":"{}"}}]}
	{"role":"tool","tool_call_id":"c3","content":"LONG"}
	{"role":"assistant","content":"three"}
	{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.test/b.png"}}]}`,
	Messages: `
	{"role":"user","content":"first"}
	{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"one","x":1.0}]}
	{"role":"user","content":[{"type":"text","text":"second"},{"type":"image","source":{"type":"url","url":"https://x.test/a.png"}}]}
	{"role":"assistant","content":[{"type":"redacted_thinking","data":"xx"},{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{}}]}
	{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"url","url":"u"}},{"type":"text","text":"LONG"}],"is_error":false},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"image","source":{"type":"url","url":"u"}}]}]}
	{"role":"assistant","content":[{"type":"text","text":"two"},{"type":"thinking","thinking":"hm","signature":"s"}]}
	{"role":"user","content":"third"}
	{"role":"assistant","content":[{"type":"thinking","thinking":"only","signature":"s"},{"type":"redacted_thinking","data":"xx"}]}
	{"role":"assistant","content":[{"type":"tool_use","id":"t3","name":"f","input":{}}]}
	{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":"LONG"},{"type":"text","text":"a reminder"}]}
	{"role":"assistant","content":"three"}
	{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"b"}]}`,
	Responses: `
	{"type":"message","role":"developer","content":"be kind"}
	{"role":"user","content":[{"type":"input_text","text":"surroundings"}]}
	{"role":"user","content":"first"}
	{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}
	{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"one","annotations":[]}]}
	{"role":"user","content":[{"type":"input_image","image_url":"https://x.test/a.png","detail":"low"},{"type":"input_text","text":"second"}]}
	{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"hm"}]}
	{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":"{}"}
	{"type":"function_call","call_id":"c2","name":"f","arguments":"{}","id":"fc_2"}
	{"type":"function_call_output","call_id":"c1","output":"LONG"}
	{"type":"function_call_output","call_id":"c2","output":[{"type":"input_file","file_data":"JVBERi0="}]}
	{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two","annotations":[]}]}
	{"role":"user","content":"third"}
	{"type":"reasoning","id":"rs_3","summary":[]}
	{"id":"fc_3","type":"function_call","call_id":"c3","name":"f","arguments":"{}"}
	{"type":"function_call_output","call_id":"c3","output":"LONG"}
	{"type":"message","role":"user","content":[{"type":"input_image","file_id":"f1"}]}`,
}

func talk(s Surface) (parts []string) {
	for line := range strings.Lines(strings.TrimSpace(talks[s])) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "LONG", strings.Repeat("a result that goes on and on. ", 80))
		parts = append(parts, line)
	}
	return parts
}

// bodyOf is a request with these messages.
func bodyOf(s Surface, parts []string) string {
	return `{"model":"m","max_tokens":9000,"` + s.promptMember() + `":[` + strings.Join(parts, " , ") + `],"tools":[]}`
}

func TestOutline(t *testing.T) {
	for _, tt := range []struct {
		name                                     string
		surface                                  Surface
		body                                     string
		turns                                    int
		begins, images, lastImages, thinks, loop bool
	}{
		{"chat", ChatCompletions, bodyOf(ChatCompletions, talk(ChatCompletions)), 4, true, true, true, true, false},
		{"an answer to come", ChatCompletions, bodyOf(ChatCompletions, talk(ChatCompletions)[:8]), 2, false, true, true, true, false},
		{"images before only", ChatCompletions, bodyOf(ChatCompletions, talk(ChatCompletions)[:10]), 3, true, true, false, true, false},
		{"a loop of tools", ChatCompletions, bodyOf(ChatCompletions, talk(ChatCompletions)[:7]), 2, false, true, true, true, false},
		{"a system message at the end", ChatCompletions, bodyOf(ChatCompletions, talk(ChatCompletions)[:2]), 1, true, false, false, false, false},
		{"messages", Messages, bodyOf(Messages, talk(Messages)), 4, true, true, true, true, false},
		{"a loop with thinking", Messages, bodyOf(Messages, talk(Messages)[:5]), 2, false, true, true, true, true},
		{"a reminder is no turn", Messages, bodyOf(Messages, talk(Messages)[:10]), 3, false, true, false, true, true},
		{"a message of its own is", Messages, bodyOf(Messages, append(talk(Messages)[:5], `{"role":"user","content":"go on"}`)), 3, true, true, false, true, true},
		{"responses", Responses, bodyOf(Responses, talk(Responses)), 4, true, true, true, true, false},
		{"two messages, one turn", Responses, bodyOf(Responses, talk(Responses)[:3]), 1, true, false, false, false, false},
		{"a string", Responses, `{"model":"m","input":"hi"}`, 1, true, false, false, false, false},
		{"results alone", Responses, `{"model":"m","previous_response_id":"r","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`, 0, false, false, false, false, false},
		{"completions", Completions, `{"model":"m","prompt":"hi"}`, 0, false, false, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, perr := Parse(tt.surface, []byte(tt.body))
			if perr != nil {
				t.Fatal(perr)
			}
			o, err := tt.surface.Outline([]byte(tt.body), &e)
			if err != nil {
				t.Fatal(err)
			}
			if o.UserTurns != tt.turns || o.TurnBegins != tt.begins || o.Images != tt.images || o.LastImages != tt.lastImages || o.Thinking != tt.thinks || o.loop != tt.loop {
				t.Errorf("%d turns, begins %t, images %t %t, thinks %t, loop %t", o.UserTurns, o.TurnBegins, o.Images, o.LastImages, o.Thinking, o.loop)
			}
		})
	}
}

func TestEditHistory(t *testing.T) {
	all := func(n int) (s []string) {
		for i := range n {
			s = append(s, strconv.Itoa(i+1))
		}
		return s
	}
	but := func(n int, lines ...string) []string {
		s := all(n)
		for _, l := range lines {
			number, text, _ := strings.Cut(l, " ")
			i, _ := strconv.Atoi(number)
			if text == "" {
				s[i-1] = ""
			} else {
				s[i-1] = l
			}
		}
		return s
	}
	const imageChat, fileChat = `{"type":"text","text":"[image left out]"}`, `{"type":"text","text":"[file left out]"}`
	for _, tt := range []struct {
		name    string
		surface Surface
		lines   int   // the first of the talk
		edits   Edits // MaxInput below zero is so many tokens less than there are
		want    []string
	}{
		{"more turns than there are", ChatCompletions, 14, Edits{MaxTurns: 4}, all(14)},
		{"three turns", ChatCompletions, 14, Edits{MaxTurns: 3}, but(14, "2", "3")},
		{"two turns", ChatCompletions, 14, Edits{MaxTurns: 2}, []string{"1", "9", "10", "11", "12", "13", "14"}},
		{"one turn", ChatCompletions, 14, Edits{MaxTurns: 1}, []string{"1", "9", "14"}},
		{"one turn under way", ChatCompletions, 7, Edits{MaxTurns: 1}, []string{"1", "4", "5", "6", "7"}},
		{"old results first", ChatCompletions, 14, Edits{MaxInput: -1}, but(14, `6 {"role":"tool","tool_call_id":"c2","content":"[tool result left out]"}`)},
		{"all of them, but those of the last exchange", ChatCompletions, 14, Edits{MaxInput: -800},
			but(14, `6 {"role":"tool","tool_call_id":"c2","content":"[tool result left out]"}`, `7 {"role":"tool","tool_call_id":"c1","content":"[tool result left out]"}`)},
		{"then turns", ChatCompletions, 14, Edits{MaxInput: -2000}, []string{"1", "2", "9", "10", "11", "12", "13", "14"}},
		{"as far as it goes", ChatCompletions, 14, Edits{MaxInput: 1}, []string{"1", "2", "9", "11", "12", "13", "14"}},
		{"not what is under way", ChatCompletions, 7, Edits{MaxInput: 1}, []string{"1", "2", "4", "5", "6", "7"}},
		{"turns, then tokens", ChatCompletions, 14, Edits{MaxTurns: 3, MaxInput: 1}, []string{"1", "9", "14"}},
		{"images of earlier turns", ChatCompletions, 14, Edits{Images: true}, but(14, `4 {"role":"user","content":[{"type":"text","text":"second"},`+imageChat+`]}`)},
		{"thinking", ChatCompletions, 14, Edits{Thinking: true}, but(14, `3 {"role":"assistant","content":"one","x_unknown":1.0}`)},

		{"messages: two turns", Messages, 12, Edits{MaxTurns: 2}, []string{"7", "8", "9", "10", "11", "12"}},
		{"messages: a reminder does not begin a turn", Messages, 10, Edits{MaxTurns: 1}, []string{"7", "8", "9", "10"}},
		{"messages: as far as it goes", Messages, 12, Edits{MaxInput: 1}, []string{"1", "9", "10", "11", "12"}},
		{"messages: results", Messages, 12, Edits{MaxInput: -1}, but(12,
			`5 {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"[tool result left out]","is_error":false},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"image","source":{"type":"url","url":"u"}}]}]}`)},
		{"messages: images within results", Messages, 12, Edits{Images: true}, but(12, `3 {"role":"user","content":[{"type":"text","text":"second"},`+imageChat+`]}`,
			`5 {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[`+imageChat+`,{"type":"text","text":"LONG"}],"is_error":false},{"type":"tool_result","tool_use_id":"t2","content":[`+imageChat+`]}]}`)},
		{"messages: images within a result that is left out", Messages, 12, Edits{Images: true, MaxInput: -2400}, but(12, `3 {"role":"user","content":[{"type":"text","text":"second"},`+imageChat+`]}`,
			`5 {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"[tool result left out]","is_error":false},{"type":"tool_result","tool_use_id":"t2","content":[`+imageChat+`]}]}`)},
		{"messages: thinking", Messages, 12, Edits{Thinking: true}, but(12, `2 {"role":"assistant","content":[{"type":"text","text":"one","x":1.0}]}`,
			`4 {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{}}]}`,
			`6 {"role":"assistant","content":[{"type":"text","text":"two"}]}`, `8 {"role":"assistant","content":[{"type":"text","text":"[thinking left out]"}]}`)},

		{"responses: two turns", Responses, 17, Edits{MaxTurns: 2}, []string{"1", "13", "14", "15", "16", "17"}},
		{"responses: as far as it goes", Responses, 17, Edits{MaxInput: 1}, []string{"1", "2", "3", "14", "15", "16", "17"}},
		{"responses: images and files", Responses, 17, Edits{Images: true}, but(17, `6 {"role":"user","content":[{"type":"input_text","text":"[image left out]"},{"type":"input_text","text":"second"}]}`,
			`11 {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"[file left out]"}]}`)},
		{"responses: thinking, and ids that need it", Responses, 17, Edits{Thinking: true}, but(17, "4", `5 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"one","annotations":[]}]}`,
			"7", `8 {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`, `9 {"type":"function_call","call_id":"c2","name":"f","arguments":"{}"}`,
			"14", `15 {"type":"function_call","call_id":"c3","name":"f","arguments":"{}"}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parts := talk(tt.surface)[:tt.lines]
			body := bodyOf(tt.surface, parts)
			var want []string
			for _, l := range tt.want {
				number, text, _ := strings.Cut(l, " ")
				if i, err := strconv.Atoi(number); err == nil && text == "" {
					text = parts[i-1]
				}
				if text != "" {
					want = append(want, strings.ReplaceAll(text, "LONG", strings.Repeat("a result that goes on and on. ", 80)))
				}
			}
			if tt.edits.MaxInput < 0 {
				e, _ := Parse(tt.surface, []byte(body))
				tt.edits.MaxInput += e.Input
			}
			got := edited(t, tt.surface, body, tt.edits)
			if want := bodyOf(tt.surface, want); got != want {
				short := func(s string) string {
					return strings.ReplaceAll(strings.ReplaceAll(s, strings.Repeat("a result that goes on and on. ", 80), "LONG"), " , ", "\n ")
				}
				t.Errorf("got\n %s\nwant\n %s", short(got), short(want))
			}
		})
	}
}
