package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name    string
		surface Surface
		body    string
		want    Envelope // Input is compared only where it is set
	}{
		{"plain", ChatCompletions, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			Envelope{Model: "m", Choices: 1}},
		{"stream with usage", ChatCompletions, `{"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true},"model":"m","messages":[{}]}`,
			Envelope{Model: "m", Stream: true, IncludeUsage: true, Choices: 1}},
		{"B147 null is not said", ChatCompletions, `{"model":"m","messages":[{"role":"assistant","tool_calls":null}],"tools":null,"stream":null,"stream_options":null,"n":null,"max_tokens":null,"user":null}`,
			Envelope{Model: "m", Choices: 1}},
		{"B150 newer limit wins", ChatCompletions, `{"max_completion_tokens":10,"max_tokens":999,"model":"m","messages":[{}]}`,
			Envelope{Model: "m", MaxOutput: 10, Choices: 1}},
		{"B150 newer limit alone", ChatCompletions, `{"max_completion_tokens":10,"model":"m","messages":[{}]}`,
			Envelope{Model: "m", MaxOutput: 10, Choices: 1}},
		{"n multiplies", ChatCompletions, `{"n":3,"max_tokens":1e2,"model":"m","messages":[{}]}`,
			Envelope{Model: "m", MaxOutput: 300, Choices: 3}},
		{"best_of is for completions", ChatCompletions, `{"best_of":5,"max_tokens":10,"model":"m","messages":[{}]}`,
			Envelope{Model: "m", MaxOutput: 10, Choices: 1}},
		{"huge limit", ChatCompletions, `{"n":9223372036854775807,"max_tokens":99999999999999999999,"model":"m","messages":[{}]}`,
			Envelope{Model: "m", MaxOutput: maxCount, Choices: maxCount}},
		{"no limit, as some servers spell it", ChatCompletions, `{"max_tokens":-1,"model":"m","messages":[{}]}`,
			Envelope{Model: "m", Choices: 1}},
		{"labels", ChatCompletions, `{"model":"m","messages":[{}],"service_tier":"flex","user":"u\u00e9","prompt_cache_key":"k"}`,
			Envelope{Model: "m", Choices: 1, ServiceTier: "flex", User: "ué", CacheKey: "k"}},
		{"escaped names and values", ChatCompletions, `{"\u006dodel":"a\/b","mess\u0061ges":[{}],"str\u0065am":true}`,
			Envelope{Model: "a/b", Stream: true, Choices: 1}},
		{"unknown members", ChatCompletions, `{"model":"m","enable_thinking":false,"x_vendor":{"model":"other","stream":true},"messages":[{}]}`,
			Envelope{Model: "m", Choices: 1}},
		{"completion", Completions, `{"model":"m","prompt":"x","n":2,"best_of":4,"max_tokens":10,"max_completion_tokens":1}`,
			Envelope{Model: "m", MaxOutput: 40, Choices: 4, Input: 1}},
		{"completion of several prompts", Completions, `{"model":"m","prompt":["a", "b" , "c"],"n":2,"max_tokens":10}`,
			Envelope{Model: "m", MaxOutput: 60, Choices: 6}},
		{"completion of tokens", Completions, `{"model":"m","prompt":[1,2,3,4]}`,
			Envelope{Model: "m", Choices: 1, Input: 4}},
		{"completion of several token lists", Completions, `{"model":"m","prompt":[[1,2],[3]]}`,
			Envelope{Model: "m", Choices: 2, Input: 3}},
		{"embedding", Embeddings, `{"model":"m","input":["a"],"stream":false,"n":4}`,
			Envelope{Model: "m", Choices: 1, Input: 1}},
		{"embedding of token lists", Embeddings, `{"model":"m","input":[[1,2,3],[4,5]]}`,
			Envelope{Model: "m", Choices: 1, Input: 5}},
		{"empty input still counts", Embeddings, `{"model":"m","input":""}`,
			Envelope{Model: "m", Choices: 1, Input: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.surface, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got.Input < 1 {
				t.Errorf("Input = %d, want at least 1", got.Input)
			}
			if tt.want.Input == 0 {
				tt.want.Input = got.Input
			}
			blank := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if p := string(got.Prompt([]byte(tt.body))); !json.Valid([]byte(p)) || !strings.Contains(blank(tt.body), `":`+blank(p)) {
				t.Errorf("Prompt = %q", p)
			}
			got.open, got.modelAt, got.promptAt, got.optionsAt, got.includesAt = 0, span{}, span{}, span{}, span{}
			tt.want.Features = got.Features
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	const rest = `,"messages":[{}]}`
	tests := []struct {
		name    string
		surface Surface
		body    string
		param   string
		says    string
	}{
		{"empty", ChatCompletions, ``, "", "not valid JSON"},
		{"blank", ChatCompletions, " \n", "", "not valid JSON"},
		{"array", ChatCompletions, `[]`, "", "must be a JSON object"},
		{"string", ChatCompletions, `"x"`, "", "must be a JSON object"},
		{"stray brace", ChatCompletions, `}`, "", "not valid JSON"},
		{"byte order mark", ChatCompletions, "\uFEFF" + `{"model":"m"` + rest, "", "not valid JSON"},
		{"cut", ChatCompletions, `{"model":"m","messages":[{"content":"x`, "messages.0.content", "in messages.0.content at byte 3"},
		{"trailing data", ChatCompletions, `{"model":"m"` + rest + ` {}`, "", "goes on"},
		{"trailing garbage", ChatCompletions, `{"model":"m"` + rest + `x`, "", "goes on"},
		{"trailing comma", ChatCompletions, `{"model":"m","messages":[{}],}`, "", "not valid JSON"},
		{"single quotes", ChatCompletions, `{'model':'m'}`, "", "at byte 1"},
		{"number as name", ChatCompletions, `{1:2}`, "", "not valid JSON"},
		{"bad UTF-8", ChatCompletions, `{"model":"m","messages":[{"content":"` + "\xff" + `"}]}`, "messages.0.content", "UTF-8"},
		{"bad UTF-8 in the model", ChatCompletions, `{"model":"` + "\xc0\xaf" + `"` + rest, "model", "UTF-8"},
		{"half a surrogate", ChatCompletions, `{"model":"\ud800"` + rest, "model", "surrogate"},
		{"duplicate model", ChatCompletions, `{"model":"cheap","model":"dear"` + rest, "model", "duplicate"},
		{"duplicate model, escaped", ChatCompletions, `{"model":"cheap","\u006dodel":"dear"` + rest, "model", "duplicate"},
		{"duplicate unknown", ChatCompletions, `{"model":"m","x":1,"x":2` + rest, "x", "duplicate"},
		{"duplicate inside", ChatCompletions, `{"model":"m","messages":[{"content":"a","content":"b"}]}`, "messages.0.content", "duplicate"},
		{"case of model", ChatCompletions, `{"Model":"m"` + rest, "model", `"Model"`},
		{"case of stream", ChatCompletions, `{"model":"m","STREAM":true` + rest, "stream", `"STREAM"`},
		{"case, escaped", ChatCompletions, `{"model":"m","\u004dodel":"x"` + rest, "model", `"Model"`},
		{"case, long s", ChatCompletions, `{"model":"m","\u017ftream":true` + rest, "stream", "case-sensitive"},
		{"case, Kelvin sign", ChatCompletions, `{"model":"m","max_to` + "\u212a" + `ens":1` + rest, "max_tokens", "case-sensitive"},
		{"case in stream_options", ChatCompletions, `{"model":"m","stream_options":{"Include_Usage":true}` + rest, "stream_options.include_usage", "case-sensitive"},
		{"model number", ChatCompletions, `{"model":1` + rest, "model", "string"},
		{"model empty", ChatCompletions, `{"model":""` + rest, "model", "provide"},
		{"model null", ChatCompletions, `{"model":null` + rest, "model", "provide"},
		{"model missing", ChatCompletions, `{"messages":[{}]}`, "model", "provide"},
		{"messages missing", ChatCompletions, `{"model":"m"}`, "messages", "provide"},
		{"messages string", ChatCompletions, `{"model":"m","messages":"hi"}`, "messages", "array"},
		{"messages empty", ChatCompletions, `{"model":"m","messages":[ ]}`, "messages", "empty"},
		{"prompt missing", Completions, `{"model":"m","messages":[{}]}`, "prompt", "provide"},
		{"prompt object", Completions, `{"model":"m","prompt":{}}`, "prompt", "string or an array"},
		{"input missing", Embeddings, `{"model":"m"}`, "input", "provide"},
		{"input null", Embeddings, `{"model":"m","input":null}`, "input", "provide"},
		{"streamed embedding", Embeddings, `{"model":"m","input":"x","stream":true}`, "stream", "streamed"},
		{"stream as text", ChatCompletions, `{"model":"m","stream":"true"` + rest, "stream", "true or false"},
		{"stream as number", ChatCompletions, `{"model":"m","stream":1` + rest, "stream", "true or false"},
		{"options as array", ChatCompletions, `{"model":"m","stream_options":[]` + rest, "stream_options", "object"},
		{"include_usage as text", ChatCompletions, `{"model":"m","stream_options":{"include_usage":"yes"}` + rest, "stream_options.include_usage", "true or false"},
		{"limit as text", ChatCompletions, `{"model":"m","max_tokens":"10"` + rest, "max_tokens", "integer"},
		{"limit with a fraction", ChatCompletions, `{"model":"m","max_tokens":1.5` + rest, "max_tokens", "integer"},
		{"limit out of range", ChatCompletions, `{"model":"m","max_tokens":1e999` + rest, "max_tokens", "integer"},
		{"n zero", ChatCompletions, `{"model":"m","n":0` + rest, "n", "at least 1"},
		{"n negative", ChatCompletions, `{"model":"m","n":-1` + rest, "n", "at least 1"},
		{"user number", ChatCompletions, `{"model":"m","user":7` + rest, "user", "string"},
		{"too deep", ChatCompletions, `{"model":"m","messages":[{}],"x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`, "", "deeper than 128"},
		{"far too deep", ChatCompletions, `{"model":"m","messages":` + strings.Repeat("[", 20000), "", "not valid JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := Parse(tt.surface, []byte(tt.body))
			if err == nil {
				t.Fatalf("accepted as %+v", e)
			}
			if err.Status != 400 || err.Type != "invalid_request_error" {
				t.Errorf("status and type = %d %s, want 400 invalid_request_error", err.Status, err.Type)
			}
			if tt.param != "" && err.Param != tt.param {
				t.Errorf("param = %q, want %q (%s)", err.Param, tt.param, err.Message)
			}
			if !strings.Contains(err.Message, tt.says) {
				t.Errorf("message = %q, want it to say %q", err.Message, tt.says)
			}
			if len(err.Param) > 100 || len(err.Message) > 500 {
				t.Errorf("error is unbounded: %d bytes of param, %d of message", len(err.Param), len(err.Message))
			}
		})
	}
}

func TestParseDepth(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(`{"model":"m","messages":[{"content":"[[{{\"{{[["}],"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`)
	}
	if _, err := Parse(ChatCompletions, nested(maxDepth-1)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := Parse(ChatCompletions, nested(maxDepth)); err == nil {
		t.Error("one above the limit was accepted")
	}
}

// What Parse decides on must be what a lenient decoder sees in the forwarded body:
// encoding/json takes the last of duplicates and matches names in any case.
func FuzzParseForward(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		`{"model":"m","stream":true,"messages":[{}],"stream_options":{"include_usage":false}}`,
		`{"model":"m","model":"x","messages":[{}]}`,
		`{"\u006dodel":"m","Model":"x","messages":[{}]}`,
		`{"stream":true,"messages":[{}],"stream_options": { } , "model":"\u006d"}`,
		`{"stream":true,"messages":[{}],"stream_options":null,"model":"m","n":2,"max_tokens":1e3}`,
		`{"model":"m","prompt":[1,2],"input":[[1],[2]],"messages":[{}],"stream":null}`,
	} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, ask bool) {
		for _, s := range []Surface{ChatCompletions, Completions, Embeddings} {
			before := string(body)
			e, perr := Parse(s, body)
			if perr != nil {
				continue
			}
			same, err := s.Forward(body, e, e.Model, ForwardOptions{})
			if err != nil || string(same) != before {
				t.Fatalf("nothing to change, but forwarded %q of %q, error %v", same, before, err)
			}
			out, err := s.Forward(body, e, "up/stream", ForwardOptions{AskUsage: ask})
			if err != nil {
				t.Fatal(err)
			}
			if string(body) != before {
				t.Fatal("Forward wrote into the caller's body")
			}
			for _, c := range []struct {
				body  []byte
				model string
				usage bool
			}{{body, e.Model, e.IncludeUsage}, {out, "up/stream", e.IncludeUsage || ask && e.Stream}} {
				var seen struct {
					Model         string `json:"model"`
					Stream        bool   `json:"stream"`
					StreamOptions struct {
						IncludeUsage bool `json:"include_usage"`
					} `json:"stream_options"`
				}
				if err := json.Unmarshal(c.body, &seen); err != nil {
					t.Fatalf("forwarded body %q: %v", c.body, err)
				}
				if seen.Model != c.model || seen.Stream != e.Stream || seen.StreamOptions.IncludeUsage != c.usage {
					t.Fatalf("upstream sees %+v of %q, the envelope says %+v", seen, c.body, e)
				}
			}
			if e.Input < 1 || e.Choices < 1 || e.MaxOutput < 0 || e.MaxOutput > maxCount {
				t.Fatalf("counts out of range: %+v", e)
			}
		}
	})
}

func TestParseEndUser(t *testing.T) {
	const rest = `"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}]`
	for _, x := range []struct {
		surface Surface
		member  string
		want    string
	}{
		{ChatCompletions, `"user":"u"`, "u"},
		{ChatCompletions, `"safety_identifier":"s"`, "s"},
		{ChatCompletions, `"safety_identifier":"s","user":"u"`, "u"},
		{ChatCompletions, `"user":"u","safety_identifier":"s"`, "u"},
		{ChatCompletions, `"metadata":{"user_id":"m"}`, ""},
		{ChatCompletions, `"user":null`, ""},
		{Messages, `"metadata":{"user_id":"\u006d"}`, "m"},
		{Messages, `"metadata":{"user_id":null}`, ""},
		{Messages, `"metadata":null`, ""},
		{Messages, `"metadata":[1]`, ""},
	} {
		e, err := Parse(x.surface, []byte("{"+x.member+","+rest+"}"))
		if err != nil || e.User != x.want {
			t.Errorf("%v %s: %q (%v), want %q", x.surface, x.member, e.User, err, x.want)
		}
	}
}
