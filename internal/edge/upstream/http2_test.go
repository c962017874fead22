package upstream

import (
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

	"github.com/spillway-llm/spillway/internal/core/admit"
)

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
			c, conns, _ := framePeers(t, Provider{}, func(n int) framePeer {
				if n <= tt.bad {
					return framePeer{reply: frameReset(http2.ErrCodeProtocol)}
				}
				return framePeer{reply: frameAnswer}
			})
			got, err := take(c, Call{})
			if tt.ok && (err != nil || got != "{}") {
				t.Errorf("%d bad connections: %q, %v", tt.bad, got, err)
			} else if !tt.ok {
				if f := asFailure(t, err); f.Kind != Reset || !f.Retryable {
					t.Errorf("%d bad connections: %+v", tt.bad, f)
				}
			}
			if n := conns.Load(); n != int64(tt.conns) {
				t.Errorf("%d connections, want %d", n, tt.conns)
			}
		})
	}
}

// framePeer is the other end of an HTTP/2 connection, by bare frames. (The real
// servers keep channels from one bubble of virtual time for the next.)
type framePeer struct {
	deaf    bool   // pings are not answered
	streams uint32 // allowed at once; 0 means any number
	// reply answers a request that was read to its end. It must not wait.
	reply func(send sendFrames, stream uint32)
}

type sendFrames func(func(*http2.Framer))

func frameHead(fr *http2.Framer, stream uint32, contentType string) {
	var head bytes.Buffer
	enc := hpack.NewEncoder(&head)
	enc.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	enc.WriteField(hpack.HeaderField{Name: "content-type", Value: contentType})
	fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true})
}

func frameAnswer(send sendFrames, stream uint32) {
	send(func(fr *http2.Framer) {
		frameHead(fr, stream, jsonBody)
		fr.WriteData(stream, true, []byte("{}"))
	})
}

func frameReset(code http2.ErrCode) func(sendFrames, uint32) {
	return func(send sendFrames, stream uint32) {
		send(func(fr *http2.Framer) { fr.WriteRSTStream(stream, code) })
	}
}

// frameEvents sends n events, each after a pause.
func frameEvents(n int, pause time.Duration) func(sendFrames, uint32) {
	return func(send sendFrames, stream uint32) {
		go func() {
			for i := range n {
				time.Sleep(pause)
				send(func(fr *http2.Framer) {
					if i == 0 {
						frameHead(fr, stream, events)
					}
					fr.WriteData(stream, i == n-1, []byte("data: 1\n\n"))
				})
			}
		}()
	}
}

// serve speaks with the client, whose preface was read, until that closes.
func (p framePeer) serve(conn net.Conn) {
	fr := http2.NewFramer(conn, conn)
	out, done := make(chan func(*http2.Framer), 100), make(chan struct{})
	defer close(done)
	send := func(f func(*http2.Framer)) { // a pipe has no buffer: never write from the reading side
		select {
		case out <- f:
		case <-done:
		}
	}
	go func() {
		for {
			select {
			case f := <-out:
				f(fr)
			case <-done:
				return
			}
		}
	}()
	send(func(fr *http2.Framer) {
		if p.streams > 0 {
			fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: p.streams})
		} else {
			fr.WriteSettings()
		}
	})
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				send(func(fr *http2.Framer) { fr.WriteSettingsAck() })
			}
		case *http2.PingFrame:
			if data := f.Data; !f.IsAck() && !p.deaf {
				send(func(fr *http2.Framer) { fr.WritePing(true, data) })
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				p.reply(send, f.StreamID)
			}
		}
	}
}

// framePeers is a client of HTTP/2 without TLS whose nth connection, from 1,
// goes to the peer that each returns. A connection on which nothing is said does
// not count.
func framePeers(t *testing.T, p Provider, each func(n int) framePeer) (c *Client, conns, open *atomic.Int64) {
	t.Helper()
	conns, open = new(atomic.Int64), new(atomic.Int64)
	p.Name, p.BaseURL, p.HTTPVersion = "test", "http://provider.example", "2"
	c, err := newClient(p, func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		open.Add(1)
		go func() {
			if _, err := io.CopyN(io.Discard, theirs, int64(len(http2.ClientPreface))); err == nil {
				each(int(conns.Add(1))).serve(theirs)
			}
			theirs.Close()
			open.Add(-1)
		}()
		return ours, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		synctest.Wait() // a stream that has just ended keeps its connection from being unused
		c.Close()
	})
	return c, conns, open
}

// What the upstream refused before it looked at it is sent once more, on another
// connection, whether the stream alone or the whole connection was refused.
func TestHTTP2Refused(t *testing.T) {
	for name, refuse := range map[string]func(sendFrames, uint32){
		"the stream": frameReset(http2.ErrCodeRefusedStream),
		"the connection": func(send sendFrames, _ uint32) {
			send(func(fr *http2.Framer) { fr.WriteGoAway(0, http2.ErrCodeNo, nil) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, conns, _ := framePeers(t, Provider{}, func(n int) framePeer {
					if n == 1 {
						return framePeer{reply: refuse}
					}
					return framePeer{reply: frameAnswer}
				})
				res, err := c.Do(t.Context(), Call{Path: "/v1/x", Body: []byte("{}")})
				if err != nil || !res.Replayed || conns.Load() != 2 {
					t.Fatalf("%v, %d connections", err, conns.Load())
				}
				res.Close()
			})
		})
	}
}

// B054: a connection whose other end is gone without a word is found out by its
// pings, long before the limit of the first token. One that is merely silent is
// not broken by them.
func TestHTTP2BlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := framePeers(t, Provider{}, func(int) framePeer {
			return framePeer{deaf: true, reply: func(sendFrames, uint32) {}}
		})
		t0 := time.Now()
		_, err := take(c, Call{Stream: true})
		if f := asFailure(t, err); f.Kind != Reset || f.Fault() != admit.Failed || time.Since(t0) != 30*time.Second {
			t.Errorf("%v after %v, want a reset after 30s", err, time.Since(t0))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := framePeers(t, Provider{}, func(int) framePeer { return framePeer{reply: frameEvents(1, 100*time.Second)} })
		if got, err := take(c, Call{Stream: true}); got != "1" || err != nil {
			t.Errorf("%q, %v after a long prefill", got, err)
		}
	})
}

// More calls than the upstream allows streams on a connection go over another
// one: they do not wait here, where nobody counts them. How many run at once is
// for the core to say (B142).
func TestHTTP2StreamLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, conns, _ := framePeers(t, Provider{}, func(int) framePeer { return framePeer{streams: 2, reply: frameEvents(1, 10*time.Second)} })
		if _, err := take(c, Call{Stream: true}); err != nil { // the limit is known from here on
			t.Fatal(err)
		}
		t0 := time.Now()
		failed := make(chan error, 3)
		for range 3 {
			go func() { _, err := take(c, Call{Stream: true}); failed <- err }()
		}
		for range 3 {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(t0); took != 10*time.Second || conns.Load() < 2 {
			t.Errorf("three calls took %v on %d connections, want 10s on several", took, conns.Load())
		}
	})
}
