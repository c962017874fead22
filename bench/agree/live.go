package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spillway-llm/spillway/bench/child"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/load"
)

// key is that of the only tenant.
const key = "bench-key-of-app"

// configuration is the configuration file of both gateways. The live one does not
// look at the section simulation, the simulated one at nothing that is an
// address.
func configuration(upstream string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
ops: 127.0.0.1:0
ledger: {enabled: false}
providers:
  upstream: {base_url: %s}
models:
  chat:
    deployments: [{provider: upstream, concurrency: %d}]
tenants:
  - {name: app, keys: [%q]}
simulation:
  upstreams:
    chat: {slots: %d, mean: %v, noise: %d}
  callers:
    - {share: 100, deadline: %v, retries: %d}
`, upstream, slots, config.HashKey(key), slots, serviceMean, noise, deadline, retries)
}

var (
	mockAddress  = regexp.MustCompile(`on (http://[^/]+)/v1`)
	serveAddress = regexp.MustCompile(`"listen":"([^"]+)"`)
)

// live offers a load to a gateway that records into dir. notes are what the
// load generator says of its own figures. Runs with other seeds have other
// arrivals and service times.
func (b *bench) live(ctx context.Context, dir string, times float64, seed uint64) (f figures, notes []string, err error) {
	mock, upstream, err := run(ctx, mockAddress, b.binary, "mock", "--listen", "127.0.0.1:0", "--slots", fmt.Sprint(slots),
		"--service-mean", serviceMean.String(), "--noise", fmt.Sprint(noise/100.0), "--seed", fmt.Sprint(seed))
	if err != nil {
		return f, nil, err
	}
	defer func() { err = errors.Join(err, mock.Stop()) }()
	file := filepath.Join(dir, configFile)
	if err := os.WriteFile(file, []byte(configuration(upstream+"/v1")), 0o600); err != nil {
		return f, nil, err
	}
	gateway, address, err := run(ctx, serveAddress, b.binary, "serve", "--config", file, "--record", filepath.Join(dir, eventsFile))
	if err != nil {
		return f, nil, err
	}
	defer func() { err = errors.Join(err, gateway.Stop()) }()
	s, err := load.Run(ctx, load.Settings{
		Target: "http://" + address + "/v1", Stats: upstream + "/stats", Key: key, Rate: times * capacity, Deadline: deadline, Retries: retries,
		Duration: b.length, Seed: seed,
	}, nil)
	if err != nil {
		return f, nil, err
	}
	if s.GoodputRatio == nil || s.QueueP95 == nil || s.QueueP99 == nil || s.Errors > 0 {
		return f, nil, fmt.Errorf("the live run has no figures to compare: %d errors %q, notes %q", s.Errors, s.FirstErrors, s.Notes)
	}
	return figures{
		goodput: *s.GoodputRatio, waitP95: *s.QueueP95, waitP99: *s.QueueP99, attempts: s.AttemptsPerOffered,
		refused: float64(s.Refused) / float64(s.Offered), onTime: float64(s.OnTime) / float64(s.Offered),
		service: *s.GoodputRatio * slots * b.length.Seconds() / float64(max(1, s.OnTime)),
	}, s.Notes, nil
}

// run starts a command of the binary and gives the address that it announces.
func run(ctx context.Context, announces *regexp.Regexp, argv ...string) (*child.Child, string, error) {
	c, groups, err := child.Start(ctx, argv[1], argv, announces, io.Discard)
	if err != nil {
		return nil, "", err
	}
	return c, groups[0], nil
}
