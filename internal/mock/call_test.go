package mock

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseCall(t *testing.T) {
	for _, test := range []struct {
		name, body string
		route      route
		check      func(call) bool
		err        string
	}{
		{"tokens are a quarter of the bytes", `{"model":"m","messages":[{"role":"user","content":"12345678"},{"role":"user","content":[{"type":"text","text":"北京"},{"type":"image_url"}]}]}`,
			chat, func(c call) bool { return c.inputTokens == 4 }, ""},
		{"null content (B146)", `{"model":"m","messages":[{"role":"assistant","content":null}]}`, chat, func(c call) bool { return c.inputTokens == 1 }, ""},
		{"both limits (B150)", `{"model":"m","max_tokens":10,"max_completion_tokens":999,"messages":[]}`, chat, func(c call) bool { return c.maxTokens == 999 }, ""},
		{"both limits, other order", `{"model":"m","max_completion_tokens":999,"max_tokens":10,"messages":[]}`, chat, func(c call) bool { return c.maxTokens == 999 }, ""},
		{"null limit", `{"model":"m","max_tokens":null,"n":null,"messages":[]}`, chat, func(c call) bool { return c.maxTokens == 0 && c.choices == 1 }, ""},
		{"unknown fields (B149)", `{"model":"m","x_vendor":{"a":[1,2]},"messages":[]}`, chat, func(call) bool { return true }, ""},
		{"prompts are choices", `{"model":"m","prompt":["a","b"],"n":2}`, completions, func(c call) bool { return c.choices == 4 }, ""},
		{"embeddings do not stream", `{"model":"m","input":"a","stream":true}`, embeddings, func(c call) bool { return !c.stream }, ""},
		{"no model", `{"messages":[]}`, chat, nil, "model is missing"},
		{"no messages", `{"model":"m"}`, chat, nil, "messages is missing"},
		{"no input", `{"model":"m"}`, embeddings, nil, "input is missing"},
		{"not an object", `[]`, chat, nil, "not a JSON object"},
		{"not JSON", `{"model":`, chat, nil, "not valid JSON"},
		{"too many choices", `{"model":"m","n":129,"messages":[]}`, chat, nil, "n is 129: 1 to 128"},
		{"negative limit", `{"model":"m","max_tokens":-1,"messages":[]}`, chat, nil, "max tokens is -1"},
		{"dimensions", `{"model":"m","input":"a","dimensions":9999}`, embeddings, nil, "dimensions is 9999: 1 to 4096"},
		{"top logprobs", `{"model":"m","top_logprobs":21,"messages":[]}`, chat, nil, "top logprobs is 21: 0 to 20"},
	} {
		c, err := parseCall(endpoint{route: test.route}, []byte(test.body))
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", test.name, err, test.err)
			}
		case err != nil || !test.check(c):
			t.Errorf("%s: %+v, %v", test.name, c, err)
		}
	}
}

func FuzzParseCall(f *testing.F) {
	f.Add([]byte(plainAsk), uint8(0))
	f.Add([]byte(`{"model":"m","prompt":["a",[1,2],3],"logprobs":3}`), uint8(1))
	f.Add([]byte(`{"model":"m\u0000\"","input":[[1],"x"],"encoding_format":"base64"}`), uint8(2))
	f.Add([]byte(`{"model":"m",`+tool+`"tool_choice":"required","messages":[]}`), uint8(0))
	f.Add([]byte(`{"model":"m","max_tokens":9,"system":[{"text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"call:f {}"}]}],"tools":[{"name":"f"}]}`), uint8(3))
	f.Add([]byte(`{"model":"m","input":[{"role":"user","content":"x"}],"tools":[{"type":"function","name":"f"}],"tool_choice":"required"}`), uint8(4))
	f.Add([]byte(`{"contents":[{"parts":[{"text":"call:f"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}}]}]}`), uint8(5))
	f.Fuzz(func(t *testing.T, body []byte, r uint8) {
		at := endpoint{route: route(r % 6)}
		if at.route == generate {
			at.model, at.dialect = "m", google
		}
		c, err := parseCall(at, body)
		if err != nil {
			return
		}
		if c.choices > 4*maxChoices || c.dimensions*c.inputs > 1<<16 {
			return // allowed, but slow to fuzz
		}
		j := newJob(1, 1)
		j.plan(Settings{OutputMean: 5}.withDefaults(), c)
		work := appendWork(nil, 0, 0)
		if whole := (&answer{call: c, job: j}).form().whole(nil, start, work); !json.Valid(whole) {
			t.Fatalf("not JSON: %s", whole)
		}
		if c.route == embeddings {
			return
		}
		p := &tape{header: map[string][]string{}}
		out, form := newOutput(p, injection{}, at), (&answer{call: c, job: j}).form()
		for _, err := range []error{form.begin(out), form.delta(out, 0, 0, j.outs[0]), form.end(out, 0, work)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, event := range p.events() {
			if event != "[DONE]" && !json.Valid([]byte(event)) {
				t.Fatalf("not JSON: %s", event)
			}
		}
	})
}
