package answers

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// data is a stream of chat or completions, with the mark of its end.
func data(chunks ...string) string {
	var b strings.Builder
	for _, c := range append(chunks, "[DONE]") {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

// named is a stream of events that are named as their type.
func named(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		o, _ := object([]byte(e))
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", o.Get("type").Str, e)
	}
	return b.String()
}

const (
	role  = `{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null}`
	word  = `{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"hi \"finish_reason\":\"length\" \\n\\ndata: x"},"finish_reason":null}]}`
	stop  = `{"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usage = `{"id":"c","model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`

	start      = `{"type":"message_start","message":{"id":"g","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1}}}`
	blockStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	blockDelta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`
	blockStop  = `{"type":"content_block_stop","index":0}`
	turnEnds   = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`
	messageEnd = `{"type":"message_stop"}`

	created   = `{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}`
	delta     = `{"type":"response.output_text.delta","delta":"hi"}`
	response  = `{"id":"r","object":"response","status":"completed","error":null,"incomplete_details":null,"output":[{"type":"reasoning","summary":[]},{"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}]}`
	completed = `{"type":"response.completed","response":` + response + `}`

	chatWhole    = `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null,"tool_calls":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{}}`
	messageWhole = `{"type":"message","id":"g","content":[{"type":"thinking","thinking":"so","signature":"x"},{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`
)

// put is s with another piece instead of one that must be there.
func put(s, old, other string) string {
	if !strings.Contains(s, old) {
		panic(old + " is not in " + s)
	}
	return strings.Replace(s, old, other, 1)
}

func TestRecorderKeepsWholes(t *testing.T) {
	for _, tt := range []struct {
		name, surface, body string
		want                bool
	}{
		{"chat", "chat.completions", chatWhole, true},
		{"two choices", "chat.completions", put(chatWhole, `"choices":[`, `"choices":[{"index":1,"message":{"content":"ho"},"finish_reason":"stop"},`), true},
		{"the model's thoughts", "chat.completions", put(chatWhole, `"refusal":null`, `"reasoning_content":"so"`), true},
		{"one of two was cut", "chat.completions", put(chatWhole, `"choices":[`, `"choices":[{"index":1,"message":{"content":"ho"},"finish_reason":"length"},`), false},
		{"cut by length", "chat.completions", put(chatWhole, `"stop"`, `"length"`), false},
		{"filtered", "chat.completions", put(chatWhole, `"stop"`, `"content_filter"`), false},
		{"calls", "chat.completions", put(chatWhole, `"stop"`, `"tool_calls"`), false},
		{"calls that end in stop", "chat.completions", put(chatWhole, `"tool_calls":[]`, `"tool_calls":[{"id":"t"}]`), false},
		{"an old call", "chat.completions", put(chatWhole, `"tool_calls":[]`, `"function_call":{"name":"f"}`), false},
		{"a refusal", "chat.completions", put(chatWhole, `"refusal":null`, `"refusal":"no"`), false},
		{"sound", "chat.completions", put(chatWhole, `"refusal":null`, `"audio":{"id":"a"}`), false},
		{"what nobody knows", "chat.completions", put(chatWhole, `"refusal":null`, `"errands":[1]`), false},
		{"content in parts", "chat.completions", put(chatWhole, `"hi"`, `[{"type":"errand"}]`), false},
		{"no reason", "chat.completions", put(chatWhole, `"stop"`, `null`), false},
		{"no text", "chat.completions", put(chatWhole, `"hi"`, `""`), false},
		{"no choices", "chat.completions", `{"choices":[]}`, false},
		{"an error", "chat.completions", `{"error":{"message":"x"}}`, false},
		{"an error beside", "chat.completions", put(chatWhole, `"id"`, `"error":{"message":"x"},"id"`), false},
		{"object error", "chat.completions", put(chatWhole, `chat.completion`, `error`), false},
		{"a reason twice", "chat.completions", put(chatWhole, `"finish_reason":"stop"`, `"finish_reason":"stop","finish_reason":"length"`), false},
		{"half", "chat.completions", chatWhole[:len(chatWhole)-1], false},
		{"nothing", "chat.completions", "", false},
		{"an array", "chat.completions", "[" + chatWhole + "]", false},

		{"completion", "completions", `{"choices":[{"text":"hi","finish_reason":"stop"}]}`, true},
		{"completion, cut", "completions", `{"choices":[{"text":"hi","finish_reason":"length"}]}`, false},
		{"chat on completions", "completions", chatWhole, false},
		{"embedding", "embeddings", `{"object":"list","data":[{"index":0,"embedding":[0.1]},{"index":1,"embedding":"AAAA"}]}`, true},
		{"an empty embedding", "embeddings", `{"object":"list","data":[{"index":0,"embedding":[0.1]},{"index":1,"embedding":[]}]}`, false},
		{"no embedding", "embeddings", `{"object":"list","data":[]}`, false},

		{"message", "messages", messageWhole, true},
		{"stop sequence", "messages", put(messageWhole, "end_turn", "stop_sequence"), true},
		{"message, cut", "messages", put(messageWhole, "end_turn", "max_tokens"), false},
		{"message, refused", "messages", put(messageWhole, "end_turn", "refusal"), false},
		{"message, paused", "messages", put(messageWhole, "end_turn", "pause_turn"), false},
		{"message with a tool", "messages", put(messageWhole, `{"type":"text"`, `{"type":"tool_use","id":"t"},{"type":"text"`), false},
		{"message of thoughts", "messages", put(messageWhole, `,{"type":"text","text":"hi"}`, ``), false},
		{"message error", "messages", `{"type":"error","error":{"type":"overloaded_error"}}`, false},

		{"response", "responses", response, true},
		{"response, incomplete", "responses", put(response, `"status":"completed"`, `"status":"incomplete"`), false},
		{"response, queued", "responses", put(response, `"status":"completed"`, `"status":"queued"`), false},
		{"response with details", "responses", put(response, `"incomplete_details":null`, `"incomplete_details":{"reason":"max_output_tokens"}`), false},
		{"response with a message cut", "responses", put(response, `"message","status":"completed"`, `"message","status":"incomplete"`), false},
		{"response with a call", "responses", put(response, `{"type":"reasoning"`, `{"type":"function_call","name":"f"},{"type":"reasoning"`), false},
		{"response with a search", "responses", put(response, `{"type":"reasoning"`, `{"type":"web_search_call"},{"type":"reasoning"`), false},
		{"response, refused", "responses", put(response, `"type":"output_text"`, `"type":"refusal"`), false},
		{"response, failed", "responses", put(response, `"error":null`, `"error":{"code":"server_error"}`), false},
		{"response without output", "responses", `{"status":"completed","output":[]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			r := NewRecorder(tt.surface, 0)
			r.Whole(body)
			a, ok := r.Answer(t0)
			if ok != tt.want {
				t.Fatalf("kept: %v", ok)
			}
			if !ok {
				return
			}
			clear(body) // it was the relay's
			if string(a.Body) != tt.body || a.Stream() || a.ContentType != "application/json" || !a.Stored.Equal(t0) {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestRecorderKeepsStreams(t *testing.T) {
	second := put(put(word, `"index":0`, `"index":1`), "hi", "ho")
	for _, tt := range []struct {
		name, surface, stream string
		events                int // kept; 0: it is not
	}{
		{"chat", "chat.completions", data(role, word, word, stop), 5},
		{"chat with usage", "chat.completions", data(role, word, stop, usage), 5},
		{"two choices", "chat.completions", data(word, second, put(stop, `"index":0`, `"index":1`), stop), 5},
		{"text and reason in one", "chat.completions", data(put(word, `"finish_reason":null`, `"finish_reason":"stop"`)), 2},
		{"with ids", "chat.completions", "id: 1\n" + data(word, stop), 3},
		{"data in two lines", "chat.completions", data(put(word, `"choices"`, "\ndata: \"choices\""), stop), 3},
		{"completions", "completions", data(`{"choices":[{"index":0,"text":"hi","finish_reason":null}]}`, `{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`), 3},
		{"messages", "messages", named(start, blockStart, blockDelta, blockStop, turnEnds, messageEnd), 6},
		{"responses", "responses", named(created, delta, completed), 3},
		{"responses with a mark", "responses", named(created, delta, completed) + "data: [DONE]\n\n", 4},

		{"no mark", "chat.completions", strings.TrimSuffix(data(word, stop), "data: [DONE]\n\n"), 0},
		{"no reason", "chat.completions", data(role, word), 0},
		{"no text", "chat.completions", data(role, stop), 0},
		{"one choice of two goes on", "chat.completions", data(word, second, stop), 0},
		{"cut by length", "chat.completions", data(word, put(stop, `"stop"`, `"length"`)), 0},
		{"one of two cut", "chat.completions", data(word, second, stop, put(put(stop, `"index":0`, `"index":1`), `"stop"`, `"length"`)), 0},
		{"filtered", "chat.completions", data(word, put(stop, `"stop"`, `"content_filter"`)), 0},
		{"a call", "chat.completions", data(word, put(word, `"content":"hi`, `"tool_calls":[{"index":0}],"content":"hi`), stop), 0},
		{"content in parts", "chat.completions", data(word, put(role, `"content":""`, `"content":[{"type":"errand"}]`), stop), 0},
		{"a refusal", "chat.completions", data(word, put(role, `"refusal":null`, `"refusal":"n"`), stop), 0},
		{"an error", "chat.completions", data(word, `{"error":{"message":"x"}}`, stop), 0},
		{"an error with a name", "chat.completions", put(data(word, stop), "data: {", "event: error\ndata: {"), 0},
		{"more after the mark", "chat.completions", data(word, stop) + data(word, stop), 0},
		{"no JSON", "chat.completions", data(word, `{"choices":`, stop), 0},
		{"no choices", "chat.completions", data(word, `{}`, stop), 0},
		{"an event without its end", "chat.completions", strings.TrimSuffix(data(word, stop), "\n"), 0},
		{"half a line", "chat.completions", strings.TrimSuffix(data(word, stop), "\n\n"), 0},
		{"half a comment", "chat.completions", data(word, stop) + ": k", 0},
		{"CR", "chat.completions", strings.ReplaceAll(data(word, stop), "\n", "\r\n"), 0},
		{"one CR", "chat.completions", put(data(word, stop), "\n\n", "\r\n\n"), 0},
		{"no data", "chat.completions", "id: 1\n\n" + data(word, stop), 0},
		{"retry", "chat.completions", "retry: 1\n" + data(word, stop), 0},
		{"nothing", "chat.completions", "", 0},
		{"only comments", "chat.completions", ": k\n: k\n", 0},

		{"messages without an end", "messages", named(start, blockStart, blockDelta, blockStop, turnEnds), 0},
		{"messages without a reason", "messages", named(start, blockStart, blockDelta, blockStop, messageEnd), 0},
		{"messages without a beginning", "messages", named(blockStart, blockDelta, blockStop, turnEnds, messageEnd), 0},
		{"messages without text", "messages", named(start, turnEnds, messageEnd), 0},
		{"messages that begin twice", "messages", named(start, start, blockStart, blockDelta, blockStop, turnEnds, messageEnd), 0},
		{"messages, cut", "messages", named(start, blockStart, blockDelta, blockStop, put(turnEnds, "end_turn", "max_tokens"), messageEnd), 0},
		{"messages, refused", "messages", named(start, blockStart, blockDelta, blockStop, put(turnEnds, "end_turn", "refusal"), messageEnd), 0},
		{"messages with a tool", "messages", named(start, blockStart, blockDelta, put(blockStart, `"text","text":""`, `"tool_use"`), turnEnds, messageEnd), 0},
		{"messages with input of a tool", "messages", named(start, blockStart, blockDelta, put(blockDelta, "text_delta", "input_json_delta"), turnEnds, messageEnd), 0},
		{"messages with an error", "messages", named(start, blockStart, blockDelta, `{"type":"error","error":{}}`, turnEnds, messageEnd), 0},
		{"messages with an event that nobody knows", "messages", named(start, blockStart, blockDelta, `{"type":"errand"}`, turnEnds, messageEnd), 0},
		{"messages with two reasons", "messages", named(start, blockStart, blockDelta, blockStop, put(turnEnds, "end_turn", "max_tokens"), turnEnds, messageEnd), 0},
		{"messages without names", "messages", strings.TrimSuffix(data(start, blockStart, blockDelta, blockStop, turnEnds, messageEnd), "data: [DONE]\n\n"), 0},
		{"messages with another name", "messages", put(named(start, blockStart, blockDelta, blockStop, turnEnds, messageEnd), "event: message_stop", "event: stop"), 0},

		{"responses without an end", "responses", named(created, delta), 0},
		{"responses, incomplete", "responses", named(created, delta, put(completed, "response.completed", "response.incomplete")), 0},
		{"responses, failed", "responses", named(created, delta, `{"type":"response.failed","response":{}}`), 0},
		{"responses with a call", "responses", named(created, delta, put(completed, `{"type":"reasoning"`, `{"type":"function_call"},{"type":"reasoning"`)), 0},
		{"responses with an error", "responses", named(created, `{"type":"error","message":"x"}`, completed), 0},
		{"responses that go on", "responses", named(created, completed, delta), 0},
		{"responses without the answer", "responses", named(created, delta, `{"type":"response.completed"}`), 0},
		{"responses with only a mark", "responses", named(created, delta) + "data: [DONE]\n\n", 0},

		{"embeddings are no stream", "embeddings", data(word, stop), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, step := range []int{1 << 20, 7, 1} { // as whole events, and as bytes come
				r := NewRecorder(tt.surface, 0)
				for part := range slicesOf(tt.stream, step) {
					if n, err := r.Write([]byte(part)); n != len(part) || err != nil {
						t.Fatal(n, err)
					}
				}
				a, ok := r.Answer(t0)
				if ok != (tt.events > 0) {
					t.Fatalf("in steps of %d, kept: %v", step, ok)
				}
				if !ok {
					continue
				}
				if len(a.Ends) != tt.events || !a.Stream() || a.ContentType != "text/event-stream; charset=utf-8" || !a.Stored.Equal(t0) {
					t.Errorf("%d events, %q", len(a.Ends), a.ContentType)
				}
				w := &wire{left: 9}
				if err := a.Replay(w, w.flush); err != nil || w.String() != tt.stream {
					t.Errorf("%v:\n got %q\nwant %q", err, w.String(), tt.stream)
				}
			}
		})
	}
}

// slicesOf cuts s into pieces of n bytes.
func slicesOf(s string, n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(s) > n && yield(s[:n]) {
			s = s[n:]
		}
		if len(s) <= n {
			yield(s)
		}
	}
}

// Signs of life between events are not given again: they told of a wait that is
// over.
func TestRecorderLeavesOutSignsOfLife(t *testing.T) {
	const ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	for _, tt := range []struct{ surface, stream, want string }{
		{"chat.completions", ": k\n: k\n" + put(data(word, stop), "\n\ndata", "\n\n: k\ndata") + ": k\n", data(word, stop)},
		{"messages", ping + put(named(start, blockStart, blockDelta, blockStop, turnEnds, messageEnd), "event: content", ping+": k\nevent: content") + ping,
			named(start, blockStart, blockDelta, blockStop, turnEnds, messageEnd)},
	} {
		r := NewRecorder(tt.surface, 0)
		r.Write([]byte(tt.stream))
		a, ok := r.Answer(t0)
		if !ok || string(a.Body) != tt.want || int(a.Ends[len(a.Ends)-1]) != len(a.Body) {
			t.Errorf("%s: %v, %+v", tt.surface, ok, a)
		}
	}
}

func TestRecorderGivesUp(t *testing.T) {
	stream := data(word, stop)
	r := NewRecorder("chat.completions", len(stream))
	r.Write([]byte(stream))
	if _, ok := r.Answer(t0); !ok {
		t.Error("an answer of the bound is not kept")
	}
	if _, ok := r.Answer(t0); ok {
		t.Error("an answer is given out twice")
	}

	r = NewRecorder("chat.completions", len(stream)-1)
	r.Write([]byte(stream[:20]))
	r.Write([]byte(stream[20:]))
	if r.body != nil {
		t.Error("it holds what it will not keep")
	}
	r.Write([]byte(stream[:20])) // there would be room again
	if _, ok := r.Answer(t0); ok || r.body != nil {
		t.Error("it goes on in the midst")
	}

	for name, do := range map[string]func(r *Recorder){
		"too large":          func(r *Recorder) { r.Whole(append(make([]byte, DefaultMost), chatWhole...)) },
		"two wholes":         func(r *Recorder) { r.Whole([]byte(chatWhole)); r.Whole([]byte(chatWhole)) },
		"a whole, then more": func(r *Recorder) { r.Whole([]byte(chatWhole)); r.Write([]byte(" ")) },
		"a whole in between": func(r *Recorder) { r.Write([]byte(stream)); r.Whole([]byte(chatWhole)) },
		"nothing":            func(*Recorder) {},
	} {
		r := NewRecorder("chat.completions", 0)
		do(r)
		if _, ok := r.Answer(t0); ok {
			t.Errorf("%s: kept", name)
		}
	}
}

// A relay need not ask whether its caller wants to have the answer kept.
func TestNoRecorder(t *testing.T) {
	r := NewRecorder("messages.count_tokens", 0)
	if r != nil {
		t.Fatal("records what has no answer")
	}
	r.Whole([]byte(chatWhole))
	if n, err := r.Write([]byte("x")); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, ok := r.Answer(t0); ok {
		t.Error("kept")
	}
}

// Whatever the bytes: what is kept is a part of them, is cut into whole events,
// and recorded again it is kept as it is.
func FuzzRecorder(f *testing.F) {
	for surface, stream := range map[string]string{
		"chat.completions": ": k\n" + data(role, word, stop, usage),
		"completions":      data(`{"choices":[{"index":0,"text":"hi","finish_reason":"stop"}]}`),
		"messages":         named(start, blockStart, blockDelta, blockStop, turnEnds, messageEnd),
		"responses":        named(created, delta, completed) + "data: [DONE]\n\n",
	} {
		f.Add(surface, []byte(stream), false)
	}
	f.Add("chat.completions", []byte(chatWhole), true)
	f.Add("messages", []byte(messageWhole), true)
	f.Add("responses", []byte(response), true)
	f.Fuzz(func(t *testing.T, surface string, body []byte, whole bool) {
		record := func(body []byte) (*Answer, bool) {
			r := NewRecorder(surface, 0)
			if whole {
				r.Whole(body)
			} else {
				r.Write(body)
			}
			return r.Answer(t0)
		}
		was := bytes.Clone(body)
		a, ok := record(body)
		if !bytes.Equal(was, body) {
			t.Fatal("the relay's bytes were changed")
		}
		if !ok {
			return
		}
		at := 0
		for _, end := range a.Ends {
			e := a.Body[at:end]
			if !bytes.Contains(body, e) || !bytes.HasSuffix(e, []byte("\n\n")) || bytes.Count(e, []byte("\n\n")) != 1 {
				t.Fatalf("%q is no event of %q", e, body)
			}
			at = int(end)
		}
		if a.Stream() == whole || a.Stream() && at != len(a.Body) {
			t.Fatalf("%v bytes of %v in events", at, len(a.Body))
		}
		if b, ok := record(a.Body); !ok || !bytes.Equal(a.Body, b.Body) {
			t.Fatalf("not again: %q", a.Body)
		}
	})
}

// long is a stream of chat of n words.
func long(n int) string {
	chunks := []string{role}
	for i := range n {
		chunks = append(chunks, put(word, "hi", fmt.Sprint("word", i)))
	}
	return data(append(chunks, stop, usage)...)
}

// BenchmarkRecorder is all that a stream of 500 events costs, and what of it is
// at its end.
func BenchmarkRecorder(b *testing.B) {
	stream := long(500)
	events := strings.SplitAfter(stream, "\n\n")
	parts := make([][]byte, len(events))
	for i, e := range events {
		parts[i] = []byte(e)
	}
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := NewRecorder("chat.completions", 0)
			for _, p := range parts {
				r.Write(p)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(stream)))
		for b.Loop() {
			r := NewRecorder("chat.completions", 0)
			for _, p := range parts {
				r.Write(p)
			}
			if _, ok := r.Answer(t0); !ok {
				b.Fatal("not kept")
			}
		}
	})
}

func BenchmarkReplay(b *testing.B) {
	r := NewRecorder("chat.completions", 0)
	r.Write([]byte(long(500)))
	a, ok := r.Answer(t0)
	if !ok {
		b.Fatal("not kept")
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(a.Body)))
	w := new(bytes.Buffer)
	for b.Loop() {
		w.Reset()
		a.Replay(w, func() error { return nil })
	}
}
