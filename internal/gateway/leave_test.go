package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// moment is where a request is when its caller leaves.
type moment int

const (
	queued moment = iota
	beforeHeaders
	beforeToken
	midAnswer
)

func (m moment) String() string {
	return [...]string{"queued", "before headers", "before first token", "mid answer"}[m]
}

// halt is an upstream that works until a moment and then waits for its caller
// to leave.
type halt struct {
	at      moment
	reached chan struct{}  // if not nil: told of each call
	gone    chan time.Time // when each caller left
}

func (h *halt) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	stream := strings.Contains(string(body), `"stream":true`)
	kind := "application/json"
	if stream {
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	switch {
	case h.at < beforeToken:
	case h.at == beforeToken && stream:
		send(w, ": patience\n\n")
	case h.at == beforeToken:
		send(w, " ")
	case stream:
		send(w, chunk("a"), chunk("b"), chunk("c"))
	default:
		send(w, wholeAnswer[:40])
	}
	if h.reached != nil {
		h.reached <- struct{}{}
	}
	<-r.Context().Done()
	h.gone <- time.Now()
}

// routes is every way to ask for an answer.
var routes = []struct {
	name, path, body string
	stream           bool
}{
	{"chat", chatPath, plainAsk, false},
	{"chat stream", chatPath, streamAsk, true},
	{"completions", completionPath, `{"model":"chat","prompt":"x"}`, false},
	{"completions stream", completionPath, `{"model":"chat","prompt":"x","stream":true}`, true},
	{"embeddings", embeddingPath, `{"model":"chat","input":"x"}`, false},
}

// Whoever leaves, wherever it is, gives back its slot and stops the upstream.
func TestLeaving(t *testing.T) { // B035, B177, B037
	for _, route := range routes {
		for at := queued; at <= midAnswer; at++ {
			t.Run(route.name+" "+at.String(), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					up := &halt{at: at, gone: make(chan time.Time, 2)}
					r := setup(t, one(1), up)
					first, leaveFirst := context.WithCancel(t.Context())
					a := r.background(first, route.path, route.body)
					time.Sleep(time.Second)
					leave := time.Now()
					if at == queued {
						second, leaveSecond := context.WithCancel(t.Context())
						b := r.background(second, route.path, route.body)
						synctest.Wait()
						if running, waiting := r.state("chat"); running != 1 || waiting != 1 {
							t.Fatalf("%d running, %d waiting", running, waiting)
						}
						leaveSecond()
						if got := <-b; !errors.Is(got.err, context.Canceled) {
							t.Errorf("the caller got %d %v", got.status, got.err)
						}
						if line := r.ended(1); line["spillway.outcome"] != "left" || line["spillway.attempts"] != nil {
							t.Errorf("record %v", line)
						}
						if running, waiting := r.state("chat"); running != 1 || waiting != 0 {
							t.Errorf("%d running, %d waiting: the place must be free", running, waiting)
						}
						leaveFirst()
					} else {
						leaveFirst()
						got := <-a
						if committed := at == midAnswer && route.stream; (got.status == 200) != committed {
							t.Errorf("status %d", got.status)
						}
					}
					if late := (<-up.gone).Sub(leave); late > 100*time.Millisecond {
						t.Errorf("the upstream worked on for %v", late)
					}
					n := 1
					if at == queued {
						n = 2
					}
					line := r.ended(n)
					if line["spillway.outcome"] != "left" || line["spillway.kind"] != "caller_gone" {
						t.Errorf("record %v", line)
					}
					if at == midAnswer && route.stream && (line["spillway.output_tokens"] != 3.0 || line["spillway.input_tokens"] == nil || line["spillway.tokens_estimated"] != true) {
						t.Errorf("what was delivered must be counted, and marked as an estimate: %v", line)
					}
					synctest.Wait()
					r.idle()
				})
			})
		}
	}
}

// The answer is complete for the caller with the end mark, whatever the
// upstream still does.
func TestLeavingAfterTheEndMark(t *testing.T) { // B020
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			events(chunk("a"), finish, usage, done)(w, q)
			select {
			case <-q.Context().Done():
			case <-time.After(300 * time.Millisecond):
			}
		}))
		ctx, cancel := context.WithCancel(t.Context())
		res, err := r.open(ctx, chatPath, streamAsk)
		if err != nil {
			t.Fatal(err)
		}
		s := bufio.NewScanner(res.Body)
		for s.Scan() && s.Text() != "data: [DONE]" {
		}
		cancel()
		res.Body.Close()
		line := r.ended(1)
		if line["spillway.outcome"] != "answered" || line["spillway.kind"] != "ok" || line["spillway.output_tokens"] != 3.0 {
			t.Errorf("record %v", line)
		}
		r.idle()
	})
}

// A caller that stops reading holds its slot no longer than write_stall.
func TestStalledReader(t *testing.T) { // B170
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name, body string
		up         http.HandlerFunc
	}{
		{"stream", streamAsk, events(chunk("a"), chunk(long), finish, done)},
		{"whole", plainAsk, reply(200, "application/json", `{"id":"c","choices":[],"text":"`+long+`"}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(1, "limits: {write_stall: 5s}"), c.up)
				res, err := r.open(t.Context(), chatPath, c.body)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				line := r.ended(1)
				if took := time.Since(begin); took > 5*time.Second || line["spillway.outcome"] != "left" {
					t.Errorf("after %v: %v", took, line)
				}
				r.idle()
				if _, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("a cut answer ended with %v", err)
				}
				res.Body.Close()
			})
		})
	}
}

// A slow reader that does read is not cut off, however long it takes.
func TestSlowReaderIsServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		part := chunk(strings.Repeat("x", 10_000))
		r := setup(t, one(1, "limits: {write_stall: 5s}"), events(part, part, part, part, part, part, finish, done))
		res, err := r.open(t.Context(), chatPath, streamAsk)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var all []byte
		b := make([]byte, 10_000)
		for err == nil {
			time.Sleep(2 * time.Second)
			var n int
			n, err = io.ReadFull(res.Body, b)
			all = append(all, b[:n]...)
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF || !strings.HasSuffix(string(all), done) {
			t.Errorf("%v, %d bytes, the end is %.40q", err, len(all), all[max(len(all)-40, 0):])
		}
		if line := r.ended(1); line["spillway.outcome"] != "answered" {
			t.Errorf("record %v", line)
		}
	})
}

// The write deadline of one answer must not break the next on the same
// connection.
func TestKeptConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1, "limits: {write_stall: 2s}"), reply(200, "application/json", wholeAnswer))
		for _, q := range []struct {
			path, body string
			status     int
		}{{chatPath, plainAsk, 200}, {chatPath, `{"model":"none","messages":[{}]}`, 404}, {"/none", "{}", 404}, {"/v1/models", "{}", 405}, {chatPath, plainAsk, 200}} {
			if a := r.ask(q.path, q.body); a.status != q.status || a.err != nil {
				t.Errorf("%s: %d %v", q.path, a.status, a.err)
			}
			time.Sleep(100 * time.Second) // less than a kept connection is kept
		}
	})
}

// A refusal that comes after a long wait must still be written.
func TestRefusalAfterALongWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := &halt{at: beforeHeaders, gone: make(chan time.Time, 1)}
		r := setup(t, one(1, "classes: {interactive: {max_wait: 200s}}"), up)
		ctx, cancel := context.WithCancel(t.Context())
		a := r.background(ctx, chatPath, plainAsk)
		synctest.Wait()
		b := r.ask(chatPath, plainAsk)
		if b.status != 429 || b.err != nil || b.took < 100*time.Second || b.took > 200*time.Second {
			t.Errorf("after %v: %d %v %s", b.took, b.status, b.err, b.body)
		}
		cancel()
		<-a
		<-up.gone
	})
}

// A caller that closes only its sending half counts as one that left. It must
// not take the broken answer for a whole one.
func TestHalfClosedCaller(t *testing.T) {
	for _, at := range []moment{beforeHeaders, midAnswer} {
		up := &halt{at: at, reached: make(chan struct{}, 1), gone: make(chan time.Time, 1)}
		r := setupTCP(t, one(1), up)
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: g\r\nContent-Length: %d\r\n\r\n%s", chatPath, len(streamAsk), streamAsk)
		b := bufio.NewReader(conn)
		<-up.reached
		if at == midAnswer {
			if _, err := b.Peek(1); err != nil {
				t.Fatal(err)
			}
		}
		conn.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(b) // a reset will do as well
		conn.Close()
		if at == beforeHeaders && len(got) > 0 || strings.HasSuffix(string(got), "0\r\n\r\n") {
			t.Errorf("%v: an answer that looks whole: %q", at, got)
		}
		<-up.gone
		if line := r.ended(1); line["spillway.outcome"] != "left" {
			t.Errorf("record %v", line)
		}
		r.idle()
	}
}
