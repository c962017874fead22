package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// hookServer is the operator's own address, in memory.
type hookServer struct {
	mu     sync.Mutex
	bodies []string
	at     []time.Time
	types  []string
	answer http.HandlerFunc
}

func (h *hookServer) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	b, _ := io.ReadAll(q.Body)
	h.mu.Lock()
	h.bodies, h.at, h.types = append(h.bodies, q.Method+" "+q.URL.String()+" "+string(b)), append(h.at, time.Now()), append(h.types, q.Header.Get("Content-Type"))
	h.mu.Unlock()
	h.answer(w, q)
}

func (h *hookServer) times() []time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// hooked is a gateway of one slow upstream that calls a webhook.
func hooked(t *testing.T, every string, slow time.Duration, answer http.HandlerFunc) (*rig, *hookServer) {
	t.Helper()
	h := &hookServer{answer: answer}
	conf := one(64, "scale_up: {webhook: 'http://hooks.secret.example:9/T0/secret-token?key=secret', every: "+every+"}")
	conf = strings.Replace(conf, "concurrency: 64}]", "concurrency: 64}], breaker: {first_token: {open: off, scale_up: 100ms}}", 1)
	r := setup(t, conf, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		time.Sleep(slow)
		events(chunk("a"), finish, done)(w, q)
	}))
	if answer != nil {
		s := &http.Server{Handler: h}
		l := r.net.listen("hooks.secret.example:9")
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
	}
	return r, h
}

func (r *rig) silentAboutSecrets() {
	r.t.Helper()
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for _, v := range r.log.all {
		b, _ := json.Marshal(v)
		for _, secret := range []string{"secret", "hooks."} {
			if strings.Contains(string(b), secret) {
				r.t.Errorf("the log holds %q: %s", secret, b)
			}
		}
	}
}

func ok204(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// The webhook is called once in its time, however many calls are slow.
func TestWebhook(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, h := hooked(t, "150s", time.Second, ok204)
		begin := time.Now()
		for range 400 { // a second each
			if a := r.ask(chatPath, streamAsk); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		at := h.times()
		// A wish a minute: the first, then those after at least 150 s.
		if len(at) != 3 || at[0].Sub(begin) > 2*time.Second || at[1].Sub(at[0]) < 150*time.Second || at[2].Sub(at[1]) < 150*time.Second {
			t.Fatalf("called at %v", at)
		}
		what, body, _ := strings.Cut(h.bodies[0], " {")
		var got struct {
			Event, Deployment string
			At                time.Time
		}
		if err := json.Unmarshal([]byte("{"+body), &got); err != nil || what != "POST /T0/secret-token?key=secret" || h.types[0] != "application/json" {
			t.Fatalf("%v: %s", err, h.bodies[0])
		}
		if got.Event != "scale_up" || got.Deployment != "up/vendor/m-2026" || !got.At.Equal(at[0]) {
			t.Errorf("told %+v", got)
		}
		if n := r.counters("spillway_scale_up_total", "deployment")["up/vendor/m-2026"]; n < 6 || n > 7 {
			t.Errorf("%v wishes in 400 s, one a minute", n)
		}
		if said := r.log.said("a call took so long that more capacity is needed"); len(said) < 6 || len(said) > 7 || said[0]["deployment"] != "up/vendor/m-2026" {
			t.Errorf("said %v", said)
		}
		r.silentAboutSecrets()
	})
}

// A webhook that hangs, fails, is not there or leads elsewhere holds nothing
// up, and the log says what was wrong without its address.
func TestWebhookThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"hangs":  {func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }, "no answer in 10s"},
		"fails":  {reply(500, "text/plain", "secret"), "it answered 500 Internal Server Error"},
		"leads":  {reply(307, "", "", "Location", "http://else.secret.example/secret"), "it answered 307 Temporary Redirect"},
		"breaks": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "the connection failed, or what came was not HTTP"},
		"is not": {nil, "the connection failed, or what came was not HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r, h := hooked(t, "1s", time.Second, tt.answer)
				for range 20 {
					if a := r.ask(chatPath, streamAsk); a.status != 200 || a.took != time.Second {
						t.Fatalf("%d after %v", a.status, a.took)
					}
				}
				time.Sleep(time.Minute)
				r.ask(chatPath, streamAsk) // and it is told again
				time.Sleep(hookTimeout + time.Second)
				synctest.Wait()
				if n := len(h.times()); tt.answer != nil && n != 2 {
					t.Errorf("called %d times", n)
				}
				said := r.log.said("the scale-up webhook was not told")
				if len(said) != 2 || said[0]["error"] != tt.says || said[0]["deployment"] != "up/vendor/m-2026" {
					t.Errorf("the log: %v", said)
				}
				r.silentAboutSecrets()
			})
		})
	}
}

// A gateway that stops does not wait for a webhook, and says nothing of it.
func TestWebhookWhenStopping(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, _ := hooked(t, "1s", time.Second, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
		r.ask(chatPath, streamAsk)
		r.stop()
		begin := time.Now()
		err := <-r.served
		r.served <- err // for the clean-up
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it stopped after %v", took)
		}
		r.g.Close()
		synctest.Wait()
		if said := r.log.said("the scale-up webhook was not told"); len(said) != 0 {
			t.Errorf("%v", said)
		}
	})
}

// No webhook, no call; a reload brings one.
func TestWebhookIsReloaded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, h := hooked(t, "1s", time.Second, ok204)
		with := strings.Replace(one(64, "scale_up: {webhook: 'http://hooks.secret.example:9/', every: 1s}"), "concurrency: 64}]", "concurrency: 64}], breaker: {first_token: {open: off, scale_up: 100ms}}", 1)
		without := with[:strings.Index(with, "scale_up: {webhook")]
		r.apply(without)
		r.ask(chatPath, streamAsk)
		if n := len(h.times()); n != 0 {
			t.Errorf("%d calls without a webhook", n)
		}
		r.apply(with)
		time.Sleep(time.Minute)
		r.ask(chatPath, streamAsk)
		if n := len(h.times()); n != 1 {
			t.Errorf("%d calls with one", n)
		}
	})
}

// What goes wrong below HTTP may hold the address too.
func TestHookErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		says string
	}{
		{&url.Error{Op: "Post", URL: "http://h/secret", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "secret.example"}}}, "its name cannot be resolved"},
		{&url.Error{Op: "Post", URL: "http://h/secret", Err: &net.OpError{Op: "dial", Addr: pipeAddr("secret:1"), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}, "connection refused"},
		{&url.Error{Op: "Post", URL: "http://h/secret", Err: fmt.Errorf("x509: certificate is not valid for secret")}, "the connection failed, or what came was not HTTP"},
		{&url.Error{Op: "Post", URL: "http://h/secret", Err: context.DeadlineExceeded}, "no answer in 10s"},
	} {
		if got := hookError(tt.err).Error(); got != tt.says {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.says)
		}
	}
}

// The same over loopback, with a client as it is outside of tests; it keeps no
// connection.
func TestWebhookOverLoopback(t *testing.T) {
	h := &hookServer{answer: ok204}
	s := httptest.NewServer(h)
	defer s.Close()
	hooks := newHooks(nil)
	for range 2 {
		if err := hooks.post(t.Context(), config.ScaleUp{Webhook: config.Secret(s.URL + "/x")}, "gpu/m", time.Now()); err != nil {
			t.Error(err)
		}
	}
	if len(h.times()) != 2 || !strings.HasPrefix(h.bodies[0], `POST /x {"at":"`) || !strings.HasSuffix(h.bodies[0], `"deployment":"gpu/m","event":"scale_up"}`) {
		t.Errorf("%q", h.bodies)
	}
	s.Close()
	if err := hooks.post(t.Context(), config.ScaleUp{Webhook: config.Secret(s.URL)}, "gpu/m", time.Now()); err == nil || err.Error() != "connection refused" {
		t.Errorf("nobody there: %v", err)
	}
}
