package dialect

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// respSay writes events and checks the stream they make.
func respSay(t *testing.T, o WriterOptions, events ...Event) (*respGrammar, string) {
	t.Helper()
	w := Responses().NewWriter(o)
	var stream []byte
	for i := range events {
		stream = w.Write(stream, &events[i])
	}
	g, err := respCheckStream(stream)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, stream)
	}
	return g, string(stream)
}

func respBlockEvents(index int, begin Event, texts ...string) []Event {
	begin.Kind, begin.Index = BlockBegin, index
	events := []Event{begin}
	for _, s := range texts {
		events = append(events, Event{Kind: Delta, Index: index, Text: []byte(s)})
	}
	return append(events, Event{Kind: BlockEnd, Index: index})
}

func respJoin(lists ...[]Event) (all []Event) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

var respEndEvents = []Event{{Kind: Used, Usage: Usage{Known: true, Input: 1, Output: 2}}, {Kind: End}}

// The events of a short text, byte for byte.
func TestResponsesWriteStream(t *testing.T) {
	o := WriterOptions{ID: "resp_7", Model: "alias", Created: 5}
	_, stream := respSay(t, o, respJoin([]Event{{Kind: Begin, ID: "chatcmpl-1", Model: "m"}, {Kind: Ping}},
		respBlockEvents(0, Event{Block: Text}, "He said\n", `"é"`), []Event{{Kind: Finish, Stop: StopEnd}}, respEndEvents)...)
	const object = `"object":"response","created_at":5`
	for _, want := range []string{
		`event: response.created` + "\n" + `data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_7",` + object,
		": ping\nevent: response.output_item.added\n" + `data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"type":"message","id":"msg_7_0","status":"in_progress","role":"assistant","content":[]}}`,
		`data: {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_7_0","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}`,
		`data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_7_0","output_index":0,"content_index":0,"delta":"He said\n","logprobs":[]}`,
		`data: {"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_7_0","output_index":0,"content_index":0,"delta":"\"é\"","logprobs":[]}`,
		`data: {"type":"response.output_text.done","sequence_number":6,"item_id":"msg_7_0","output_index":0,"content_index":0,"text":"He said\n\"é\"","logprobs":[]}`,
		`"model":"alias","output":[{"type":"message","id":"msg_7_0","status":"completed"`,
	} {
		if !strings.Contains(stream, want) {
			t.Errorf("no %s\nin\n%s", want, stream)
		}
	}
	if strings.Contains(stream, "[DONE]") {
		t.Error("this dialect has no [DONE]")
	}
}

// Thinking, two texts, a refusal and two calls in parallel: each has its item,
// and texts that follow one another share a message.
func TestResponsesWriteStreamOfEverything(t *testing.T) {
	g, _ := respSay(t, WriterOptions{Model: "m"}, respJoin([]Event{{Kind: Begin, ID: "msg_1", Created: 3}},
		[]Event{{Kind: BlockBegin, Index: 0, Block: Thinking}, {Kind: Delta, Index: 0, Text: []byte("hm")}, {Kind: Sign, Index: 0, Text: []byte("si")}, {Kind: Sign, Index: 0, Text: []byte("g")}, {Kind: BlockEnd, Index: 0}},
		respBlockEvents(1, Event{Block: Thinking}), // without words
		respBlockEvents(2, Event{Block: Redacted, Data: "x"}),
		respBlockEvents(3, Event{Block: Text}, "a", "b"),
		respBlockEvents(4, Event{Block: Text}, "c"),
		respBlockEvents(5, Event{Block: Refusal}, "no"),
		[]Event{
			{Kind: BlockBegin, Index: 6, Block: ToolCall, ID: "c1", Name: "f"},
			{Kind: BlockBegin, Index: 7, Block: ToolCall, Name: "g"},
			{Kind: Delta, Index: 7, Text: []byte(`{"b":`)}, {Kind: Delta, Index: 6, Text: []byte(`{"a":1}`)}, {Kind: Delta, Index: 7, Text: []byte(`2}`)},
			{Kind: BlockEnd, Index: 7}, {Kind: BlockEnd, Index: 6},
		},
		respBlockEvents(8, Event{Block: ToolCall, ID: "c3", Name: "h"}),
		[]Event{{Kind: Finish, Stop: StopTool}}, respEndEvents)...)
	a, err := Responses().ReadAnswer([]byte(g.last.Raw))
	if err != nil {
		t.Fatal(err)
	}
	want := []Part{
		{Kind: Thinking, Text: "hm", Signature: "sig"}, {Kind: Thinking}, {Kind: Redacted, Data: "x"}, {Text: "ab"}, {Text: "c"}, {Kind: Refusal, Text: "no"},
		{Kind: ToolCall, ID: "c1", Name: "f", Arguments: Raw(`{"a":1}`)}, {Kind: ToolCall, ID: "call_msg_1_5", Name: "g", Arguments: Raw(`{"b":2}`)}, {Kind: ToolCall, ID: "c3", Name: "h", Arguments: Raw(`{}`)},
	}
	respSameParts(t, a.Parts, want)
	if a.Stop != StopTool || a.Usage.Output != 2 || a.ID != "resp_msg_1" || a.Created != 3 {
		t.Errorf("got %+v", a)
	}
	if n := len(g.items); n != 7 {
		t.Errorf("%d items, want 7: the message has three parts", n)
	}
}

func respSameParts(t *testing.T, got, want []Part) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Kind != w.Kind || g.Text != w.Text || g.Data != w.Data || g.Signature != w.Signature || g.ID != w.ID || g.Name != w.Name || string(g.Arguments) != string(w.Arguments) {
			t.Errorf("part %d: got %+v, want %+v", i, g, w)
		}
	}
}

// An answer that was cut is incomplete, and so is its last message.
func TestResponsesWriteStreamIncomplete(t *testing.T) {
	g, _ := respSay(t, WriterOptions{}, respJoin([]Event{{Kind: Begin}}, respBlockEvents(0, Event{Block: Text}, "a"), []Event{{Kind: Finish, Stop: StopLength}, {Kind: End}})...)
	if g.status != "incomplete" || g.last.Get("incomplete_details.reason").Str != "max_output_tokens" || g.last.Get("output.0.status").Str != "incomplete" {
		t.Errorf("got %s", g.last.Raw)
	}
}

// A fault at any place ends the stream with error and response.failed, which
// has what was said until then. Nothing follows.
func TestResponsesWriteStreamFault(t *testing.T) {
	all := respJoin([]Event{{Kind: Begin}}, respBlockEvents(0, Event{Block: Thinking}, "hm"), respBlockEvents(1, Event{Block: Text}, "a"), respBlockEvents(2, Event{Block: ToolCall, ID: "c", Name: "f"}, "{}"), []Event{{Kind: Finish}})
	for n := range all {
		events := append(all[:n:n], Event{Kind: Fault, Code: "overloaded", Text: []byte("too\nmuch")}, Event{Kind: End}, Event{Kind: Ping})
		g, stream := respSay(t, WriterOptions{}, events...)
		names := strings.Join(g.names, " ")
		if g.status != "failed" || !strings.HasSuffix(names, " error response.failed") || !strings.HasPrefix(names, "response.created response.in_progress ") {
			t.Errorf("after %d: %s", n, names)
		}
		if e := g.last.Get("error"); e.Get("code").Str != "server_is_overloaded" || e.Get("message").Str != "too\nmuch" {
			t.Errorf("after %d: %s", n, stream)
		}
	}
	for code, want := range map[string]string{"rate_limit": "rate_limit_exceeded", "invalid_request": "invalid_prompt", "server_error": "server_error", "": "server_error"} {
		g, _ := respSay(t, WriterOptions{}, Event{Kind: Fault, Code: code})
		if e := g.last.Get("error"); e.Get("code").Str != want || e.Get("message").Str == "" {
			t.Errorf("%s: %s", code, e)
		}
	}
}

// Whatever comes, also out of order, what is written keeps the grammar.
func TestResponsesWriteStreamOfNonsense(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := Responses().NewWriter(WriterOptions{ID: "x"})
		var stream []byte
		for range 40 {
			stream = w.Write(stream, &Event{
				Kind: EventKind(rng.IntN(int(Ping) + 1)), Index: rng.IntN(4), Block: PartKind(rng.IntN(int(Refusal) + 1)),
				Text: []byte("a\xff\""), Data: "d", Stop: StopReason(rng.IntN(9)), ID: "c", Name: "n",
			})
		}
		stream = w.Write(stream, &Event{Kind: Finish})
		stream = w.Write(stream, &Event{Kind: End})
		g, err := respCheckStream(stream)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, stream)
		}
		if !g.over || !gjson.Valid(g.last.Raw) {
			t.Fatalf("seed %d: no end", seed)
		}
	}
}
