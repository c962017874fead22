package wire

import (
	"testing"
)

// edited makes the edits and checks what holds of any: the result parses, costs
// what Cost had said, and is the body itself if nothing changes.
func edited(t testing.TB, s Surface, body string, edits Edits) string {
	t.Helper()
	e, perr := Parse(s, []byte(body))
	if perr != nil {
		t.Fatalf("parse: %v", perr)
	}
	o, err := s.Outline([]byte(body), &e)
	if err != nil {
		t.Fatal(err)
	}
	var have Features
	weigh := func(f *Features) int64 { have = *f; return f.Tokens() }
	cost, changes := o.Cost(edits, weigh)
	counted := have
	out, err := s.Edit([]byte(body), o, edits, weigh)
	if err != nil {
		t.Fatal(err)
	}
	after, perr := Parse(s, out)
	if perr != nil {
		t.Fatalf("edited as %s: %v", out, perr)
	}
	if after.Features != counted || after.Input != cost {
		t.Fatalf("cost %d, but the edited body has %d:\n%v\n%v\n%s\n%s", cost, after.Input, counted, after.Features, body, out)
	}
	if most := o.MaxOutput(edits); after.MaxOutput != most || after.Choices != e.Choices || after.Model != e.Model || after.Stream != e.Stream {
		t.Fatalf("MaxOutput %d, but the edited body says %+v: %s", most, after, out)
	}
	if changes == (string(out) == body) {
		t.Fatalf("changes is %t, but %s became %s", changes, body, out)
	}
	return string(out)
}

func TestEditSettings(t *testing.T) {
	const chat = `{"model":"m","messages":[{"role":"user","content":"hi"}]`
	const messages = `{"model":"m","messages":[{"role":"user","content":"hi"}]`
	const responses = `{"model":"m","input":"hi"`
	logprobs := Edits{Drop: []string{"logprobs"}}
	for _, tt := range []struct {
		name    string
		surface Surface
		edits   Edits
		body    string
		want    string // "" is unchanged
	}{
		{"logprobs in front", ChatCompletions, logprobs, `{"logprobs":true,"top_logprobs":5,"model":"m","messages":[{}]}`, `{"model":"m","messages":[{}]}`},
		{"logprobs at the end", ChatCompletions, logprobs, `{"model":"m","messages":[{}] , "logprobs":true, "top_logprobs":5 }`, `{"model":"m","messages":[{}] }`},
		{"logprobs apart", ChatCompletions, logprobs, `{"logprobs":true,"model":"m","top_logprobs":5,"messages":[{}],"n":2}`, `{"model":"m","messages":[{}],"n":2}`},
		{"no logprobs", ChatCompletions, logprobs, chat + `,"logprobs":false,"top_logprobs":null}`, ""},
		{"a name not of the list", ChatCompletions, Edits{Drop: []string{"n", "tools"}}, chat + `,"n":2,"tools":[{"type":"function"}]}`, ""},
		{"logprobs of responses", Responses, logprobs, responses + `,"include":["reasoning.encrypted_content","message.output_text.logprobs"],"top_logprobs":2}`, responses + `,"include":["reasoning.encrypted_content"]}`},
		{"alone", Responses, logprobs, responses + `,"include":["message.output_text.logprobs"]}`, responses + `,"include":[]}`},
		{"others", Responses, logprobs, responses + `,"include":["reasoning.encrypted_content"]}`, ""},
		{"logprobs of completions", Completions, logprobs, `{"model":"m","prompt":"x","logprobs":3}`, `{"model":"m","prompt":"x"}`},
		{"of a prompt, which is all it asks for", Completions, logprobs, `{"model":"m","prompt":"x","logprobs":3,"echo":true}`, ""},
		{"embeddings have none", Embeddings, Edits{Drop: []string{"logprobs"}, MaxOutput: 5, Effort: "low", MaxTurns: 1, MaxInput: 1, Images: true, Thinking: true}, `{"model":"m","input":["a","b"]}`, ""},

		{"lower", ChatCompletions, Edits{MaxOutput: 100}, chat + `,"max_completion_tokens":1e3}`, chat + `,"max_completion_tokens":100}`},
		{"lower by its old name", ChatCompletions, Edits{MaxOutput: 100}, chat + `,"max_tokens":1000}`, chat + `,"max_tokens":100}`},
		{"both", ChatCompletions, Edits{MaxOutput: 100}, chat + `,"max_completion_tokens":1000,"max_tokens":2000}`, chat + `,"max_completion_tokens":100,"max_tokens":100}`},
		{"low already", ChatCompletions, Edits{MaxOutput: 100}, chat + `,"max_completion_tokens":100,"max_tokens":2000}`, ""},
		{"none", ChatCompletions, Edits{MaxOutput: 100}, chat + `}`, `{"max_completion_tokens":100,` + chat[1:] + `}`},
		{"null", ChatCompletions, Edits{MaxOutput: 100}, chat + `,"max_tokens":null}`, chat + `,"max_tokens":100}`},
		{"no limit, as some servers spell it", ChatCompletions, Edits{MaxOutput: 100}, chat + `,"max_tokens":-1}`, chat + `,"max_tokens":100}`},
		{"of responses", Responses, Edits{MaxOutput: 100}, responses + `}`, `{"max_output_tokens":100,` + responses[1:] + `}`},
		{"no less than it accepts", Responses, Edits{MaxOutput: 1}, responses + `,"max_output_tokens":99}`, responses + `,"max_output_tokens":16}`},
		{"completions, where none is few", Completions, Edits{MaxOutput: 100}, `{"model":"m","prompt":"x"}`, ""},
		{"completions", Completions, Edits{MaxOutput: 100}, `{"model":"m","prompt":"x","max_tokens":200}`, `{"model":"m","prompt":"x","max_tokens":100}`},
		{"messages", Messages, Edits{MaxOutput: 100}, messages + `,"max_tokens":4000}`, messages + `,"max_tokens":100}`},
		{"a budget below it", Messages, Edits{MaxOutput: 3000}, messages + `,"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":32000}}`, messages + `,"max_tokens":3000,"thinking":{"type":"enabled","budget_tokens":1500}}`},
		{"a budget that is low", Messages, Edits{MaxOutput: 3000}, messages + `,"thinking":{"budget_tokens":1024,"type":"enabled"},"max_tokens":64000}`, messages + `,"thinking":{"budget_tokens":1024,"type":"enabled"},"max_tokens":3000}`},
		{"no room for a budget", Messages, Edits{MaxOutput: 1024}, messages + `,"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":32000}}`, messages + `,"max_tokens":1024,"thinking":{"type":"disabled"}}`},
		{"thinking without a budget", Messages, Edits{MaxOutput: 1024}, messages + `,"max_tokens":64000,"thinking":{"type":"adaptive"}}`, messages + `,"max_tokens":1024,"thinking":{"type":"adaptive"}}`},

		{"effort", ChatCompletions, Edits{Effort: "low"}, chat + `,"reasoning_effort":"high"}`, chat + `,"reasoning_effort":"low"}`},
		{"less effort", ChatCompletions, Edits{Effort: "low"}, chat + `,"reasoning_effort":"minimal"}`, ""},
		{"another's word", ChatCompletions, Edits{Effort: "low"}, chat + `,"reasoning_effort":"default"}`, ""},
		{"not a reasoning model, maybe", ChatCompletions, Edits{Effort: "low"}, chat + `}`, ""},
		{"of responses", Responses, Edits{Effort: "none"}, responses + `,"reasoning":{"summary":"auto","effort":"xhigh"}}`, responses + `,"reasoning":{"summary":"auto","effort":"none"}}`},
		{"a budget", Messages, Edits{Effort: "low"}, messages + `,"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":32000}}`, messages + `,"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":4096}}`},
		{"a lower budget", Messages, Edits{Effort: "high"}, messages + `,"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":2000}}`, ""},
		{"no thinking", Messages, Edits{Effort: "none"}, messages + `,"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":2000},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"},{"type":"clear_tool_uses_20250919"}]}}`,
			messages + `,"max_tokens":64000,"thinking":{"type":"disabled"},"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}`},
		{"an effort in messages", Messages, Edits{Effort: "minimal"}, messages + `,"max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`, messages + `,"max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}`},
		{"which is high if not said", Messages, Edits{Effort: "medium"}, messages + `,"max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"format":{}}}`, messages + `,"max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"medium","format":{}}}`},
		{"at all", Messages, Edits{Effort: "none"}, messages + `,"max_tokens":64000,"thinking":{"type":"adaptive"}}`, `{"output_config":{"effort":"low"},` + messages[1:] + `,"max_tokens":64000,"thinking":{"type":"adaptive"}}`},
		{"without thinking there is none", Messages, Edits{Effort: "none"}, messages + `,"max_tokens":64000,"thinking":{"type":"disabled"}}`, ""},
		{"members with other spellings and values stay", ChatCompletions, Edits{MaxOutput: 5, Effort: "low"}, `{"x":1.50,"model":"m","y":"\u00e9","messages":[{}],"max_tokens":9,"z":null}`, `{"x":1.50,"model":"m","y":"\u00e9","messages":[{}],"max_tokens":5,"z":null}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.body
			}
			if got := edited(t, tt.surface, tt.body, tt.edits); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
