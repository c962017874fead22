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
)

// proxy is a thing to measure.
type proxy struct {
	name  string
	start func(ctx context.Context, upstream string) (*process, error)
}

// bareName is the one that the others are compared with.
const bareName = "ReverseProxy"

func proxiesOf(s *settings, dir string) ([]proxy, error) {
	if _, err := os.Stat(s.Spillway); err != nil {
		return nil, fmt.Errorf("no gateway to measure, run make build first: %w", err)
	}
	ps := []proxy{
		{"spillway", func(ctx context.Context, upstream string) (*process, error) {
			return startSpillway(ctx, s, dir, upstream, gatewayConfig)
		}},
		{"with money", func(ctx context.Context, upstream string) (*process, error) {
			return startSpillway(ctx, s, dir, upstream, moneyConfig+fmt.Sprintf("ledger: {directory: %q}\n", filepath.Join(dir, "ledger")))
		}},
		{bareName, func(ctx context.Context, upstream string) (*process, error) {
			return startSelf(ctx, "bare", upstream)
		}},
	}
	path, err := exec.LookPath(s.Haproxy)
	if err != nil {
		fmt.Printf("HAProxy is left out: %v\n", err)
		return ps, nil
	}
	return append(ps, proxy{"HAProxy", func(ctx context.Context, upstream string) (*process, error) {
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
ledger: {enabled: false}
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
	return start(ctx, addr, s.Spillway, "serve", "--config", file, "--listen", addr, "--ops", "127.0.0.1:0")
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
