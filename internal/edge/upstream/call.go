package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Call is one request to a provider.
type Call struct {
	Path   string      // of the surface, as in "/v1/chat/completions"; may have a query
	Body   []byte      // sent as it is; must not change until the call is over
	Header http.Header // already filtered; credentials and headers of the connection are left out again
	Method string      // default POST
	Stream bool        // events are asked for
	Key    int         // index in Provider.APIKeys; out of range means the first
}

const (
	// A connection that the upstream closed while it was unused fails within a
	// round trip. What fails later has been worked on.
	staleWindow = time.Second

	maxErrorBody  = 64 << 10
	errorBodyTime = 5 * time.Second // an error is worth no longer wait for its text
)

var (
	errReplay    = errors.New("nothing was done with the request")
	errTooLarge  = errors.New("the answer is over the size limit")
	errBadAnswer = errors.New("unusable answer")
)

// Do makes one attempt. It returns when there is something to pass on: the
// first content of a stream, or the headers of a good answer. Whatever is no such
// answer, be it a status, an HTML page or an error before any content, is a
// *Failure, the only type of error.
//
// When ctx ends the upstream is dropped at once, also while the answer is read.
// The caller must Close the response.
//
// The request is sent a second time, on a new connection, only when the
// transport knows that nothing was done with it, or when a reused connection
// broke at once and without a byte of an answer.
func (c *Client) Do(ctx context.Context, call Call) (*Response, error) {
	a := &attempt{start: time.Now()}
	a.watch = newWatch(ctx, a.start, c.p.Idle, c.p.Total)
	c.limitHeaders(a.watch, call.Stream)

	res, err := a.send(c.pool.at(a.start), c, &call)
	replayed := false
	if err != nil && a.stale(err) {
		replayed = true
		res, err = a.send(c.fresh, c, &call)
	}
	if err != nil {
		kind, err := kindOf(a.watch, err, a.connected.Load(), false)
		a.watch.stop()
		return nil, &Failure{Provider: c.p.Name, Kind: kind, Err: err, Retryable: kind.retryable(), Sent: a.sent.Load()}
	}
	r := &Response{
		Status: res.StatusCode, Header: res.Header, Replayed: replayed,
		Start: a.start, HeadersAt: time.Now(),
		provider: c.p.Name, watch: a.watch, body: res.Body, length: res.ContentLength,
	}
	r.FirstByte = r.HeadersAt
	if err := r.open(c, &call); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// limitHeaders starts the wait for the headers. On a stream the first event
// must come in time, so a silent upstream is never waited for longer than that.
func (c *Client) limitHeaders(w *watch, stream bool) {
	if first := c.p.FirstToken; stream && first > 0 && (c.p.ResponseHeaders <= 0 || first < c.p.ResponseHeaders) {
		w.limit(FirstTokenTimeout, first)
		return
	}
	w.limit(HeaderTimeout, c.p.ResponseHeaders)
}

// attempt is a call until its headers are there. The flags are set by the
// goroutines of the transport.
type attempt struct {
	watch *watch
	start time.Time

	connected atomic.Bool // there was a connection
	reused    atomic.Bool // it had been used before
	answered  atomic.Bool // a byte of an answer was read
	sent      atomic.Bool // any connection was had, by this try or an earlier one
}

func (a *attempt) send(t *http.Transport, c *Client, call *Call) (*http.Response, error) {
	a.connected.Store(false)
	a.reused.Store(false)
	ctx := httptrace.WithClientTrace(a.watch.ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			a.connected.Store(true)
			a.sent.Store(true)
			a.reused.Store(info.Reused)
		},
		GotFirstResponseByte: func() { a.answered.Store(true) },
	})
	method := call.Method
	if method == "" {
		method = http.MethodPost
	}
	req := (&http.Request{
		Method: method, URL: c.target.url(call.Path), Host: c.target.base.Host, Header: c.callHeader(call),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if len(call.Body) > 0 {
		req.Body = newSendBody(call.Body)
		req.ContentLength = int64(len(call.Body))
		// The transport asks for the body again exactly when it holds a replay
		// to be safe. It would replay on other pooled connections, several
		// times; here the first one goes to stale instead.
		req.GetBody = func() (io.ReadCloser, error) { return nil, errReplay }
	}
	return t.RoundTrip(req)
}

// stale reports whether the request may be sent once more.
func (a *attempt) stale(err error) bool {
	if a.watch.ctx.Err() != nil || a.answered.Load() {
		return false
	}
	return errors.Is(err, errReplay) || a.reused.Load() && time.Since(a.start) < staleWindow
}

// badAnswer is the error of an answer that is not what was asked for.
func badAnswer(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBadAnswer, fmt.Sprintf(format, args...))
}
