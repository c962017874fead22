package gateway

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// trap is a caller's side that panics at one of its calls, as a fault in our
// own code would.
type trap struct {
	header          http.Header
	headers, writes int // call that panics; 0 for none
	wrote           int
}

func (w *trap) Header() http.Header {
	if w.headers--; w.headers == 0 {
		panic("a fault in a header")
	}
	return w.header
}

func (w *trap) Write(p []byte) (int, error) {
	if w.writes--; w.writes == 0 {
		panic("a fault in a write")
	}
	w.wrote++
	return len(p), nil
}

func (w *trap) WriteHeader(int)                  {}
func (w *trap) Flush()                           {}
func (w *trap) SetWriteDeadline(time.Time) error { return nil }

// spring serves a request into a trap.
func (s *till) spring(w *trap, body string) {
	q, err := http.NewRequestWithContext(s.t.Context(), "POST", chatPath, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	q.RemoteAddr, w.header = "1.2.3.4:5", http.Header{}
	func() {
		defer func() {
			if r := recover(); r != nil && r != http.ErrAbortHandler {
				s.t.Errorf("panic: %v", r)
			}
		}()
		s.g.Handler().ServeHTTP(w, q)
	}()
	synctest.Wait()
}

// A panic costs the one request. What it took by then is paid, and neither its
// slot nor its place in the queue is lost.
func TestAPanicIsPaidAndHoldsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := tillOf(t, strings.Replace(providerOf(), "concurrency: 4", "concurrency: 1", 1), inTurn(stuck(events200, chunk("a"), chunk("b"), chunk("c"))))
		s.spring(&trap{headers: 2}, streamAsk) // just given a slot
		if s.paid(0); len(s.rows()) != 0 {
			t.Errorf("rows %+v", s.rows())
		}

		s.spring(&trap{writes: 3}, streamAsk)
		cost := s.guess(wire.ChatCompletions, streamAsk) + 10*3 // the third was on its way
		if s.paid(cost); s.only().Outcome != "failed" && s.only().Outcome != "cut" {
			t.Errorf("row %+v", s.only())
		}

		go s.leaving(3*time.Second, chatPath, streamAsk) // has the slot
		time.Sleep(time.Second)
		s.spring(&trap{headers: 2}, streamAsk) // waits for it
		if running, waiting := s.state("chat"); running != 1 || waiting != 0 {
			t.Errorf("%d running, %d waiting", running, waiting)
		}
		time.Sleep(3 * time.Second)
		s.paid(cost + cost)
	})
}
