package gateway

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/dialect"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// richAnswer has one of everything that a streamed answer can have.
var richAnswer = []dialect.Event{
	{Kind: dialect.Begin, ID: "id-1", Model: "vendor-m", Created: 1764000000},
	{Kind: dialect.BlockBegin, Block: dialect.Thinking},
	{Kind: dialect.Delta, Text: []byte("Let me \"see\"\n")},
	{Kind: dialect.Delta, Text: []byte("北京 🙂")},
	{Kind: dialect.Sign, Text: []byte("c2ln")},
	{Kind: dialect.BlockEnd},
	{Kind: dialect.BlockBegin, Index: 1, Block: dialect.Text},
	{Kind: dialect.Delta, Index: 1, Text: []byte("It opens at nine:\r\n\\o/ data: [DONE]\n\n")},
	{Kind: dialect.Ping},
	{Kind: dialect.Delta, Index: 1, Text: []byte(" café")},
	{Kind: dialect.BlockEnd, Index: 1},
	{Kind: dialect.BlockBegin, Index: 2, Block: dialect.ToolCall, ID: "call_1", Name: "hours"},
	{Kind: dialect.Delta, Index: 2, Text: []byte(`{"city":`)},
	{Kind: dialect.Delta, Index: 2, Text: []byte(`"Zürich","days":[1,2]}`)},
	{Kind: dialect.BlockEnd, Index: 2},
	{Kind: dialect.BlockBegin, Index: 3, Block: dialect.ToolCall, ID: "call_2", Name: "tide"},
	{Kind: dialect.Delta, Index: 3, Text: []byte(`{}`)},
	{Kind: dialect.BlockEnd, Index: 3},
	{Kind: dialect.Finish, Stop: dialect.StopTool},
	{Kind: dialect.Used, Usage: dialect.Usage{Known: true, Input: 40, Cached: 8, Output: 30, Reasoning: 6}},
	{Kind: dialect.End},
}

// said is the rich answer as a provider of a language streams it.
func said(l upstream.Language) string {
	w := languages[l].NewWriter(dialect.WriterOptions{Model: "vendor-m", ID: "id-1", Created: 1764000000, Usage: true})
	var b []byte
	for i := range richAnswer {
		b = w.Write(b, &richAnswer[i])
	}
	return string(b)
}

// heard is what a reader makes of a stream up to its end or its first error:
// the events in words, what each surface is sent, and whether that was all.
func heard(l upstream.Language, r io.Reader) (events []string, sent map[wire.Surface]string, finished bool) {
	frames := wire.NewEventReader(r, 0)
	reader := languages[l].NewReader()
	writers := map[wire.Surface]dialect.Writer{}
	sent = map[wire.Surface]string{}
	for _, s := range []wire.Surface{wire.ChatCompletions, wire.Messages, wire.Responses} {
		writers[s] = spoken(s).NewWriter(dialect.WriterOptions{Model: "chat", ID: "id-2", Created: 1764000000, Usage: true})
	}
	for {
		ev, err := frames.Next()
		if err != nil {
			return events, sent, reader.Finished()
		}
		es, err := reader.Read(ev.Name, ev.Data)
		if err != nil {
			return events, sent, false // the gateway breaks the stream off
		}
		for i := range es {
			e := &es[i]
			events = append(events, fmt.Sprintf("%d %d %d %s %s %s %q %q %d %v", e.Kind, e.Index, e.Block, e.ID, e.Name, e.Model, e.Text, e.Data, e.Stop, e.Usage))
			for s, w := range writers {
				sent[s] += string(w.Write(nil, e))
			}
		}
	}
}

// A stream that is cut at any byte gives a beginning of what the whole gives,
// on every surface, and is taken for a whole one only if nothing of the answer
// is missing.
func TestCutAtEveryByte(t *testing.T) {
	for l := range languages {
		text := said(l)
		events, sent, finished := heard(l, strings.NewReader(text))
		if !finished || len(events) < 12 {
			t.Fatalf("language %d: finished %v, %q", l, finished, events)
		}
		over := slices.IndexFunc(events, func(e string) bool { return strings.HasPrefix(e, fmt.Sprintf("%d ", dialect.Finish)) })
		if over < 0 {
			t.Fatalf("language %d: no finish in %q", l, events)
		}
		for name, r := range map[string]io.Reader{
			"byte by byte": iotest.OneByteReader(strings.NewReader(text)),
			"CRLF":         strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")),
		} {
			if again, _, ok := heard(l, r); !ok || !slices.Equal(again, events) {
				t.Errorf("language %d, %s: %q, want %q", l, name, again, events)
			}
		}
		for at := range len(text) {
			part, some, ok := heard(l, strings.NewReader(text[:at]))
			if len(part) > len(events) || !slices.Equal(part, events[:len(part)]) {
				t.Fatalf("language %d, cut at %d: %q is no beginning of %q", l, at, part, events)
			}
			if ok && len(part) <= over {
				t.Fatalf("language %d, cut at %d, passed as whole after %q", l, at, part)
			}
			for s, whole := range sent {
				if !strings.HasPrefix(whole, some[s]) {
					t.Fatalf("language %d, cut at %d, surface %d: %q is no beginning of %q", l, at, s, some[s], whole)
				}
				if !ok && ended(s, some[s]) {
					t.Fatalf("language %d, cut at %d, surface %d: the caller was told of an end: %q", l, at, s, some[s])
				}
			}
		}
	}
}

// ended says that a stream of a surface has its last event.
func ended(s wire.Surface, text string) bool {
	last := map[wire.Surface]string{
		wire.ChatCompletions: "data: [DONE]\n\n", wire.Messages: "event: message_stop\n", wire.Responses: "event: response.completed\n",
	}[s]
	return strings.HasPrefix(text, last) || strings.Contains(text, "\n"+last)
}

// The same of streams that are passed on as they come.
func TestCutAtEveryBytePassedOn(t *testing.T) {
	for l, s := range map[upstream.Language]wire.Surface{
		upstream.ChatLanguage: wire.ChatCompletions, upstream.MessagesLanguage: wire.Messages, upstream.ResponsesLanguage: wire.Responses,
	} {
		text := said(l)
		whole, finished := passed(s, text)
		if !finished || !ended(s, whole) || strings.Contains(whole, "vendor-m") {
			t.Fatalf("surface %d: %q", s, whole)
		}
		for at := range len(text) {
			part, finished := passed(s, text[:at])
			if !strings.HasPrefix(whole, part) {
				t.Fatalf("surface %d, cut at %d: %q is no beginning of %q", s, at, part, whole)
			}
			if !finished && ended(s, part) || finished && !strings.Contains(part, map[wire.Surface]string{
				wire.ChatCompletions: `"finish_reason":"tool_calls"`, wire.Messages: `"stop_reason":"tool_use"`, wire.Responses: "event: response.completed",
			}[s]) {
				t.Fatalf("surface %d, cut at %d: finished %v with %q", s, at, finished, part)
			}
		}
	}
}

// passed is what relay sends of a stream, and whether it takes it for whole.
func passed(s wire.Surface, text string) (sent string, finished bool) {
	x := &exchange{surface: surface{wire: s}}
	x.answersAs, x.envelope.IncludeUsage = "chat", true
	var out bytes.Buffer
	buf := &scratch{named: wire.Named{Surface: s}}
	buf.chunks.Reset()
	frames := wire.NewEventReader(strings.NewReader(text), 0)
	for {
		ev, err := frames.Next()
		if err != nil {
			return out.String(), finished
		}
		raw := ev.Raw
		if !ev.Done {
			var keep bool
			if raw, keep = x.event(ev, false, buf, new(admit.Outcome), &finished); !keep {
				continue
			}
			if raw == nil {
				return out.String(), false // the gateway breaks the stream off
			}
		}
		finished = finished || ev.Done
		out.Write(raw)
	}
}
