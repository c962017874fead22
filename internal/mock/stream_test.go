package mock

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

func TestStreamFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := constant()
		settings.OutputMean = 3
		s := setup(t, settings)
		p := askChat(s, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello you"}]}`)
		if got := p.header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Errorf("content type %q", got)
		}
		events := p.events()
		want := []string{ // the choices of each event, up to its text
			`{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}`,
			"text", "text", "text",
			`{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}`,
			"",
			"[DONE]",
		}
		if len(events) != len(want) {
			t.Fatalf("%d events, want %d:\n%s", len(events), len(want), p.body)
		}
		for i, event := range events[:len(events)-1] {
			if !json.Valid([]byte(event)) {
				t.Fatalf("event %d is not JSON: %s", i, event)
			}
			choice := gjson.Get(event, "choices.0")
			if want[i] == "text" {
				if choice.Get("delta.content").Str == "" || choice.Get("finish_reason").Raw != "null" {
					t.Errorf("event %d: %s", i, event)
				}
			} else if choice.Raw != want[i] {
				t.Errorf("event %d: %s, want %s", i, choice.Raw, want[i])
			}
			usage := gjson.Get(event, "usage")
			if last := i == len(events)-2; last != usage.IsObject() || !usage.Exists() {
				t.Errorf("event %d: usage is %s", i, usage.Raw)
			}
			if has := gjson.Get(event, "mock.service_s").Exists(); has != (i == len(events)-3) {
				t.Errorf("event %d: the mock member is there: %v", i, has)
			}
			for _, path := range []string{"id", "created", "model"} {
				if gjson.Get(event, path).Raw != gjson.Get(events[0], path).Raw {
					t.Errorf("event %d: %s differs from the first event's", i, path)
				}
			}
		}
		if got := gjson.Get(events[5], "usage.completion_tokens").Int(); got != 3 {
			t.Errorf("completion_tokens is %d, want 3", got)
		}
	})
}

func TestStreamTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant()) // 1 s, 11 tokens: the first at 0.2 s, then one every 80 ms
		p := askChat(s, streamed)
		if len(p.flushes) < 11 {
			t.Fatalf("%d flushes: %v", len(p.flushes), p.flushes)
		}
		for i := range 11 {
			near(t, "a token's time", p.flushes[i].at.Seconds(), 0.2+0.08*float64(i), 1e-6)
		}
		near(t, "the end", p.end.Seconds(), 1, 1e-6)
		if strings.Contains(string(p.body), `"usage"`) {
			t.Error("usage was sent without being asked for")
		}
	})
}

func TestFastTokensShareEvents(t *testing.T) {
	for _, tokenByToken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			settings := constant()
			settings.OutputMean, settings.TokenByToken = 801, tokenByToken // a token a millisecond
			s := setup(t, settings)
			p := askChat(s, streamed)
			gaps := 0
			for i := 1; i < len(p.flushes); i++ {
				if p.flushes[i].at-p.flushes[i-1].at < 10*time.Millisecond-time.Microsecond {
					gaps++
				}
			}
			want := 801
			if !tokenByToken {
				want = 81
			}
			if len(p.flushes) != want || (!tokenByToken && gaps > 0) {
				t.Errorf("token by token %v: %d events, %d of them too close; want %d", tokenByToken, len(p.flushes), gaps, want)
			}
			if n := len(strings.Fields(p.content(0))); n != 801 {
				t.Errorf("%d words, want 801", n)
			}
		})
	}
}

func TestComputedTimes(t *testing.T) {
	for _, test := range []struct {
		name      string
		slowdown  float64
		running   int
		max       string
		ttft, end float64
	}{
		{"alone", 0.5, 1, "", 0.2 + 0.01, 0.21 + 100*0.02},
		{"no slowdown", 0, 4, "", 0.21, 2.21},
		{"all slots busy", 0.5, 4, "", 0.21, 0.21 + 100*0.02*1.5},
		{"half busy", 0.5, 2, "", 0.21, 0.21 + 100*0.02*(1+0.5/3)},
		{"short by the caller's limit", 0, 1, `"max_tokens":10,`, 0.21, 0.21 + 10*0.02},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setup(t, Settings{Slots: 4, Noise: new(0.0), OutputMean: 100, PerInput: 100 * time.Microsecond, Slowdown: test.slowdown})
				prompt := strings.Repeat("four", 100) // 100 tokens
				body := `{"model":"m","stream":true,` + test.max + `"messages":[{"role":"user","content":"` + prompt + `"}]}`
				within(test.running, func(i int) {
					p := askChat(s, body)
					near(t, "first token", p.flushes[0].at.Seconds(), test.ttft, 1e-6)
					near(t, "end", p.end.Seconds(), test.end, 1e-3)
				})
				whole := askChat(s, strings.Replace(body, `"stream":true`, `"stream":false`, 1))
				if test.running == 1 {
					near(t, "end, not streamed", whole.end.Seconds(), test.end, 1e-3)
				}
			})
		})
	}
}

func TestManyChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, Settings{ServiceMean: time.Second, OutputMean: 20, Seed: 5})
		ask := `"model":"m","n":3,"messages":[]}`
		whole := askChat(s, `{`+ask)
		if n := gjson.GetBytes(whole.body, "choices.#").Int(); n != 3 {
			t.Fatalf("%d choices", n)
		}
		p := askChat(s, `{"stream":true,"stream_options":{"include_usage":true},`+ask)
		var order []int64
		finished, words := map[int64]int{}, int64(0)
		works := 0
		for _, event := range p.events() {
			choice := gjson.Get(event, "choices.0")
			if !choice.Exists() {
				continue
			}
			index := choice.Get("index").Int()
			if finished[index] > 0 {
				t.Errorf("choice %d goes on after its finish_reason", index)
			}
			if choice.Get("finish_reason").Str == "stop" {
				finished[index]++
			}
			if gjson.Get(event, "mock").Exists() {
				works++
			}
			order = append(order, index)
		}
		for choice := range 3 {
			words += int64(len(strings.Fields(p.content(choice))))
		}
		if len(finished) != 3 || works != 1 {
			t.Errorf("finished %v, %d mock members", finished, works)
		}
		if slices.IsSorted(order) {
			t.Errorf("choices do not interleave: %v", order)
		}
		events := p.events()
		if got := gjson.Get(events[len(events)-2], "usage.completion_tokens").Int(); got != words {
			t.Errorf("usage says %d tokens, %d were sent", got, words)
		}
		if !gjson.Get(events[len(events)-3], "mock").Exists() {
			t.Error("the mock member is not in the last chunk before the usage")
		}
	})
}

const tool = `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{
	"city":{"type":"string"},"days":{"type":"integer"},"unit":{"enum":["c","f"]},"deep":{"type":"object","properties":{"on":{"type":"boolean"}}}}}}}],`

func TestToolCalls(t *testing.T) {
	const args = `{"city":"Zürich 北","days":1,"unit":"c","deep":{"on":true}}`
	for _, test := range []struct {
		name, choice, messages string
		want                   bool
	}{
		{"required", `"tool_choice":"required",`, `[]`, true},
		{"named", `"tool_choice":{"type":"function","function":{"name":"look"}},`, `[]`, true},
		{"asked for in words", "", `[{"role":"user","content":[{"type":"text","text":"Use the tool, please"}]}]`, true},
		{"after the tool's result", "", `[{"role":"user","content":"use the tool"},{"role":"tool","content":"ok"}]`, false},
		{"forbidden", `"tool_choice":"none",`, `[{"role":"user","content":"use the tool"}]`, false},
		{"unasked", "", `[{"role":"user","content":"hello"}]`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setup(t, constant())
				body := `"model":"m",` + tool + test.choice + `"messages":` + test.messages + `}`
				whole := gjson.GetBytes(askChat(s, `{`+body).body, "choices.0")
				reason := map[bool]string{true: "tool_calls", false: "stop"}[test.want]
				if whole.Get("finish_reason").Str != reason {
					t.Fatalf("answer %s", whole.Raw)
				}
				p := askChat(s, `{"stream":true,`+body)
				var name, got, end string
				pieces, ids := 0, 0
				for _, event := range p.events() {
					choice := gjson.Get(event, "choices.0")
					call := choice.Get("delta.tool_calls.0")
					name += call.Get("function.name").Str
					if call.Get("id").Exists() {
						ids++
					}
					if piece := call.Get("function.arguments").Str; piece != "" {
						pieces++
						got += piece
					}
					end += choice.Get("finish_reason").Str
				}
				if end != reason {
					t.Errorf("finish_reason %q, want %q", end, reason)
				}
				if test.want && (whole.Get("message.tool_calls.0.function.arguments").Str != args || name != "look" || ids != 1 || got != args || pieces < 5) {
					t.Errorf("whole %s; stream: name %q, %d ids, %d pieces, arguments %s", whole.Raw, name, ids, pieces, got)
				}
			})
		})
	}
}

func TestLogprobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		body := `"model":"m","logprobs":true,"top_logprobs":2,"max_completion_tokens":5,"messages":[]}`
		whole := gjson.GetBytes(askChat(s, `{`+body).body, "choices.0")
		if whole.Get("finish_reason").Str != "length" || whole.Get("logprobs.content.#").Int() != 5 || whole.Get("logprobs.content.0.top_logprobs.#").Int() != 2 {
			t.Errorf("answer %s", whole.Raw)
		}
		p := askChat(s, `{"stream":true,`+body)
		text := ""
		for _, event := range p.events() {
			for _, token := range gjson.Get(event, "choices.0.logprobs.content").Array() {
				text += token.Get("token").Str
			}
		}
		if text == "" || text != p.content(0) {
			t.Errorf("tokens %q, content %q", text, p.content(0))
		}
	})
}

func TestCompletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		body := `"model":"m","prompt":["one","two"],"logprobs":1}`
		whole := ask(t.Context(), s, "POST", "/v1/completions", `{`+body)
		root := gjson.ParseBytes(whole.body)
		if !json.Valid(whole.body) || root.Get("object").Str != "text_completion" || root.Get("choices.#").Int() != 2 ||
			root.Get("choices.1.logprobs.tokens.#").Int() != 11 || root.Get("choices.1.logprobs.text_offset.1").Int() == 0 {
			t.Errorf("answer %s", whole.body)
		}
		p := ask(t.Context(), s, "POST", "/v1/completions", `{"stream":true,`+body)
		for choice := range 2 {
			if got, want := len(strings.Fields(p.content(choice))), 11; got != want {
				t.Errorf("choice %d: %d words, want %d", choice, got, want)
			}
		}
		for _, event := range p.events() {
			if event != "[DONE]" && (!json.Valid([]byte(event)) || gjson.Get(event, "object").Str != "text_completion") {
				t.Errorf("event %s", event)
			}
		}
	})
}
