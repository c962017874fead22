package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// drawTalk draws a conversation that keeps the rules: its messages or items, and
// where its last turn begins.
func drawTalk(t *rapid.T, s Surface) (parts []string, last int) {
	words := rapid.StringMatching(`[a-zé"\\北 \n]{0,40}`)
	said := 0
	say := func() string {
		said++ // no two messages are the same
		text := fmt.Sprint(said, " ", words.Draw(t, "words"))
		if rapid.IntRange(0, 4).Draw(t, "long") == 0 {
			text = strings.Repeat(text+" and so on.", 200)
		}
		b, _ := json.Marshal(text)
		return string(b)
	}
	some := func(n int, what string) bool { return rapid.IntRange(0, n).Draw(t, what) == 0 }
	turns := rapid.IntRange(1, 6).Draw(t, "turns")
	same := some(3, "ids are used again")
	call, thought := 0, 0
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	system := func() {
		switch s {
		case ChatCompletions:
			add(`{"role":"system","content":%s}`, say())
		case Responses:
			add(`{"type":"message","role":"developer","content":%s}`, say())
		}
	}
	if some(1, "system") {
		system()
	}
	for turn := range turns {
		last = len(parts)
		for range rapid.IntRange(1, 2).Draw(t, "words of the user") {
			switch {
			case !some(2, "an image"):
				add(`{"role":"user","content":%s}`, say())
			case s == ChatCompletions:
				add(`{"role":"user","content":[{"type":"text","text":%s},{"type":"image_url","image_url":{"url":"https://x.test/a.png","detail":"low"}}]}`, say())
			case s == Messages:
				add(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}, {"type":"text","text":%s}]}`, say())
			default:
				add(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_file","file_id":"f"},{"type":"input_text","text":%s}]}`, say())
			}
		}
		rounds := rapid.IntRange(0, 3).Draw(t, "rounds")
		for range rounds {
			n := rapid.IntRange(1, 3).Draw(t, "calls")
			if same {
				call = 0
			}
			var ids []int
			for range n {
				call++
				ids = append(ids, call)
			}
			order := rapid.Permutation(ids).Draw(t, "order")
			thinks := some(1, "thinks")
			switch s {
			case ChatCompletions:
				var calls []string
				for _, id := range ids {
					calls = append(calls, fmt.Sprintf(`{"id":"c%d","type":"function","function":{"name":"f","arguments":%s}}`, id, say()))
				}
				more := ""
				if thinks {
					more = `"reasoning_content":` + say() + `,"reasoning":null,`
				}
				add(`{"role":"assistant",%s"tool_calls":[%s]}`, more, strings.Join(calls, ","))
				for _, id := range order {
					add(`{"role":"tool","content":%s,"tool_call_id":"c%d"}`, say(), id)
				}
			case Messages:
				var calls, results []string
				if thinks {
					calls = append(calls, `{"type":"thinking","thinking":`+say()+`,"signature":"s"}`)
				}
				for _, id := range ids {
					calls = append(calls, fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"f","input":{"a":[1,%s]}}`, id, say()))
				}
				for _, id := range order {
					content := say()
					if some(2, "an image") {
						content = `[{"type":"text","text":` + content + `},{"type":"image","source":{"type":"url","url":"u"}}]`
					}
					results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"t%d","content":%s}`, id, content))
				}
				if some(4, "a reminder") {
					results = append(results, `{"type":"text","text":`+say()+`}`)
				}
				add(`{"role":"assistant","content":[%s]}`, strings.Join(calls, ","))
				add(`{"role":"user","content":[%s]}`, strings.Join(results, " ,"))
			case Responses:
				of := 0
				if thinks {
					thought++
					of = thought
					add(`{"type":"reasoning","id":"rs_%d","summary":[{"type":"summary_text","text":%s}]}`, of, say())
				}
				for _, id := range ids {
					add(`{"type":"function_call","id":"fc_%d","call_id":"c%d","name":"f","arguments":%s}`, of, id, say())
				}
				for k, id := range order {
					if k == n-1 && some(3, "the user speaks before the last result") {
						if !strings.Contains(parts[len(parts)-1], `"role":"user"`) {
							last = len(parts)
						}
						add(`{"role":"user","content":%s}`, say())
					}
					add(`{"type":"function_call_output","call_id":"c%d","output":%s}`, id, say())
				}
			}
		}
		if s != Messages && some(8, "system again") {
			system()
		}
		if turn == turns-1 && some(1, "the turn is under way") {
			break
		}
		if turn < turns-1 || rounds > 0 {
			answer(s, say(), some(2, "thinks"), &thought, add)
		}
		if turn == turns-1 && s != Messages {
			break
		}
	}
	return parts, last
}

// answer adds the words that end a turn.
func answer(s Surface, text string, thinks bool, thought *int, add func(string, ...any)) {
	switch {
	case s == ChatCompletions:
		add(`{"role":"assistant","content":%s}`, text)
	case s == Messages && thinks:
		add(`{"role":"assistant","content":[{"type":"thinking","thinking":%s,"signature":"s"},{"type":"redacted_thinking","data":"x"}]}`, text)
	case s == Messages:
		add(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":%s}]}`, text)
	case thinks:
		*thought++
		add(`{"type":"reasoning","id":"rs_%d","summary":[]}`, *thought)
		add(`{"type":"message","id":"msg_%d","role":"assistant","content":[{"type":"output_text","text":%s}]}`, *thought, text)
	default:
		add(`{"role":"assistant","content":%s}`, text)
	}
}

func drawEdits(t *rapid.T) Edits {
	e := Edits{
		MaxTurns:  rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "MaxTurns"),
		MaxInput:  rapid.SampledFrom([]int64{0, 1, 300, 1000, 2500, 5000}).Draw(t, "MaxInput"),
		MaxOutput: rapid.SampledFrom([]int64{0, 0, 100, 1500, 3000}).Draw(t, "MaxOutput"),
		Effort:    rapid.SampledFrom([]string{"", "none", "minimal", "low", "high"}).Draw(t, "Effort"),
		Images:    rapid.Bool().Draw(t, "Images"),
		Thinking:  rapid.Bool().Draw(t, "Thinking"),
	}
	if rapid.Bool().Draw(t, "Drop") {
		e.Drop = []string{DropLogprobs}
	}
	return e
}
