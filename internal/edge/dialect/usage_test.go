package dialect

import (
	"bytes"
	"testing"
)

// The same split of tokens is the same usage, whatever a dialect counts in or
// out.
func TestUsageIsOne(t *testing.T) { // B104
	want := Usage{Known: true, Input: 1000, Cached: 800, CacheWrite: 100, Output: 50, Reasoning: 30}
	for name, tt := range map[string]struct {
		d    Dialect
		body string
	}{
		"chat":      {Chat(), `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,"prompt_tokens_details":{"cached_tokens":800,"cache_write_tokens":100},"completion_tokens_details":{"reasoning_tokens":30}}}`},
		"messages":  {Messages(), `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":100,"cache_read_input_tokens":800,"cache_creation_input_tokens":100,"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}}}`},
		"responses": {Responses(), `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[]}]}],"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":800,"cache_write_tokens":100},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":30},"total_tokens":1050}}`},
		"gemini":    {Gemini(), `{"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":800,"candidatesTokenCount":20,"thoughtsTokenCount":30,"totalTokenCount":1050}}`},
	} {
		a, err := tt.d.ReadAnswer([]byte(tt.body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := want
		if name == "gemini" {
			want.CacheWrite = 0 // it has no word for it
		}
		if a.Usage != want {
			t.Errorf("%s: %+v, want %+v", name, a.Usage, want)
		}
		// What a caller of the same dialect is told is the same again.
		body, err := tt.d.WriteAnswer(a)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := tt.d.ReadAnswer(body)
		if err != nil || again.Usage != want {
			t.Errorf("%s: written as %s", name, body)
		}
	}
}

// A stream tells its usage in parts, and the caller of another dialect hears the
// same sums in its own words.
func TestUsageOfStreams(t *testing.T) {
	events := []Event{
		{Kind: Begin, ID: "a", Model: "m"}, {Kind: BlockBegin, Block: Text}, {Kind: Delta, Text: []byte("x")}, {Kind: BlockEnd},
		{Kind: Finish, Stop: StopEnd},
		{Kind: Used, Usage: Usage{Known: true, Input: 1000, Cached: 800, CacheWrite: 100, Output: 50, Reasoning: 30}},
		{Kind: End},
	}
	for _, from := range allDialects {
		provider := from.d.NewWriter(WriterOptions{Model: "m", Usage: true})
		var stream []byte
		for _, e := range events {
			stream = provider.Write(stream, &e)
		}
		for _, to := range allDialects {
			caller := to.d.NewWriter(WriterOptions{Model: "m", Usage: true})
			var written []byte
			usedOf(t, from.d, stream, func(e *Event) { written = caller.Write(written, e) })
			want := events[5].Usage
			if from.name == "gemini" || to.name == "gemini" {
				want.CacheWrite = 0 // it has no word for it
			}
			if got := usedOf(t, to.d, written, func(*Event) {}); got != want {
				t.Errorf("%s to %s: %+v, want %+v", from.name, to.name, got, want)
			}
		}
	}
}

// usedOf reads a stream, passes its events on, and returns the last usage.
func usedOf(t *testing.T, d Dialect, stream []byte, on func(*Event)) (used Usage) {
	r := d.NewReader()
	for event := range bytes.SplitSeq(bytes.TrimSpace(stream), []byte("\n\n")) {
		name, data, named := bytes.Cut(event, []byte("\n"))
		if !named {
			name, data = nil, event
		}
		data, _ = bytes.CutPrefix(data, []byte("data: "))
		events, err := r.Read(bytes.TrimPrefix(name, []byte("event: ")), data)
		if err != nil {
			t.Fatalf("%s: %v", event, err)
		}
		for _, e := range events {
			if e.Usage.Known {
				used = e.Usage
			}
			on(&e)
		}
	}
	return used
}
