package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/bench/child"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

// site is a directory with a gateway's configuration and ledger, before a
// provider. Gateways may be started in it one after the other.
type site struct {
	binary   string
	dir      string
	provider *provider
	callers  *callers
}

func newSite(binary string) (*site, error) {
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("no gateway to measure, run make build first: %w", err)
	}
	dir, err := os.MkdirTemp("", "spillway-bench-money-")
	if err != nil {
		return nil, err
	}
	p, err := newProvider()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &site{binary: binary, dir: dir, provider: p, callers: newCallers(p)}, nil
}

func (s *site) close() {
	s.provider.close()
	_ = os.RemoveAll(s.dir) // it is in the directory for such things
}

func (s *site) ledger() string { return filepath.Join(s.dir, "ledger") }
func (s *site) file() string   { return filepath.Join(s.dir, "spillway.yaml") }

const siteConfig = `drain: 3s
providers:
  chats: {base_url: "http://%[1]s/v1"}
  words: {kind: anthropic, base_url: "http://%[1]s/v1", api_key: none}
models:
  chat: {deployments: [{provider: chats, model: chat, concurrency: 1000, price: {input: %[2]d, output: %[3]d}}]}
  claude: {deployments: [{provider: words, model: claude, concurrency: 1000, price: {input: %[2]d, output: %[3]d}}]}
ledger: {directory: %[4]q%[5]s}
`

// tenant is a caller whose key is its name.
type tenant struct {
	name string
	more string // of its configuration
}

// configure writes the configuration. Ledger is more of that section.
func (s *site) configure(ledger string, tenants ...tenant) error {
	text := fmt.Sprintf(siteConfig, s.provider.addr, inputPrice, outputPrice, s.ledger(), ledger) + "tenants:\n"
	for _, t := range tenants {
		text += fmt.Sprintf("  - {name: %s, keys: [%q]%s}\n", t.name, config.HashKey(t.name), t.more)
	}
	return os.WriteFile(s.file(), []byte(text), 0o600)
}

// gateway is a running spillway serve.
type gateway struct {
	*child.Child
	base, ops string
	log       *journal
}

var serveAddress = regexp.MustCompile(`"listen":"([^"]+)","ops":"([^"]+)"`)

func (s *site) start(ctx context.Context) (*gateway, error) {
	log := newJournal()
	c, at, err := child.Start(ctx, "spillway", []string{s.binary, "serve", "--config", s.file(), "--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0"}, serveAddress, log)
	if err != nil {
		return nil, err
	}
	return &gateway{Child: c, base: "http://" + at[0], ops: "http://" + at[1], log: log}, nil
}

// figures are the metrics, by name and labels as they are written.
func (g *gateway) figures() (map[string]float64, error) {
	resp, err := http.Get(g.ops + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	figures := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || lines.Text()[0] == '#' {
			continue
		}
		if v, err := strconv.ParseFloat(lines.Text()[at+1:], 64); err == nil {
			figures[lines.Text()[:at]] = v
		}
	}
	return figures, lines.Err()
}

// micros is a metric in dollars as micro-dollars.
func micros(dollars float64) int64 { return int64(dollars*1e6 + 0.5) }

// used is what the budget of a day of a tenant has spent, and what it holds.
func (g *gateway) used(tenant string) (spent, held int64, err error) {
	f, err := g.figures()
	if err != nil {
		return 0, 0, err
	}
	labels := fmt.Sprintf(`_dollars{name="",scope="tenant",span="day",tenant=%q}`, tenant)
	used, ok := f["spillway_budget_used"+labels]
	if !ok {
		return 0, 0, fmt.Errorf("no metric tells of the budget of %s", tenant)
	}
	return micros(used), micros(f["spillway_budget_held"+labels]), nil
}

// journal keeps what a gateway logs, without the lines of requests.
type journal struct {
	mu    sync.Mutex
	lines []logLine
	more  chan struct{} // closed when there is another line
}

type logLine struct {
	at   time.Time
	text string // message
	all  map[string]any
}

func newJournal() *journal { return &journal{more: make(chan struct{})} }

var _ io.Writer = (*journal)(nil)

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var line struct {
		Message string
		At      time.Time `json:"@timestamp"`
		Outcome string    `json:"spillway.outcome"`
	}
	if json.Unmarshal(p, &line) == nil && line.Outcome == "" {
		l := logLine{at: line.At, text: line.Message}
		_ = json.Unmarshal(p, &l.all) // it was read a line above
		j.lines = append(j.lines, l)
		close(j.more)
		j.more = make(chan struct{})
	}
	return len(p), nil
}

// wait gives the first line with a message, if it comes in time.
func (j *journal) wait(ctx context.Context, message string, most time.Duration) (logLine, error) {
	late := time.After(most)
	for {
		j.mu.Lock()
		more := j.more
		for _, l := range j.lines {
			if strings.Contains(l.text, message) {
				j.mu.Unlock()
				return l, nil
			}
		}
		j.mu.Unlock()
		select {
		case <-more:
		case <-late:
			return logLine{}, fmt.Errorf("the log did not say %q within %v", message, most)
		case <-ctx.Done():
			return logLine{}, context.Cause(ctx)
		}
	}
}
