package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/mock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chatPath       = "/v1/chat/completions"
	completionPath = "/v1/completions"
	embeddingPath  = "/v1/embeddings"

	plainAsk  = `{"model":"chat","messages":[{"role":"user","content":"hello"}]}`
	streamAsk = `{"model":"chat","stream":true,"messages":[{"role":"user","content":"hello"}]}`

	upstreamAddr = "127.0.0.1:8001"
)

// provider is the upstream of most tests; %s is for its further settings.
const provider = `
providers:
  up: {base_url: "http://127.0.0.1:8001/v1", api_key: upstream-secret, http: "1.1", %s}
`

// one is a gateway with one model of so many slots.
func one(slots int, more ...string) string {
	return fmt.Sprintf(provider, "") + fmt.Sprintf(`
models:
  chat: {deployments: [{provider: up, model: vendor/m-2026, concurrency: %d}]}
%s`, slots, strings.Join(more, "\n"))
}

// timeouts is a gateway with one slot and the timeouts of its provider.
func timeouts(text string) string {
	return fmt.Sprintf(provider, "timeouts: {"+text+"}") + `
models:
  chat: {deployments: [{provider: up, model: vendor/m-2026, concurrency: 1}]}
`
}

// tenantsOf writes tenants; KEY stands for the hash of "secret", KEY2 for that
// of "other-secret".
func tenantsOf(entries ...string) string {
	text := "tenants:\n"
	for _, e := range entries {
		e = strings.ReplaceAll(e, "KEY2", `"`+config.HashKey("other-secret")+`"`)
		text += "- " + strings.ReplaceAll(e, "KEY", `"`+config.HashKey("secret")+`"`) + "\n"
	}
	return text
}

// wires is a network in memory: listeners by address.
type wires struct {
	mu    sync.Mutex
	hosts map[string]*pipes
}

func (n *wires) listen(addr string) *pipes {
	l := &pipes{addr: pipeAddr(addr), conns: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts == nil {
		n.hosts = map[string]*pipes{}
	}
	n.hosts[addr] = l
	return l
}

func (n *wires) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.hosts[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipes is a listener of wires.
type pipes struct {
	addr   pipeAddr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipes) Addr() net.Addr { return l.addr }

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

// lines keeps the log: one JSON object a line.
type lines struct {
	mu   sync.Mutex
	all  []map[string]any
	next chan struct{} // closed and replaced with each line
}

func (l *lines) Write(b []byte) (int, error) {
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		v = map[string]any{"message": string(b)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, v)
	close(l.next)
	l.next = make(chan struct{})
	return len(b), nil
}

// requests are the lines of requests that have ended.
func (l *lines) requests() (ended []map[string]any, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.all {
		if v["message"] == "request" {
			ended = append(ended, v)
		}
	}
	return ended, l.next
}

// told counts the lines whose message begins so.
func (l *lines) told(prefix string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.all {
		if m, _ := v["message"].(string); strings.HasPrefix(m, prefix) {
			n++
		}
	}
	return n
}

// rig is a gateway between callers and an upstream.
type rig struct {
	t      *testing.T
	g      *Gateway
	mock   *mock.Server // nil if the upstream is a handler of the test
	net    *wires
	client *http.Client
	url    string
	ops    string
	log    *lines
	stop   context.CancelFunc // as a signal to the process does
	served chan error         // what Serve returned
}

// setup joins callers, a gateway and an upstream in memory. The upstream is a
// mock.Settings or an http.Handler.
func setup(t *testing.T, conf string, upstream any, with ...func(*Options)) *rig {
	t.Helper()
	n := &wires{}
	return start(t, conf, upstream, n, n.listen("gateway:80"), n.listen("ops:80"), n.listen(upstreamAddr), with...)
}

// setupTCP does the same over loopback. The configuration's upstream address
// is replaced.
func setupTCP(t *testing.T, conf string, upstream any) *rig {
	t.Helper()
	var ls [3]net.Listener
	for i := range ls {
		var err error
		if ls[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	conf = strings.ReplaceAll(conf, upstreamAddr, ls[2].Addr().String())
	return start(t, conf, upstream, nil, ls[0], ls[1], ls[2])
}

func start(t *testing.T, conf string, upstream any, n *wires, public, ops, far net.Listener, with ...func(*Options)) *rig {
	t.Helper()
	r := &rig{
		t: t, net: n, log: &lines{next: make(chan struct{})}, served: make(chan error, 1),
		url: "http://" + public.Addr().String(), ops: "http://" + ops.Addr().String(),
	}
	handler, ok := upstream.(http.Handler)
	if !ok {
		var err error
		if r.mock, err = mock.New(upstream.(mock.Settings)); err != nil {
			t.Fatal(err)
		}
		handler = r.mock
	}
	far1 := &http.Server{Handler: handler}
	farDone := make(chan struct{})
	go func() { defer close(farDone); far1.Serve(far) }()

	o := Options{Log: telemetry.NewLogger(r.log)}
	for _, set := range with {
		set(&o)
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1000}
	if n != nil {
		o.dial, transport.DialContext = n.dial, n.dial
	}
	r.client = &http.Client{Transport: transport}
	var err error
	if r.g, err = New(parse(t, conf), o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.served <- r.g.Serve(ctx, public, ops, operators(r.g)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-r.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		r.g.Close()
		transport.CloseIdleConnections()
		if r.mock != nil {
			r.mock.Close()
		}
		far1.Close()
		<-farDone
	})
	return r
}

func parse(t *testing.T, conf string) *config.Config {
	t.Helper()
	c, err := config.Parse("test.yaml", []byte(conf), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// Last of all: net/http closes some connections only after a pause.
		t.Cleanup(func() { time.Sleep(time.Second); synctest.Wait() })
		f(t)
	})
}

// answer is what a caller got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body; nil is a clean end
	took   time.Duration
}

// ask sends a request and reads the answer to its end. In virtual time the
// gateway has then settled it.
func (r *rig) ask(path, body string, header ...string) answer {
	r.t.Helper()
	a := r.askCtx(context.Background(), path, body, header...)
	if r.net != nil {
		synctest.Wait()
	}
	return a
}

func (r *rig) askCtx(ctx context.Context, path, body string, header ...string) answer {
	begin := time.Now()
	res, err := r.open(ctx, path, body, header...)
	if err != nil {
		return answer{err: err, took: time.Since(begin)}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(b), err, time.Since(begin)}
}

// open sends a request and returns with the head of the answer. An empty body
// is a GET.
func (r *rig) open(ctx context.Context, path, body string, header ...string) (*http.Response, error) {
	method, url := "POST", r.url+path
	if body == "" {
		method = "GET"
	}
	if strings.HasPrefix(path, "http") {
		url = path
	}
	q, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	return r.client.Do(q)
}

// background asks in a goroutine.
func (r *rig) background(ctx context.Context, path, body string, header ...string) <-chan answer {
	c := make(chan answer, 1)
	go func() { c <- r.askCtx(ctx, path, body, header...) }()
	return c
}

// ended waits until n requests have ended, and returns the line of the last.
func (r *rig) ended(n int) map[string]any {
	r.t.Helper()
	timeout := time.NewTimer(20 * time.Second)
	defer timeout.Stop()
	for {
		all, more := r.log.requests()
		if len(all) >= n {
			return all[n-1]
		}
		select {
		case <-more:
		case <-timeout.C:
			r.t.Fatalf("%d requests have ended, want %d", len(all), n)
		}
	}
}

// idle checks that nothing waits or runs.
func (r *rig) idle() {
	r.t.Helper()
	for _, p := range r.g.gate.Snapshot().Pools {
		waiting := 0
		for _, c := range p.Classes {
			waiting += c.Waiting
		}
		if p.Running != 0 || waiting != 0 {
			r.t.Errorf("model %s: %d running and %d waiting, want none", p.Model, p.Running, waiting)
		}
	}
}

// state is what runs and waits for a model.
func (r *rig) state(model string) (running, waiting int) {
	for _, p := range r.g.gate.Snapshot().Pools {
		if p.Model == model {
			for _, c := range p.Classes {
				waiting += c.Waiting
			}
			return p.Running, waiting
		}
	}
	return 0, 0
}

// counters sums the counter of a name over its labels, by one of them.
func (r *rig) counters(name, label string) map[string]float64 {
	r.t.Helper()
	families, err := r.g.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					out[l.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return out
}
