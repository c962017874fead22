package upstream

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
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

// serveTLS starts a provider that offers HTTP/2.
func serveTLS(t *testing.T, version string, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	c, err := NewClient(Provider{Name: "test", BaseURL: srv.URL, HTTPVersion: version,
		TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); srv.Close() })
	return c
}

func TestHTTPVersions(t *testing.T) {
	for version, major := range map[string]int{"auto": 2, "2": 2, "1.1": 1} {
		var got atomic.Int64
		c := serveTLS(t, version, func(w http.ResponseWriter, r *http.Request) {
			got.Store(int64(r.ProtoMajor))
			answer(200, events, "data: 1\n\ndata: [DONE]\n\n")(w, r)
		})
		if s, err := take(c, Call{Stream: true}); s != "1 [DONE]" || err != nil || got.Load() != int64(major) {
			t.Errorf("version %s: %q, %v over HTTP/%d, want HTTP/%d", version, s, err, got.Load(), major)
		}
	}
}

func TestHTTP2StreamResets(t *testing.T) {
	var requests atomic.Int64
	c := serveTLS(t, "auto", func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/v1/stream" {
			cut(events, "data: 1\n\n")(w, r)
		}
		panic(http.ErrAbortHandler)
	})
	_, err := take(c, Call{Path: "/v1/x"})
	if f := asFailure(t, err); f.Kind != Reset || !f.Sent || requests.Load() != 1 {
		t.Errorf("before the headers: %+v, %d requests", f, requests.Load())
	}
	got, err := take(c, Call{Path: "/v1/stream", Stream: true})
	if f := asFailure(t, err); f.Kind != Reset || got != "1" {
		t.Errorf("within the stream: %q, %+v", got, f)
	}
}

func TestHTTP2CancelReachesTheUpstream(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan struct{})
	c := serveTLS(t, "2", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(begun)
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	_, err := c.Do(ctx, Call{Path: "/v1/x", Body: []byte("{}")})
	if f := asFailure(t, err); f.Kind != CallerGone {
		t.Errorf("got %+v", f)
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the upstream was not told")
	}
}

// B141: a stream reset with PROTOCOL_ERROR before the headers is tried once more
// on a new connection, and a second reset is a transport failure.
func TestHTTP2ProtocolError(t *testing.T) {
	for _, tt := range []struct {
		bad, conns int
		ok         bool
	}{{1, 2, true}, {9, 2, false}} {
		synctest.Test(t, func(t *testing.T) {
			conns := 0
			dial := func(context.Context, string, string) (net.Conn, error) {
				conns++
				ours, theirs := net.Pipe()
				go serveFrames(theirs, conns <= tt.bad)
				return ours, nil
			}
			c, err := newClient(Provider{Name: "test", BaseURL: "http://provider.example", HTTPVersion: "2"}, dial)
			if err != nil {
				t.Fatal(err)
			}
			got, err := take(c, Call{})
			if tt.ok && (err != nil || got != "{}") {
				t.Errorf("%d bad connections: %q, %v", tt.bad, got, err)
			} else if !tt.ok {
				if f := asFailure(t, err); f.Kind != Reset || !f.Retryable {
					t.Errorf("%d bad connections: %+v", tt.bad, f)
				}
			}
			if conns != tt.conns {
				t.Errorf("%d connections, want %d", conns, tt.conns)
			}
			c.Close()
		})
	}
}

// serveFrames speaks HTTP/2 by bare frames until the client closes.
func serveFrames(conn net.Conn, bad bool) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	if _, err := io.CopyN(io.Discard, in, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	out := make(chan func(*http2.Framer), 100) // a pipe has no buffer: never write from the reading side
	defer close(out)
	fr := http2.NewFramer(conn, in)
	go func() {
		for f := range out {
			f(fr)
		}
	}()
	out <- func(fr *http2.Framer) { fr.WriteSettings() }
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				out <- func(fr *http2.Framer) { fr.WriteSettingsAck() }
			}
		case *http2.DataFrame:
			id := f.StreamID
			if !f.StreamEnded() {
				continue
			}
			if bad {
				out <- func(fr *http2.Framer) { fr.WriteRSTStream(id, http2.ErrCodeProtocol) }
				continue
			}
			var head bytes.Buffer
			enc := hpack.NewEncoder(&head)
			enc.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
			enc.WriteField(hpack.HeaderField{Name: "content-type", Value: jsonBody})
			out <- func(fr *http2.Framer) {
				fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true})
				fr.WriteData(id, true, []byte("{}"))
			}
		}
	}
}
