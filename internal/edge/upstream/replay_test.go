package upstream

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

// staleServer answers one request on each connection and closes it when the
// next one comes, or right away. It counts the requests it executed.
func staleServer(t *testing.T, atOnce func(nth int64) bool) (url string, executed *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	executed = new(atomic.Int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				if readRequest(r) != nil {
					return
				}
				n := executed.Add(1)
				io.WriteString(c, okAnswer)
				if !atOnce(n) {
					r.Peek(1) // the next request is on its way
				}
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String(), executed
}

// B054, B055: no call fails because the upstream closed a kept connection as it
// was used, and none is executed twice.
func TestStaleConnections(t *testing.T) {
	for name, atOnce := range map[string]func(int64) bool{
		"closed with the next request": func(int64) bool { return false },
		"closed after the answer":      func(int64) bool { return true },
		"either":                       func(n int64) bool { return n%3 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			url, executed := staleServer(t, atOnce)
			c, err := NewClient(Provider{BaseURL: url, Name: "test"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			body := bytes.Repeat([]byte("x"), 20_000)
			for i := range 400 {
				if _, err := take(c, Call{Body: body}); err != nil {
					t.Fatalf("call %d: %v", i, err)
				}
			}
			if n := executed.Load(); n != 400 {
				t.Errorf("400 calls were executed %d times", n)
			}
		})
	}
}

// The request that kills its server is sent twice at most, however many
// connections are pooled, and only once on a connection that is new.
func TestReplayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		hold := make(chan struct{})
		c, server := pipeClient(t, Provider{IdleConn: time.Hour}, func(conn net.Conn) {
			<-hold // so that all ten are open at the same time
			io.WriteString(conn, okAnswer)
			if readRequest(bufio.NewReader(conn)) == nil {
				requests.Add(1)
			}
		})
		results := make(chan error, 10)
		for range 10 {
			go func() { _, err := take(c, Call{}); results <- err }()
		}
		synctest.Wait()
		close(hold)
		for range 10 {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
		server.conn = func(net.Conn) { requests.Add(1) }
		_, err := take(c, Call{})
		if f := asFailure(t, err); f.Kind != Reset || !f.Sent || !f.Retryable {
			t.Errorf("got %+v", f)
		}
		if requests.Load() != 2 || server.dials.Load() != 11 {
			t.Errorf("%d requests on %d connections, want 2 on 11", requests.Load(), server.dials.Load())
		}
		c.Close()
		_, err = take(c, Call{})
		if f := asFailure(t, err); f.Kind != Reset || requests.Load() != 3 {
			t.Errorf("on a new connection: %v, %d requests, want 3", f.Kind, requests.Load())
		}
	})
}

// A kept connection that breaks after a while, or within an answer, was not
// stale: the upstream has worked on the request, and the decision to pay again
// is not made here.
func TestLateBreakIsNotReplayed(t *testing.T) {
	for _, tt := range []struct {
		after    time.Duration
		answer   string
		replayed bool
	}{
		{500 * time.Millisecond, "", true},
		{2 * time.Second, "", false},
		{0, "HTTP/1.1 200 OK\r\n", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, server := pipeClient(t, Provider{}, func(conn net.Conn) {
				io.WriteString(conn, okAnswer)
				if readRequest(bufio.NewReader(conn)) == nil {
					time.Sleep(tt.after)
					io.WriteString(conn, tt.answer)
				}
			})
			if _, err := take(c, Call{}); err != nil {
				t.Fatal(err)
			}
			res, err := c.Do(t.Context(), Call{Path: "/v1/x", Body: []byte("{}")})
			if tt.replayed {
				if err != nil || !res.Replayed || server.dials.Load() != 2 {
					t.Fatalf("after %v: %v, %d connections", tt.after, err, server.dials.Load())
				}
				res.Close()
			} else if f := asFailure(t, err); f.Kind != Reset || server.dials.Load() != 1 {
				t.Errorf("after %v and %q: %v, %d connections", tt.after, tt.answer, err, server.dials.Load())
			}
		})
	}
}
