package dialect

import (
	"reflect"
	"slices"
	"testing"
)

// A reader that knows the form of a chunk reads the next as one does that has to
// parse it: each pair of these, in both orders.
func TestSameForm(t *testing.T) {
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
