package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// sizeOfChat is about how many bytes parts hold and take.
func sizeOfChat(parts []Part) (n int) {
	for _, p := range parts {
		n += 200 + len(p.Text) + len(p.URL) + len(p.Data) + len(p.ID) + len(p.Name) + len(p.Arguments) + sizeOfChat(p.Parts)
	}
	return n
}

// What is read can be written, unless it is refused, and what was written is read
// as the same again.
func FuzzChatRequest(f *testing.F) {
	f.Add([]byte(chatRich))
	for _, s := range []string{
		chatWith(`"stop":["a"],"store":false,"n":1,"max_tokens":3,"verbosity":"medium","tools":[{"type":"custom"}]`),
		chatSays(`{"role":"assistant","reasoning_content":"t","tool_calls":[{"id":"1","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"data:a/b;base64,x"}},{"type":"file","file":{"file_data":"data:text/plain;base64,aGk="}}]}`),
		chatSays(`{"role":"user","content":"a"},{"role":"system","content":[{"type":"text","text":"\u0000"}]}`),
		`{"model":"m","model":"n"}`, `{"model":"` + "\xff" + `"}`, `[[[`, `{"tool_choice":{"type":"function"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Chat().ReadRequest(body)
		if err != nil {
			return
		}
		size := sizeOfChat(r.System)
		for _, turn := range r.Turns {
			size += sizeOfChat(turn.Parts)
		}
		if size > 200*len(body) {
			t.Fatalf("%d bytes became %d", len(body), size)
		}
		written, err := Chat().WriteRequest(r)
		if err != nil {
			return
		}
		if !json.Valid(written) {
			t.Fatalf("not JSON: %s", written)
		}
		if len(written) > 20*len(body)+1000 {
			t.Fatalf("%d bytes became %d", len(body), len(written))
		}
		again, err := Chat().ReadRequest(written)
		if err != nil {
			t.Fatalf("%v: %s", err, written)
		}
		third, err := Chat().WriteRequest(again)
		if err != nil || string(third) != string(written) {
			t.Fatalf("%v: once\n%s\ntwice\n%s", err, written, third)
		}
	})
}

func FuzzChatAnswer(f *testing.F) {
	for _, s := range []string{
		chatAnswered(`{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"t","refusal":null},"finish_reason":"stop"}`),
		chatAnswered(`{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"` + "\xff" + `","function":{"name":"f","arguments":{}}}]},"finish_reason":"length"}`),
		chatAnswered(`{"message":{"content":[{"type":"text","text":"\ud800"}],"refusal":"no"},"finish_reason":"stop","stop_reason":"x"}`),
		`{"choices":[{"message":{}}],"usage":{"prompt_tokens":1e300,"completion_tokens":-1}}`, `{"error":{}}`, `[[[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := Chat().ReadAnswer(body)
		if err != nil {
			return
		}
		if size := sizeOfChat(a.Parts); size > 200*len(body) {
			t.Fatalf("%d bytes became %d", len(body), size)
		}
		written, err := Chat().WriteAnswer(a)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if !json.Valid(written) {
			t.Fatalf("not JSON: %s", written)
		}
		again, err := Chat().ReadAnswer(written)
		if err != nil {
			t.Fatalf("%v: %s", err, written)
		}
		if !reflect.DeepEqual(again.Parts, a.Parts) || again.Usage != a.Usage {
			t.Fatalf("first %s\nagain %s", asChatJSON(a), asChatJSON(again))
		}
	})
}

// A stream keeps the grammar of events, whatever the provider sends, and what is
// written of it is a stream again.
func FuzzChatStream(f *testing.F) {
	f.Add([]byte(chatStream))
	f.Add([]byte(chatLines(chatArgs(0, "c", "f", "{"), chatArgs(1, "d", "g", "{"), chatArgs(0, "", "", "}"), chatDelta(`{"content":"a"}`), "[DONE]")))
	f.Add([]byte(chatLines(chatDelta(`{"content":"\ud800`+"\xff"+`"}`), `{"error":null}`, `{"error":{"message":"m","code":429}}`)))
	f.Add([]byte("event: ping\ndata: {}\n\n" + chatLines(`{"choices":[],"usage":{}}`, `[[[`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, _ := feedChat(Chat().NewReader(), string(text))
		if len(events) > 4*len(text)+4 {
			t.Fatalf("%d bytes became %d events", len(text), len(events))
		}
		checkChatGrammar(t, events)
		size := 0
		for i := range events {
			size += len(events[i].Text) + len(events[i].ID) + len(events[i].Name)
		}
		if size > 4*len(text)+100 {
			t.Fatalf("%d bytes became %d", len(text), size)
		}
		for line := range strings.Lines(writeChat(WriterOptions{Usage: true}, events)) {
			line = strings.TrimSuffix(line, "\n")
			data, ok := strings.CutPrefix(line, "data: ")
			if line != "" && line != ": ping" && (!ok || data != "[DONE]" && !json.Valid([]byte(data))) {
				t.Fatalf("wrote %q", line)
			}
		}
	})
}

// checkChatGrammar follows the grammar of Event.
func checkChatGrammar(t *testing.T, events []Event) {
	open := map[int]PartKind{}
	begun, finished, over := false, false, false
	next := 0
	for i, e := range events {
		ok := begun && !over
		switch e.Kind {
		case Begin:
			ok = !begun && !over
			begun = true
		case BlockBegin:
			for _, kind := range open {
				ok = ok && kind == ToolCall && e.Block == ToolCall
			}
			ok = ok && !finished && e.Index == next && (e.Block != ToolCall || e.ID != "" && e.Name != "")
			open[e.Index] = e.Block
			next++
		case Delta:
			_, is := open[e.Index]
			ok = ok && is && len(e.Text) > 0
		case BlockEnd:
			_, is := open[e.Index]
			ok = ok && is
			delete(open, e.Index)
		case Finish:
			ok = ok && !finished && len(open) == 0
			finished = true
		case Used:
			ok = ok && e.Usage.Known
		case End:
			ok = ok && finished
			over = true
		case Fault:
			ok = !over && len(e.Text) > 0
			over = true
		case Ping:
		default:
			ok = false
		}
		if !ok {
			t.Fatalf("event %d breaks the grammar: %s", i, storyOf(events))
		}
	}
}
