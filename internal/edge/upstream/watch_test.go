package upstream

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a provider in memory for tests in virtual time. Each connection is
// given to conn, which gets the first request already read.
type pipe struct {
	dials atomic.Int64
	conn  func(net.Conn)
}

func (p *pipe) dial(context.Context, string, string) (net.Conn, error) {
	p.dials.Add(1)
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		if readRequest(bufio.NewReader(theirs)) == nil {
			p.conn(theirs)
		}
	}()
	return ours, nil
}

func readRequest(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

func pipeClient(t *testing.T, p Provider, conn func(net.Conn)) (*Client, *pipe) {
	t.Helper()
	server := &pipe{conn: conn}
	p.Name, p.BaseURL = "test", "http://provider.example"
	c, err := newClient(p, server.dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, server
}

const (
	eventHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" // ends with the connection
	bodyHead  = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n"
)

// script writes its strings and waits its durations, then waits until the
// client closes, and notes when that was.
func script(closed *time.Duration, steps ...any) func(net.Conn) {
	return func(c net.Conn) {
		start := time.Now()
		for _, s := range steps {
			switch s := s.(type) {
			case string:
				if _, err := io.WriteString(c, s); err != nil {
					*closed = time.Since(start)
					return
				}
			case time.Duration:
				time.Sleep(s)
			}
		}
		io.Copy(io.Discard, c)
		*closed = time.Since(start)
	}
}

func repeated(n int, steps ...any) (all []any) {
	for range n {
		all = append(all, steps...)
	}
	return all
}

// Each limit ends the call at its instant, and the upstream sees it then.
func TestTimeouts(t *testing.T) {
	p := Provider{ResponseHeaders: 30 * time.Second, FirstToken: 10 * time.Second, Idle: 5 * time.Second, Total: 60 * time.Second}
	heartbeat := func(s string) []any { return repeated(100, s, time.Second) }
	for _, tt := range []struct {
		name   string
		stream bool
		steps  []any
		kind   Kind
		at     time.Duration
		got    string
	}{
		{"B041 silence", true, nil, FirstTokenTimeout, 10 * time.Second, ""},
		{"B041 comments do not count", true, append([]any{eventHead}, heartbeat(": ping\n\n")...), FirstTokenTimeout, 10 * time.Second, ""},
		{"B041 pings do not count", true, append([]any{eventHead}, heartbeat("event: ping\ndata: {}\n\n")...), FirstTokenTimeout, 10 * time.Second, ""},
		{"headers, then nothing", true, []any{eventHead}, FirstTokenTimeout, 10 * time.Second, ""},
		{"B042 stall", true, []any{eventHead, 9 * time.Second, "data: 1\n\n", 4 * time.Second, "data: 2\n\ndata: 3\n\n"}, IdleTimeout, 18 * time.Second, "1 2 3"},
		{"B049 stall with heartbeats", true, append([]any{eventHead, "data: 1\n\n"}, heartbeat(": ping\n\nevent: ping\ndata: {}\n\n")...), IdleTimeout, 5 * time.Second, "1"},
		{"stall inside an event", true, append([]any{eventHead, "data: 1\n\ndata: "}, heartbeat("x")...), IdleTimeout, 5 * time.Second, "1"},
		{"endless stream", true, append([]any{eventHead}, heartbeat("data: x\n\n")...), TotalTimeout, 60 * time.Second, ""},
		{"no headers for a body", false, nil, HeaderTimeout, 30 * time.Second, ""},
		{"headers without a body", false, []any{bodyHead}, HeaderTimeout, 30 * time.Second, ""},
		{"body stalls", false, []any{bodyHead, 20 * time.Second, `{"a"`, 4 * time.Second, ":"}, IdleTimeout, 29 * time.Second, ""},
		{"the text of an error is not waited for", false, []any{"HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\n{"}, Unavailable, 5 * time.Second, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var closed time.Duration
				c, _ := pipeClient(t, p, script(&closed, tt.steps...))
				t0 := time.Now()
				got, err := take(c, Call{Stream: tt.stream})
				f := asFailure(t, err)
				if took := time.Since(t0); f.Kind != tt.kind || took != tt.at {
					t.Errorf("%v after %v (%v), want %v after %v", f.Kind, took, err, tt.kind, tt.at)
				}
				if tt.got != "" && got != tt.got {
					t.Errorf("got %q before, want %q", got, tt.got)
				}
				time.Sleep(time.Second) // a script that sleeps looks once a second
				synctest.Wait()
				if closed < tt.at || closed > tt.at+time.Second {
					t.Errorf("upstream saw the close at %v, want %v", closed, tt.at)
				}
			})
		})
	}
}

// Limits that are off do not end anything.
func TestLimitsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := Provider{Dial: -1, ResponseHeaders: -1, FirstToken: -1, Idle: -1, Total: -1, IdleConn: -1}
		c, _ := pipeClient(t, off, func(c net.Conn) {
			for _, s := range []string{eventHead, "data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"} {
				time.Sleep(24 * time.Hour)
				io.WriteString(c, s)
			}
		})
		if got, err := take(c, Call{Stream: true}); got != "1 2 [DONE]" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// The time a slow caller takes for an event is not the upstream's.
func TestSlowCallerIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed time.Duration
		c, _ := pipeClient(t, Provider{Idle: 5 * time.Second}, script(&closed, eventHead, "data: 1\n\n", "data: 2\n\n", "data: 3\n\n"))
		res, err := c.Do(t.Context(), Call{Path: "/v1/x", Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Close()
		for range 3 {
			if _, err := res.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(17 * time.Second)
		}
		t0 := time.Now()
		_, err = res.Next() // nothing comes: now the upstream is idle
		if f := asFailure(t, err); f.Kind != IdleTimeout || time.Since(t0) != 5*time.Second {
			t.Errorf("%v after %v", f.Kind, time.Since(t0))
		}
	})
}

// B045: an address that swallows packets costs the dial limit.
func TestDialTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := newClient(Provider{Name: "p", BaseURL: "http://10.0.0.1", Dial: time.Second}, func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		t0 := time.Now()
		_, err = take(c, Call{})
		if f := asFailure(t, err); f.Kind != Dial || f.Sent || time.Since(t0) != time.Second {
			t.Errorf("got %v, sent %v, after %v", err, f.Sent, time.Since(t0))
		}
	})
}

// When the caller leaves the upstream is dropped in the same instant, wherever
// the call is (B032, B034).
func TestCancel(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []any
		sent  bool
	}{
		{"while dialing", nil, false},
		{"before the headers", nil, true},
		{"before the first event", []any{eventHead}, true},
		{"within the stream", []any{eventHead, "data: 1\n\n"}, true},
		{"within a body", []any{bodyHead, `{"a`}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := -time.Second
				c, server := pipeClient(t, Provider{}, script(&closed, tt.steps...))
				if !tt.sent {
					block := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
					c, _ = newClient(Provider{BaseURL: "http://provider.example"}, block)
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(3*time.Second, cancel)
				t0 := time.Now()
				res, err := c.Do(ctx, Call{Path: "/v1/x", Stream: len(tt.steps) != 2 || tt.steps[0] == eventHead})
				if err == nil {
					defer res.Close()
					if res.Events {
						_, err = res.Next() // the one event
						if err == nil {
							_, err = res.Next()
						}
					} else {
						_, err = res.ReadAll(100)
					}
				}
				if f := asFailure(t, err); f.Kind != CallerGone || f.Sent != tt.sent || f.Retryable || time.Since(t0) != 3*time.Second {
					t.Errorf("got %v, sent %v, retryable %v after %v", f.Kind, f.Sent, f.Retryable, time.Since(t0))
				}
				synctest.Wait()
				if tt.sent && closed != 3*time.Second {
					t.Errorf("upstream saw the close at %v", closed)
				}
				if n := server.dials.Load(); n > 1 {
					t.Errorf("%d connections", n)
				}
				if !tt.sent {
					time.Sleep(10 * time.Second) // the transport's dial ends by its own limit
				}
			})
		})
	}
}

// B020: an upstream that keeps its socket open behind the mark delays nobody
// for long, and the call is a success.
func TestCloseAfterDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed time.Duration
		c, _ := pipeClient(t, Provider{}, script(&closed, eventHead, "data: 1\n\ndata: [DONE]\n\n"))
		t0 := time.Now()
		got, err := take(c, Call{Stream: true})
		if took := time.Since(t0); got != "1 [DONE]" || err != nil || took != drainTime {
			t.Errorf("got %q, %v after %v", got, err, took)
		}
	})
}
