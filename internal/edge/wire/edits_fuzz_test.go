package wire

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// Names and values that mean something in one of the surfaces, or almost do.
var (
	fuzzNames = []string{"role", "type", "content", "tool_calls", "id", "call_id", "tool_call_id", "tool_use_id", "output", "reasoning_content",
		"reasoning", "function_call", "image_url", "source", "text", "thinking", "detail", "url", "r\\u006fle", "input", "file_id", "x"}
	fuzzValues = []string{`"user"`, `"assistant"`, `"system"`, `"tool"`, `"a"`, `"b"`, `"tool_use"`, `"tool_result"`, `"thinking"`, `"redacted_thinking"`,
		`"image"`, `"image_url"`, `"input_image"`, `"message"`, `"reasoning"`, `"function_call"`, `"function_call_output"`, `"item_reference"`,
		`"computer_call"`, `"text"`, `null`, `""`, `1`, `true`, `"us\u0065r"`, `"low"`, `{}`, `[]`, `"` + strings.Repeat("word ", 500) + `"`}
	fuzzMembers = []string{`"thinking":{"type":"enabled","budget_tokens":5000}`, `"thinking":{"type":"adaptive"}`, `"logprobs":true,"top_logprobs":2`, `"logprobs":1`,
		`"include":["x","message.output_text.logprobs"]`, `"reasoning_effort":"high"`, `"reasoning":{"effort":"high"}`, `"output_config":{}`, `"output_config":null`,
		`"max_completion_tokens":null`, `"max_output_tokens":2000`, `"previous_response_id":"r"`, `"context_management":{"edits":[{"type":"clear_thinking_1"}]}`}
)

// grown makes JSON of a program, as bytes that are not mostly fail to be any.
func grown(s Surface, program []byte) string {
	next := func() int {
		if len(program) == 0 {
			return 0
		}
		c := program[0]
		program = program[1:]
		return int(c)
	}
	var value func(depth int) string
	value = func(depth int) string {
		n := next()
		if n < 160 || depth > 4 {
			return fuzzValues[n%len(fuzzValues)]
		}
		var list []string
		used := map[string]bool{}
		for range n % 6 {
			if n%2 == 0 {
				list = append(list, value(depth+1))
			} else if name := fuzzNames[next()%len(fuzzNames)]; !used[strings.Replace(name, `\u006f`, "o", 1)] {
				used[strings.Replace(name, `\u006f`, "o", 1)] = true
				list = append(list, `"`+name+`":`+value(depth+1))
			}
		}
		if n%2 == 0 {
			return "[" + strings.Join(list, " , ") + "]"
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	top := fuzzMembers[next()%len(fuzzMembers)]
	var items []string
	for len(program) > 0 {
		items = append(items, value(0))
	}
	return `{` + top + `,"model":"m","` + s.promptMember() + `":[` + strings.Join(items, ",") + `],"max_tokens":9000}`
}

// FuzzEdit: of any body that is accepted, any edits make one that is accepted,
// costs what was told, and is longer by notes and new members at most.
func FuzzEdit(f *testing.F) {
	for s := range talks {
		f.Add(uint8(s), bodyOf(s, talk(s)), []byte(nil), uint8(0xFF), 2, int64(500), int64(1500), uint8(3))
		f.Add(uint8(s), bodyOf(s, talk(s)[:8]), []byte(nil), uint8(0x0F), 0, int64(1), int64(0), uint8(1))
	}
	f.Add(uint8(Messages), `{"model":"m","max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":5000},"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"a"},{"type":"tool_use","id":"t"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}`, []byte(nil), uint8(7), 1, int64(1), int64(9), uint8(1))
	f.Add(uint8(Responses), `{"model":"m","include":["message.output_text.logprobs","x"],"top_logprobs":1,"reasoning":{"effort":"high"},"input":[{"type":"item_reference","id":"rs_1"},[],1,"x",{"role":"user"}]}`, []byte(nil), uint8(7), 1, int64(1), int64(9), uint8(1))
	f.Add(uint8(Completions), `{"logprobs":1,"max_tokens":7,"model":"m","prompt":["a","b"]}`, []byte(nil), uint8(7), 1, int64(1), int64(1), uint8(1))
	f.Add(uint8(Messages), "", []byte{0, 165, 0, 1, 2, 166, 163, 1, 8, 15, 4, 163, 1, 6, 4, 4, 0, 165, 0, 0, 2, 200, 7}, uint8(7), 1, int64(1), int64(9), uint8(1))
	f.Fuzz(func(t *testing.T, surface uint8, body string, program []byte, flags uint8, turns int, input, output int64, effort uint8) {
		s := Surface(surface % 6)
		if body == "" {
			body = grown(s, program)
		}
		if _, err := Parse(s, []byte(body)); err != nil {
			t.Skip()
		}
		edits := Edits{MaxTurns: turns, MaxInput: input, MaxOutput: output, Images: flags&1 != 0, Thinking: flags&2 != 0}
		if flags&4 != 0 {
			edits.Drop = []string{DropLogprobs}
		}
		if int(effort) < len(efforts) {
			edits.Effort = efforts[effort]
		}
		out := edited(t, s, body, edits)
		if most := len(body) + 120 + 50*bytes.Count([]byte(body), []byte("{")); len(out) > most {
			t.Errorf("%d bytes became %d: %s", len(body), len(out), out)
		}
		if again := edited(t, s, out, edits); again != out && len(again) > len(out) {
			t.Errorf("longer when edited again: %s\n%s", out, again)
		}
	})
}

// TestEditOfAnything is the same over many programs, as a fuzzer finds few.
func TestEditOfAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	program := make([]byte, 200)
	for range 4000 {
		s := Surface(rng.IntN(6))
		for i := range program {
			program[i] = byte(rng.Uint32())
		}
		edits := Edits{
			MaxTurns: rng.IntN(4), MaxInput: int64(rng.IntN(3) * rng.IntN(500)), MaxOutput: int64(rng.IntN(3000)), Images: rng.IntN(2) == 0, Thinking: rng.IntN(2) == 0,
			Drop: []string{DropLogprobs}, Effort: efforts[rng.IntN(len(efforts))],
		}
		body := grown(s, program[:rng.IntN(len(program)-20)+20])
		if _, err := Parse(s, []byte(body)); err == nil {
			edited(t, s, body, edits)
		} else if !strings.Contains(err.Message, "duplicate") && s != Completions {
			t.Fatalf("%v: %s", err, body)
		}
	}
}
