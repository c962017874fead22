package compat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/mock"
	"github.com/spillway-llm/spillway/internal/ops"
)

const key = "sk-compat-key-of-the-team"

// patience bounds everything that a test waits for.
const patience = 20 * time.Second

// setup is what differs between tests. The zero value is a fast upstream with
// eight slots and a gateway without limits.
type setup struct {
	mock     mock.Settings
	upstream http.Handler // stands in for the mock
	slots    int          // that the gateway uses
	prior    string       // what the gateway believes of the upstream's speed, as YAML; "" is the truth
	model    string       // YAML members of the model, such as "queue: {total: 1}"
	tenant   string       // YAML members of the tenant
	rest     string       // YAML at the top level
	backend  *backend     // the kind of the upstream, in its own dialect; nil is OpenAI's
}

// rig is a live gateway before a simulated upstream, both on loopback.
type rig struct {
	t    *testing.T
	mock *mock.Server
	// upstream is the upstream where the kind of a backend was named.
	upstream *provider
	url      string
	ops      string
	client   openai.Client
}

// quick are answers that take some ten milliseconds, always the same.
func quick() mock.Settings {
	return mock.Settings{Base: 5 * time.Millisecond, PerOutput: 500 * time.Microsecond, OutputMean: 40, Noise: new(0.0), Seed: 7}
}

// tokenByToken are the same, with an event for each token.
func tokenByToken() mock.Settings {
	s := quick()
	s.TokenByToken = true
	return s
}

// endless are answers that take minutes, an event every ten milliseconds.
func endless() mock.Settings {
	return mock.Settings{Base: 5 * time.Millisecond, PerOutput: 10 * time.Millisecond, OutputMean: 30_000, Noise: new(0.0), TokenByToken: true}
}

func start(t *testing.T, s setup) *rig {
	t.Helper()
	if s.mock.OutputMean == 0 {
		s.mock = quick()
	}
	if s.slots == 0 {
		s.slots = 8
	}
	if s.prior == "" {
		s.prior = "{first_token: 5ms, per_output_token: 500us, output_tokens: 40}"
	}
	r := &rig{t: t}
	upstream := s.upstream
	up := ""
	switch {
	case s.backend != nil:
		r.upstream = r.provider(s.mock)
		up = fmt.Sprintf(`{base_url: "%s", api_key: %s, %s}`, r.upstream.url, upstreamKey, s.backend.yaml)
	case upstream == nil:
		m, err := mock.New(s.mock)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		r.mock, upstream = m, m
	}
	name := "big-1-int8"
	if up == "" {
		model := httptest.NewServer(upstream)
		t.Cleanup(model.Close)
		up = fmt.Sprintf(`{base_url: "%s/v1"}`, model.URL)
	} else {
		name = "vendor-big-1"
	}
	text := fmt.Sprintf(`
providers: {gpu: %s}
models:
  chat:
    deployments: [{provider: gpu, model: %s, concurrency: %d}]
    prior: %s
    %s
tenants:
  - name: team
    keys: ["%s"]
    %s
%s
`, up, name, s.slots, s.prior, s.model, config.HashKey(key), s.tenant, s.rest)
	c, err := config.Parse("test", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	log := telemetry.NewLogger(io.Discard)
	g, err := gateway.New(c, gateway.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	public, operators := httptest.NewServer(g.Handler()), httptest.NewServer(ops.New(g, ops.Options{Loopback: true, Log: log.Slog()}))
	t.Cleanup(operators.Close)
	t.Cleanup(public.Close)
	t.Cleanup(public.CloseClientConnections)
	r.url, r.ops = public.URL+"/v1", operators.URL
	r.client = r.dial(key)
	return r
}

// dial makes a client with a connection pool of its own. It does not retry
// unless an option says so.
func (r *rig) dial(key string, more ...option.RequestOption) openai.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	r.t.Cleanup(transport.CloseIdleConnections)
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(r.url), option.WithAPIKey(key), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: transport}),
	}, more...)...)
}

// twin is a client of a second upstream that answers as the first one does.
func (r *rig) twin(s mock.Settings) openai.Client {
	m, err := mock.New(s)
	if err != nil {
		r.t.Fatal(err)
	}
	srv := httptest.NewServer(m)
	r.t.Cleanup(m.Close)
	r.t.Cleanup(srv.Close)
	return r.dial(key, option.WithBaseURL(srv.URL+"/v1"))
}

// ask is a chat request, with a fault of the upstream if one is named.
func ask(fault string) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{
		Model:    "chat",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("When does the office open?")},
	}
	if fault != "" {
		p.Metadata = shared.Metadata{"mock_fault": fault}
	}
	return p
}

// limit is a context that ends before the test gives up.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-end.C:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// idle waits until neither the gateway nor the upstream has anything to do.
func (r *rig) idle() {
	r.t.Helper()
	eventually(r.t, "nothing runs upstream", func() bool { return r.mock == nil || r.mock.Stats().Inflight == 0 })
	eventually(r.t, "nothing is in flight in the gateway", func() bool { return r.metric("spillway_requests_in_flight") == 0 })
}

// metric adds up the gateway's series of a name that have all the labels,
// written as in the exposition: tenant="team".
func (r *rig) metric(name string, labels ...string) float64 {
	r.t.Helper()
	resp, err := http.Get(r.ops + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	sum := 0.0
	lines := bufio.NewScanner(resp.Body)
next:
	for lines.Scan() {
		line := lines.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue next
			}
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			r.t.Fatalf("metric line %q: %v", line, err)
		}
		sum += v
	}
	if err := lines.Err(); err != nil {
		r.t.Fatal(err)
	}
	return sum
}

// queued is how many requests have been queued so far.
func (r *rig) queued() float64 { return r.metric("spillway_decisions_total", `verdict="queue"`) }

// occupy takes a slot with a stream that stands still, until release is called.
func (r *rig) occupy() (release func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(limit(r.t))
	client := r.dial(key)
	stream := client.Chat.Completions.NewStreaming(ctx, ask("stall=2"))
	if !stream.Next() {
		r.t.Fatalf("occupy a slot: %v", stream.Err())
	}
	return sync.OnceFunc(func() {
		cancel()
		stream.Close()
	})
}

// attempt is one HTTP exchange of a client's call.
type attempt struct {
	at             time.Time // the answer came
	begun          time.Time // the request went
	count, timeout string    // x-stainless-retry-count, x-stainless-timeout
	status         int
	header         http.Header // of the answer
}

// attempts records the exchanges of a client. It is safe for concurrent use.
type attempts struct {
	mu   sync.Mutex
	all  []attempt
	seen func(attempt) // called after each
}

func (a *attempts) watch() option.RequestOption {
	return option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		x := attempt{begun: time.Now(), count: req.Header.Get("X-Stainless-Retry-Count"), timeout: req.Header.Get("X-Stainless-Timeout")}
		resp, err := next(req)
		x.at = time.Now()
		if resp != nil {
			x.status, x.header = resp.StatusCode, resp.Header
		}
		a.mu.Lock()
		a.all = append(a.all, x)
		a.mu.Unlock()
		if a.seen != nil {
			a.seen(x)
		}
		return resp, err
	})
}

func (a *attempts) list() []attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all
}

// apiError is the client's own error, with what the gateway said.
func apiError(t *testing.T, err error) *openai.Error {
	t.Helper()
	var e *openai.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v (%T), not one of the API", err, err)
	}
	return e
}
