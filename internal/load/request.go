package load

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// filler is English prose of common words, about four bytes a token, with nothing that JSON must escape.
const filler = "the river runs down to the old mill where water turns the wheel and grain becomes flour for the town while people wait in line and talk about the weather "

// bytesPerToken is the usual rule of thumb, which the filler meets.
const bytesPerToken = 4

// maker makes the requests of one tenant. Safe for concurrent use: it is not changed after newMaker.
type maker struct {
	url        *url.URL
	header     http.Header // shared values, never written to
	head, tail []byte      // of the body, around the prompt
}

func newMaker(p plan, t Tenant) maker {
	u, _ := url.Parse(p.Target + "/chat/completions") // Validate has parsed the target
	h := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json"}, // the SDKs ask for it even when they want a stream
		"User-Agent":   {"spillway-load"},
	}
	if t.Key != "" {
		h.Set("Authorization", "Bearer "+t.Key)
	}
	if t.Class != "" {
		h.Set("X-Spillway-Class", t.Class)
	}
	// The SDKs send their timeout in whole seconds, cut off, and the same with every attempt.
	if timeout := cmp.Or(p.Timeout, t.Deadline); timeout > 0 {
		h.Set("X-Stainless-Timeout", strconv.Itoa(int(timeout/time.Second)))
	}
	for name, value := range p.Header {
		h.Set(name, value)
	}
	model, _ := json.Marshal(t.Model) // a string always marshals
	m := maker{url: u, header: h}
	m.head = append(append([]byte(`{"model":`), model...), `,"messages":[{"role":"user","content":"`...)
	m.tail = []byte(`"}]`)
	if t.Stream {
		m.tail = append(m.tail, `,"stream":true`...)
	}
	return m
}

// body writes the request body of an arrival. Each is different, so that no cache on the way can answer for another.
func (m maker) body(a arrival) []byte {
	size := a.input * bytesPerToken
	b := make([]byte, 0, len(m.head)+size+len(m.tail)+64)
	b = append(b, m.head...)
	prompt := len(b)
	b = append(b, "Request "...)
	b = strconv.AppendUint(b, a.n, 10)
	b = append(b, ". "...)
	for rest := size - (len(b) - prompt); rest > 0; rest -= len(filler) {
		b = append(b, filler[:min(rest, len(filler))]...)
	}
	b = append(b, m.tail...)
	if a.output > 0 {
		b = append(b, `,"max_tokens":`...)
		b = strconv.AppendInt(b, int64(a.output), 10)
	}
	return append(b, '}')
}

// request makes one attempt. remaining is the time to the deadline; 0 sends none.
func (m maker) request(ctx context.Context, body []byte, retries int, remaining time.Duration) *http.Request {
	h := make(http.Header, len(m.header)+2)
	for name, values := range m.header {
		h[name] = values
	}
	h["X-Stainless-Retry-Count"] = []string{strconv.Itoa(retries)}
	if remaining > 0 {
		h["X-Spillway-Deadline-Ms"] = []string{strconv.FormatInt(remaining.Milliseconds(), 10)}
	}
	req := &http.Request{
		Method: http.MethodPost, URL: m.url, Host: m.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)),
		// The transport may start over if the kept connection was dead before anything was written.
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	return req.WithContext(ctx)
}
