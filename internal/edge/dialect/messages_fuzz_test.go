package dialect

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// Whatever a caller sends, reading gives a request or an error, never both. A
// request that can be written again means the same when it is read again.
func FuzzMessagesReadRequest(f *testing.F) {
	for _, s := range []string{
		messagesRich, messagesMinimal(""), messagesMinimal(`,"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}`),
		messagesMinimal(`,"tools":[{"type":"bash_20250124","name":"bash"}]`), messagesMinimal(`,"system":null,"foo":1`),
		messagesWith(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"\ud83d\ude00"}}]}`),
		messagesSaid(`{"type":"tool_use","id":"spw__c3_bc","name":"t","input":{"a":{"b":[]}}}`), `{"model":"m","model":"m"}`, `[[[`, "{\"a\":\"\xff\"}", ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Messages().ReadRequest(body)
		if (r == nil) != (err != nil) {
			t.Fatalf("got %+v and %v", r, err)
		}
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Message == "" || len(e.Field) > 1000 {
				t.Fatalf("%#v is no error for a caller", err)
			}
			return
		}
		written, err := Messages().WriteRequest(r)
		if err != nil {
			return // not all that can be asked can be asked of any model
		}
		again, err := Messages().ReadRequest(written)
		if err != nil {
			t.Fatalf("%v in %s, from %s", err, written, body)
		}
		if again.Model != r.Model || *again.MaxOutput != *r.MaxOutput || !reflect.DeepEqual(again.Stop, r.Stop) && len(r.Stop) > 0 || again.Choice != r.Choice && len(r.Tools) > 0 || len(again.Tools) != len(r.Tools) {
			t.Fatalf("%+v became %+v", r, again)
		}
	})
}

func FuzzMessagesReadAnswer(f *testing.F) {
	for _, s := range []string{
		`{"id":"msg_1","model":"m","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"a","name":"t","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2,"cache_read_input_tokens":1}}`,
		`{"content":[{"type":"thinking","thinking":"a","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"server_tool_use"}],"usage":{"output_tokens":-1,"output_tokens_details":{"thinking_tokens":9}}}`,
		`{"content":[{"type":"tool_use","input":{"a":1,"a":"` + "\xff" + `"}}]}`, `{"type":"error","error":{"message":"m"}}`, `{"content":1}`, `{`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := Messages().ReadAnswer(body)
		if (a == nil) != (err != nil) {
			t.Fatalf("got %+v and %v", a, err)
		}
		if err != nil {
			return
		}
		u := a.Usage
		if u.Input < u.Cached+u.CacheWrite || u.Output < u.Reasoning || u.Reasoning < 0 || u.Cached < 0 || u.CacheWrite < 0 {
			t.Fatalf("usage %+v makes no sense", u)
		}
		written, err := Messages().WriteAnswer(a)
		if err != nil || !json.Valid(written) {
			t.Fatalf("%v: %s, from %s", err, written, body)
		}
		if again, err := Messages().ReadAnswer(written); err != nil || len(again.Parts) != len(a.Parts) || again.Usage.Input != u.Input {
			t.Fatalf("%+v became %+v, %v", a, again, err)
		}
	})
}

// Whatever a provider streams, the neutral events keep their order, and what is
// written of them is complete events of valid JSON. Each line of the input is
// the data of an event.
func FuzzMessagesStream(f *testing.F) {
	var data []byte
	for _, d := range messagesFrames(messagesStream) {
		data = append(append(data, d...), '\n')
	}
	f.Add(data)
	f.Add([]byte(`{"type":"message_start","message":{}}` + "\n" + `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"a"}}` + "\n" + `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":{"a":1}}}` + "\n" + `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\ud800"}}` + "\n" + `{"type":"message_stop"}`))
	f.Add([]byte(`{"error":{"message":"m"}}`))
	f.Add([]byte(`{"type":"message_start","message":{"usage":{"input_tokens":1e99}}}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, w := Messages().NewReader(), Messages().NewWriter(WriterOptions{ID: "msg_1"})
		order := messagesOrder{open: map[int]bool{}}
		var written []byte
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			events, err := r.Read(nil, line)
			if err != nil && len(events) > 0 {
				t.Fatalf("events %+v and %v", events, err)
			}
			for i := range events {
				order.check(t, &events[i])
				written = w.Write(written, &events[i])
			}
		}
		if r.Finished() != (order.last == End && order.begun) {
			t.Fatalf("finished %v after %d", r.Finished(), order.last)
		}
		if len(written) > 400*(len(data)+1) {
			t.Fatalf("%d bytes became %d", len(data), len(written))
		}
		for frame := range bytes.SplitSeq(written, []byte("\n\n")) {
			if len(frame) == 0 {
				continue
			}
			name, data, ok := bytes.Cut(frame, []byte("\ndata: "))
			var e struct{ Type string }
			if err := json.Unmarshal(data, &e); !ok || err != nil || "event: "+e.Type != string(name) {
				t.Fatalf("%v: %q", err, frame)
			}
		}
	})
}

// messagesOrder checks the grammar of neutral events.
type messagesOrder struct {
	begun, finished, over bool
	next                  int
	open                  map[int]bool
	last                  EventKind
}

func (o *messagesOrder) check(t *testing.T, e *Event) {
	ok := !o.over && (o.begun != (e.Kind == Begin) || e.Kind == Fault)
	switch e.Kind {
	case BlockBegin:
		ok = ok && !o.finished && e.Index == o.next
		o.next++
		o.open[e.Index] = true
	case Delta, Sign:
		ok = ok && o.open[e.Index] && len(e.Text) > 0
	case BlockEnd:
		ok = ok && o.open[e.Index]
		delete(o.open, e.Index)
	case Finish:
		ok = ok && len(o.open) == 0 && !o.finished
		o.finished = true
	case End:
		ok = ok && o.finished
		o.over = true
	case Fault:
		o.over = true
	}
	if !ok {
		t.Fatalf("%s has no place after %d", messagesLine(e), o.last)
	}
	o.begun = o.begun || e.Kind == Begin
	o.last = e.Kind
}
