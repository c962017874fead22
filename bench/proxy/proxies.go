package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// proxy is a thing to measure.
type proxy struct {
	name   string
	base   string // what it is compared with
	scrape bool   // its metrics are read every second
	start  func(ctx context.Context, upstream string) (*process, error)
}

const (
	bareName = "ReverseProxy"
	offName  = "all off"
)

// proxiesOf are those that the settings name, each after what it is compared with.
func proxiesOf(s *settings, dir, collector string) ([]proxy, error) {
	all, err := allProxies(s, dir, collector)
	if err != nil || len(s.Only) == 0 {
		return all, err
	}
	wanted := slices.DeleteFunc(all, func(p proxy) bool { return !slices.Contains(s.Only, p.name) })
	for _, p := range wanted {
		if !slices.ContainsFunc(wanted, func(o proxy) bool { return o.name == p.base }) {
			return nil, fmt.Errorf("%s is compared with %s, so --only must name both", p.name, p.base)
		}
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("--only names none of the proxies: %v", s.Only)
	}
	return wanted, nil
}

func allProxies(s *settings, dir, collector string) ([]proxy, error) {
	if _, err := os.Stat(s.Spillway); err != nil {
		return nil, fmt.Errorf("no gateway to measure, run make build first: %w", err)
	}
	gateway := func(text string) func(context.Context, string) (*process, error) {
		return func(ctx context.Context, upstream string) (*process, error) {
			return startSpillway(ctx, s, dir, upstream, text)
		}
	}
	ledger := func(name string) string { return fmt.Sprintf("ledger: {directory: %q}\n", filepath.Join(dir, name)) }
	watched := fmt.Sprintf(watchedConfig, collector)
	ps := []proxy{
		{"spillway", bareName, false, gateway(gatewayConfig + noLedger)},
		{"with money", bareName, false, gateway(moneyConfig + ledger("ledger"))},
		{offName, offName, false, gateway(gatewayConfig + quietConfig + noLedger)},
		{"all on", offName, true, gateway(gatewayConfig + watched + noLedger)},
		{"and a ledger", offName, true, gateway(gatewayConfig + watched + ledger("ledger-watched"))},
		{bareName, bareName, false, func(ctx context.Context, upstream string) (*process, error) {
			return startSelf(ctx, "bare", upstream)
		}},
	}
	path, err := exec.LookPath(s.Haproxy)
	if err != nil {
		fmt.Printf("HAProxy is left out: %v\n", err)
		return ps, nil
	}
	return append(ps, proxy{"HAProxy", bareName, false, func(ctx context.Context, upstream string) (*process, error) {
		return startHAProxy(ctx, path, dir, upstream)
	}}), nil
}

func startUpstream(ctx context.Context) (*process, error) { return startSelf(ctx, "upstream", "") }

// startSelf starts this program as a child.
func startSelf(ctx context.Context, mode, upstream string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	return start(ctx, addr, self, "--serve", mode, "--listen", addr, "--target", upstream)
}

// The key is the SHA-256 of "bench", so that the gateway looks a key up as it would at work.
const gatewayConfig = `providers:
  fake: {base_url: "http://%s/v1"}
models:
  chat:
    deployments: [{provider: fake, model: %s, concurrency: 10000}]
tenants:
  - {name: bench, keys: ["sha256:` + benchKeyHash + `"]}
`

const noLedger = "ledger: {enabled: false}\n"

// quietConfig has off what can be: no line of the log for a request, no trace.
// Metrics are always counted; nobody reads them.
const quietConfig = "log: {level: error}\n"

// watchedConfig is what operators have on: a line for each request, and one
// trace in a hundred for a collector.
const watchedConfig = `log: {level: info}
traces: {endpoint: "http://%s", sample: 1}
`

// moneyConfig has a ledger, budgets that are never reached, and a ladder that
// the callers agree to and that has no reason to step down.
const moneyConfig = `providers:
  fake: {base_url: "http://%s/v1"}
models:
  chat:
    deployments: [{provider: fake, model: %s, concurrency: 10000, price: {input: 1, output: 10}}]
    degrade:
      - {name: brief, max_output_tokens: 128}
      - {name: short-history, max_turns: 4}
tenants:
  - name: bench
    keys: ["sha256:` + benchKeyHash + `"]
    degrade: any
    budget: {hour: 1000000, day: 10000000}
    budgets: {key: {day: 10000000}}
budget: {day: 10000000}
`

const benchKeyHash = "1b32c28cb38c05480eccc1bd60ff97029b57a05c96718b96dad7e9d84894f549"

func startSpillway(ctx context.Context, s *settings, dir, upstream, text string) (*process, error) {
	file := s.Config
	if file == "" {
		model := "chat"
		if s.Alias {
			model = "chat-upstream"
		}
		file = filepath.Join(dir, "spillway.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, text, upstream, model), 0o600); err != nil {
			return nil, err
		}
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	ops, err := freeAddr()
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, addr, s.Spillway, "serve", "--config", file, "--listen", addr, "--ops", ops)
	if err == nil {
		p.ops = ops
	}
	return p, err
}

const haproxyConfig = `global
  maxconn 8000
  nbthread %d
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend callers
  bind %s
  default_backend upstream
backend upstream
  server fake %s
`

func startHAProxy(ctx context.Context, path, dir, upstream string) (*process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, fmt.Appendf(nil, haproxyConfig, threads(), addr, upstream), 0o600); err != nil {
		return nil, err
	}
	return start(ctx, addr, path, "-db", "-f", file)
}

// serveBare is what a Go proxy costs that does nothing but pass on.
func serveBare(addr, upstream string) error {
	go func() { untilOrphan(); os.Exit(0) }()
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: upstream})
	p.FlushInterval = -1
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 10_000
	t.MaxIdleConns = 0
	p.Transport = t
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if err := http.Serve(l, p); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
