package dialect

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// respReads gives a stream to a reader and what it hears to a writer. All that
// is heard is copied by the writer, so one buffer serves all events.
func respReads(stream []byte) (written []byte, heard int, err error) {
	r := &respReader{lastOut: -1, lastPart: -1}
	w := Responses().NewWriter(WriterOptions{ID: "resp_1", Model: "m"})
	var buf []byte
	for frame := range strings.SplitSeq(string(stream), "\n\n") {
		event, data, ok := strings.Cut(frame, "\ndata: ")
		if !ok {
			continue
		}
		buf = append(buf[:0], data...)
		events, err := r.Read([]byte(strings.TrimPrefix(event, "event: ")), buf)
		if err != nil {
			return written, heard, err
		}
		for i := range events {
			heard += len(events[i].Text) + len(events[i].Data)
			written = w.Write(written, &events[i])
		}
		if len(r.open) > respMaxOpen {
			return written, heard, errors.New("too many blocks are open")
		}
	}
	return written, heard, nil
}

// A stream that was written, read and written again is the same.
func TestResponsesStreamRoundTrip(t *testing.T) {
	first := respStreamOfAll()
	second, _, err := respReads(first)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("first\n%s\nsecond\n%s", first, second)
	}
	if _, err := respCheckStream(second); err != nil {
		t.Error(err)
	}
}

func respStreamOfAll() (stream []byte) {
	w := Responses().NewWriter(WriterOptions{ID: "resp_1", Model: "m"})
	for _, e := range respJoin([]Event{{Kind: Begin, ID: "resp_1", Created: 3}},
		[]Event{{Kind: BlockBegin, Index: 0, Block: Thinking}, {Kind: Delta, Index: 0, Text: []byte("hm")}, {Kind: Sign, Index: 0, Text: []byte("s")}, {Kind: BlockEnd, Index: 0}},
		respBlockEvents(1, Event{Block: Redacted, Data: "x"}),
		respBlockEvents(2, Event{Block: Text}, "a\n", "\"b\""), respBlockEvents(3, Event{Block: Text}), respBlockEvents(4, Event{Block: Refusal}, "no"),
		[]Event{{Kind: BlockBegin, Index: 5, Block: ToolCall, ID: "c", Name: "f"}, {Kind: BlockBegin, Index: 6, Block: ToolCall, ID: "d", Name: "g"}},
		[]Event{{Kind: Delta, Index: 6, Text: []byte("{}")}, {Kind: Delta, Index: 5, Text: []byte(`{"a":"é"}`)}, {Kind: BlockEnd, Index: 6}, {Kind: BlockEnd, Index: 5}},
		[]Event{{Kind: Finish, Stop: StopTool}}, respEndEvents) {
		stream = w.Write(stream, &e)
	}
	return stream
}

func FuzzResponsesReadStream(f *testing.F) {
	f.Add(respStreamOfAll())
	f.Add([]byte("event: \ndata: " + `{"type":"response.output_text.delta","delta":"\u00e9\ud83d","output_index":1}`))
	f.Add([]byte("event: error\ndata: " + `{"type":"error","code":3,"message":{}}`))
	f.Add([]byte("event: x\ndata: " + `{"type":"response.completed","response":` + respRecorded + `}`))
	f.Add([]byte("event: x\ndata: " + `{"type":"response.reasoning_summary_part.added"}` + "\n\nevent: x\ndata: " + `{"type":"response.failed","response":null}`))
	f.Add([]byte("event: x\ndata: " + `{"type":"response.output_item.done","item":[]}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		written, heard, err := respReads(stream)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		// What is heard is part of the stream, and the paragraphs between its parts.
		if heard > 4*len(stream) {
			t.Fatalf("%d bytes heard of %d", heard, len(stream))
		}
		if _, err := respCheckStream(written); err != nil {
			t.Fatalf("%v\nfrom\n%s\nto\n%s", err, stream, written)
		}
	})
}

func FuzzResponsesReadRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","input":"hi"}`))
	f.Add([]byte(`{"model":"m","instructions":"i","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_file","file_url":"https://a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}],"stream":true}`))
	f.Add([]byte(`{"model":"m","input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}],"encrypted_content":"s"},{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"a"}]}],"tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":{"type":"function","name":"f"}}`))
	f.Add([]byte(`{"model":"m","input":[{"type":"item_reference","id":"x"}],"text":{"format":{"type":"json_schema","schema":{}}},"reasoning":{"effort":"low"}}`))
	f.Add([]byte(`{"model":"m","input":[null,{"role":null}],"temperature":1e999}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Responses().ReadRequest(body)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message == "" || r != nil {
				t.Fatalf("%+v, %v", r, err)
			}
			return
		}
		written, err := Responses().WriteRequest(r)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Responses().ReadRequest(written)
		if err != nil {
			if len(r.Dropped) > 0 {
				return // nothing but thinking that could not be taken back
			}
			t.Fatalf("%v in %s", err, written)
		}
		if len(again.Turns) > len(r.Turns) || again.Model != r.Model || again.Choice != r.Choice || !reflect.DeepEqual(again.MaxOutput, r.MaxOutput) {
			t.Fatalf("first %+v\nagain %+v", r, again)
		}
	})
}

func FuzzResponsesReadAnswer(f *testing.F) {
	f.Add([]byte(respRecorded))
	f.Add([]byte(`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[{"type":"message","content":[{"type":"output_text","text":"\ud83d"}]}],"usage":{"input_tokens":-1,"output_tokens":1e300}}`))
	f.Add([]byte(`{"status":"failed","error":{}}`))
	f.Add([]byte(`{"id":3,"status":"completed","output":[{"type":"function_call","call_id":[],"arguments":"{\"a\":[]}"}]}`))
	f.Add([]byte(`{"status":"completed","output":[{"type":"reasoning","summary":{"a":{"text":"b"}}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := Responses().ReadAnswer(body)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || a != nil {
				t.Fatalf("%+v, %v", a, err)
			}
			return
		}
		written, err := Responses().WriteAnswer(a)
		if err != nil || !gjson.ValidBytes(written) {
			t.Fatalf("%v: %s", err, written)
		}
		again, err := Responses().ReadAnswer(written)
		if err != nil || len(again.Parts) != len(a.Parts) || again.Usage != a.Usage {
			t.Fatalf("%v\nfirst %+v\nagain %+v", err, a, again)
		}
	})
}
