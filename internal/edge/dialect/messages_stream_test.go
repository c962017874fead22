package dialect

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// messagesEvents reads a stream as the API sends it and gives its meaning, one
// event a line.
func messagesEvents(t testing.TB, stream string) (got []string, r Reader) {
	t.Helper()
	r = Messages().NewReader()
	for name, data := range messagesFrames(stream) {
		events, err := r.Read([]byte(name), []byte(data))
		if err != nil {
			return append(got, "error "+err.Error()), r
		}
		for i := range events {
			got = append(got, messagesLine(&events[i]))
		}
	}
	return got, r
}

// messagesFrames cuts a stream into the names and the data of its events.
func messagesFrames(stream string) func(func(name, data string) bool) {
	return func(yield func(name, data string) bool) {
		for frame := range strings.SplitSeq(stream, "\n\n") {
			name, data := "", ""
			for line := range strings.SplitSeq(frame, "\n") {
				if s, ok := strings.CutPrefix(line, "event: "); ok {
					name = s
				} else if s, ok := strings.CutPrefix(line, "data: "); ok {
					data = s
				}
			}
			if data != "" && !yield(name, data) {
				return
			}
		}
	}
}

func messagesLine(e *Event) string {
	switch e.Kind {
	case Begin:
		return fmt.Sprintf("begin %s %s %v", e.ID, e.Model, e.Usage)
	case BlockBegin:
		return strings.TrimSpace(fmt.Sprintf("block %d %d %s %s %s", e.Index, e.Block, e.ID, e.Name, e.Data))
	case Delta:
		return fmt.Sprintf("delta %d %q", e.Index, e.Text)
	case Sign:
		return fmt.Sprintf("sign %d %q", e.Index, e.Text)
	case BlockEnd:
		return fmt.Sprintf("end %d", e.Index)
	case Finish:
		return strings.TrimSpace(fmt.Sprintf("finish %d %s", e.Stop, e.Sequence))
	case Used:
		return fmt.Sprintf("used %v", e.Usage)
	case Fault:
		return fmt.Sprintf("fault %s %s", e.Code, e.Text)
	case Ping:
		return "ping"
	}
	return "over"
}

// messagesStream has one of everything that the API sends.
const messagesStream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1}}}

event: ping
data: {"type": "ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h\nm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"d"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I \u00fc"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"t","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":15,"output_tokens_details":{"thinking_tokens":4}}}

event: message_stop
data: {"type":"message_stop"}

`

func TestMessagesReadStream(t *testing.T) {
	const start = `data: {"type":"message_start","message":{"id":"msg_1","model":"m"}}` + "\n\n"
	const begin = "begin msg_1 m {false 0 0 0 0 0}"
	block := func(i int, b string) string {
		return fmt.Sprintf(`data: {"type":"content_block_start","index":%d,"content_block":%s}`+"\n\n", i, b)
	}
	delta := func(i int, d string) string {
		return fmt.Sprintf(`data: {"type":"content_block_delta","index":%d,"delta":%s}`+"\n\n", i, d)
	}
	end := func(i int) string { return fmt.Sprintf(`data: {"type":"content_block_stop","index":%d}`+"\n\n", i) }
	const text, stop = `{"type":"text","text":""}`, `data: {"type":"message_stop"}` + "\n\n"

	for _, tt := range []struct {
		name, stream string
		want         []string
		finished     bool
	}{
		{"one of everything", messagesStream, []string{
			"begin msg_1 m {true 123 100 20 1 0}", "ping",
			"block 0 5", `delta 0 "h\nm"`, `sign 0 "s=="`, "end 0",
			"block 1 6   d", "end 1",
			"block 2 0", `delta 2 "I ü"`, "end 2",
			"block 3 3 toolu_1 t", `delta 3 "{\"a\":"`, `delta 3 "1}"`, "end 3",
			"finish 4", "used {true 123 100 20 15 4}", "over",
		}, true},
		{"a stop sequence, and usage that replaces", start + `data: {"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":7}}` + "\n\n" + stop,
			[]string{begin, "finish 2 END", "used {true 7 2 0 7 0}", "over"}, true},
		{"usage before the end", start + `data: {"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":7}}` + "\n\n", []string{begin, "used {true 0 0 0 7 0}"}, false},
		{"no reason to stop, and a block that is open", start + block(0, text) + stop, []string{begin, "block 0 0", "end 0", "finish 0", "over"}, true},
		{"a block that ends after the reason to stop", start + block(0, text) + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + end(0) + stop, []string{begin, "block 0 0", "end 0", "finish 1", "over"}, true},
		{"names alone", "event: message_start\ndata: {\"message\":{\"id\":\"msg_1\",\"model\":\"m\"}}\n\nevent: message_stop\ndata: {}\n\n", []string{begin, "finish 0", "over"}, true},
		{"unknown events, deltas and citations", start + `data: {"type":"new"}` + "\n\n" + `event: other` + "\ndata: {}\n\n" + block(0, text) +
			delta(0, `{"type":"citations_delta","citation":{}}`) + delta(0, `{"type":"new_delta"}`) + delta(0, `{"type":"text_delta","text":""}`) + delta(0, `{"type":"text_delta","text":"a"}`) + end(0),
			[]string{begin, "block 0 0", `delta 0 "a"`, "end 0"}, false},
		{"blocks of server tools are left out, and indices have no gap", start + block(0, `{"type":"server_tool_use","id":"a","name":"web_search","input":{}}`) + delta(0, `{"type":"input_json_delta","partial_json":"{"}`) + end(0) + block(1, text) + end(1),
			[]string{begin, "block 0 0", "end 0"}, false},
		{"what comes with the beginning of a block", start + block(0, `{"type":"text","text":"a"}`) + end(0) + block(1, `{"type":"thinking","thinking":"b","signature":"s"}`) + end(1) + block(2, `{"type":"tool_use","id":"i","name":"t","input":{"a":1}}`) + end(2),
			[]string{begin, "block 0 0", `delta 0 "a"`, "end 0", "block 1 5", `delta 1 "b"`, `sign 1 "s"`, "end 1", "block 2 3 i t", `delta 2 "{\"a\":1}"`, "end 2"}, false},
		{"the same beside deltas counts once", start + block(0, `{"type":"tool_use","id":"i","name":"t","input":{"a":1}}`) + delta(0, `{"type":"input_json_delta","partial_json":"{\"a\":1}"}`) + end(0),
			[]string{begin, "block 0 3 i t", `delta 0 "{\"a\":1}"`, "end 0"}, false},
		{"blocks open together", start + block(0, text) + block(1, text) + delta(1, `{"type":"text_delta","text":"b"}`) + delta(0, `{"type":"text_delta","text":"a"}`) + end(0) + end(1),
			[]string{begin, "block 0 0", "block 1 0", `delta 1 "b"`, `delta 0 "a"`, "end 0", "end 1"}, false},
		{"a failure", start + "event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n" + stop, []string{begin, "fault overloaded Overloaded"}, false},
		{"a failure before all", `data: {"type":"error","error":{"type":"rate_limit_error","message":"slow"}}` + "\n\n", []string{"fault rate_limit slow"}, false},
		{"a failure of another kind", `data: {"type":"error","error":{"type":"request_too_large"}}` + "\n\n", []string{"fault invalid_request "}, false},
		{"a failure in another shape", start + `data: {"error":{"message":"bad gateway"}}` + "\n\n", []string{begin, "fault server_error bad gateway"}, false},
		{"nothing follows the end", start + stop + start + stop, []string{begin, "finish 0", "over"}, true},

		{"no JSON", start + "data: {\n\n", []string{begin, "error the event is not a JSON object"}, false},
		{"no object", start + "data: [DONE]\n\n" + stop, []string{begin, "error the event is not a JSON object"}, false},
		{"a second start", start + start, []string{begin, "error a second message starts in the stream"}, false},
		{"a block before the start", block(0, text), []string{"error a block starts outside of the message"}, false},
		{"a block twice", start + block(0, text) + block(0, text), []string{begin, "block 0 0", "error index: block 0 is open already"}, false},
		{"a delta of no block", start + delta(0, `{"type":"text_delta","text":"a"}`), []string{begin, "error index: no block 0 is open"}, false},
		{"a delta without an index", start + `data: {"type":"content_block_delta","delta":{}}` + "\n\n", []string{begin, "error index: the event has none"}, false},
		{"a delta without text", start + block(0, text) + delta(0, `{"type":"text_delta","text":1}`), []string{begin, "block 0 0", "error delta: the event has no text in it"}, false},
		{"no delta", start + block(0, text) + delta(0, `1`), []string{begin, "block 0 0", "error delta: the event has none"}, false},
		{"an end of no block", start + end(7), []string{begin, "error index: no block 7 is open"}, false},
		{"the end before the start", stop, []string{"error the message stops before its start"}, false},
		{"a reason before the start", `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n", []string{"error the message goes on before its start"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, r := messagesEvents(t, tt.stream)
			if !reflect.DeepEqual(got, tt.want) || r.Finished() != tt.finished {
				t.Errorf("finished %v\ngot  %q\nwant %q", r.Finished(), got, tt.want)
			}
		})
	}
}

func TestMessagesReadStreamMostOpen(t *testing.T) {
	r := Messages().NewReader()
	if _, err := r.Read(nil, []byte(`{"type":"message_start","message":{}}`)); err != nil {
		t.Fatal(err)
	}
	for i := range messagesMostOpen + 1 {
		_, err := r.Read(nil, fmt.Appendf(nil, `{"type":"content_block_start","index":%d,"content_block":{"type":"new"}}`, i))
		if (err != nil) != (i == messagesMostOpen) {
			t.Fatalf("block %d: %v", i, err)
		}
	}
}

func messagesWritten(o WriterOptions, events ...Event) string {
	w := Messages().NewWriter(o)
	var dst []byte
	for i := range events {
		dst = w.Write(dst, &events[i])
	}
	return string(dst)
}

// What the API sends goes through the neutral form and comes out the same, up to
// usage, which is told in full at the end.
func TestMessagesStreamRoundTrip(t *testing.T) {
	r, w := Messages().NewReader(), Messages().NewWriter(WriterOptions{Model: "alias", ID: "msg_2"})
	var got []byte
	for name, data := range messagesFrames(messagesStream) {
		events, err := r.Read([]byte(name), []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			got = w.Write(got, &events[i])
		}
	}
	want := strings.NewReplacer(
		`"type": "ping"`, `"type":"ping"`, `"model":"m"`, `"model":"alias"`, `\u00fc`, "ü",
		`"usage":{"output_tokens":15,`, `"usage":{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":15,`,
	).Replace(messagesStream)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMessagesWriteStream(t *testing.T) {
	start := func(id string) string {
		return "event: message_start\n" + `data: {"type":"message_start","message":{"id":"` + id + `","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}` + "\n\n"
	}
	stop := func(reason string) string {
		return "event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}` + "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	}
	block := func(i int, b string) string {
		return fmt.Sprintf("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", i, b)
	}
	tool := func(i int, id, name string) string {
		return block(i, `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}`)
	}
	delta := func(i int, d string) string {
		return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":%s}\n\n", i, d)
	}
	end := func(i int) string {
		return fmt.Sprintf("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i)
	}
	text := func(index int, s string) Event { return Event{Kind: Delta, Index: index, Text: []byte(s)} }
	calls := []Event{
		{Kind: Begin, ID: "msg_1", Model: "m"},
		{Kind: BlockBegin, Index: 0, Block: ToolCall, ID: "a", Name: "t"}, text(0, "{"),
		{Kind: BlockBegin, Index: 1, Block: ToolCall, Name: "u"}, text(1, "["), text(0, "}"), text(1, "]"),
	}
	t1 := tool(0, "a", "t") + delta(0, `{"type":"input_json_delta","partial_json":"{"}`) + delta(0, `{"type":"input_json_delta","partial_json":"}"}`) + end(0) +
		tool(1, "toolu_msg_1_1", "u") + delta(1, `{"type":"input_json_delta","partial_json":"[]"}`)

	for _, tt := range []struct {
		name   string
		o      WriterOptions
		events []Event
		want   string
	}{
		{"nothing", WriterOptions{}, []Event{{Kind: Begin, ID: "msg_1", Model: "m"}, {Kind: Finish, Stop: StopEnd}, {Kind: End}}, start("msg_1") + stop("end_turn")},
		{"the alias, and an id for another form", WriterOptions{Model: "m", ID: "msg_2"}, []Event{{Kind: Begin, ID: "chatcmpl-1", Model: "x"}}, start("msg_2")},
		{"another form where there is no id to take", WriterOptions{}, []Event{{Kind: Begin, ID: "chatcmpl-1", Model: "m"}}, start("chatcmpl-1")},
		{"no beginning, no reason", WriterOptions{Model: "m", ID: "msg_1"}, []Event{{Kind: End}}, start("msg_1") + stop("end_turn")},
		{"a second beginning", WriterOptions{}, []Event{{Kind: Begin, ID: "msg_1", Model: "m"}, {Kind: Begin, ID: "msg_1", Model: "m"}}, start("msg_1")},
		{"signs of life before the beginning", WriterOptions{}, []Event{{Kind: Ping}, {Kind: Begin, ID: "msg_1", Model: "m"}}, "event: ping\ndata: {\"type\":\"ping\"}\n\n" + start("msg_1")},
		{"a refusal is text", WriterOptions{}, []Event{{Kind: Begin, ID: "msg_1", Model: "m"}, {Kind: BlockBegin, Block: Refusal}, text(0, "no"), text(0, ""), {Kind: BlockEnd}, {Kind: Finish, Stop: StopEnd}, {Kind: End}},
			start("msg_1") + block(0, `{"type":"text","text":""}`) + delta(0, `{"type":"text_delta","text":"no"}`) + end(0) + stop("refusal")},
		{"no UTF-8", WriterOptions{}, []Event{{Kind: Begin, ID: "msg_1", Model: "m"}, {Kind: BlockBegin}, text(0, "a\xff")}, start("msg_1") + block(0, `{"type":"text","text":""}`) + delta(0, `{"type":"text_delta","text":"a�"}`)},
		{"calls open together come one after the other", WriterOptions{}, append(calls, Event{Kind: BlockEnd, Index: 1}, Event{Kind: BlockEnd, Index: 0}, Event{Kind: Finish, Stop: StopEnd}, Event{Kind: End}),
			start("msg_1") + t1 + end(1) + stop("tool_use")},
		{"and so they do if only the finish ends them", WriterOptions{}, append(calls, Event{Kind: Finish, Stop: StopTool}, Event{Kind: End}), start("msg_1") + t1 + end(1) + stop("tool_use")},
		{"a signature that was held back", WriterOptions{}, []Event{{Kind: Begin, ID: "msg_1", Model: "m"}, {Kind: BlockBegin}, {Kind: BlockBegin, Index: 1, Block: Thinking}, text(1, "a"), {Kind: Sign, Index: 1, Text: []byte("s")}, {Kind: BlockEnd}},
			start("msg_1") + block(0, `{"type":"text","text":""}`) + end(0) + block(1, `{"type":"thinking","thinking":"","signature":""}`) + delta(1, `{"type":"thinking_delta","thinking":"a"}`) + delta(1, `{"type":"signature_delta","signature":"s"}`)},
		{"a stray delta and a stray end", WriterOptions{}, []Event{{Kind: Begin, ID: "msg_1", Model: "m"}, text(3, "a"), {Kind: BlockEnd, Index: 3}}, start("msg_1")},
		{"a failure, and nothing after it", WriterOptions{}, []Event{{Kind: Begin, ID: "msg_1", Model: "m"}, {Kind: Fault, Code: "overloaded", Text: []byte("full\n")}, {Kind: Fault}, {Kind: End}},
			start("msg_1") + "event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"full\n"}}` + "\n\n"},
		{"a failure before all, of no known kind", WriterOptions{}, []Event{{Kind: Fault, Code: "x"}}, "event: error\n" + `data: {"type":"error","error":{"type":"api_error","message":""}}` + "\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := messagesWritten(tt.o, tt.events...); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestMessagesWriteStreamStops(t *testing.T) {
	for stop, want := range map[StopReason]string{
		StopUnknown: "end_turn", StopEnd: "end_turn", StopSequence: "stop_sequence", StopLength: "max_tokens", StopTool: "tool_use",
		StopFilter: "refusal", StopRefusal: "refusal", StopPause: "pause_turn", StopContext: "model_context_window_exceeded",
	} {
		got := messagesWritten(WriterOptions{}, Event{Kind: Finish, Stop: stop, Sequence: "END"}, Event{Kind: Used, Usage: Usage{Known: true, Input: 9, Cached: 4, Output: 3}}, Event{Kind: End})
		if !strings.Contains(got, `{"stop_reason":"`+want+`","stop_sequence":"END"},"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":3}}`) {
			t.Errorf("%d: got %s", stop, got)
		}
	}
}

var messagesDeltas = map[string][]byte{
	"plain":   []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few more words of text"}}`),
	"escapes": []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a \"few\" more\nwords \u00fc\ud83d\ude00"}}`),
}

func messagesOpenReader(t testing.TB) Reader {
	r := Messages().NewReader()
	for _, data := range []string{`{"type":"message_start","message":{"id":"msg_1"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`} {
		if _, err := r.Read(nil, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// A delta costs no allocation on either side once buffers have grown.
func TestMessagesDeltaAllocations(t *testing.T) {
	for name, data := range messagesDeltas {
		r := messagesOpenReader(t)
		w := Messages().NewWriter(WriterOptions{})
		dst := w.Write(nil, &Event{Kind: BlockBegin})
		n := testing.AllocsPerRun(100, func() {
			events, err := r.Read(nil, data)
			if err != nil || len(events) != 1 {
				t.Fatal(events, err)
			}
			dst = w.Write(dst[:0], &events[0])
		})
		if n > 0 || !bytes.Contains(dst, []byte("more")) {
			t.Errorf("%s: %v allocations, %s", name, n, dst)
		}
	}
}

func BenchmarkMessagesReadDelta(b *testing.B) {
	for _, name := range []string{"plain", "escapes"} {
		b.Run(name, func(b *testing.B) {
			r, event := messagesOpenReader(b), []byte("content_block_delta")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Read(event, messagesDeltas[name]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMessagesWriteDelta(b *testing.B) {
	w := Messages().NewWriter(WriterOptions{})
	dst := w.Write(nil, &Event{Kind: BlockBegin})
	e := &Event{Kind: Delta, Text: []byte("a \"few\" more\nwords of text")}
	b.ReportAllocs()
	for b.Loop() {
		dst = w.Write(dst[:0], e)
	}
}

func BenchmarkMessagesReadRequest(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(messagesRich)))
	for b.Loop() {
		if _, err := Messages().ReadRequest([]byte(messagesRich)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMessagesWriteRequest(b *testing.B) {
	r, err := Messages().ReadRequest([]byte(messagesRich))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Messages().WriteRequest(r); err != nil {
			b.Fatal(err)
		}
	}
}
