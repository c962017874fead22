package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spillway-llm/spillway/bench/child"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/load"
	"github.com/spillway-llm/spillway/internal/ops"
)

func keyOf(tenant string) string { return "bench-key-of-" + tenant }

// configuration is the file of a gateway with some settings.
func configuration(s settings, upstream string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
ops: 127.0.0.1:0
ledger: {enabled: false}
providers:
  upstream: {base_url: %s}
models:
  chat:
    deployments: [{name: gpu, provider: upstream, concurrency: %d, price: {input: 1, output: 4}}]
    %s
tenants:
  - {name: app, keys: [%q]}
  - {name: jobs, keys: [%q], default_class: standard, classes: [standard]%s}
%s
`, upstream, s.concurrency, s.queue, config.HashKey(keyOf("app")), config.HashKey(keyOf("jobs")), s.jobs, s.more)
}

var (
	mockAddress  = regexp.MustCompile(`on (http://[^/]+)/v1`)
	serveAddress = regexp.MustCompile(`"listen":"([^"]+)","ops":"([^"]+)"`)
)

// pair is what was foretold of a change, and what came of it.
type pair struct{ foretold, came *ops.WhatIf }

// try asks about a change under load, and then makes it.
func (b *bench) try(ctx context.Context, t *trial, run int) (p pair, err error) {
	if p.foretold, err = b.live(ctx, today, t.set, uint64(run), 1000+uint64(run)); err != nil {
		return p, err
	}
	p.came, err = b.live(ctx, t.file, "{}", uint64(run), 2000+uint64(run))
	return p, err
}

// live offers the load to a gateway, and asks it about a change when the load
// has ended. Runs with equal arrivals have equal requests.
func (b *bench) live(ctx context.Context, s settings, set string, arrivals, luck uint64) (answer *ops.WhatIf, err error) {
	mock, groups, err := child.Start(ctx, "mock", []string{
		b.binary, "mock", "--listen", "127.0.0.1:0", "--slots", "64", "--per-output", "10ms", "--output-mean", "60", "--seed", fmt.Sprint(luck),
	}, mockAddress, io.Discard)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mock.Stop()) }()
	f, err := os.CreateTemp(b.dir, "*.yaml")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(configuration(s, groups[0]+"/v1"))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	gateway, where, err := child.Start(ctx, "serve", []string{b.binary, "serve", "--config", filepath.Clean(f.Name())}, serveAddress, io.Discard)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, gateway.Stop()) }()
	ended := make(chan *ops.WhatIf, 1)
	asked := make(chan error, 1)
	go func() { // when the last request was made, while callers are still there
		timer := time.NewTimer(b.length)
		defer timer.Stop()
		select {
		case <-timer.C:
			a, err := ask(ctx, where[1], set, b.length*4/5)
			ended <- a
			asked <- err
		case <-ctx.Done():
			ended <- nil
			asked <- ctx.Err()
		}
	}()
	_, err = load.Run(ctx, load.Settings{
		Target: "http://" + where[0] + "/v1", Rate: b.rate, Retries: load.DefaultRetries, Duration: b.length, Seed: arrivals, Stats: "none",
		Tenants: []load.Tenant{
			{Name: "app", Key: keyOf("app"), Share: 0.7, Stream: true, Deadline: 4 * time.Second},
			{Name: "jobs", Key: keyOf("jobs"), Share: 0.3, Deadline: 15 * time.Second, Input: 400},
		},
	}, nil)
	return <-ended, errors.Join(err, <-asked)
}

func ask(ctx context.Context, address, set string, span time.Duration) (*ops.WhatIf, error) {
	body := fmt.Sprintf(`{"set": %s, "minutes": %g}`, set, span.Minutes())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/admin/v1/whatif", bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask about %s: %d %s", set, res.StatusCode, text)
	}
	var answer ops.WhatIf
	return &answer, json.Unmarshal(text, &answer)
}
