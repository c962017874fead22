package ops

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// seer answers what it is told to, in place of a simulator.
type seer struct {
	answer   func(*Question) (*WhatIf, error)
	question *Question
}

// guess makes a surface whose gateway was asked for something a moment ago.
func guess(t *testing.T, s *seer) *rig {
	t.Helper()
	r := setup(t, guarded, true)
	r.surface.forecast = func(q *Question) (*WhatIf, error) {
		s.question = q
		if s.answer == nil {
			return &WhatIf{Requests: int64(len(q.Traffic)), Warnings: []string{}}, nil
		}
		return s.answer(q)
	}
	r.leaves()
	return r
}

// leaves is a caller who hangs up at once.
func (r *rig) leaves() {
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel()
	q := httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", strings.NewReader(`{"model":"chat","messages":[{"role":"user","content":"hello"}]}`))
	q.Header.Set("Authorization", "Bearer canary-tenant-key")
	func() {
		defer func() { _ = recover() }() // the gateway breaks the connection of one who left
		r.g.Handler().ServeHTTP(httptest.NewRecorder(), q)
	}()
}

func (r *rig) whatIf(body string) *httptest.ResponseRecorder {
	return r.ask("POST", "/admin/v1/whatif", body, bearer("viewer-token")...)
}

// TestWhatIfAsks with today's configuration, the proposed one, each setting
// alone, and the traffic with a minute before it.
func TestWhatIfAsks(t *testing.T) {
	s := &seer{}
	r := guess(t, s)
	w := r.whatIf(`{"set":{"models.chat.queue.total":7,"log.level":"debug"},"minutes":2.5}`)
	if w.Code != 200 || s.question == nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	q := s.question
	if q.Span != 150*time.Second || len(q.Traffic) != 1 || q.Traffic[0].Tenant != "shop" || q.Traffic[0].Model != "chat" || q.End.IsZero() {
		t.Errorf("%+v", q)
	}
	total := func(c *config.Config) int { return c.Policy().Models[0].Queue.Total }
	if then := total(q.Then); then != 7 || total(q.Now) == then || total(q.Each["models.chat.queue.total"]) != 7 || q.Each["log.level"].Log.Level != "debug" || total(q.Each["log.level"]) != total(q.Now) {
		t.Errorf("then %d, now %d", total(q.Then), total(q.Now))
	}
	var out WhatIf
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Requests != 1 || out.Warnings == nil {
		t.Errorf("%s: %v", w.Body, err)
	}
	for name, body := range map[string]string{"nothing": `{}`, "five minutes": `{"minutes":5}`} {
		if w := r.whatIf(body); w.Code != 200 || s.question.Span != 5*time.Minute {
			t.Errorf("%s: %d %v", name, w.Code, s.question.Span)
		}
	}
}

// TestWhatIfFaults name their place, and nothing is simulated.
func TestWhatIfFaults(t *testing.T) {
	s := &seer{answer: func(*Question) (*WhatIf, error) { t.Error("asked nevertheless"); return nil, errors.New("no") }}
	r := guess(t, s)
	for name, tt := range map[string]struct {
		body, place string
		status      int
	}{
		"no JSON":           {`{`, "body", 400},
		"a wrong member":    {`{"sett":{}}`, "body", 400},
		"too long":          {`{"minutes":11}`, "minutes", 400},
		"negative":          {`{"minutes":-1}`, "minutes", 400},
		"hardly anything":   {`{"minutes":1e-15}`, "minutes", 400},
		"no such setting":   {`{"set":{"models.chat.queue.totl":7}}`, "models.chat.queue.totl", 422},
		"a wrong value":     {`{"set":{"models.chat.queue.total":-7}}`, "models.chat.queue.total", 422},
		"of a wrong kind":   {`{"set":{"models.chat.queue.total":"many"}}`, "models.chat.queue.total", 422},
		"a model of nobody": {`{"set":{"models.other.queue.total":7}}`, "models.other.queue.total", 422},
	} {
		w := r.whatIf(tt.body)
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != tt.status || p.Place != tt.place || p.Remedy == "" {
			t.Errorf("%s: %d %s, want %d at %s", name, w.Code, w.Body, tt.status, tt.place)
		}
	}
	s.answer = func(*Question) (*WhatIf, error) { return &WhatIf{}, nil } // all of them came before the span
	if w := r.whatIf(`{"minutes":1}`); w.Code != http.StatusConflict {
		t.Errorf("without traffic in the span: %d %s", w.Code, w.Body)
	}
	silent := setup(t, guarded, true)
	silent.surface.forecast = r.surface.forecast
	if w := silent.whatIf(`{}`); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "no requests") {
		t.Errorf("without traffic: %d %s", w.Code, w.Body)
	}
}

// TestOneWhatIfAtATime: a second one is told when to come back, and after the
// first there is room again.
func TestOneWhatIfAtATime(t *testing.T) {
	asked, finish := make(chan struct{}), make(chan struct{})
	s := &seer{answer: func(*Question) (*WhatIf, error) {
		asked <- struct{}{}
		<-finish
		return &WhatIf{Requests: 1}, nil
	}}
	r := guess(t, s)
	first := make(chan int)
	go func() { first <- r.whatIf(`{}`).Code }()
	<-asked
	if w := r.whatIf(`{}`); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("beside another: %d %s", w.Code, w.Body)
	}
	close(finish)
	if code := <-first; code != 200 {
		t.Errorf("the first: %d", code)
	}
	s.answer = nil
	if w := r.whatIf(`{}`); w.Code != 200 {
		t.Errorf("after it: %d %s", w.Code, w.Body)
	}
}

// TestWhatIfEnds after ten seconds, and with its caller; it rests as long as it
// works.
func TestWhatIfEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), forecastTime)
		defer cancel()
		began, pause := time.Now(), pauses(ctx)
		calls := 0
		for pause() == nil {
			time.Sleep(workSlice) // as long as the steps of a simulation take
			calls++
		}
		if took := time.Since(began); took < forecastTime || took > forecastTime+2*workSlice {
			t.Errorf("ended after %v", took)
		}
		if want := int(forecastTime / (workSlice + restSlice)); calls < want-1 || calls > want+1 {
			t.Errorf("it worked for %d slices of %v, want half of the time", calls, workSlice)
		}
	})
	s := &seer{answer: func(*Question) (*WhatIf, error) { return nil, context.DeadlineExceeded }}
	r := guess(t, s)
	if w := r.whatIf(`{}`); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"place":"minutes"`) {
		t.Errorf("too slow: %d %s", w.Code, w.Body)
	}
}
