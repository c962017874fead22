// Package gateway is the live shell: it reads requests, asks the decision core
// through the Gate, calls the upstream that the core names, relays the answer,
// and tells telemetry what happened.
package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-llm/spillway/internal/edge/answers"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/store"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// Options are what a Gateway needs beside its configuration.
type Options struct {
	Log *telemetry.Logger
	// Simulate starts an upstream for a provider of kind simulated and returns
	// its base URL. It is called once a provider.
	Simulate func(*config.Provider) (baseURL string, err error)
	// Record gets every event of the decision core, to be replayed; nil gets
	// none. It is written to until Close.
	Record io.Writer
	// Ledger keeps what each request used and cost, and budgets begin with what
	// it holds; nil keeps nothing. It is the caller's to close, after Close.
	Ledger *store.Ledger

	// dial opens connections to upstreams; nil is TCP. Tests join in memory.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Gateway serves callers. It is safe for concurrent use.
type Gateway struct {
	gate     *Gate
	log      *telemetry.Logger
	metrics  *telemetry.Metrics
	tracer   *telemetry.Tracer
	registry *prometheus.Registry
	simulate func(*config.Provider) (string, error)
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	state    atomic.Pointer[state]
	applying sync.Mutex // one configuration at a time

	tokens   *wire.Estimator // of the input, by model
	lag      upstream.Lag    // of this process's own scheduling
	refused  refusals
	history  *history
	passed   traffic
	hooks    *hooks
	ledger   *store.Ledger
	answers  *answers.Cache
	followed time.Duration // by which the wall clock was ahead; under applying
	midnight *time.Timer   // when a provider's day begins at another time; under applying

	active   atomic.Int64 // requests that hold or want a slot
	draining chan struct{}
	drained  sync.Once
	drainEnd atomic.Int64 // unix nanoseconds when draining ends
	stop     context.CancelCauseFunc
	life     context.Context // ends when draining is over: cuts what still runs
}

// state is what one configuration means for a request. A request keeps the
// one it began with.
type state struct {
	config  *config.Config
	keys    *config.Keys
	targets map[string]*target  // by deployment name
	pools   map[string][]string // deployments by pool of the policy
}

var errDraining = errors.New("the gateway is shutting down")

// New makes a gateway of a configuration.
func New(c *config.Config, o Options) (*Gateway, error) {
	g := &Gateway{
		log: o.Log, simulate: o.Simulate, dial: o.dial, registry: prometheus.NewRegistry(), draining: make(chan struct{}), tokens: wire.NewEstimator(),
		hooks: newHooks(o.dial), ledger: o.Ledger, history: newHistory(time.Now()),
	}
	g.answers = answers.New(int64(c.Answers.Size), c.Answers.TTL)
	g.life, g.stop = context.WithCancelCause(context.Background())
	g.metrics = telemetry.NewMetrics(g.registry)
	g.tracer = telemetry.NewTracer(g.log.Slog(), o.dial)
	s, err := g.prepare(c)
	if err != nil {
		return nil, err
	}
	recorder := telemetry.NewRecorder(telemetry.DefaultEvents)
	if o.Record != nil {
		recorder.Stream(o.Record, telemetry.StreamLimit, g.log.Slog())
	}
	g.gate = NewGate(c.Policy(), recorder)
	g.metrics.WatchStates(g.states)
	g.metrics.WatchAnswers(func() telemetry.AnswersState { return telemetry.AnswersState(g.answers.Stats()) })
	g.metrics.WatchTraces(g.tracer.State)
	if g.ledger != nil {
		g.metrics.WatchLedger(g.ledgerState)
	}
	g.use(s)
	g.restore(c.Policy(), restoreWait)
	g.applying.Lock()
	defer g.applying.Unlock()
	g.holds(c)
	go g.watch()
	go g.followClock()
	return g, nil
}

// Apply changes the configuration while everything goes on: waiting requests
// keep their places, limits what they counted, and predictions what they
// learnt. With an error nothing has changed.
func (g *Gateway) Apply(c *config.Config) error {
	g.applying.Lock()
	defer g.applying.Unlock()
	return g.applyLocked(c)
}

func (g *Gateway) applyLocked(c *config.Config) error {
	old := g.state.Load()
	s, err := g.prepare(c)
	if err != nil {
		return err
	}
	for _, name := range c.Restart(old.config) {
		g.log.Slog().Warn("setting changed, but it takes effect only after a restart", slog.String("setting", name))
	}
	g.use(s)
	g.gate.Configure(g.policy(c))
	go g.restore(c.Policy(), restoreLater)
	g.holds(c)
	return nil
}

// holds applies the configuration again when a change of summer time moves the
// midnight of a provider.
func (g *Gateway) holds(c *config.Config) {
	if g.midnight != nil {
		g.midnight.Stop()
		g.midnight = nil
	}
	if at := c.PolicyHolds(time.Now()); !at.IsZero() {
		g.midnight = time.AfterFunc(time.Until(at), func() { g.again(c) })
	}
}

// again applies a configuration that is in force. One that is not any more has been
// replaced while this waited for its turn, and the one after it has a timer of its own.
func (g *Gateway) again(c *config.Config) {
	g.applying.Lock()
	defer g.applying.Unlock()
	if g.Config() != c {
		return
	}
	if err := g.applyLocked(c); err != nil {
		g.log.Slog().Warn("apply the configuration again", "error", err.Error())
	}
}

// Reloaded counts a reading of the configuration file.
func (g *Gateway) Reloaded(err error) { g.metrics.Reloaded(time.Now(), err) }

// Changed counts a change of settings that an operator asked for.
func (g *Gateway) Changed(result telemetry.Changed) { g.metrics.Changed(result) }

// ChangesAside tells whether earlier changes of settings do not count, because the
// file does not fit them.
func (g *Gateway) ChangesAside(aside bool) { g.metrics.ChangesAside(aside) }

func (g *Gateway) use(s *state) {
	g.state.Store(s)
	g.answers.Resize(time.Now(), int64(s.config.Answers.Size), s.config.Answers.TTL)
	g.log.SetLevel(s.level())
	g.tracer.Configure(traceSettings(&s.config.Traces))
	names := s.names()
	g.metrics.Configure(names)
	g.history.configure(names.Tenants)
	for name, m := range s.config.Models {
		if how, ok := images[s.config.Providers[m.Deployments[0].Provider].Kind]; ok {
			g.tokens.Declare(name, how)
		}
	}
}

// images is how kinds of providers count pictures, where it is not as OpenAI does.
var images = map[config.Kind]wire.Images{config.Anthropic: wire.ImageAreas, config.Gemini: wire.ImageCrops}

// Close ends what Drain leaves: timers and unused connections.
func (g *Gateway) Close() {
	g.stop(errDraining)
	g.gate.Close()
	g.applying.Lock()
	if g.midnight != nil {
		g.midnight.Stop()
	}
	g.applying.Unlock()
	g.answers.Close()
	g.tracer.Close()
	for _, t := range g.state.Load().targets {
		t.client.Close()
	}
}

func (s *state) level() slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(s.config.Log.Level)); err != nil {
		return slog.LevelInfo
	}
	return l
}

func (s *state) names() telemetry.Names {
	n := telemetry.Names{Kinds: []string{"ok"}}
	for _, t := range s.config.Tenants {
		n.Tenants = append(n.Tenants, t.Name)
	}
	for _, m := range s.config.Models {
		for _, d := range m.Deployments {
			n.Deployments = append(n.Deployments, d.Name)
		}
		for _, r := range m.Degrade {
			n.Rungs = append(n.Rungs, r.Name)
		}
	}
	for pool := range s.pools {
		n.Models = append(n.Models, pool)
	}
	for k := upstream.Unknown; k <= upstream.Rejected; k++ {
		n.Kinds = append(n.Kinds, k.String())
	}
	return n
}

// Handler is the public surface.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, s := range surfaces {
		mux.HandleFunc("POST "+s.path, func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, s) })
		mux.HandleFunc(s.path, wrongMethod(http.MethodPost))
	}
	mux.HandleFunc("POST /v1/messages/count_tokens", g.countTokens)
	mux.HandleFunc("/v1/messages/count_tokens", wrongMethod(http.MethodPost))
	mux.HandleFunc("/v1/responses/{id...}", notKept)
	mux.HandleFunc("GET /v1/models", g.models)
	mux.HandleFunc("GET /v1/models/{model...}", g.model)
	mux.HandleFunc("/v1/models", wrongMethod(http.MethodGet))
	mux.HandleFunc("/v1/models/", wrongMethod(http.MethodGet))
	mux.HandleFunc("/", notFound)
	return mux
}
