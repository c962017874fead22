package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/bench/child"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/load"
)

// system is what stands between callers and the upstream.
type system string

const (
	direct   system = "direct"
	haproxy  system = "HAProxy"
	spillway system = "Spillway"
)

// setup is one system in front of an upstream of its own, started for one run
// so that no run inherits the backlog of another.
type setup struct {
	target   string // base URL for callers
	upstream string // URL of the model server, without a path
	ops      string // Spillway's URL for operators; empty for the others

	dir      string // of configurations, removed at the end
	events   string // file for the recorded events; empty keeps none
	children []*child.Child
	logs     []io.Closer
}

var (
	mockAddress  = regexp.MustCompile(`on http://([^/]+)/v1`)
	serveAddress = regexp.MustCompile(`"listen":"([^"]+)","ops":"([^"]+)"`)
)

// start starts an upstream and a system before it. name is that of what is kept.
func (b *bench) start(ctx context.Context, s system, tenants []load.Tenant, name string) (_ *setup, err error) {
	u := &setup{}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.stop())
		}
	}()
	if u.dir, err = os.MkdirTemp("", "spillway-overload-"); err != nil {
		return nil, err
	}
	argv := []string{b.binary, "mock", "--listen", "127.0.0.1:0", "--slots", fmt.Sprint(slots), "--service-mean", serviceMean.String(), "--seed", fmt.Sprint(seed)}
	at, err := u.run(ctx, "mock", argv, mockAddress, io.Discard)
	if err != nil {
		return nil, err
	}
	u.upstream = "http://" + at[0]
	u.target = u.upstream + "/v1"
	switch s {
	case haproxy:
		err = u.haproxy(ctx, at[0])
	case spillway:
		err = u.spillway(ctx, b, tenants, name)
	}
	return u, err
}

func (u *setup) run(ctx context.Context, name string, argv []string, announces *regexp.Regexp, keep io.Writer) ([]string, error) {
	c, groups, err := child.Start(ctx, name, argv, announces, keep)
	if err == nil {
		u.children = append(u.children, c)
	}
	return groups, err
}

// spillway starts a gateway. Its configuration says where the upstream is, how
// many calls it takes and who may call: no threshold.
func (u *setup) spillway(ctx context.Context, b *bench, tenants []load.Tenant, name string) error {
	var c strings.Builder
	fmt.Fprintf(&c, "listen: 127.0.0.1:0\nops: 127.0.0.1:0\nledger: {enabled: false}\nproviders:\n  upstream: {base_url: %s}\n", u.target)
	fmt.Fprintf(&c, "models:\n  chat:\n    deployments: [{provider: upstream, concurrency: %d}]\ntenants:\n", slots)
	for _, t := range tenants {
		fmt.Fprintf(&c, "  - {name: %s, keys: [%q], weight: %g}\n", t.Name, config.HashKey(t.Key), cmp.Or(t.Weight, 1))
	}
	file := filepath.Join(u.dir, "spillway.yaml")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		return err
	}
	var keep io.Writer = io.Discard
	if b.logs != "" {
		log, err := os.Create(filepath.Join(b.logs, name+".log.jsonl"))
		if err != nil {
			return fmt.Errorf("keep the log: %w", err)
		}
		u.logs, keep = append(u.logs, log), log
		u.events = filepath.Join(b.logs, name+".events.jsonl")
	}
	at, err := u.run(ctx, "serve", []string{b.binary, "serve", "--config", file}, serveAddress, keep)
	if err == nil {
		u.target, u.ops = "http://"+at[0]+"/v1", "http://"+at[1]
	}
	return err
}

// haproxyConfig is tuned by hand for this upstream: as many connections as it
// has slots, a bounded wait, and callers that left are taken out of the queue.
const haproxyConfig = `
global
    maxconn 4000
defaults
    mode http
    timeout connect 5s
    timeout client 120s
    timeout server 120s
    timeout queue 1s
    option abortonclose
    http-reuse always
frontend callers
    bind %s
    default_backend upstream
backend upstream
    server upstream %s maxconn %d
`

var errNoHAProxy = errors.New("haproxy is not installed")

func (u *setup) haproxy(ctx context.Context, upstream string) error {
	binary, err := haproxyBinary()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // only to find a free port
	if err != nil {
		return err
	}
	address := l.Addr().String()
	l.Close()
	file := filepath.Join(u.dir, "haproxy.cfg")
	if err := os.WriteFile(file, fmt.Appendf(nil, haproxyConfig, address, upstream, slots), 0o600); err != nil {
		return err
	}
	if _, err := u.run(ctx, "haproxy", []string{binary, "-db", "-f", file}, nil, io.Discard); err != nil {
		return err
	}
	u.target = "http://" + address + "/v1"
	return u.children[len(u.children)-1].Answers(ctx, u.target+"/models")
}

// haproxyBinary finds HAProxy, which Debian installs where users have no path.
func haproxyBinary() (string, error) {
	for _, name := range []string{"haproxy", "/usr/sbin/haproxy"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoHAProxy
}

// stop ends all, the callers' side first.
func (u *setup) stop() error {
	var errs []error
	if u.events != "" && u.ops != "" {
		errs = append(errs, save(u.ops+"/debug/events", u.events))
	}
	for i := len(u.children) - 1; i >= 0; i-- {
		errs = append(errs, u.children[i].Stop())
	}
	for _, l := range u.logs {
		errs = append(errs, l.Close())
	}
	if u.dir != "" {
		errs = append(errs, os.RemoveAll(u.dir))
	}
	return errors.Join(errs...)
}

// save writes what a URL answers into a file.
func save(url, file string) error {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return fmt.Errorf("keep the recorded events: %w", err)
	}
	defer resp.Body.Close()
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("keep the recorded events: %w", err)
	}
	_, err = io.Copy(out, resp.Body)
	return errors.Join(err, out.Close())
}
