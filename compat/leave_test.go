package compat

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3/option"
)

// B032: a caller that leaves within a stream frees the slot at once, upstream
// too, and the next caller has it.
func TestCancelStream(t *testing.T) {
	s := endless()
	s.Slots = 1
	r := start(t, setup{mock: s, slots: 1})
	ctx, cancel := context.WithCancel(limit(t))
	stream := r.client.Chat.Completions.NewStreaming(ctx, ask(""))
	defer stream.Close()
	for range 5 {
		if !stream.Next() {
			t.Fatalf("stream: %v", stream.Err())
		}
	}
	if n := r.mock.Stats().Inflight; n != 1 {
		t.Fatalf("%d requests run upstream, want 1", n)
	}
	cancel()
	for stream.Next() {
	}
	if err := stream.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	r.idle()
	if n := r.metric("spillway_requests_total", `outcome="left"`); n != 1 {
		t.Errorf("%v requests counted as left, want 1", n)
	}
	// B037: what was delivered is counted.
	if n := r.metric("spillway_tokens_total", `direction="output"`); n < 3 {
		t.Errorf("%v output tokens counted, at least 3 were delivered", n)
	}
	again := r.client.Chat.Completions.NewStreaming(limit(t), ask("cut=2"))
	defer again.Close()
	if !again.Next() {
		t.Errorf("the slot was not given to the next caller: %v", again.Err())
	}
}

// Closing a stream is leaving as well.
func TestCloseStream(t *testing.T) {
	r := start(t, setup{mock: endless()})
	stream := r.client.Chat.Completions.NewStreaming(limit(t), ask(""))
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	stream.Close()
	r.idle()
}

// B034: a caller that leaves while it is queued is never sent upstream, and
// one that leaves before the first token ends the call.
func TestCancelBeforeTheFirstToken(t *testing.T) {
	r := start(t, setup{mock: endless(), slots: 1})
	var gone float64
	for _, stream := range []bool{true, false} {
		started, queued := r.mock.Stats().Started, r.queued()
		leaveFirst := r.call(stream, "late=60s")
		eventually(t, "a request runs", func() bool { return r.mock.Stats().Started == started+1 })
		leaveQueue := r.call(stream, "")
		eventually(t, "a request waits", func() bool { return r.queued() == queued+1 })
		for _, leave := range []func(){leaveQueue, leaveFirst} {
			leave()
			gone++
			eventually(t, "the caller is missed", func() bool { return r.metric("spillway_requests_total", `outcome="left"`) == gone })
		}
		r.idle()
		if n := r.mock.Stats().Started - started; n != 1 {
			t.Errorf("stream %v: %d requests were sent upstream, want 1", stream, n)
		}
	}
}

// call makes a request that goes on until its caller leaves.
func (r *rig) call(stream bool, fault string) (leave func()) {
	ctx, cancel := context.WithCancel(limit(r.t))
	client := r.dial(key)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !stream {
			client.Chat.Completions.New(ctx, ask(fault))
			return
		}
		s := client.Chat.Completions.NewStreaming(ctx, ask(fault))
		defer s.Close()
		s.Next()
	}()
	return func() {
		cancel()
		<-done
	}
}

// The client's own timeout is the deadline: what cannot be answered within it
// is refused at once and never sent upstream, and what can waits.
func TestTimeoutIsTheDeadline(t *testing.T) {
	r := start(t, setup{slots: 1, prior: "{first_token: 2s, per_output_token: 500us, output_tokens: 40}"})
	release := r.occupy() // for two seconds, as the gateway believes
	defer release()
	var a attempts
	_, err := r.client.Chat.Completions.New(limit(t), ask(""), option.WithRequestTimeout(time.Second), a.watch())
	e := apiError(t, err)
	if e.StatusCode != 429 || e.Code != "overloaded" || e.JSON.ExtraFields["stage"].Raw() != `"wait"` || !strings.Contains(e.Message, "deadline") {
		t.Errorf("a timeout of a second: %d %s", e.StatusCode, e.RawJSON())
	}
	patient := make(chan error, 1)
	go func() {
		c := r.dial(key)
		_, err := c.Chat.Completions.New(limit(t), ask(""), option.WithRequestTimeout(patience-time.Second), a.watch())
		patient <- err
	}()
	eventually(t, "the patient request waits", func() bool { return r.queued() == 1 })
	release()
	if err := <-patient; err != nil {
		t.Errorf("a timeout of %v: %v", patience-time.Second, err)
	}
	if all := a.list(); len(all) != 2 || all[0].timeout != "1" || all[1].timeout != "19" {
		t.Errorf("attempts %+v, want one with each timeout", all)
	}
	r.idle()
	if n := r.mock.Stats().Started; n != 2 {
		t.Errorf("%d requests were sent upstream, want 2: who was there first, and who could wait", n)
	}
}

// B122: callers whose own limit was too short say nothing about the upstream.
func TestShortTimeouts(t *testing.T) {
	r := start(t, setup{})
	failures := make(chan error, 5)
	for range 5 {
		go func() {
			c := r.dial(key)
			_, err := c.Chat.Completions.New(limit(t), ask("late=30s"), option.WithRequestTimeout(700*time.Millisecond))
			failures <- err
		}()
	}
	for range 5 {
		err := <-failures
		if errors.Is(err, context.DeadlineExceeded) {
			continue // the client's clock was first
		}
		if e := apiError(t, err); e.StatusCode != 504 || e.Code != "deadline_exceeded" {
			t.Errorf("%d %s", e.StatusCode, e.Code)
		}
	}
	r.idle()
	if n := r.metric("spillway_upstream_attempts_total", `kind="deadline"`) + r.metric("spillway_upstream_attempts_total", `kind="caller_gone"`); n != 5 {
		t.Errorf("%v calls ended by their callers, want 5", n)
	}
	if _, err := r.client.Chat.Completions.New(limit(t), ask("")); err != nil {
		t.Errorf("the next caller: %v", err)
	}
}
