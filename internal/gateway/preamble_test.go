package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

const role = `data: {"id":"c","object":"chat.completion.chunk","model":"vendor/m-2026","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"

func pause(d time.Duration) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
}

// What only announces an answer is held until there is content: an attempt that
// fails before is made again, and the caller sees one beginning.
func TestRoleCommitsNothing(t *testing.T) { // B067
	good := then(events(role, chunk("a"), finish, usage, done))
	failed := "event: error\n" + `data: {"error":{"message":"busy","type":"server_error","code":null}}` + "\n\n"
	azure := `data: {"choices":[],"created":0,"id":"","model":"","prompt_filter_results":[{"prompt_index":0}]}` + "\n\n"
	for name, up := range map[string]http.HandlerFunc{
		"error event":   events(role, failed),
		"cut":           then(events(role), abort),
		"closed":        events(role, role),
		"malformed":     events(role, `data: {"choices":[{"delta":`+"\n\n", done),
		"filter, error": events(azure, role, `data: {"type":"ping"}`+"\n\n", failed),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				up := inTurn(up, good)
				r := setup(t, one(1), up)
				a := r.ask(chatPath, streamAsk)
				if a.status != 200 || a.err != nil || a.body != alias(role+chunk("a")+finish+done) || up.count() != 2 {
					t.Errorf("%d %v after %d calls: %s", a.status, a.err, up.count(), a.body)
				}
				r.idle()
			})
		})
	}
	t.Run("for good", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := setup(t, one(1), then(events(role), abort))
			if a := r.ask(chatPath, streamAsk); a.status != 502 || code(t, a.body) != "upstream_error" {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	})
}

// The time to the first token is that of the first content, for the caller, the
// record and the limit; it is not put off by what is held.
func TestFirstTokenIsContent(t *testing.T) { // B067
	bubble(t, func(t *testing.T) {
		late := then(events(role), pause(1500*time.Millisecond), events(chunk("a")), pause(time.Second), events(finish, done))
		r := setup(t, timeouts("first_token: 2s"), late)
		begin := time.Now()
		resp, err := r.open(t.Context(), chatPath, streamAsk)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 1500*time.Millisecond {
			t.Errorf("it began after %v", took)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(b) != alias(role+chunk("a")+finish+done) || err != nil {
			t.Errorf("%v %s", err, b)
		}
		if line := r.ended(1); fmt.Sprint(line["spillway.ttft_ms"]) != "1500" {
			t.Errorf("record %v", line)
		}
	})
	bubble(t, func(t *testing.T) {
		r := setup(t, timeouts("first_token: 2s")+"retry: {attempts: 1}", then(events(role), hang))
		if a := r.ask(chatPath, streamAsk); a.status != 504 || a.took != 2*time.Second || code(t, a.body) != "upstream_timeout" {
			t.Errorf("%d after %v: %s", a.status, a.took, a.body)
		}
	})
}

// Empty chunks while a model thinks are a sign of life that callers hear too.
func TestSignsOfLife(t *testing.T) {
	bubble(t, func(t *testing.T) {
		life := []http.HandlerFunc{events(role)}
		for range 4 {
			life = append(life, pause(5*time.Second), events(role))
		}
		r := setup(t, timeouts("first_token: 12s, idle: 6s"), then(append(life, events(chunk("a"), finish, done))...))
		begin := time.Now()
		resp, err := r.open(t.Context(), chatPath, streamAsk)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		defer resp.Body.Close()
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("nothing was heard for %v", took)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || string(b) != alias(strings.Repeat(role, 5)+chunk("a")+finish+done) {
			t.Errorf("%v %s", err, b)
		}
	})
}

// A failure after content ends the stream clearly, also after held chunks.
func TestContentCommits(t *testing.T) { // B066, B067
	bubble(t, func(t *testing.T) {
		up := inTurn(then(events(role, chunk("a")), abort))
		r := setup(t, one(1), up)
		a := r.ask(chatPath, streamAsk)
		p := payloads(a.body)
		if !errors.Is(a.err, io.ErrUnexpectedEOF) || len(p) != 3 || gjson.Get(p[2], "error.code").Str != "upstream_error" || up.count() != 1 {
			t.Errorf("%v after %d calls: %s", a.err, up.count(), a.body)
		}
	})
}
