package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

func (r *rig) conn() net.Conn {
	r.t.Helper()
	c, err := r.net.dial(r.t.Context(), "", "gateway:80")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// What a caller does not send is not waited for without end.
func TestSlowSenders(t *testing.T) {
	post := "POST " + chatPath + " HTTP/1.1\r\nHost: g\r\nContent-Length: 1000\r\n"
	for _, c := range []struct {
		name, sent string
		drip       string // again every second
		status     int
		code       string
		after      time.Duration
	}{
		{"headers", post, "", 0, "", headerTime},
		{"headers, slowly", post, "X: y\r\n", 0, "", headerTime},
		{"body", post + "\r\n{", "", 408, "request_timeout", bodyTime},
		{"body, slowly", post + "\r\n{", " ", 408, "request_timeout", bodyTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(1), quick())
				conn := r.conn()
				begin := time.Now()
				go func() {
					_, err := io.WriteString(conn, c.sent)
					for err == nil && c.drip != "" {
						time.Sleep(time.Second)
						_, err = io.WriteString(conn, c.drip)
					}
				}()
				b := bufio.NewReader(conn)
				res, err := http.ReadResponse(b, nil)
				if took := time.Since(begin); took < c.after || took > c.after+time.Second {
					t.Errorf("took %v, want %v", took, c.after)
				}
				if c.status == 0 {
					if err == nil && res.StatusCode != 408 {
						t.Errorf("status %d", res.StatusCode)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(res.Body)
				if res.StatusCode != c.status || code(t, string(body)) != c.code {
					t.Errorf("%d %s", res.StatusCode, body)
				}
				if _, err := b.Peek(1); err == nil {
					t.Error("the connection goes on in the middle of a body")
				}
			})
		})
	}
}

func TestLargeHeaders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1, "limits: {headers: 8192}"), quick())
		if a := r.ask("/v1/models", "", "X-Large", strings.Repeat("x", 20_000)); a.status != 431 {
			t.Errorf("%d %v", a.status, a.err)
		}
		if a := r.ask("/v1/models", "", "X-Large", strings.Repeat("x", 4_000)); a.status != 200 {
			t.Errorf("%d %v", a.status, a.err)
		}
	})
}

// A body of unknown length is held to the same limit.
func TestLargeBodyWithoutLength(t *testing.T) { // B090
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1, "limits: {body: 2048}"), quick())
		q, err := http.NewRequest("POST", r.url+chatPath, io.MultiReader(strings.NewReader(`{"model":"chat","x":"`), strings.NewReader(strings.Repeat("x", 4096))))
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != 413 || code(t, string(body)) != "request_too_large" || !strings.Contains(string(body), "2048") {
			t.Errorf("%d %s", res.StatusCode, body)
		}
	})
}

// A body that ends early is the caller's fault.
func TestBrokenBody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		conn := r.conn()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: g\r\nContent-Length: 1000\r\n\r\n{", chatPath)
		conn.Close()
		if line := r.ended(1); line["spillway.outcome"] != "invalid" || line["http.response.status_code"] != 400.0 {
			t.Errorf("record %v", line)
		}
	})
}

// wrapped is a writer as other handlers put around theirs.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush and write deadlines must reach the connection through whatever stands
// between, in both versions of HTTP.
func TestFlushAndDeadline(t *testing.T) { // B047
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			up := &halt{at: midAnswer, gone: make(chan time.Time, 1)}
			r := setupTCP(t, one(1), up)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				c := http.NewResponseController(wrapped{w})
				if err := c.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Errorf("write deadline: %v", err)
				}
				r.g.Handler().ServeHTTP(wrapped{w}, q)
			}))
			s.EnableHTTP2 = version == "HTTP/2.0"
			s.StartTLS()
			defer s.Close()
			res, err := s.Client().Post(s.URL+chatPath, "application/json", strings.NewReader(streamAsk))
			if err != nil {
				t.Fatal(err)
			}
			if res.Proto != version {
				t.Errorf("%s", res.Proto)
			}
			// The upstream says no more than this until we leave, so what can be
			// read now was flushed.
			b := make([]byte, len(alias(chunk("a")+chunk("b")+chunk("c"))))
			if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != alias(chunk("a")+chunk("b")+chunk("c")) {
				t.Errorf("%v %q", err, b)
			}
			res.Body.Close()
			<-up.gone
			if line := r.ended(1); line["spillway.outcome"] != "left" {
				t.Errorf("record %v", line)
			}
		})
	}
}

// A panic inside the core ends in die, under the lock, with the events that led
// to it.
func TestCorePanic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &admit.Policy{
			Models:  []admit.Model{{Name: "m", Deployments: []admit.Deployment{{Name: "d", Concurrency: 1}}}},
			Tenants: []admit.Tenant{{Name: "a"}},
		}
		p.Defaults()
		g := NewGate(p, telemetry.NewRecorder(16))
		defer g.Close()
		var reason any
		var dump bytes.Buffer
		g.die = func(r any, write func(io.Writer) error) {
			reason = r
			if g.mu.TryLock() {
				t.Error("somebody else could go on with the broken state")
			}
			if err := write(&dump); err != nil {
				t.Error(err)
			}
		}
		first := admit.Request{Tenant: "a", Model: "m", Input: 1, Arrived: time.Now()}
		g.Offer(&first)
		if reason != nil {
			t.Fatal(reason)
		}
		g.core = nil // whatever is done with it panics
		second := first
		g.Offer(&second)
		if reason == nil {
			t.Fatal("die was not called")
		}
		kinds, last := readDump(t, &dump)
		if kinds[telemetry.EventConfigure] != 1 || kinds[telemetry.EventOffer] != 2 || last.Kind != telemetry.EventOffer || last.Request.ID != second.ID {
			t.Errorf("events %v, the last is %v of %d", kinds, last.Kind, last.Request.ID)
		}
	})
}

// A panic in the gateway's own code costs one request, and no slot.
func TestOwnPanic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), reply(200, "application/json", wholeAnswer))
		target := r.g.state.Load().targets["up/vendor/m-2026"]
		client := target.client
		target.client = nil
		for range 2 {
			if a := r.ask(chatPath, plainAsk); a.status != 500 || code(t, a.body) != "internal_error" {
				t.Errorf("%d %v %s", a.status, a.err, a.body)
			}
		}
		r.idle()
		target.client = client
		if a := r.ask(chatPath, plainAsk); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if line := r.ended(1); line["spillway.outcome"] != "failed" {
			t.Errorf("record %v", line)
		}
	})
}

func TestOps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		r.ask(chatPath, plainAsk)
		if a := r.ask(r.ops+"/readyz", ""); a.status != 200 {
			t.Errorf("readyz %d", a.status)
		}
		if a := r.ask(r.ops+"/metrics", ""); a.status != 200 || !strings.Contains(a.body, `spillway_requests_total{model="chat",outcome="answered",tenant="open"} 1`) {
			t.Errorf("metrics %d", a.status)
		}
		a := r.ask(r.ops+"/debug/events", "")
		if kinds, _ := readDump(t, strings.NewReader(a.body)); kinds[telemetry.EventOffer] != 1 || kinds[telemetry.EventFinish] != 1 {
			t.Errorf("events %v", kinds)
		}
		if a := r.ask("/metrics", ""); a.status != 404 {
			t.Errorf("metrics on the public side: %d", a.status)
		}
	})
}

// readDump counts the events of a dump by kind.
func readDump(t *testing.T, from io.Reader) (kinds map[telemetry.EventKind]int, last telemetry.Event) {
	t.Helper()
	kinds = map[telemetry.EventKind]int{}
	for d := telemetry.NewDumpReader(from); ; {
		e, err := d.Next()
		if err == io.EOF {
			return kinds, last
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds[e.Kind]++
		last = e
	}
}
