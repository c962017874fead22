package ops

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/gateway"
)

func TestSnapshot(t *testing.T) {
	r := setup(t, guarded, true)
	w := r.ask("GET", "/admin/v1/snapshot", "", bearer("viewer-token")...)
	var p gateway.Picture
	if err := json.Unmarshal(w.Body.Bytes(), &p, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if len(p.Models) != 1 || p.Models[0].Model != "chat" || len(p.Models[0].Classes) != 4 || p.Models[0].Classes[0].Class != "interactive" || len(p.Upstream) != 1 || len(p.Tenants) != 0 {
		t.Errorf("%s", w.Body)
	}
	for _, list := range []string{`"tenants":[]`, `"lanes":[]`, `"budgets":[]`} {
		if !strings.Contains(w.Body.String(), list) {
			t.Errorf("no %s in %s", list, w.Body)
		}
	}
}

func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, base, true)
		if w := r.ask("GET", "/admin/v1/history", ""); w.Body.String() != `{"seconds":[]}` {
			t.Errorf("before the first second is over: %s", w.Body)
		}
		time.Sleep(1000 * time.Second)
		for ask, want := range map[string]int{"": 900, "?seconds=900": 900, "?seconds=3": 3} {
			var h History
			if err := json.Unmarshal(r.ask("GET", "/admin/v1/history"+ask, "").Body.Bytes(), &h); err != nil {
				t.Fatal(err)
			}
			if n := len(h.Seconds); n != want || h.Seconds[n-1].At != time.Now().Unix()-1 || h.Seconds[0].At != time.Now().Unix()-int64(want) {
				t.Errorf("%s: %d seconds, %+v to %+v at %d", ask, n, h.Seconds[0], h.Seconds[n-1], time.Now().Unix())
			}
		}
		for _, ask := range []string{"0", "901", "many"} {
			if w := r.ask("GET", "/admin/v1/history?seconds="+ask, ""); w.Code != 400 || !strings.Contains(w.Body.String(), `"remedy"`) {
				t.Errorf("%s: %d %s", ask, w.Code, w.Body)
			}
		}
		r.g.Close()
	})
}

// listener is somebody who looks, with what came.
type listener struct {
	header http.Header
	status int
	events chan string
	ended  chan struct{}
	leave  context.CancelFunc
}

func (l *listener) Header() http.Header    { return l.header }
func (l *listener) WriteHeader(status int) { l.status = status }
func (l *listener) Flush()                 {}
func (l *listener) Write(p []byte) (int, error) {
	l.events <- string(p)
	return len(p), nil
}

// listen begins to look, within a bubble. A taker of n events takes no more.
func (r *rig) listen(room int, header ...string) *listener {
	ctx, leave := context.WithCancel(r.t.Context())
	q, err := http.NewRequestWithContext(ctx, "GET", "http://127.0.0.1:9090/admin/v1/live", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	l := &listener{header: http.Header{}, status: 200, events: make(chan string, room), ended: make(chan struct{}), leave: leave}
	go func() {
		defer close(l.ended)
		r.surface.ServeHTTP(l, q)
	}()
	synctest.Wait()
	return l
}

func (l *listener) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// picture is the only event that came.
func (l *listener) picture(t *testing.T) (p gateway.Picture) {
	t.Helper()
	select {
	case e := <-l.events:
		body, ok := strings.CutPrefix(e, "event: picture\ndata: ")
		if err := json.Unmarshal([]byte(body), &p); !ok || err != nil || !strings.HasSuffix(e, "\n\n") {
			t.Fatalf("%q: %v", e, err)
		}
	default:
		t.Fatal("no picture came")
	}
	if len(l.events) > 0 {
		t.Fatalf("%d pictures more", len(l.events))
	}
	return p
}

// TestLive: the first picture comes at once, then one a second, the same for all.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, base, true)
		made := 0
		r.surface.stage.picture = func() gateway.Picture { made++; return r.g.Picture() }
		a := r.listen(9)
		if kind := a.header.Get("Content-Type"); kind != "text/event-stream" {
			t.Errorf("content type %s", kind)
		}
		first := a.picture(t)
		time.Sleep(500 * time.Millisecond)
		b := r.listen(9) // comes half a second later and need not wait
		if p := b.picture(t); !p.At.Equal(first.At) {
			t.Errorf("%v, want the picture of %v", p.At, first.At)
		}
		for range 5 {
			time.Sleep(time.Second)
			synctest.Wait()
			if x, y := a.picture(t), b.picture(t); !x.At.Equal(y.At) || x.Second.At != x.At.Unix()-1 {
				t.Errorf("%v and %v", x, y)
			}
		}
		if made != 6 {
			t.Errorf("%d pictures were made for two listeners in six seconds", made)
		}
		a.leave()
		b.leave()
		time.Sleep(time.Minute)
		if !a.over() || !b.over() || made != 6 {
			t.Errorf("nobody listens, and %d pictures were made", made)
		}
		c := r.listen(9)
		if p := c.picture(t); p.At.Sub(first.At) < time.Minute {
			t.Errorf("an old picture of %v", p.At)
		}
		c.leave()
		synctest.Wait()
		r.g.Close()
	})
}

// TestLiveSlow: who does not keep up misses pictures, and keeps nobody waiting.
func TestLiveSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, base, true)
		slow, quick := r.listen(0), r.listen(99)
		time.Sleep(60*time.Second + time.Millisecond)
		if n := len(quick.events); n != 61 {
			t.Errorf("the quick one got %d pictures in a minute", n)
		}
		old := <-slow.events // was under way all the time
		fresh := <-slow.events
		if !strings.Contains(old, `"uptime_s":0,`) || !strings.Contains(fresh, `"uptime_s":60,`) {
			t.Errorf("after the first the slow one got %s", fresh)
		}
		slow.leave()
		quick.leave()
		synctest.Wait()
		r.g.Close()
	})
}

// TestLiveHeartbeat: while there is no picture, comments say that all is well.
func TestLiveHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, base, true)
		stuck := make(chan struct{})
		r.surface.stage.picture = func() gateway.Picture { <-stuck; return gateway.Picture{} }
		l := r.listen(9)
		time.Sleep(31 * time.Second)
		if n := len(l.events); n != 2 || !strings.HasPrefix(<-l.events, ":") {
			t.Errorf("%d comments in 31 seconds", n)
		}
		close(stuck)
		l.leave()
		synctest.Wait()
		r.g.Close()
	})
}

// TestLiveCrowd: there is a bound, and a place is free again when somebody leaves.
func TestLiveCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, base, true)
		var all []*listener
		for range mostListeners {
			all = append(all, r.listen(9))
		}
		over := r.listen(9)
		if e := <-over.events; !over.over() || over.status != 503 || !strings.Contains(e, `"remedy"`) {
			t.Errorf("one more: %d %s", over.status, e)
		}
		all[0].leave()
		synctest.Wait()
		late := r.listen(9)
		late.picture(t)
		for _, l := range append(all, late) {
			l.leave()
		}
		synctest.Wait()
		if r.surface.stage.stop != nil {
			t.Error("pictures are made for nobody")
		}
		r.g.Close()
	})
}

// TestLiveEnds: with the session, the token or the gateway, and not by wrong
// tokens of somebody else.
func TestLiveEnds(t *testing.T) {
	const second = time.Second + time.Millisecond
	for _, tt := range []struct {
		name   string
		cookie bool
		event  func(r *rig, cookie string)
		ends   bool
	}{
		{"nothing", true, func(*rig, string) {}, false},
		{"logged out", true, func(r *rig, cookie string) {
			r.ask("DELETE", "/admin/v1/session", "", "Cookie", cookie, "Origin", "http://127.0.0.1:9090", "X-Spillway-Request", "1")
		}, true},
		{"the session is too old", true, func(*rig, string) { time.Sleep(sessionTime) }, true},
		{"the token has another name", false, func(r *rig, _ string) { r.apply(strings.Replace(guarded, "name: eye", "name: ear", 1)) }, false},
		{"the token is taken out", false, func(r *rig, _ string) {
			r.apply(strings.Replace(guarded, config.HashKey("viewer-token"), config.HashKey("other-token"), 1))
		}, true},
		{"wrong tokens from the same address", false, func(r *rig, _ string) {
			for range 20 {
				r.ask("GET", "/admin/v1/upstreams", "", bearer("wrong")...)
			}
		}, false},
		{"the gateway ends", false, func(r *rig, _ string) { r.g.Close() }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setup(t, guarded, true)
				header, cookie := bearer("viewer-token"), ""
				if tt.cookie {
					cookie = r.logIn("viewer-token")
					header = []string{"Cookie", cookie}
				}
				l := r.listen(100_000, header...)
				time.Sleep(second)
				if l.over() {
					t.Fatal("it ended by itself")
				}
				tt.event(r, cookie)
				time.Sleep(second)
				synctest.Wait()
				if l.over() != tt.ends {
					t.Errorf("ended %v, want %v", l.over(), tt.ends)
				}
				l.leave()
				synctest.Wait()
				r.g.Close()
			})
		})
	}
}

func (r *rig) apply(conf string) {
	r.t.Helper()
	if err := r.g.Apply(parse(r.t, conf)); err != nil {
		r.t.Fatal(err)
	}
}

// TestLiveServed: over a real connection, as the server of the gateway makes it,
// pictures come, and the end of the gateway is not held up.
func TestLiveServed(t *testing.T) {
	r := setup(t, base, true)
	public, ops := local(t), local(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.g.Serve(ctx, public, ops, r.surface) }()
	if n := take(t, "http://"+ops.Addr().String(), 2, stop); n < 2 {
		t.Errorf("%d pictures", n)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLiveOutlastsTheServer: the server's bound on reading a request is over
// before the second picture.
func TestLiveOutlastsTheServer(t *testing.T) {
	r := setup(t, base, true)
	server := httptest.NewUnstartedServer(r.surface)
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	if n := take(t, server.URL, 2, server.CloseClientConnections); n != 2 {
		t.Errorf("%d pictures", n)
	}
	if n := taken(t, server.URL, strings.NewReader("{}"), 2, server.CloseClientConnections); n != 2 {
		t.Errorf("%d pictures for who sent a body", n)
	}
}

// take counts pictures until the stream ends; enough of them call stop.
func take(t *testing.T, base string, enough int, stop func()) (n int) {
	t.Helper()
	return taken(t, base, nil, enough, stop)
}

// taken is take with a body, as some clients send one with whatever they ask.
func taken(t *testing.T, base string, body io.Reader, enough int, stop func()) (n int) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, base+"/admin/v1/live", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") {
			if n++; n == enough {
				stop()
			}
		}
	}
	return n
}

func local(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
