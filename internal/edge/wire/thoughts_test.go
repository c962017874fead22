package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// foreign are signatures as answers of other providers have them.
func foreign(signature []byte) bool {
	return len(signature) == 0 || bytes.HasPrefix(signature, []byte("other:"))
}

func TestSettleThoughts(t *testing.T) {
	const (
		on      = `"thinking": {"type":"enabled","budget_tokens":2048}`
		off     = `"thinking": {"type":"disabled"}`
		user    = `{"role":"user","content":"hi"}`
		own     = `{"type":"thinking","thinking":"o","signature":"abc"}`
		none    = `{"type":"thinking","thinking":"n","signature": ""}`
		other   = `{"signature":"other:1","type":"thinking","thinking":"f"}`
		text    = `{"type":"text","text":"x"}`
		use     = `{"type":"tool_use","id":"a","name":"f","input":{"signature":""}}`
		results = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
		note    = `{"type":"text","text":"[thinking left out]"}`
	)
	said := func(blocks ...string) string {
		return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
	}
	talk := func(head string, messages ...string) string {
		return `{"model":"m",` + head + `,"messages":[` + strings.Join(messages, ",") + `]}`
	}
	for _, c := range []struct{ name, body, want string }{
		{"its own thoughts stay", talk(on, user, said(own, text), user), ""},
		{"those without a signature go", talk(on, user, said(none, text), user, said(own, text), user), talk(on, user, said(text), user, said(own, text), user)},
		{"those of another provider go", talk(on, user, said(other, own, none, text), user), talk(on, user, said(own, text), user)},
		{"what another provider hides goes", talk(on, user, said(`{"type":"redacted_thinking","data":"other:1"}`, `{"type":"redacted_thinking","data":"abc"}`, text), user),
			talk(on, user, said(`{"type":"redacted_thinking","data":"abc"}`, text), user)},
		{"a note stands for a message of thoughts alone", talk(on, user, said(none, other), user), talk(on, user, said(note), user)},
		{"another's calls wait for results", talk(on, user, said(none, use), results), talk(off, user, said(use), results)},
		{"so do calls without thoughts", talk(on, user, said(text, use), results), talk(off, user, said(text, use), results)},
		{"what clears thoughts goes with them",
			talk(on+`,"context_management":{"edits":[{"type":"clear_thinking_20251015"},{"type":"other"}]}`, user, said(use), results),
			talk(off+`,"context_management":{"edits":[{"type":"other"}]}`, user, said(use), results)},
		{"the next turn thinks again", talk(on, user, said(use), results, said(text), user), ""},
		{"calls with thoughts wait", talk(on, user, said(own, use), results), ""},
		{"nobody is to think", talk(off, user, said(use), results), ""},
		{"a signature in the arguments of a call is none", talk(on, user, said(own, use), results, said(own, text), user), ""},
	} {
		if c.want == "" {
			c.want = c.body
		}
		if got := SettleThoughts([]byte(c.body), foreign); string(got) != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestSettleReasoning(t *testing.T) {
	talk := func(sealed string) string {
		return `{"model":"m","input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[],"encrypted_content": "` + sealed + `"},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]},{"role":"user","content":"c"}]}`
	}
	foreign := func(s []byte) bool { return bytes.HasPrefix(s, []byte("other:")) }
	if got := SettleReasoning([]byte(talk("own")), foreign); string(got) != talk("own") {
		t.Errorf("%s", got)
	}
	got := SettleReasoning([]byte(talk("other:1")), foreign)
	if !json.Valid(got) || bytes.Contains(got, []byte("reasoning")) || !bytes.Contains(got, []byte(`"b"`)) {
		t.Errorf("%s", got)
	}
}

// What was settled is JSON, and stays as it is when it is settled again.
func FuzzSettleThoughts(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"assistant","content":[{"type":"thinking","signature":""},{"type":"text"}]}],"thinking":{"type":"enabled","budget_tokens":1024}}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","content":[{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result"}]}],"thinking":{"type":"enabled","budget_tokens":1024}}`))
	f.Add([]byte(`{"messages":"x","signature" : "other:"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return // Parse has refused it
		}
		got := SettleThoughts(body, foreign)
		if !json.Valid(got) {
			t.Fatalf("%s became %s", body, got)
		}
		if again := SettleThoughts(got, foreign); !bytes.Equal(again, got) {
			t.Fatalf("%s, then %s", got, again)
		}
	})
}

func BenchmarkSettleThoughts(b *testing.B) {
	const thought = `{"type":"thinking","thinking":"t","signature":"abc"},`
	turn := `{"role":"user","content":"` + strings.Repeat("When does the office open? ", 100) + `"},{"role":"assistant","content":[` + thought + `{"type":"text","text":"x"}]},`
	head, last := `{"model":"m","thinking":{"type":"enabled","budget_tokens":2048},"messages":[`, `{"role":"user","content":"hi"}]}`
	for name, body := range map[string]string{
		"own":     head + strings.Repeat(turn, 100) + last,
		"none":    `{"model":"m","messages":[` + strings.Repeat(strings.Replace(turn, thought, "", 1), 100) + last,
		"foreign": head + strings.Repeat(strings.Replace(turn, "abc", "", 1), 100) + last,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			data := []byte(body)
			for b.Loop() {
				SettleThoughts(data, foreign)
			}
		})
	}
}
