package dialect

import "testing"

var respDelta = []byte(`{"type":"response.output_text.delta","sequence_number":12,"item_id":"msg_67c9fdcf37fc8190ba82116e33fb28c5","output_index":0,"content_index":0,"delta":" caf\u00e9\n","logprobs":[],"obfuscation":"5QmS2RBmcbd0"}`)

func BenchmarkResponsesReadDelta(b *testing.B) {
	r := Responses().NewReader()
	b.ReportAllocs()
	b.SetBytes(int64(len(respDelta)))
	for b.Loop() {
		if events, err := r.Read(nil, respDelta); err != nil || len(events) == 0 {
			b.Fatal(err)
		}
	}
}

func BenchmarkResponsesWriteDelta(b *testing.B) {
	w := newRespWriter(WriterOptions{ID: "resp_67c9fdcecf488190bdd9a0409de3a1ec07b8b0ad4e5eb654"})
	dst := w.Write(nil, &Event{Kind: BlockBegin, Block: Text})
	e := Event{Kind: Delta, Text: []byte(" café\n")}
	b.ReportAllocs()
	for b.Loop() {
		if dst = w.Write(dst[:0], &e); len(w.blocks[0].text) > 1<<20 {
			w.blocks[0].text = w.blocks[0].text[:0] // not the cost of an endless answer
		}
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkResponsesReadRequest(b *testing.B) {
	body := []byte(`{"model":"m","instructions":"be brief","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}],"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"stream":true}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := Responses().ReadRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResponsesWriteAnswer(b *testing.B) {
	a := respRecordedAnswer()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Responses().WriteAnswer(a); err != nil {
			b.Fatal(err)
		}
	}
}

// Once warm, a delta costs the reader and the writer no allocation.
func TestResponsesDeltasAllocateNothing(t *testing.T) {
	r := Responses().NewReader()
	w := newRespWriter(WriterOptions{ID: "resp_1"})
	dst := w.Write(nil, &Event{Kind: BlockBegin, Block: Text})
	w.blocks[0].text = make([]byte, 0, 1<<16)
	e := Event{Kind: Delta, Text: []byte(" café\n")}
	if n := testing.AllocsPerRun(1000, func() {
		_, _ = r.Read(nil, respDelta)
		dst = w.Write(dst[:0], &e)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
