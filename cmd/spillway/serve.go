package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/store"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/mock"
	"github.com/spillway-llm/spillway/internal/ops"
)

type serveCmd struct {
	Config string `type:"path" placeholder:"FILE" env:"SPILLWAY_CONFIG" help:"Configuration file. It is read again when it changes, and on SIGHUP."`
	Listen string `placeholder:"ADDR" env:"SPILLWAY_LISTEN" help:"Address for callers; wins over the file."`
	Ops    string `placeholder:"ADDR" env:"SPILLWAY_OPS" help:"Address for operators (health, metrics); wins over the file."`
	Record string `type:"path" placeholder:"FILE" help:"Write every event of the decision core to a new file, at most 4 GiB, for spillway replay and sim --trace. It has names of tenants and sessions, no content."`
}

// embedded is the configuration of a gateway that was given none: a simulated
// model, on loopback, for anybody.
const embedded = `
providers:
  simulated: {kind: simulated, slots: 16}
models:
  chat:
    deployments: [{provider: simulated, model: chat, concurrency: 16}]
  "*":
    deployments: [{provider: simulated, concurrency: 16}]
ledger: {enabled: false}
`

// ledgerTime is for what the spool still holds to reach the database at the end.
// What does not is there at the next start.
const ledgerTime = 5 * time.Second

func (c *serveCmd) Run(ctx context.Context) error {
	logger := telemetry.NewLogger(os.Stderr)
	log := logger.Slog()
	var stopWatch func()
	changed := make(chan struct{}, 1)
	if c.Config != "" { // watch first, so that no change is missed
		stop, err := config.Watch(c.Config, func(*config.Config, error) {
			select {
			case changed <- struct{}{}:
			default: // it is read again anyway
			}
		})
		if err != nil {
			return usageError{err}
		}
		stopWatch = stop
		defer stopWatch()
	}
	settings := ops.NewSettings(ops.SettingsOptions{File: c.Config, Text: []byte(embedded), Name: "the embedded default", Log: log})
	defer settings.Close() // the process ends, and with it the lock
	cfg, err := settings.Load()
	if err != nil {
		return usageError{err}
	}
	var sims simulations
	defer sims.stop()
	options := gateway.Options{Log: logger, Simulate: sims.start}
	if c.Record != "" {
		f, err := os.OpenFile(c.Record, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // two processes in one file cannot be replayed
		if err != nil {
			return usageError{fmt.Errorf("record: %w", err)}
		}
		defer f.Close()
		options.Record = f
	}
	if cfg.Ledger.Enabled {
		l, err := openLedger(ctx, cfg, log)
		if err != nil {
			return usageError{err}
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), ledgerTime)
			defer cancel()
			if err := l.Close(ctx); err != nil {
				log.Warn("close the ledger: what it holds is written at the next start", "error", err.Error())
			}
		}()
		options.Ledger = l
	}
	g, err := gateway.New(cfg, options)
	if err != nil {
		return usageError{err}
	}
	defer g.Close()
	settings.Use(g)
	public, operators, err := c.listen(cfg)
	if err != nil {
		return err
	}
	log.Info("spillway serves", "listen", public.Addr().String(), "ops", operators.Addr().String(), "version", version)
	if cfg.Open() {
		log.Warn("no tenants are configured: every caller on this machine is served, and none needs a key")
	}
	if c.Config == "" {
		log.Info("no configuration: answers come from a simulated model; try curl http://" + public.Addr().String() + "/v1/chat/completions -d '{\"model\":\"chat\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}'")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go reload(ctx, settings, changed)
	return g.Serve(ctx, public, operators, ops.New(g, ops.Options{Loopback: loopback(operators.Addr().String()), Log: log, Settings: settings, Forecast: forecast}))
}

func openLedger(ctx context.Context, c *config.Config, log *slog.Logger) (*store.Ledger, error) {
	return store.Open(ctx, store.Options{
		Directory: c.Ledger.Directory, Postgres: string(c.Ledger.Postgres), Keep: c.Ledger.Keep, Spool: int64(c.Ledger.Spool), Log: log,
	})
}

func (c *serveCmd) listen(cfg *config.Config) (public, operators net.Listener, err error) {
	addr, opsAddr := cfg.Listen, cfg.Ops
	if c.Listen != "" {
		addr = c.Listen
	}
	if c.Ops != "" {
		opsAddr = c.Ops
	}
	if cfg.Open() && !loopback(addr) {
		return nil, nil, usageError{fmt.Errorf("without tenants everybody may call, so --listen must be a loopback address, not %s: configure tenants, or listen on 127.0.0.1", addr)}
	}
	if public, err = net.Listen("tcp", addr); err != nil {
		return nil, nil, fmt.Errorf("listen for callers: %w", err)
	}
	if operators, err = net.Listen("tcp", opsAddr); err != nil {
		public.Close()
		return nil, nil, fmt.Errorf("listen for operators: %w", err)
	}
	return public, operators, nil
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reload reads the file again when it changes and on SIGHUP. A faulty one changes
// nothing; the settings tell.
func reload(ctx context.Context, settings *ops.Settings, changed <-chan struct{}) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			_, _ = settings.Reload(ops.ByFile)
		case <-hup:
			_, _ = settings.Reload("signal")
		}
	}
}

// simulations are the simulated upstreams of this process.
type simulations struct {
	mu    sync.Mutex
	stops []func()
}

func (s *simulations) start(p *config.Provider) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	stop, err := startMock(mock.Settings{Slots: p.Slots, ServiceMean: p.ServiceMean, Seed: uint64(p.Seed)}, l)
	if err != nil {
		return "", errors.Join(errors.New("simulated provider"), err)
	}
	s.mu.Lock()
	s.stops = append(s.stops, stop)
	s.mu.Unlock()
	return "http://" + l.Addr().String() + "/v1", nil
}

func (s *simulations) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.stops {
		stop()
	}
}
