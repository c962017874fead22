package wire

import "testing"

func TestForward(t *testing.T) {
	ask := ForwardOptions{AskUsage: true}
	tests := []struct {
		name, body, model string
		o                 ForwardOptions
		want              string // "" = the same bytes
	}{
		{"nothing to change", `{ "model" : "m", "messages":[{}], "t":1e-7 }`, "m", ask, ""},
		{"no model given", `{"model":"m","messages":[{}]}`, "", ForwardOptions{}, ""},
		{"B149 only the model changes", `{"x_vendor":{"a":[1,2],"model":"m"},  "model" :  "m" ,"enable_thinking":false,"seed":9007199254740993,"t":1e-7,"messages":[{"content":"\u0041"}]}`, `big-1`, ForwardOptions{},
			`{"x_vendor":{"a":[1,2],"model":"m"},  "model" :  "big-1" ,"enable_thinking":false,"seed":9007199254740993,"t":1e-7,"messages":[{"content":"\u0041"}]}`},
		{"B146 nulls stay", `{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{}]}],"stop":null}`, "n", ForwardOptions{},
			`{"model":"n","messages":[{"role":"assistant","content":null,"tool_calls":[{}]}],"stop":null}`},
		{"escaped name", `{"\u006dodel":"\u006d","messages":[{}]}`, "n", ForwardOptions{}, `{"\u006dodel":"n","messages":[{}]}`},
		{"model needs quoting", `{"model":"m","messages":[{}]}`, `a"b\é`, ForwardOptions{}, `{"model":"a\"b\\é","messages":[{}]}`},
		{"B027 not streamed", `{"model":"m","messages":[{}]}`, "m", ask, ""},
		{"B027 stream false", `{"stream":false,"model":"m","messages":[{}]}`, "m", ask, ""},
		{"B028 not to be asked", `{"stream":true,"model":"m","messages":[{}]}`, "m", ForwardOptions{}, ""},
		{"asked by the caller", `{"stream":true,"stream_options":{"include_usage":true},"model":"m","messages":[{}]}`, "m", ask, ""},
		{"B025 ask", ` {"stream":true,"model":"m","messages":[{}]}`, "m", ask,
			` {"stream_options":{"include_usage":true},"stream":true,"model":"m","messages":[{}]}`},
		{"ask, other options", `{"model":"m","messages":[{}],"stream":true,"stream_options": { "include_obfuscation":false}}`, "longer", ask,
			`{"model":"longer","messages":[{}],"stream":true,"stream_options": {"include_usage":true, "include_obfuscation":false}}`},
		{"ask, no options", `{"stream_options":{ },"model":"m","messages":[{}],"stream":true}`, "n", ask,
			`{"stream_options":{"include_usage":true },"model":"n","messages":[{}],"stream":true}`},
		{"ask, options null", `{"stream_options":null,"model":"m","messages":[{}],"stream":true}`, "n", ask,
			`{"stream_options":{"include_usage":true},"model":"n","messages":[{}],"stream":true}`},
		{"ask, declined", `{"stream_options":{"include_usage" : false},"model":"m","messages":[{}],"stream":true}`, "m", ask,
			`{"stream_options":{"include_usage" : true},"model":"m","messages":[{}],"stream":true}`},
		{"ask, null", `{"stream_options":{"include_usage":null,"a":1},"model":"m","messages":[{}],"stream":true}`, "m", ask,
			`{"stream_options":{"include_usage":true,"a":1},"model":"m","messages":[{}],"stream":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			e, perr := Parse(ChatCompletions, body)
			if perr != nil {
				t.Fatal(perr)
			}
			got, err := ChatCompletions.Forward(body, e, tt.model, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if &got[0] != &body[0] || string(got) != tt.body {
					t.Errorf("got %s, want the caller's own bytes", got)
				}
				return
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestForwardForeignEnvelope(t *testing.T) {
	e, perr := Parse(ChatCompletions, []byte(`{"messages":[{"content":"long enough"}],"model":"m"}`))
	if perr != nil {
		t.Fatal(perr)
	}
	if _, err := ChatCompletions.Forward([]byte(`{"model":"m"}`), e, "n", ForwardOptions{}); err == nil {
		t.Error("an envelope of another body was taken")
	}
	if _, err := ChatCompletions.Forward([]byte(`{"model":"m"}`), Envelope{}, "n", ForwardOptions{}); err == nil {
		t.Error("an empty envelope was taken")
	}
}
