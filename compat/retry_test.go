package compat

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3/option"
)

// A full queue is told with a time to come back. The client waits for so long,
// marks its second try, and is served. B074: the time is never zero.
func TestRetryAfterIsObeyed(t *testing.T) {
	r := start(t, setup{slots: 1, model: "queue: {total: 1}"})
	release := r.occupy()
	defer release()
	waiting := make(chan error, 1)
	go func() { // takes the only place in the queue
		c := r.dial(key)
		_, err := c.Chat.Completions.New(limit(t), ask(""))
		waiting <- err
	}()
	eventually(t, "a request waits", func() bool { return r.queued() == 1 })

	a := attempts{seen: func(attempt) { release() }} // there is room once the first try was refused
	got, err := r.client.Chat.Completions.New(limit(t), ask(""), a.watch(), option.WithMaxRetries(2))
	if err != nil {
		t.Fatal(err)
	}
	if got.Choices[0].Message.Content == "" {
		t.Error("no answer")
	}
	if err := <-waiting; err != nil {
		t.Errorf("the request that waited: %v", err)
	}
	all := a.list()
	if len(all) != 2 {
		t.Fatalf("%d attempts, want 2: %+v", len(all), all)
	}
	first, second := all[0], all[1]
	if first.status != 429 || first.count != "0" || second.status != 200 || second.count != "1" {
		t.Errorf("attempts: %d (retry count %s), %d (%s)", first.status, first.count, second.status, second.count)
	}
	seconds, err := strconv.Atoi(first.header.Get("Retry-After"))
	if err != nil || seconds < 1 || seconds > 59 {
		t.Errorf("Retry-After is %q, want whole seconds from 1 to 59", first.header.Get("Retry-After"))
	}
	ms, err := strconv.Atoi(first.header.Get("Retry-After-Ms"))
	if err != nil || ms < 200 || ms > seconds*1000 {
		t.Errorf("retry-after-ms is %q beside Retry-After %d", first.header.Get("Retry-After-Ms"), seconds)
	}
	if waited := second.begun.Sub(first.at); waited < time.Duration(ms)*time.Millisecond {
		t.Errorf("the client came back after %v, and was asked to wait %d ms", waited, ms)
	}
	if n := r.metric("spillway_retries_total", `tenant="team"`, `by="caller"`, `result="allowed"`); n != 1 {
		t.Errorf("%v retries counted, want 1", n)
	}
}

// A refusal says which limit, whose, and the figure.
func TestRefusal(t *testing.T) {
	r := start(t, setup{slots: 1, model: "queue: {total: 1}"})
	release := r.occupy()
	defer release()
	ctx := limit(t)
	var done sync.WaitGroup
	done.Go(func() {
		c := r.dial(key)
		c.Chat.Completions.New(ctx, ask(""))
	})
	defer done.Wait()
	defer release()
	eventually(t, "a request waits", func() bool { return r.queued() == 1 })
	_, err := r.client.Chat.Completions.New(ctx, ask(""))
	e := apiError(t, err)
	if e.StatusCode != 429 || e.Code != "overloaded" || e.Type != "rate_limit_error" {
		t.Errorf("%d %s %s", e.StatusCode, e.Type, e.Code)
	}
	for _, field := range []string{"stage", "limit", "scope", "figure", "retry_after_ms", "request_id"} {
		if e.JSON.ExtraFields[field].Raw() == "" {
			t.Errorf("the refusal does not tell its %s: %s", field, e.RawJSON())
		}
	}
}

// The tenant's own limit has a code of its own, and a time that fits it.
func TestTenantLimit(t *testing.T) {
	r := start(t, setup{tenant: "limits: {rpm: 1}"})
	if _, err := r.client.Chat.Completions.New(limit(t), ask("")); err != nil {
		t.Fatal(err)
	}
	var a attempts
	_, err := r.client.Chat.Completions.New(limit(t), ask(""), a.watch(), option.WithMaxRetries(2), option.WithMaxRetryDelay(time.Second))
	e := apiError(t, err)
	if e.StatusCode != 429 || e.Code != "rate_limit_exceeded" || !strings.Contains(e.Message, "team") {
		t.Errorf("%d %s: %s", e.StatusCode, e.Code, e.Message)
	}
	// B073: a wait that clients would not sleep through is not theirs to try.
	if h := e.Response.Header; h.Get("X-Should-Retry") != "false" || len(a.list()) != 1 {
		t.Errorf("x-should-retry is %q with Retry-After %s, %d attempts", h.Get("X-Should-Retry"), h.Get("Retry-After"), len(a.list()))
	}
}

// Retries that the client marks draw on the tenant's budget. Beyond it they are
// refused while others wait, and x-should-retry stops the client.
func TestRetryBudget(t *testing.T) {
	r := start(t, setup{slots: 1, rest: "retry: {percent: 0, reserve: 1}"})
	release := r.occupy()
	defer release()
	marked := option.WithHeader("X-Stainless-Retry-Count", "1")
	within := make(chan error, 1)
	go func() {
		c := r.dial(key)
		_, err := c.Chat.Completions.New(limit(t), ask(""), marked)
		within <- err
	}()
	eventually(t, "the first retry waits", func() bool { return r.queued() == 1 })

	var a attempts
	_, err := r.client.Chat.Completions.New(limit(t), ask(""), marked, a.watch(), option.WithMaxRetries(5))
	e := apiError(t, err)
	if e.StatusCode != 429 || e.JSON.ExtraFields["stage"].Raw() != `"retry"` {
		t.Errorf("%d: %s", e.StatusCode, e.RawJSON())
	}
	if n := len(a.list()); n != 1 || a.list()[0].header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d attempts, x-should-retry %q; the client was to stop", n, a.list()[0].header.Get("X-Should-Retry"))
	}
	// A first try is not concerned.
	first := make(chan error, 1)
	go func() {
		c := r.dial(key)
		_, err := c.Chat.Completions.New(limit(t), ask(""))
		first <- err
	}()
	eventually(t, "a first try waits", func() bool { return r.queued() == 2 })
	release()
	if err := <-within; err != nil {
		t.Errorf("the retry within the budget: %v", err)
	}
	if err := <-first; err != nil {
		t.Errorf("the first try: %v", err)
	}
	for result, want := range map[string]float64{"allowed": 1, "refused": 1} {
		if n := r.metric("spillway_retries_total", `by="caller"`, `result="`+result+`"`); n != want {
			t.Errorf("%v retries %s, want %v", n, result, want)
		}
	}
}

// A failure upstream is tried again by the client, with its counter, after the
// time that the upstream named. B076: the time is passed on.
func TestUpstreamRetryAfter(t *testing.T) {
	r := start(t, setup{})
	var a attempts
	_, err := r.client.Chat.Completions.New(limit(t), ask("503;retry-after=1"), a.watch(), option.WithMaxRetries(1))
	if e := apiError(t, err); e.StatusCode != 503 {
		t.Errorf("status %d", e.StatusCode)
	}
	all := a.list()
	if len(all) != 2 || all[0].count != "0" || all[1].count != "1" {
		t.Fatalf("attempts: %+v, want two that are counted", all)
	}
	if all[0].header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q, the upstream said 1", all[0].header.Get("Retry-After"))
	}
	if waited := all[1].begun.Sub(all[0].at); waited < time.Second {
		t.Errorf("the client came back after %v", waited)
	}
}

// An upstream's x-should-retry is about its own key, but money that is spent
// does not come back by waiting.
func TestUpstreamCredentials(t *testing.T) {
	r := start(t, setup{})
	var a attempts
	_, err := r.client.Chat.Completions.New(limit(t), ask("401"), a.watch(), option.WithMaxRetries(3))
	if e := apiError(t, err); e.StatusCode != 502 || e.Code != "upstream_unauthorized" {
		t.Errorf("%d %s", e.StatusCode, e.Code)
	}
	if len(a.list()) != 1 {
		t.Errorf("%d attempts; only the operator can mend this", len(a.list()))
	}
}

// Thirty clients at once before four slots and a short queue: all are served
// in the end, and the upstream never has more than its slots.
func TestCrowd(t *testing.T) {
	r := start(t, setup{slots: 4, model: "queue: {total: 8}", rest: "retry: {reserve: 1000}"})
	var a attempts
	answers := make(chan error, 30)
	for n := range cap(answers) {
		client := r.dial(key, option.WithMaxRetries(20), a.watch())
		go func() {
			if n%2 == 0 {
				_, err := client.Chat.Completions.New(limit(t), ask(""))
				answers <- err
				return
			}
			s := client.Chat.Completions.NewStreaming(limit(t), ask(""))
			for s.Next() {
			}
			s.Close()
			answers <- s.Err()
		}()
	}
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if n := r.mock.Stats().MaxInflight; n != 4 {
		t.Errorf("%d requests ran upstream at once, want 4", n)
	}
	if n := len(a.list()); n <= cap(answers) {
		t.Errorf("%d attempts for %d calls: nothing was refused, so nothing was tested", n, cap(answers))
	}
}
