package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

// SIGTERM with requests in every state: what can be served within the drain
// time is, the rest is told at once, and at the end what still streams gets
// an error event.
func TestDrain(t *testing.T) { // B172
	bubble(t, func(t *testing.T) {
		stream := "a"
		up := inTurn(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case strings.Contains(string(body), "endless"):
				then(events(chunk(stream)), hang)(w, q)
			case strings.Contains(string(body), `"stream":true`):
				events(chunk(stream))(w, q)
				time.Sleep(2 * time.Second)
				send(w, finish, done)
			default:
				time.Sleep(time.Second)
				reply(200, "application/json", wholeAnswer)(w, q)
			}
		})
		conf := strings.Replace(one(3, "drain: 5s", "classes: {interactive: {max_wait: 300s}}"), "concurrency: 3}]", "concurrency: 3}], prior: {first_token: 100ms, per_output_token: 5ms}", 1)
		r := setup(t, conf, up)
		for range 4 { // so that the speed is known: a second
			r.ask(chatPath, plainAsk)
		}
		endless := r.background(t.Context(), chatPath, strings.Replace(streamAsk, "hello", "endless", 1))
		short := r.background(t.Context(), chatPath, streamAsk)
		var queue []<-chan answer
		for range 50 { // one at once, and one slot for all of them until the stream ends
			queue = append(queue, r.background(t.Context(), chatPath, plainAsk))
			synctest.Wait()
		}
		begin := time.Now()
		r.stop()
		synctest.Wait()

		if a := r.ask(r.ops+"/readyz", ""); a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("readyz: %d", a.status)
		}
		if a := r.ask(r.ops+"/healthz", ""); a.status != 200 || gjson.Get(a.body, "status").Str != "draining" {
			t.Errorf("healthz: %d %s", a.status, a.body)
		}
		a := r.ask(chatPath, plainAsk)
		if a.status != 503 || code(t, a.body) != "draining" || a.took != 0 {
			t.Errorf("new: %d after %v: %s", a.status, a.took, a.body)
		}
		checkRetry(t, &a, errorOf(t, a.body).RetryAfterMs)

		if got := <-short; got.err != nil || !strings.HasSuffix(got.body, done) {
			t.Errorf("a stream that ends in time: %v %q", got.err, got.body)
		}
		served, refused, atOnce := 0, 0, 0
		for _, c := range queue {
			switch got := <-c; got.status {
			case 200:
				served++
			case 503:
				refused++
				if got.took == 0 {
					atOnce++
				}
				if code(t, got.body) != "draining" || got.took > 5*time.Second {
					t.Errorf("queued: after %v: %s", got.took, got.body)
				}
			default:
				t.Errorf("queued: %d %v %s", got.status, got.err, got.body)
			}
		}
		if served < 4 || refused < 30 || atOnce < refused*3/4 { // a prediction may err
			t.Errorf("of 50 that waited %d were served and %d refused, %d of them at once", served, refused, atOnce)
		}
		got := <-endless
		p := payloads(got.body)
		if !errors.Is(got.err, io.ErrUnexpectedEOF) || len(p) != 2 || gjson.Get(p[1], "error.code").Str != "draining" {
			t.Errorf("an endless stream: %v %q", got.err, got.body)
		}
		err := <-r.served
		if took := time.Since(begin); err != nil || took < 5*time.Second || took > 5*time.Second+endTime {
			t.Errorf("Serve returned %v after %v", err, took)
		}
		r.served <- nil // for the cleanup
		r.idle()
	})
}

// With nothing to do it stops at once.
func TestDrainIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		r.ask(chatPath, plainAsk)
		begin := time.Now()
		r.stop()
		if err := <-r.served; err != nil || time.Since(begin) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		r.served <- nil
	})
}

// Callers that leave while the gateway drains do not hold it up.
func TestLeavingWhileDraining(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := &halt{at: midAnswer, gone: make(chan time.Time, 1)}
		r := setup(t, one(1), up)
		ctx, cancel := context.WithCancel(t.Context())
		a := r.background(ctx, chatPath, streamAsk)
		synctest.Wait()
		r.stop()
		time.Sleep(time.Second)
		begin := time.Now()
		cancel()
		<-a
		if err := <-r.served; err != nil || time.Since(begin) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		r.served <- nil
		if line := r.ended(1); line["spillway.outcome"] != "left" {
			t.Errorf("record %v", line)
		}
		<-up.gone
	})
}
