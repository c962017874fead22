package dialect

import (
	"reflect"
	"slices"
	"testing"
)

// A reader that knows the form of a chunk reads the next as one does that has to
// parse it: each pair of these, in both orders.
func TestChatSameForm(t *testing.T) {
	const open = `{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`
	chunks := []string{
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":" b \"q\"\n\\"},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"\u00fc \ud83d\ude00"},"finish_reason":null}],"usage":null}`,
		"{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff 🙂\"},\"finish_reason\":null}],\"usage\":null}",
		"{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\tb\"},\"finish_reason\":null}],\"usage\":null}",
		`{"id":"c","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a\"},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a\x"},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a","refusal":"no"},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"usage":null},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		`{"id":"c","choices":[{"index":0,"delta":{"reasoning_content":"a"},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"id":"i","function":{"name":"f"}}]},"finish_reason":null}],"usage":null}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":null`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"usage":null,"obfuscation":"xyz"}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"bc"},"finish_reason":null}],"usage":null,"obfuscation":""}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"d"},"finish_reason":null}],"usage":null,"obfuscation":"x\"}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"d"},"finish_reason":null}],"usage":null,"obfuscation":"x","error":{"message":"m"}}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"d"},"finish_reason":null}],"usage":null,"obfuscation":"x","error":"m"}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"d"},"finish_reason":null}],"usage":null,"obfuscation":"x"`,
		`{"error":{"message":"m"},"choices":[]}`,
	}
	read := func(r *chatReader, chunk string) (events []Event, failed bool) {
		es, err := r.Read(nil, []byte(chunk))
		for _, e := range es {
			e.Text = slices.Clone(e.Text)
			events = append(events, e)
		}
		return events, err != nil
	}
	for _, first := range chunks {
		for _, second := range chunks {
			knows, parses := newChatReader(), newChatReader()
			for _, r := range []*chatReader{knows, parses} {
				read(r, open)
				read(r, first)
			}
			parses.form.forget()
			got, failed := read(knows, second)
			want, fails := read(parses, second)
			if failed != fails || !reflect.DeepEqual(got, want) || knows.Finished() != parses.Finished() {
				t.Errorf("%s\nbehind %s\ngot  %+v %v\nwant %+v %v", second, first, got, failed, want, fails)
			}
		}
	}
}

// The same of messages, whose blocks may have ended between.
func TestMessagesSameForm(t *testing.T) {
	start := func(at, block string) string {
		return `{"type":"content_block_start","index":` + at + `,"content_block":` + block + `}`
	}
	delta := func(at, delta string) string {
		return `{"type":"content_block_delta","index":` + at + `,"delta":` + delta + `}`
	}
	opening := []string{
		`{"type":"message_start","message":{"id":"i","model":"m"}}`, start("0", `{"type":"text","text":""}`),
		start("1", `{"type":"tool_use","id":"t","name":"f","input":{"a":1}}`), start("2", `{"type":"unheard_of"}`),
	}
	chunks := []string{
		delta("0", `{"type":"text_delta","text":"a"}`), delta("0", `{"type":"text_delta","text":"b\n\"q\""}`), delta("0", `{"type":"text_delta","text":""}`),
		delta("1", `{"type":"text_delta","text":"a"}`), delta("1", `{"type":"input_json_delta","partial_json":"{\"a\":"}`), delta("1", `{"type":"input_json_delta","partial_json":"1}"}`),
		delta("2", `{"type":"text_delta","text":"a"}`), delta("3", `{"type":"text_delta","text":"a"}`), delta("0", `{"type":"signature_delta","signature":"s"}`),
		delta("0", `{"type":"text_delta","text":"\u00fc"}`), delta("0", `{"type":"text_delta","text":"a\x"}`), delta("0", `{"type":"text_delta","text":"a"`),
		`{"type":"content_block_stop","index":0}`, `{"index":0,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`,
	}
	read := func(r *messagesReader, chunk string) (events []Event, failed bool) {
		es, err := r.Read(nil, []byte(chunk))
		for _, e := range es {
			e.Text = slices.Clone(e.Text)
			events = append(events, e)
		}
		return events, err != nil
	}
	for _, first := range chunks {
		for _, second := range chunks {
			for _, third := range chunks {
				knows, parses := new(messagesReader), new(messagesReader)
				for _, chunk := range append(slices.Clone(opening), first, second, third) {
					parses.form.forget()
					got, failed := read(knows, chunk)
					want, fails := read(parses, chunk)
					if failed != fails || !reflect.DeepEqual(got, want) || knows.Finished() != parses.Finished() {
						t.Fatalf("%s in %s, %s, %s\ngot  %+v %v\nwant %+v %v", chunk, first, second, third, got, failed, want, fails)
					}
				}
			}
		}
	}
}
