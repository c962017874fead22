package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// pieces yields its elements one per Read, as segments arrive from a network,
// and ends with err.
type pieces struct {
	parts []string
	err   error
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.parts) == 0 {
		return 0, p.err
	}
	n := copy(b, p.parts[0])
	if p.parts[0] = p.parts[0][n:]; p.parts[0] == "" {
		p.parts = p.parts[1:]
	}
	return n, nil
}

// readEvents collects the data and the raw bytes of all events. Names and the
// Done mark show in data as "name|data" and "DONE".
func readEvents(t testing.TB, r *EventReader) (data []string, raw string, err error) {
	t.Helper()
	for {
		buffered := r.Buffered()
		ev, err := r.Next()
		if err != nil {
			if buffered {
				t.Fatalf("Buffered was true, Next returned %v", err)
			}
			if _, again := r.Next(); again != err {
				t.Fatalf("error is not final: %v, then %v", err, again)
			}
			return data, raw, err
		}
		s := string(ev.Data)
		if ev.Name != nil {
			s = string(ev.Name) + "|" + s
		}
		if ev.Done {
			s = "DONE"
		}
		data = append(data, s)
		raw += string(ev.Raw)
	}
}

var streams = []struct {
	name, in string
	data     []string
	raw      string // "" means: as the input
	err      error
}{
	{
		name: "B001 multi-byte text",
		in:   "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"你好🙂\"}}]}\n\n",
		data: []string{"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"你好🙂\"}}]}"},
	},
	{
		name: "B003 CRLF, no space after the colon",
		in:   "data:{\"a\":1}\r\n\r\ndata:{\"a\":2}\r\n\r\ndata:[DONE]\r\n\r\n",
		data: []string{`{"a":1}`, `{"a":2}`, "DONE"},
		raw:  "data:{\"a\":1}\n\ndata:{\"a\":2}\n\ndata:[DONE]\n\n",
	},
	{
		name: "B003 bare CR",
		in:   "data:{\"a\":1}\r\rdata:{\"a\":2}\r\rdata:[DONE]\r\r",
		data: []string{`{"a":1}`, `{"a":2}`, "DONE"},
		raw:  "data:{\"a\":1}\n\ndata:{\"a\":2}\n\ndata:[DONE]\n\n",
	},
	{
		name: "B004 two deltas",
		in:   "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"B\"}}]}\n\n",
		data: []string{`{"choices":[{"delta":{"content":"A"}}]}`, `{"choices":[{"delta":{"content":"B"}}]}`},
	},
	{
		name: "B007 comments",
		in:   ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n:\n\ndata: {}\n\ndata: [DONE]\n\n: bye",
		data: []string{"{}", "DONE"},
		raw:  "data: {}\n\ndata: [DONE]\n\n",
	},
	{
		name: "B009 heartbeats of all shapes",
		in:   ": ping\n\n\ndata: 1\n\nevent: x\n\ndata:\n\ndata: \n\ndata\n\n\n\ndata: 2\n\n",
		data: []string{"1", "2"},
		raw:  "data: 1\n\ndata: 2\n\n",
	},
	{
		name: "B010 mark, retry, event only, id only, empty data",
		in:   "\xef\xbb\xbfretry: 3000\n\nevent: keepalive\n\nid: 7\n\ndata:\n\ndata: {\"a\":1}\n\n",
		data: []string{`{"a":1}`},
		raw:  "data: {\"a\":1}\n\n",
	},
	{
		name: "comment and retry inside an event",
		in:   "event: a\n: ping\ndata: 1\nretry: 5\nunknown\n\nevent: b\ndata: 2\n\n",
		data: []string{"a|1", "b|2"},
		raw:  "event: a\ndata: 1\n\nevent: b\ndata: 2\n\n",
	},
	{
		name: "names, ids, several data lines, mixed line ends",
		in:   "id: 1\nevent:delta\r\ndata: {\rdata:  \"a\":1}\n\r\ndata:\ndata: x\n\n",
		data: []string{"delta|{\n \"a\":1}", "\nx"},
		raw:  "id: 1\nevent:delta\ndata: {\ndata:  \"a\":1}\n\ndata:\ndata: x\n\n",
	},
	{
		name: "bare JSON line is no event",
		in:   "data: 1\n\n{\"error\":{}}\n\ndata: 2\n\n",
		data: []string{"1", "2"},
		raw:  "data: 1\n\ndata: 2\n\n",
	},
	{
		name: "last event without its empty line, JSON",
		in:   "data: 1\n\ndata: {\"a\":1}",
		data: []string{"1", `{"a":1}`},
		raw:  "data: 1\n\ndata: {\"a\":1}\n\n",
	},
	{
		name: "last event without its empty line, DONE with CR",
		in:   "data: [DONE]\r",
		data: []string{"DONE"},
		raw:  "data: [DONE]\n\n",
	},
	{
		name: "B013 cut inside the last event",
		in:   "data: 1\n\nevent: response.completed\ndata: {\"type\":\"response.comp",
		data: []string{"1"}, raw: "data: 1\n\n", err: io.ErrUnexpectedEOF,
	},
	{name: "cut after a name", in: "event: a\n", err: io.ErrUnexpectedEOF},
	{name: "a cut number could be longer", in: "data: 12", err: io.ErrUnexpectedEOF},
	{name: "empty", in: ""},
	{name: "mark only", in: "\xef\xbb\xbf"},
	{name: "half a mark", in: "\xef\xbb", err: io.ErrUnexpectedEOF},
}

// Every stream is read whole, by one and two bytes, and cut in two at every offset.
func TestEventReaderAnyCut(t *testing.T) {
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			want, wantErr := s.raw, s.err
			if want == "" && len(s.data) > 0 {
				want = s.in
			}
			if wantErr == nil {
				wantErr = io.EOF
			}
			check := func(how string, src io.Reader) {
				t.Helper()
				data, raw, err := readEvents(t, NewEventReader(src, 0))
				if fmt.Sprintf("%q", data) != fmt.Sprintf("%q", s.data) || raw != want || err != wantErr {
					t.Errorf("%s: got %q, raw %q, %v; want %q, raw %q, %v", how, data, raw, err, s.data, want, wantErr)
				}
			}
			check("whole", strings.NewReader(s.in))
			check("with EOF", iotest.DataErrReader(strings.NewReader(s.in)))
			check("by 1", iotest.OneByteReader(strings.NewReader(s.in)))
			var twos []string
			for i := 0; i < len(s.in); i += 2 {
				twos = append(twos, s.in[i:min(i+2, len(s.in))])
			}
			check("by 2", &pieces{twos, io.EOF})
			for k := 1; k < len(s.in); k++ {
				check(fmt.Sprint("cut at ", k), &pieces{[]string{s.in[:k], s.in[k:]}, io.EOF})
			}
		})
	}
}

// A stream that stops at any offset yields a prefix of its events, and a clean
// end only where no event is open or the open one is whole.
func TestEventReaderAnyEnd(t *testing.T) {
	for _, s := range streams {
		reset := errors.New("connection reset")
		for k := range len(s.in) {
			data, _, err := readEvents(t, NewEventReader(strings.NewReader(s.in[:k]), 0))
			if len(data) > len(s.data) || fmt.Sprintf("%q", data) != fmt.Sprintf("%q", s.data[:len(data)]) {
				t.Errorf("%s: ended at %d: %q is no prefix of %q", s.name, k, data, s.data)
			}
			if err != io.EOF && err != io.ErrUnexpectedEOF {
				t.Errorf("%s: ended at %d: %v", s.name, k, err)
			}
			again, _, err := readEvents(t, NewEventReader(&pieces{[]string{s.in[:k]}, reset}, 0))
			if k > 0 && err != reset || len(again) > len(data) {
				t.Errorf("%s: reset at %d: %q, %v", s.name, k, again, err) // B013: no unfinished event
			}
		}
	}
}

// An event is not held back for a byte that may never come.
func TestEventReaderDoesNotWaitForLFAfterCR(t *testing.T) {
	for _, in := range []string{"data: 1\r\r", "data: 1\r\n\r", "data: 1\n\n"} {
		r := NewEventReader(&pieces{[]string{in}, errors.New("read too far")}, 0)
		if ev, err := r.Next(); err != nil || string(ev.Data) != "1" {
			t.Errorf("%q: got %q, %v", in, ev.Data, err)
		}
	}
}

// B017, B018: large events pass unchanged up to the limit, one byte more is an
// error that cannot be mistaken for an end.
func TestEventReaderLargeEvents(t *testing.T) {
	small := "data: {\"a\":1}\n\n"
	large := func(n int) string { return "data: " + strings.Repeat("x", n-6) + "\n\n" }
	in := small + large(70_000) + small + large(1_200_000) + small + large(70_000)
	var parts []string
	for rest := in; rest != ""; rest = rest[min(len(rest), 1460):] {
		parts = append(parts, rest[:min(len(rest), 1460)])
	}
	r := NewEventReader(&pieces{parts, io.EOF}, 0)
	data, raw, err := readEvents(t, r)
	if len(data) != 6 || raw != in || err != io.EOF {
		t.Errorf("got %d events, %d bytes, %v; want 6 events, %d bytes", len(data), len(raw), err, len(in))
	}

	for _, limit := range []int{64, 5000, 70_000} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			ok := strings.Repeat(strings.ReplaceAll(large(limit), "\n", end), 2)
			if data, _, err := readEvents(t, NewEventReader(strings.NewReader(ok), limit)); len(data) != 2 || err != io.EOF {
				t.Errorf("limit %d: at the limit: %d events, %v", limit, len(data), err)
			}
			over := small + strings.ReplaceAll(large(limit+1), "\n", end) + "data: [DONE]\n\n"
			if data, _, err := readEvents(t, NewEventReader(strings.NewReader(over), limit)); len(data) != 1 || err != ErrEventTooLarge {
				t.Errorf("limit %d: one byte over: %d events, %v", limit, len(data), err)
			}
		}
	}
	many := strings.Repeat("data: 12345678\n", 1000) + "\n"
	if _, _, err := readEvents(t, NewEventReader(strings.NewReader(many), 5000)); err != ErrEventTooLarge {
		t.Errorf("many lines: %v, want %v", err, ErrEventTooLarge)
	}
}

// The large buffer of one event does not stay with the stream.
func TestEventReaderGivesLargeBufferBack(t *testing.T) {
	big := "data: " + strings.Repeat("x", 300_000) + "\n\n"
	r := NewEventReader(&pieces{[]string{big, "data: 1\n\n"}, io.EOF}, 0)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if got := len(r.buf.b); got != minEventBuffer {
		t.Errorf("buffer is %d bytes after a small event, want %d", got, minEventBuffer)
	}
	r.Release()
	if _, err := r.Next(); err != io.ErrClosedPipe || r.Buffered() {
		t.Errorf("after Release: %v", err)
	}
}

// Views stay intact while Buffered looks ahead; Raw is the input itself when
// nothing is to be changed.
func TestEventReaderViews(t *testing.T) {
	in := "event: a\ndata: 1\ndata: 2\n\ndata: 3\r\ndata: 4\r\n\r\ndata: 5\n\nda"
	r := NewEventReader(strings.NewReader(in), 0)
	var got []string
	for i := range 3 {
		ev, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if more := r.Buffered(); more != (i < 2) {
			t.Errorf("event %d: Buffered is %v", i, more)
		}
		got = append(got, string(ev.Raw), string(ev.Name), string(ev.Data))
	}
	want := []string{"event: a\ndata: 1\ndata: 2\n\n", "a", "1\n2", "data: 3\ndata: 4\n\n", "", "3\n4", "data: 5\n\n", "", "5"}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// slowEvents is the dumb twin: it holds the whole stream and splits it.
func slowEvents(in string) (data []string) {
	in = strings.TrimPrefix(in, "\xef\xbb\xbf")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	var cur []string
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			joined := strings.Join(cur, "\n")
			if strings.Trim(joined, " \t\n") != "" {
				data = append(data, joined)
			}
			cur = nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		if name == "data" {
			cur = append(cur, strings.TrimPrefix(value, " "))
		}
	}
	return data
}

func FuzzEventReader(f *testing.F) {
	for _, s := range streams {
		f.Add(s.in, 3)
	}
	f.Add(strings.Repeat("data: x\r", 3000)+"\r", 7)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		cut = max(1, cut%5000)
		var parts []string
		for rest := in; rest != ""; rest = rest[min(len(rest), cut):] {
			parts = append(parts, rest[:min(len(rest), cut)])
		}
		r := NewEventReader(&pieces{parts, io.EOF}, 1<<20)
		want := slowEvents(in)
		var got []string
		for {
			r.Buffered()
			ev, err := r.Next()
			if err == ErrEventTooLarge {
				return
			}
			if err != nil {
				break
			}
			got = append(got, string(ev.Data))
			if !bytes.HasSuffix(ev.Raw, []byte("\n\n")) || bytes.Count(ev.Raw, []byte("\n\n")) != 1 || bytes.IndexByte(ev.Raw, '\r') >= 0 {
				t.Fatalf("raw %q is not one normal event", ev.Raw)
			}
			if again := slowEvents(string(ev.Raw)); len(again) != 1 || again[0] != string(ev.Data) {
				t.Fatalf("raw %q reads as %q, data is %q", ev.Raw, again, ev.Data)
			}
		}
		if len(got) == len(want)+1 { // an accepted last event
			got = got[:len(want)]
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// repeat yields b for ever.
type repeat struct {
	b  []byte
	at int
}

func (r *repeat) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c := copy(p[n:], r.b[r.at:])
		n += c
		r.at = (r.at + c) % len(r.b)
	}
	return n, nil
}

func BenchmarkEventReader(b *testing.B) {
	chunk := `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"big-1","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`
	for _, bench := range []struct{ name, event string }{
		{"plain", chunk + "\n\n"},
		{"named", "event: delta\n" + chunk + "\n\n"},
		{"crlf", chunk + "\r\n\r\n"},
		{"70kB", "data: " + strings.Repeat("x", 70_000) + "\n\n"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := NewEventReader(&repeat{b: []byte(bench.event)}, 0)
			b.SetBytes(int64(len(bench.event)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
				r.Buffered()
			}
		})
	}
}
