package dialect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// geminiPiece is one event of a stream with these parts and, if not empty, a reason.
func geminiPiece(parts, finish string) string {
	if finish != "" {
		finish = `,"finishReason":"` + finish + `"`
	}
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + finish + `,"index":0}],"modelVersion":"m","responseId":"r"}`
}

// geminiTell words events, one a line.
func geminiTell(events []Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Kind {
		case Begin:
			b.WriteString(strings.TrimRight(fmt.Sprintf("begin %s %s", e.ID, e.Model), " "))
		case BlockBegin:
			b.WriteString(strings.TrimRight(fmt.Sprintf("block %d %d %s %s %s", e.Index, e.Block, e.ID, e.Name, e.Data), " "))
		case Delta:
			fmt.Fprintf(&b, "delta %d %s", e.Index, e.Text)
		case Sign:
			fmt.Fprintf(&b, "sign %d %s", e.Index, e.Text)
		case BlockEnd:
			fmt.Fprintf(&b, "end %d", e.Index)
		case Finish:
			fmt.Fprintf(&b, "finish %d", e.Stop)
		case Used:
			fmt.Fprintf(&b, "used %d %d", e.Usage.Input, e.Usage.Output)
		case End:
			b.WriteString("over")
		case Fault:
			fmt.Fprintf(&b, "fault %s %s", e.Code, e.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestGeminiReader(t *testing.T) {
	for _, tt := range []struct {
		name     string
		events   []string
		want     string
		finished bool
	}{
		{"text", []string{geminiPiece(`{"text":"a"}`, ""), geminiPiece(`{"text":"b"},{"text":"c\n"}`, ""), geminiPiece(`{"text":""}`, "STOP")},
			"begin r m|block 0 0|delta 0 a|delta 0 b|delta 0 c\\n|end 0|finish 1|over", true},
		{"thinking, then text", []string{geminiPiece(`{"text":"hm","thought":true}`, ""), geminiPiece(`{"thought":true,"text":"m"},{"text":"a"}`, ""), geminiPiece(`{"text":"","thoughtSignature":"AA=="}`, "MAX_TOKENS")},
			"begin r m|block 0 5|delta 0 hm|delta 0 m|end 0|block 1 0|delta 1 a|end 1|finish 3|over", true},
		{"signed thinking", []string{geminiPiece(`{"text":"hm","thought":true}`, ""), geminiPiece(`{"text":"","thought":true,"thoughtSignature":"AA=="}`, ""), geminiPiece(`{"text":"a"}`, "STOP")},
			"begin r m|block 0 5|delta 0 hm|sign 0 gemini:AA==|end 0|block 1 0|delta 1 a|end 1|finish 1|over", true},
		{"calls", []string{geminiPiece(`{"text":"a"}`, ""), geminiPiece(`{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"AA=="},{"functionCall":{"name":"f"}}`, ""), geminiPiece(`{"functionCall":{"id":"q","name":"g"}}`, "STOP")},
			"begin r m|block 0 0|delta 0 a|end 0|block 1 5|sign 1 gemini-next:AA==|end 1|block 2 3 call_r_0 f|delta 2 {\"a\":1}|end 2|block 3 3 call_r_1 f|delta 3 {}|end 3|block 4 3 q g|delta 4 {}|end 4|finish 4|over", true},
		{"usage in every event", []string{`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":3}}`,
			`{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}`,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"thoughtsTokenCount":4}}`,
			`{"usageMetadata":{"promptTokenCount":9}}`},
			"begin|block 0 0|delta 0 a|used 3 1|end 0|finish 1|used 3 6|over", true},
		{"a blocked prompt", []string{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"responseId":"r"}`}, "begin r|finish 5|over", true},
		{"a filter in the middle", []string{geminiPiece(`{"text":"a"}`, ""), geminiPiece(``, "RECITATION"), geminiPiece(`{"text":""}`, "")}, "begin r m|block 0 0|delta 0 a|end 0|finish 5|over", true},
		{"no call", []string{geminiPiece(``, "MALFORMED_FUNCTION_CALL")}, "begin r m|fault server_error the model made no answer: MALFORMED_FUNCTION_CALL", true},
		{"no reason", []string{geminiPiece(`{"text":"a"}`, "")}, "begin r m|block 0 0|delta 0 a", false},
		{"nothing", nil, "", false},
		{"an empty event", []string{""}, "", false},
		{"overloaded", []string{geminiPiece(`{"text":"a"}`, ""), `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`}, "begin r m|block 0 0|delta 0 a|fault overloaded busy", true},
		{"limited", []string{`{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[]}}`}, "fault rate_limit slow", true},
		{"refused", []string{`{"error":{"code":400,"message":"bad"}}`}, "fault invalid_request bad", true},
		{"broken", []string{`{"error":{"code":500,"status":"INTERNAL"}}`}, "fault server_error the provider's answer failed: INTERNAL", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Gemini().NewReader()
			got := ""
			for _, event := range tt.events {
				events, err := r.Read(nil, []byte(event))
				if err != nil {
					t.Fatal(err)
				}
				got += geminiTell(events)
			}
			want := strings.ReplaceAll(strings.ReplaceAll(tt.want, "|", "\n"), `\n`, "\n")
			if strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if r.Finished() != tt.finished {
				t.Errorf("finished is %v", r.Finished())
			}
		})
	}
}

func TestGeminiReaderRefuses(t *testing.T) {
	for _, tt := range []struct {
		name        string
		events      []string
		field       string
		unsupported bool
	}{
		{"[DONE]", []string{"[DONE]"}, "", false},
		{"half an event", []string{`{"candidates":[`}, "", false},
		{"depth", []string{strings.Repeat(`[`, 1<<16)}, "", false},
		{"two candidates", []string{`{"candidates":[{},{}]}`}, "candidates[1]", true},
		{"code", []string{geminiPiece(`{"codeExecutionResult":{}}`, "")}, "candidates[0].content.parts[0].codeExecutionResult", true},
		{"an image", []string{geminiPiece(`{"inlineData":{"mimeType":"image/png","data":""}}`, "")}, "candidates[0].content.parts[0]", true},
		{"text that is none", []string{geminiPiece(`{"text":1}`, "")}, "candidates[0].content.parts[0].text", false},
		{"a call after the end", []string{geminiPiece(`{"text":"a"}`, "STOP"), geminiPiece(`{"functionCall":{"name":"f"}}`, "STOP")}, "candidates", false},
		{"more after the end", []string{geminiPiece(`{"text":"a"}`, "STOP"), geminiPiece(`{"text":"b"}`, "")}, "candidates", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Gemini().NewReader()
			var err error
			for _, event := range tt.events {
				if err == nil {
					_, err = r.Read(nil, []byte(event))
				}
			}
			geminiWantError(t, err, tt.field, tt.unsupported)
		})
	}
}

// geminiThrough reads a stream and what its events are written as, to the end.
func geminiThrough(t *testing.T, events [][]byte) (first, second string) {
	t.Helper()
	r, again := Gemini().NewReader(), Gemini().NewReader()
	w := Gemini().NewWriter(WriterOptions{})
	for _, data := range events {
		read, err := r.Read(nil, data)
		if err != nil {
			return first, second
		}
		first += geminiTell(read)
		for i := range read {
			for event := range bytes.SplitSeq(w.Write(nil, &read[i]), []byte("\n\n")) {
				data, _ := bytes.CutPrefix(event, []byte("data: "))
				back, err := again.Read(nil, data)
				if err != nil {
					t.Fatalf("%s\n%v", data, err)
				}
				second += geminiTell(back)
			}
		}
	}
	return first, second
}

func TestGeminiStreamRoundTrip(t *testing.T) {
	first, second := geminiThrough(t, [][]byte{
		[]byte(geminiPiece(`{"text":"hm","thought":true}`, "")), []byte(geminiPiece(`{"text":"a"}`, "")), []byte(geminiPiece(`{"text":"b"}`, "")),
		[]byte(geminiPiece(`{"functionCall":{"id":"x","name":"f","args":{"a":1}},"thoughtSignature":"AA=="}`, "")),
		[]byte(geminiPiece(`{"functionCall":{"id":"y","name":"f","args":{"a":2}}}`, "STOP")),
	})
	if first != second || !strings.HasSuffix(first, "over\n") {
		t.Errorf("read\n%s\nwritten and read again\n%s", first, second)
	}
}

func FuzzGeminiStream(f *testing.F) {
	f.Add([]byte(geminiPiece(`{"text":"a"}`, "") + "\n" + geminiPiece(`{"text":"b","thought":true},{"functionCall":{"name":"f"},"thoughtSignature":"AA=="}`, "STOP")))
	f.Add([]byte(`{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`))
	f.Add([]byte(`{"promptFeedback":{"blockReason":"SAFETY"}}`))
	f.Add([]byte(geminiPiece(`{"text":"","thought":true,"thoughtSignature":"cmVkYWN0ZWQ6eA=="}`, "") + "\n" + `{"usageMetadata":{"promptTokenCount":3}}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		geminiThrough(t, bytes.Split(stream, []byte("\n")))
	})
}

func BenchmarkGeminiDelta(b *testing.B) {
	data := []byte(`{"candidates":[{"content":{"parts":[{"text":" quick brown fox"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":30,"totalTokenCount":42,"promptTokensDetails":[{"modality":"TEXT","tokenCount":12}]},"modelVersion":"gemini-3-pro","responseId":"mAbcZ9"}`)
	b.Run("read", func(b *testing.B) {
		r := Gemini().NewReader()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Read(nil, data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		w := Gemini().NewWriter(WriterOptions{Model: "m"})
		w.Write(nil, &Event{Kind: Begin, ID: "r"})
		w.Write(nil, &Event{Kind: BlockBegin})
		e := Event{Kind: Delta, Text: []byte(" quick brown fox")}
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf = w.Write(buf[:0], &e)
		}
	})
}
