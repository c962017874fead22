package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// client sends load with as little work as can be: it shares the processors
// with what it measures.
type client struct{ addr string }

const callTime = 30 * time.Second

var prompt = `{"model":"chat","messages":[{"role":"system","content":"You answer in short sentences."},` +
	`{"role":"user","content":"What does a gateway do when there is more work than it can do in time?"}],"max_tokens":256`

// call is a request as the official SDKs send it.
func call(addr, body, more string) []byte {
	return fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nUser-Agent: OpenAI/Go 3.0\r\nAccept: application/json\r\n"+
		"Authorization: Bearer bench\r\nContent-Type: application/json\r\nX-Stainless-Lang: go\r\nX-Stainless-Os: Linux\r\n"+
		"X-Stainless-Retry-Count: 0\r\n%sContent-Length: %d\r\n\r\n%s", addr, more, len(body), body)
}

func (c *client) dial(ctx context.Context, most time.Duration) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(most))
}

// requests sends n requests on some connections, each as soon as the one
// before is answered, and tells how long each took, in order of time.
func (c *client) requests(ctx context.Context, conns, n int) ([]time.Duration, error) {
	var left atomic.Int64
	left.Store(int64(n))
	took := make([]time.Duration, n)
	failed := make(chan error, conns)
	for range conns {
		go func() { failed <- c.work(ctx, &left, took) }()
	}
	var errs error
	for range conns {
		if err := <-failed; err != nil && errs == nil {
			errs = err
		}
	}
	slices.Sort(took)
	return took, errs
}

func (c *client) work(ctx context.Context, left *atomic.Int64, took []time.Duration) error {
	conn, err := c.dial(ctx, callTime)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	req, r := call(c.addr, prompt+"}", "X-Spillway-Degrade: allow\r\n"), bufio.NewReader(conn)
	for {
		i := left.Add(-1)
		if i < 0 {
			return nil
		}
		began := time.Now()
		if _, err := conn.Write(req); err != nil {
			return err
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, res.Body)
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK || n < int64(len(answer)) {
			return fmt.Errorf("status %d with %d bytes", res.StatusCode, n)
		}
		took[i] = time.Since(began)
	}
}

// streams are streams that are open.
type streams struct {
	events  atomic.Int64
	conns   []net.Conn
	readers sync.WaitGroup
	closed  atomic.Bool
	lost    atomic.Int64
	err     atomic.Pointer[error]
}

// open opens n streams and returns when each has brought its first event.
func (c *client) open(ctx context.Context, n int, pace time.Duration) (*streams, error) {
	s := &streams{}
	req := call(c.addr, prompt+`,"stream":true}`, fmt.Sprintf("%s: %d\r\n", paceHeader, pace.Microseconds()))
	began := make(chan error, n)
	for range n {
		conn, err := c.dial(ctx, maxStream)
		if err != nil {
			s.close()
			return nil, err
		}
		s.conns = append(s.conns, conn)
		s.readers.Add(1)
		go s.read(conn, req, began)
	}
	for range n {
		select {
		case err := <-began:
			if err != nil {
				s.close()
				return nil, err
			}
		case <-ctx.Done():
			s.close()
			return nil, context.Cause(ctx)
		}
	}
	return s, nil
}

// read counts events by their ends, below HTTP's own framing: they have none of it inside.
func (s *streams) read(conn net.Conn, req []byte, began chan<- error) {
	defer s.readers.Done()
	started := false
	err := func() error {
		if _, err := conn.Write(req); err != nil {
			return err
		}
		b := make([]byte, 4<<10)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return err
			}
			if k := bytes.Count(b[:n], []byte("\n\n")); k > 0 {
				s.events.Add(int64(k))
				if !started {
					started = true
					began <- nil
				}
			} else if !started && !bytes.HasPrefix(b, []byte("HTTP/1.1 200")) {
				return fmt.Errorf("a stream began with %.200q", b[:n])
			}
		}
	}()
	if !started {
		began <- err
	}
	if !s.closed.Load() {
		s.lost.Add(1)
		s.err.CompareAndSwap(nil, &err)
	}
}

// broken is the error of a stream that ended by itself.
func (s *streams) broken() error {
	if err := s.err.Load(); err != nil {
		return fmt.Errorf("%d streams broke: %w", s.lost.Load(), *err)
	}
	return nil
}

func (s *streams) close() {
	s.closed.Store(true)
	for _, c := range s.conns {
		c.Close()
	}
	s.readers.Wait()
}
