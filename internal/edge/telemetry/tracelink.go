package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
)

const (
	traceQueue   = 4096 // requests that may wait for the collector: about 4 MB
	traceBatch   = 512  // requests of one call to it
	traceEvery   = time.Second
	traceTimeout = 10 * time.Second // of one call
	traceTries   = 5                // to reach it, with pauses of 1 s, 2 s, 4 s and 8 s
	traceEnd     = 5 * time.Second  // for what waits when the link is closed
)

// traceLink is the way to one collector: a bounded queue and a goroutine that
// makes spans of what is in it and sends them.
type traceLink struct {
	t         *Tracer
	endpoint  string
	headers   map[string]string
	client    otlptrace.Client
	transport *http.Transport
	status    int  // of the last answer; of run alone
	down      bool // the last batch was not delivered; of run alone
	closing   chan struct{}
	life      context.Context // ends a little after closing
	end       context.CancelFunc

	mu     sync.RWMutex // put against close
	closed bool
	queue  chan *Record
}

// connect makes a link and starts it. Nothing is sent before there is something
// to send.
func (t *Tracer) connect(s TraceSettings) *traceLink {
	l := &traceLink{t: t, endpoint: s.Endpoint, headers: s.Headers, queue: make(chan *Record, traceQueue), closing: make(chan struct{})}
	l.life, l.end = context.WithCancel(context.Background())
	l.transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: t.dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: 90 * time.Second,
	}
	l.client = otlptracehttp.NewClient(
		otlptracehttp.WithEndpointURL(s.Endpoint), otlptracehttp.WithHeaders(s.Headers), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}), // deliver does it, and stops in time
		otlptracehttp.WithHTTPClient(&http.Client{
			Transport: l, Timeout: traceTimeout,
			// What is sent is for the configured address alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	)
	t.links.Go(l.run)
	return l
}

// RoundTrip notes the status, which the client's errors tell only in words
// beside what the collector chose to say.
func (l *traceLink) RoundTrip(r *http.Request) (*http.Response, error) {
	l.status = 0
	resp, err := l.transport.RoundTrip(r)
	if err == nil {
		l.status = resp.StatusCode
	}
	return resp, err
}

// put takes a copy of the record of a request that has ended, if there is room.
func (l *traceLink) put(r *Record) bool {
	if len(l.queue) == cap(l.queue) {
		return false
	}
	c := *r // what it points to is changed by nobody after the end
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return false
	}
	select {
	case l.queue <- &c:
		return true
	default:
		return false
	}
}

// close lets the link end when its queue is empty, or soon. It does not wait.
func (l *traceLink) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	close(l.queue)
	close(l.closing)
	time.AfterFunc(traceEnd, l.end)
}

func (l *traceLink) run() {
	defer l.end()
	defer l.transport.CloseIdleConnections()
	batch := make([]*Record, 0, traceBatch)
	for r := range l.queue {
		batch = l.fill(append(batch[:0], r))
		l.deliver(batch)
		clear(batch)
	}
}

// fill adds what comes within a short time, or at once if the link is closing.
func (l *traceLink) fill(batch []*Record) []*Record {
	timer := time.NewTimer(traceEvery)
	defer timer.Stop()
	for len(batch) < traceBatch {
		select {
		case r, ok := <-l.queue:
			if !ok {
				return batch
			}
			batch = append(batch, r)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// deliver sends a batch, and tries again while the collector cannot be reached
// or asks for it.
func (l *traceLink) deliver(batch []*Record) {
	request := resourceSpans(batch)
	for try, pause := 1, time.Second; ; try, pause = try+1, 2*pause {
		err := l.client.UploadTraces(l.life, request)
		l.tell(err)
		if err == nil {
			l.t.counts.exported.Add(int64(len(batch)))
			return
		}
		if try == traceTries || !l.again(pause) {
			l.t.counts.undelivered.Add(int64(len(batch)))
			return
		}
	}
}

// again waits before the next try. There is none after an answer that would
// be the same, nor when the link is closing.
func (l *traceLink) again(pause time.Duration) bool {
	switch l.status {
	case 0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.closing:
		return false
	}
}

// tell logs that traces no longer arrive, once, and that they do again.
func (l *traceLink) tell(err error) {
	switch down := err != nil; {
	case down && !l.down:
		l.t.log.Warn("traces do not reach the collector; they are dropped until they do: see traces.endpoint", "error", l.reason(err).Error())
		l.down = true
	case !down && l.down:
		l.t.log.Info("traces reach the collector again")
		l.down = false
	}
}

// reason says what kind of error it is and no more: what the collector said may
// hold anything.
func (l *traceLink) reason(err error) error {
	var u *url.Error
	var dns *net.DNSError
	var errno syscall.Errno
	switch {
	case l.status >= 200 && l.status < 300:
		return errors.New("it did not take all spans")
	case l.status != 0:
		return fmt.Errorf("it answered %d %s", l.status, http.StatusText(l.status))
	case errors.As(err, &u) && u.Timeout():
		return fmt.Errorf("no answer in %v", traceTimeout)
	case errors.As(err, &dns):
		return errors.New("its name cannot be resolved")
	case errors.As(err, &errno):
		return errno
	}
	return errors.New("the connection failed, or what came was not HTTP")
}
