// Package main measures what the gateway costs as a proxy: CPU time for each
// request and each streamed event, and memory for each open stream, with and
// without ledger, budgets and ladder, and with everything that operators watch on
// and off, beside a bare httputil.ReverseProxy and HAProxy under the same load in the same run.
//
// Every proxy is a process of its own on loopback, before the same fake
// upstream, and starts afresh in every round. The proxies take turns, so that
// what else the machine does falls on all of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

type settings struct {
	Spillway string        `default:"bin/spillway" help:"The gateway's binary."`
	Config   string        `help:"Configuration for it instead of the built one; it must listen where --listen says and serve the model chat without a key."`
	Only     []string      `help:"Names of the proxies to measure, comma separated; default all."`
	Haproxy  string        `default:"haproxy" help:"HAProxy's binary; without one it is left out."`
	Alias    bool          `help:"Let the model have another name upstream, so that every answer and event is rewritten."`
	Rounds   int           `default:"5" help:"Turns of each proxy."`
	Requests int           `default:"8000" help:"Requests in a round that are not streamed."`
	Conns    int           `default:"64" help:"Connections they are sent on."`
	Streams  int           `default:"500" help:"Streams open at once."`
	Pace     time.Duration `default:"20ms" help:"Time between two events of a stream."`
	Window   time.Duration `default:"2s" help:"How long the open streams are measured."`
	Limit    time.Duration `default:"5m" help:"End of the run, whatever happens."`

	Serve  string `hidden:"" enum:",upstream,bare,collector" default:"" help:"Be a child: upstream, bare or collector."`
	Listen string `hidden:"" help:"Address of the child."`
	Target string `hidden:"" help:"Upstream of the child."`
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("proxy"), kong.Description("Measure CPU and memory of the gateway beside other proxies."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch s.Serve {
	case "upstream":
		err = serveUpstream(s.Listen)
	case "collector":
		err = serveCollector(s.Listen)
	case "bare":
		err = serveBare(s.Listen, s.Target)
	default:
		err = measure(ctx, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/proxy:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, s *settings) error {
	if s.Rounds < 1 || s.Requests < 1 || s.Conns < 1 || s.Streams < 1 || s.Pace <= 0 || s.Window <= 0 {
		return errors.New("rounds, requests, conns, streams, pace and window must be above zero")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limit, fmt.Errorf("not done within %v", s.Limit))
	defer cancel()
	dir, err := os.MkdirTemp("", "spillway-bench-proxy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	up, err := startUpstream(ctx)
	if err != nil {
		return err
	}
	defer up.stop()
	collector, err := startSelf(ctx, "collector", "")
	if err != nil {
		return err
	}
	defer collector.stop()
	proxies, err := proxiesOf(s, dir, collector.addr)
	if err != nil {
		return err
	}
	fmt.Printf("%d rounds; %d requests on %d connections; %d streams with an event of %d B every %v for %v\n",
		s.Rounds, s.Requests, s.Conns, s.Streams, len(event), s.Pace, s.Window)
	results := make([][]sample, len(proxies))
	for round := range s.Rounds {
		for i, p := range proxies {
			m, err := turn(ctx, s, p, up)
			if err != nil {
				return fmt.Errorf("round %d: %w", round+1, err)
			}
			results[i] = append(results[i], m)
			fmt.Fprintf(os.Stderr, "round %d  %-12s %s\n", round+1, p.name, m)
		}
	}
	report(os.Stdout, proxies, results)
	return nil
}

// sample is what one proxy cost in one round.
type sample struct {
	request time.Duration // CPU time of a request
	p50     time.Duration // of the times of requests
	p99     time.Duration
	event   time.Duration // CPU time of a streamed event
	stream  float64       // bytes of an open stream
}

func (m sample) String() string {
	return fmt.Sprintf("request %6.1f µs   event %5.2f µs   stream %5.1f KiB",
		float64(m.request)/1e3, float64(m.event)/1e3, m.stream/1024)
}

const settle = 300 * time.Millisecond

// turn measures one proxy in a fresh process.
func turn(ctx context.Context, s *settings, p proxy, up *process) (m sample, err error) {
	child, err := p.start(ctx, up.addr)
	if err != nil {
		return m, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w\nit said:\n%s", p.name, err, child.said())
		}
		child.stop()
	}()
	stop := p.watch(ctx, child)
	defer func() { err = errors.Join(err, stop()) }()
	c := client{addr: child.addr}
	// The warm-up brings heap and connections to their level of work.
	if _, err := c.requests(ctx, s.Conns, max(s.Requests/4, s.Conns)); err != nil {
		return m, err
	}
	if err := pause(ctx, settle); err != nil {
		return m, err
	}
	if m.event, m.stream, err = measureStreams(ctx, s, &c, child); err != nil {
		return m, err
	}
	before, err := child.cpu()
	if err != nil {
		return m, err
	}
	took, err := c.requests(ctx, s.Conns, s.Requests)
	if err != nil {
		return m, err
	}
	after, err := child.cpu()
	m.request = (after - before) / time.Duration(s.Requests)
	m.p50, m.p99 = took[len(took)/2], took[len(took)*99/100]
	return m, err
}

// measureStreams opens all streams, waits until each runs, and looks at a
// window in the midst: opening and closing are not part of it.
func measureStreams(ctx context.Context, s *settings, c *client, child *process) (event time.Duration, stream float64, err error) {
	none, err := child.rss()
	if err != nil {
		return 0, 0, err
	}
	open, err := c.open(ctx, s.Streams, s.Pace)
	if err != nil {
		return 0, 0, err
	}
	defer open.close()
	if err := pause(ctx, settle); err != nil {
		return 0, 0, err
	}
	events := open.events.Load()
	before, err := child.cpu()
	if err != nil {
		return 0, 0, err
	}
	if err := pause(ctx, s.Window); err != nil {
		return 0, 0, err
	}
	after, err := child.cpu()
	if err != nil {
		return 0, 0, err
	}
	events = open.events.Load() - events
	full, err := child.rss()
	if err != nil {
		return 0, 0, err
	}
	if err := open.broken(); err != nil {
		return 0, 0, err
	}
	if events == 0 {
		return 0, 0, errors.New("no event came")
	}
	return (after - before) / time.Duration(events), float64(full-none) / float64(s.Streams), nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
