package compat

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

// Whatever form the upstream's stream has, the client reads the same text.
func TestQuirks(t *testing.T) {
	for _, fault := range []string{
		"",
		"crlf",
		"comments", // B007, B009
		"bytewise", // B001: every byte in a segment of its own, characters of several bytes too
		"gzip",     // B135
		"no-done",
		"no-finish", // [DONE] is an end too
	} {
		t.Run(fault, func(t *testing.T) {
			r := start(t, setup{})
			got, _ := read(t, r.client.Chat.Completions.NewStreaming(limit(t), ask(fault)))
			twin := r.twin(quick())
			want, err := twin.Chat.Completions.New(limit(t), ask(""))
			if err != nil {
				t.Fatal(err)
			}
			if got.Choices[0].Message.Content != want.Choices[0].Message.Content {
				t.Errorf("streamed %q, want %q", got.Choices[0].Message.Content, want.Choices[0].Message.Content)
			}
			r.idle()
			if n := r.metric("spillway_requests_total", `outcome="answered"`); n != 1 {
				t.Errorf("%v requests answered, want 1", n)
			}
		})
	}
}

// B017: one event of 1.2 MB.
func TestLargeEvent(t *testing.T) {
	r := start(t, setup{})
	got, _ := read(t, r.client.Chat.Completions.NewStreaming(limit(t), ask("big=1200000")))
	if n := len(got.Choices[0].Message.Content); n < 1_200_000 {
		t.Errorf("%d bytes arrived", n)
	}
}

// B010 and its kin: blocks that end or confuse some client straight from the
// upstream do no harm through the gateway.
func TestStrayBlocks(t *testing.T) {
	good := event(oneChunk) + event(twoChunk) + event(finishChunk) + event("[DONE]")
	for name, script := range map[string]string{
		"retry":        "retry: 3000\n\n" + event(roleChunk) + good,
		"event only":   event(roleChunk) + "event: keepalive\n\n" + good,
		"empty data":   event(roleChunk) + "data:\n\n" + good,
		"mark":         "\xef\xbb\xbf" + good,
		"id":           "id: 7\n" + event(roleChunk) + ": c\n\n" + good,
		"comments":     ": PROCESSING\n\n: PROCESSING\n\n" + event(roleChunk) + good, // B007
		"blank lines":  "\n\n\n" + event(roleChunk) + "\n\n" + good,                  // B009
		"null error":   event(strings.Replace(roleChunk, `"object"`, `"error":null,"object"`, 1)) + good,
		"after done":   event(roleChunk) + good + event(oneChunk),
		"open end":     event(roleChunk) + strings.TrimSuffix(good, "\n\n"),
		"two data":     strings.Replace(event(roleChunk), `,"choices"`, ",\ndata: \"choices\"", 1) + good,
		"lone returns": strings.ReplaceAll(event(roleChunk)+good, "\n", "\r"),
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, setup{upstream: scripted(script)})
			got, _ := read(t, r.client.Chat.Completions.NewStreaming(limit(t), ask("")))
			if text := got.Choices[0].Message.Content; text != "one two" {
				t.Errorf("text is %q", text)
			}
			if got.Choices[0].FinishReason != "stop" {
				t.Errorf("finish reason is %q", got.Choices[0].FinishReason)
			}
		})
	}
}

// A stream that breaks is an error for the client, never a short answer.
func TestBrokenStream(t *testing.T) {
	for _, tt := range []struct {
		fault  string
		chunks int // at least, before the error
	}{
		{"cut=3", 3},
		{"cut=2", 2}, // with the chunk of the role alone it is no answer yet, and goes elsewhere
		{"error-event=3", 3},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			r := start(t, setup{mock: tokenByToken()})
			s := r.client.Chat.Completions.NewStreaming(limit(t), ask(tt.fault))
			defer s.Close()
			n := 0
			for s.Next() {
				n++
			}
			var broken *ssestream.StreamError
			if !errors.As(s.Err(), &broken) {
				t.Fatalf("after %d chunks the error is %v (%T), want one that the gateway sent", n, s.Err(), s.Err())
			}
			if n < tt.chunks {
				t.Errorf("%d chunks arrived, want %d", n, tt.chunks)
			}
			r.idle()
			if n := r.metric("spillway_requests_total", `outcome="cut"`); n != 1 {
				t.Errorf("%v requests counted as cut, want 1", n)
			}
		})
	}
}

// What goes wrong before the first token has a status, so that clients retry.
func TestFailureBeforeTheFirstToken(t *testing.T) {
	for fault, status := range map[string]int{
		"reset": 502, "html": 502, "empty": 502, "500": 500, "503": 503, "429": 503, "401": 502, "cut=0": 502, "cut=1": 502,
		"error-event=0": 502, // B067: nothing of a failed attempt is shown
	} {
		t.Run(fault, func(t *testing.T) {
			r := start(t, setup{})
			s := r.client.Chat.Completions.NewStreaming(limit(t), ask(fault))
			defer s.Close()
			if s.Next() {
				t.Fatalf("a stream began: %s", s.Current().RawJSON())
			}
			if e := apiError(t, s.Err()); e.StatusCode != status || e.Code == "" {
				t.Errorf("%d %s: %s; want %d", e.StatusCode, e.Code, e.Message, status)
			}
		})
	}
}

// B067: when the first attempt fails and the second does not, the caller sees
// one beginning.
func TestSecondAttempt(t *testing.T) {
	var calls atomic.Int64
	r := start(t, setup{upstream: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if calls.Add(1) == 1 {
			scripted(event(`{"error":{"message":"busy","type":"server_error","param":null,"code":null}}`))(w, req)
			return
		}
		scripted(event(roleChunk), event(oneChunk), event(twoChunk), event(finishChunk), event("[DONE]"))(w, req)
	})})
	got, chunks := read(t, r.client.Chat.Completions.NewStreaming(limit(t), ask("")))
	if got.Choices[0].Message.Content != "one two" || len(chunks) != 4 {
		t.Errorf("%d chunks: %q", len(chunks), got.Choices[0].Message.Content)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls upstream, want 2", n)
	}
}

// B020: clients leave at [DONE], and some upstreams do not hang up by then.
func TestEndOfStream(t *testing.T) {
	r := start(t, setup{upstream: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		scripted(event(roleChunk), event(oneChunk), event(twoChunk), event(finishChunk), event("[DONE]"))(w, req)
		http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})})
	got, _ := read(t, r.client.Chat.Completions.NewStreaming(limit(t), ask("")))
	if got.Choices[0].Message.Content != "one two" {
		t.Errorf("text is %q", got.Choices[0].Message.Content)
	}
	r.idle()
	if n := r.metric("spillway_requests_total", `outcome="answered"`); n != 1 {
		t.Errorf("%v requests answered, want 1: %v left", n, r.metric("spillway_requests_total", `outcome="left"`))
	}
}

// After a stream the connection is used again, so each is read to its end.
func TestConnectionIsKept(t *testing.T) {
	r := start(t, setup{})
	for range 3 {
		read(t, r.client.Chat.Completions.NewStreaming(limit(t), ask("")))
	}
	r.idle()
	// Read as a plain HTTP client does, past [DONE].
	body := strings.NewReader(`{"model":"chat","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	req, err := http.NewRequestWithContext(limit(t), http.MethodPost, r.url+"/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	last := ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if lines.Text() != "" {
			last = lines.Text()
		}
	}
	if err := lines.Err(); err != nil && err != io.EOF {
		t.Error(err)
	}
	if last != "data: [DONE]" {
		t.Errorf("the last line is %q", last)
	}
}
