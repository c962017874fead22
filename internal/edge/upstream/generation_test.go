package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// moving is a name that leads to one address for a while and then to another.
// It keeps count of how old connections are when they are given a request.
type moving struct {
	mu     sync.Mutex
	addr   string         // empty: it leads nowhere
	opened map[string]int // connections with requests, by address
	served map[string]int // requests by address
	oldest time.Duration  // age of a connection when a request came on it
	open   int            // connections that are not closed
}

func (m *moving) dial(context.Context, string, string) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	addr := m.addr
	if addr == "" {
		return nil, errors.New("no such host")
	}
	m.open++
	ours, theirs := net.Pipe()
	go m.serve(theirs, addr)
	return ours, nil
}

func (m *moving) serve(conn net.Conn, addr string) {
	born, used := time.Now(), false
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			break
		}
		io.Copy(io.Discard, req.Body)
		m.mu.Lock()
		if m.served[addr]++; !used {
			used = true
			m.opened[addr]++
		}
		m.oldest = max(m.oldest, time.Since(born))
		m.mu.Unlock()
		if strings.HasSuffix(req.URL.Path, "/stream") {
			io.WriteString(conn, eventHead)
			for range 20 { // for ten minutes
				time.Sleep(30 * time.Second)
				io.WriteString(conn, "data: 1\n\n")
			}
			io.WriteString(conn, "data: [DONE]\n\n")
			break
		}
		io.WriteString(conn, okAnswer)
	}
	conn.Close()
	m.mu.Lock()
	m.open--
	m.mu.Unlock()
}

// A name that moves is followed within the age of a connection, although calls
// never leave it unused. A stream that runs meanwhile is not disturbed.
func TestConnectionsGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moving{addr: "old", opened: map[string]int{}, served: map[string]int{}}
		c, err := newClient(Provider{Name: "test", BaseURL: "http://provider.example", IdleConn: time.Hour}, m.dial)
		if err != nil {
			t.Fatal(err)
		}
		streamed := make(chan string)
		go func() {
			got, err := take(c, Call{Path: "/v1/stream", Stream: true})
			if err != nil {
				got = err.Error()
			}
			streamed <- got
		}()
		calls := func(n int) {
			for range n {
				time.Sleep(time.Second)
				if got, err := take(c, Call{}); err != nil || got != "{}" {
					t.Fatalf("%q, %v", got, err)
				}
			}
		}
		calls(120) // two minutes
		m.mu.Lock()
		if m.opened["old"] != 2 { // one of the stream
			t.Errorf("%d connections in two minutes, want 2", m.opened["old"])
		}
		m.addr = "new"
		m.mu.Unlock()
		calls(210) // 5:30
		before := m.served["old"]
		calls(390) // 12:00
		if got := <-streamed; got != strings.Repeat("1 ", 20)+"[DONE]" {
			t.Errorf("the stream that ran meanwhile: %s", got)
		}
		m.mu.Lock()
		if m.served["old"] != before || m.served["new"] < 390 {
			t.Errorf("the old address got %d calls after the age of a connection, the new one %d", m.served["old"]-before, m.served["new"])
		}
		if m.oldest > 5*time.Minute+30*time.Second || m.oldest < 4*time.Minute {
			t.Errorf("a connection was used at the age of %v", m.oldest)
		}
		if m.opened["new"] > 3 {
			t.Errorf("%d connections to the new address", m.opened["new"])
		}
		m.mu.Unlock()
		synctest.Wait()
		if m.open != 1 {
			t.Errorf("%d connections are open, want the one in use", m.open)
		}
		c.Close()
		synctest.Wait()
		if m.open != 0 {
			t.Errorf("%d connections are left", m.open)
		}
	})
}

// While no new connection can be had the old one goes on, without a failure; but
// not for ever.
func TestOldConnectionsOutliveAnOutageOfNames(t *testing.T) {
	for _, tt := range []struct{ back, fails time.Duration }{
		{back: 9 * time.Minute},
		{back: 20 * time.Minute, fails: 10 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &moving{addr: "old", opened: map[string]int{}, served: map[string]int{}}
			c, err := newClient(Provider{Name: "test", BaseURL: "http://provider.example", IdleConn: time.Hour}, m.dial)
			if err != nil {
				t.Fatal(err)
			}
			t0 := time.Now()
			var failed time.Duration
			for range 30 * 60 {
				time.Sleep(time.Second)
				m.mu.Lock()
				switch since := time.Since(t0); since {
				case time.Minute:
					m.addr = ""
				case tt.back:
					m.addr = "new"
				}
				m.mu.Unlock()
				if _, err := take(c, Call{}); err != nil && failed == 0 {
					failed = time.Since(t0)
				}
			}
			if failed != tt.fails {
				t.Errorf("names back after %v: the first call failed after %v, want %v", tt.back, failed, tt.fails)
			}
			if m.opened["old"] != 1 || m.served["new"] < 9*60 {
				t.Errorf("names back after %v: connections %v, calls %v", tt.back, m.opened, m.served)
			}
			c.Close()
		})
	}
}

// Switched off, or for a tenth more than its age, a connection is kept.
func TestConnAgeSetting(t *testing.T) {
	for age, want := range map[time.Duration]int{-1: 1, time.Minute: 10} {
		synctest.Test(t, func(t *testing.T) {
			m := &moving{addr: "a", opened: map[string]int{}, served: map[string]int{}}
			c, err := newClient(Provider{BaseURL: "http://provider.example", IdleConn: -1, ConnAge: age}, m.dial)
			if err != nil {
				t.Fatal(err)
			}
			for range 600 {
				time.Sleep(time.Second)
				if _, err := take(c, Call{}); err != nil {
					t.Fatal(err)
				}
			}
			if n := m.opened["a"]; n < want-1 || n > want+1 {
				t.Errorf("age %v: %d connections in ten minutes, want about %d", age, n, want)
			}
			c.Close()
		})
	}
}

// Over HTTP/2 all calls share a connection. When it is old the next call gets
// another, the streams on the old one end as they would have, and it is closed.
func TestHTTP2ConnectionsGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, conns, open := framePeers(t, Provider{IdleConn: -1}, func(n int) framePeer {
			return framePeer{reply: func(send sendFrames, stream uint32) {
				if n == 1 && stream == 1 {
					frameEvents(20, 30*time.Second)(send, stream) // for ten minutes
				} else {
					frameAnswer(send, stream)
				}
			}}
		})
		streamed := make(chan string)
		go func() {
			got, err := take(c, Call{Path: "/v1/stream", Stream: true})
			if err != nil {
				got = err.Error()
			}
			streamed <- got
		}()
		var at []int64 // connections after each minute
		for range 14 {
			time.Sleep(time.Minute)
			if got, err := take(c, Call{}); err != nil || got != "{}" {
				t.Fatalf("%q, %v", got, err)
			}
			at = append(at, conns.Load())
			if len(at) == 11 {
				if got := <-streamed; got != strings.TrimSpace(strings.Repeat("1 ", 20)) {
					t.Errorf("the stream that ran meanwhile: %s", got)
				}
			}
		}
		if at[3] != 1 || at[6] != 2 || at[12] < 3 || at[13] > 4 {
			t.Errorf("connections after each minute: %v", at)
		}
		time.Sleep(6 * time.Minute) // unused for longer than the age: nothing stays
		synctest.Wait()
		if open.Load() != 0 {
			t.Errorf("%d connections are left", open.Load())
		}
	})
}

// A new connection goes on with the TLS session of an older one.
func TestTLSSessionIsKept(t *testing.T) {
	var mu sync.Mutex
	resumed := map[string]bool{} // by connection
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		resumed[r.RemoteAddr] = r.TLS.DidResume
		mu.Unlock()
		answer(200, jsonBody, "{}")(w, r)
	}))
	defer srv.Close()
	c, err := NewClient(Provider{Name: "test", BaseURL: srv.URL, ConnAge: time.Nanosecond, TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := take(c, Call{}); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	again := 0
	for _, r := range resumed {
		if r {
			again++
		}
	}
	if len(resumed) != 2 || again != 1 {
		t.Errorf("%d connections, %d of them resumed; want 2 and 1", len(resumed), again)
	}
}
