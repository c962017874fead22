package gateway

import (
	"io"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/dialect"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// benchEvents is how many deltas a stream of BenchmarkEvent has.
const benchEvents = 1000

// longAnswer is a stream of many deltas in a provider's language, as the
// provider itself would word it.
func longAnswer(l upstream.Language) string {
	parts := map[upstream.Language][3]string{
		upstream.ChatLanguage: {
			`data: {"id":"chatcmpl-5f2b8a6e9d1c4f07b3a2","object":"chat.completion.chunk","created":1764000000,"model":"vendor-m","service_tier":"default","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n",
			`data: {"id":"chatcmpl-5f2b8a6e9d1c4f07b3a2","object":"chat.completion.chunk","created":1764000000,"model":"vendor-m","service_tier":"default","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" tokens"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n",
			`data: {"id":"c","object":"chat.completion.chunk","model":"vendor-m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}` + "\n\n" +
				`data: {"id":"c","object":"chat.completion.chunk","model":"vendor-m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1000,"total_tokens":1009}}` + "\n\ndata: [DONE]\n\n",
		},
		upstream.MessagesLanguage: {
			`event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"vendor-m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}` + "\n\n" +
				`event: content_block_start` + "\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
			`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" tokens"}}` + "\n\n",
			`event: content_block_stop` + "\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
				`event: message_delta` + "\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1000}}` + "\n\n" +
				`event: message_stop` + "\n" + `data: {"type":"message_stop"}` + "\n\n",
		},
	}[l]
	return parts[0] + strings.Repeat(parts[1], benchEvents) + parts[2]
}

// BenchmarkEvent is what the gateway's own code does with one event of a
// stream, from the bytes that were read to those that are written: bare is a
// copy of each framed event, passed is what goes on in the caller's own words,
// and the others are translated. ns/event is to be compared with that of bare
// for the same language. BenchmarkRelay has the same with all around it.
func BenchmarkEvent(b *testing.B) {
	for _, bench := range []struct {
		name    string
		from    upstream.Language
		surface wire.Surface
		how     func(*benchStream) int64
	}{
		{"bare/messages", upstream.MessagesLanguage, wire.Messages, (*benchStream).bare},
		{"passed/messages-anthropic", upstream.MessagesLanguage, wire.Messages, (*benchStream).passed},
		{"translated/chat-anthropic", upstream.MessagesLanguage, wire.ChatCompletions, (*benchStream).translated},
		{"translated/responses-anthropic", upstream.MessagesLanguage, wire.Responses, (*benchStream).translated},
		{"bare/chat", upstream.ChatLanguage, wire.ChatCompletions, (*benchStream).bare},
		{"passed/chat-openai", upstream.ChatLanguage, wire.ChatCompletions, (*benchStream).passed},
		{"translated/messages-openai", upstream.ChatLanguage, wire.Messages, (*benchStream).translated},
		{"translated/responses-openai", upstream.ChatLanguage, wire.Responses, (*benchStream).translated},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := &benchStream{text: longAnswer(bench.from), from: bench.from, surface: bench.surface}
			b.ReportAllocs()
			for b.Loop() {
				if n := bench.how(s); n < 1000 {
					b.Fatalf("%d bytes", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEvents, "ns/event")
		})
	}
}

type benchStream struct {
	text    string
	from    upstream.Language
	surface wire.Surface
	out     []byte // stands in for the connection
}

func (s *benchStream) write(p []byte) int64 {
	s.out = append(s.out[:0], p...)
	return int64(len(p))
}

func (s *benchStream) bare() (n int64) {
	frames := wire.NewEventReader(strings.NewReader(s.text), 0)
	defer frames.Release()
	for {
		ev, err := frames.Next()
		if err != nil {
			return n
		}
		n += s.write(ev.Raw)
	}
}

func (s *benchStream) passed() (n int64) {
	frames := wire.NewEventReader(strings.NewReader(s.text), 0)
	defer frames.Release()
	x := &exchange{surface: surface{wire: s.surface}}
	x.answersAs, x.envelope.IncludeUsage = "alias", true
	buf := scratches.Get().(*scratch)
	defer scratches.Put(buf)
	buf.chunks.Reset()
	buf.named = wire.Named{Surface: s.surface}
	finished := false
	var o admit.Outcome
	for {
		ev, err := frames.Next()
		if err != nil {
			return n
		}
		raw := ev.Raw
		if !ev.Done {
			raw, _ = x.event(ev, true, buf, &o, &finished)
		}
		n += s.write(raw)
	}
}

func (s *benchStream) translated() (n int64) {
	frames := wire.NewEventReader(strings.NewReader(s.text), 0)
	defer frames.Release()
	reader := languages[s.from].NewReader()
	writer := spoken(s.surface).NewWriter(dialect.WriterOptions{Model: "alias", ID: "id", Created: 1764000000, Usage: true})
	var frame []byte
	for {
		ev, err := frames.Next()
		if err == io.EOF {
			return n
		}
		events, err := reader.Read(ev.Name, ev.Data)
		if err != nil {
			return 0
		}
		frame = frame[:0]
		for i := range events {
			frame = writer.Write(frame, &events[i])
		}
		n += s.write(frame)
	}
}
