package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// callers send requests, and remember of each how it ended. They are safe for
// concurrent use.
type callers struct {
	provider *provider
	http     *http.Client
	number   atomic.Int64 // of the next request
	header   map[string]string
	mu       sync.Mutex
	ended    []outcome
}

// outcome is how a request ended.
type outcome struct {
	id       string // as the gateway named it; empty if no answer began
	tenant   string
	status   int
	code     string        // of a refusal
	limit    string        // of a refusal
	complete bool          // all of a good answer came, to its last event
	cost     int64         // of a complete answer, micro-dollars
	began    time.Time     // when it was sent
	added    time.Duration // to the time of the provider
}

func newCallers(p *provider) *callers {
	return &callers{provider: p, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}, Timeout: time.Minute}}
}

// ask sends the next request: of four in a row, two are chats and two messages,
// and one of each is streamed. Most bounds its output; 0 does not.
func (c *callers) ask(ctx context.Context, base, tenant string, most int) outcome {
	n := int(c.number.Add(1))
	path, model, id, last := "/v1/chat/completions", "chat", "X-Request-Id", "data: [DONE]\n\n"
	if n&1 != 0 {
		path, model, id, last = "/v1/messages", "claude", "Request-Id", "{\"type\":\"message_stop\"}\n\n"
	}
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"This is request number %d of many."}]`, model, n)
	if most > 0 {
		body += fmt.Sprintf(`,"max_tokens":%d`, most)
	} else if model == "claude" {
		body += `,"max_tokens":4096`
	}
	stream := n&2 != 0
	if stream {
		body += `,"stream":true`
	}
	o := outcome{tenant: tenant, began: time.Now()}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = append(c.ended, o)
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, strings.NewReader(body+"}"))
	if err != nil {
		return o
	}
	req.Header.Set("Authorization", "Bearer "+tenant)
	req.Header.Set("Content-Type", "application/json")
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return o // the gateway is not there: nobody has an answer
	}
	defer resp.Body.Close()
	o.id, o.status = resp.Header.Get(id), resp.StatusCode
	got, err := io.ReadAll(resp.Body)
	switch {
	case o.status != http.StatusOK:
		var refusal struct {
			Error struct{ Type, Code, Limit string } `json:"error"`
		}
		_ = json.Unmarshal(got, &refusal) // what is none has no code
		o.code, o.limit = refusal.Error.Code, refusal.Error.Limit
		if o.code == "" {
			o.code = refusal.Error.Type
		}
	case stream && bytes.HasSuffix(got, []byte(last)), !stream && err == nil:
		o.complete, o.cost = true, costOf(n, most)
		o.added = time.Since(o.began) - time.Duration(c.provider.took[n].Load())
	}
	return o
}

// load sends requests of a tenant, rate a second on so many connections, until
// ctx is done and what was sent has ended.
func (c *callers) load(ctx context.Context, base, tenant string, conns, rate int) {
	var all sync.WaitGroup
	gap := time.Second * time.Duration(conns) / time.Duration(rate)
	for i := range conns {
		all.Go(func() {
			next := time.Now().Add(gap * time.Duration(i) / time.Duration(conns))
			for pause(ctx, time.Until(next)) {
				c.ask(context.WithoutCancel(ctx), base, tenant, 0)
				if next = next.Add(gap); time.Until(next) < -gap { // what cannot be kept up with is not made up for
					next = time.Now()
				}
			}
		})
	}
	all.Wait()
}

// pause waits, and says whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// outcomes of all requests that have ended.
func (c *callers) outcomes() []outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ended)
}

// tally counts outcomes.
type tally struct {
	asked, complete, refused, broken int
	spent                            int64
	p50, p99                         time.Duration // added to complete answers
}

func tallyOf(list []outcome) (t tally) {
	var added []time.Duration
	for _, o := range list {
		t.asked++
		switch {
		case o.complete:
			t.complete++
			t.spent += o.cost
			added = append(added, o.added)
		case o.code != "":
			t.refused++
		default:
			t.broken++
		}
	}
	slices.Sort(added)
	if n := len(added); n > 0 {
		t.p50, t.p99 = added[n/2], added[n*99/100]
	}
	return t
}
