package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/store"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/mock"
	control "github.com/spillway-llm/spillway/internal/ops"
)

// site is a gateway of two models, one of them without a price, before a model
// server that is too slow for what shop and bank ask.
const site = `
providers:
  gpu: {base_url: "%s/v1"}
models:
  chat:
    deployments: [{provider: gpu, model: big-1, name: gpu/big, concurrency: 4, price: {input: 1, output: 10}}]
    degrade: [{name: brief, max_output_tokens: 16}]
  small: {deployments: [{provider: gpu, model: odd-1, name: gpu/odd, concurrency: 4}]}
classes: {interactive: {deadline: 2s, max_wait: 1s}}
tenants:
- {name: shop, keys: ["%s"], degrade: any, models: {chat: {budget: {hour: 50, day: 500}}}}
- {name: bank, keys: ["%s"], limits: {rpm: 6000}}
`

const (
	loadTime  = 6 * time.Second
	loadEvery = 20 * time.Millisecond // of requests: more than the model server can do
)

// startGateway serves on loopback until the test ends.
func startGateway(t *testing.T) (public, ops string) {
	t.Helper()
	noise := 0.5
	m, err := mock.New(mock.Settings{Slots: 8, ServiceMean: 200 * time.Millisecond, Noise: &noise})
	if err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(m)
	t.Cleanup(func() { m.Close(); up.Close() })
	c, err := config.Parse("site", fmt.Appendf(nil, site, up.URL, config.HashKey("shop-key"), config.HashKey("bank-key")), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	log := telemetry.NewLogger(io.Discard)
	ledger, err := store.Open(t.Context(), store.Options{Directory: t.TempDir(), Keep: c.Ledger.Keep, Spool: int64(c.Ledger.Spool), Log: log.Slog()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(c, gateway.Options{Log: log, Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	callers, operators := listen(t), listen(t)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- g.Serve(ctx, callers, operators, control.New(g, control.Options{Loopback: true, Log: log.Slog()}))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		g.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := ledger.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return callers.Addr().String(), operators.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// load sends requests of two tenants for loadTime, and waits for their ends.
func load(t *testing.T, public string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), loadTime)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	next := time.NewTicker(loadEvery)
	defer next.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		tenant, model := "shop", "chat"
		if i%3 == 0 {
			tenant = "bank"
		}
		if i%5 == 0 {
			model = "small"
		}
		all.Go(func() { ask(t, client, public, tenant, model, i%2 == 0) })
	}
}

// ask sends one request, whatever becomes of it.
func ask(t *testing.T, client *http.Client, public, tenant, model string, stream bool) {
	body := fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":"hello"}]}`, model, stream)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+public+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+tenant+"-key")
	r.Header.Set("x-spillway-class", "interactive")
	answer, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Error(err)
	}
	if s := answer.StatusCode; s != http.StatusOK && s != http.StatusTooManyRequests && s != http.StatusServiceUnavailable {
		t.Errorf("status %d for %s", s, body)
	}
}

// server is a Prometheus process.
type server struct{ url string }

// startPrometheus runs the example configuration against one gateway, faster.
func startPrometheus(t *testing.T, ops string) *server {
	t.Helper()
	program := tool(t, "prometheus")
	dir := t.TempDir()
	text, err := os.ReadFile("prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("prometheus")
	if err != nil {
		t.Fatal(err)
	}
	edited := string(text)
	for _, e := range [][2]string{
		{`"127.0.0.1:9090", "127.0.0.1:9091"`, `"` + ops + `"`},
		{"scrape_interval: 15s", "scrape_interval: 1s"},
		{"evaluation_interval: 15s", "evaluation_interval: 1s"},
		{"- settings.", "- " + rules + "/settings."}, {"- recording.", "- " + rules + "/recording."}, {"- alerts.", "- " + rules + "/alerts."},
	} {
		if !strings.Contains(edited, e[0]) {
			t.Fatalf("prometheus.yml has no %s", e[0])
		}
		edited = strings.Replace(edited, e[0], e[1], 1)
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hard := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer hard.Stop()
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("prometheus ended: %v\n%s", err, log)
		}
	})
	return &server{"http://" + addr}
}

// get reads a member of the API's data.
func (s *server) get(path string, into any) error {
	answer, err := http.Get(s.url + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var body struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return fmt.Errorf("%s: %s, %w", path, answer.Status, err)
	}
	if body.Status != "success" {
		return fmt.Errorf("%s: %s", path, body.Error)
	}
	return json.Unmarshal(body.Data, into)
}

// query says how many series an expression gives now.
func (s *server) query(expr string) (series int, err error) {
	var data struct{ Result []json.RawMessage }
	err = s.get("/api/v1/query?query="+url.QueryEscape(expr), &data)
	return len(data.Result), err
}

// until asks again and again, for as long as the server needs to scrape and
// evaluate.
func until(t *testing.T, what string, ok func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := ok()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-again.C:
		}
	}
}

// A Prometheus scrapes a gateway under load: every rule can be evaluated, every
// dashboard's query be asked, and the ones that must be watched have data.
func TestPrometheusWatchesAGateway(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	public, ops := startGateway(t)
	s := startPrometheus(t, ops)
	until(t, "Prometheus reaches the gateway", func() error {
		n, err := s.query(`up{job="spillway"} == 1`)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d gateways are up", n)
		}
		return err
	})
	load(t, public)
	fill := strings.NewReplacer("$job", "spillway", "$__rate_interval", "1m")
	for _, b := range boards {
		for _, p := range b.panels {
			for _, q := range p.queries {
				if b.id != "overview" {
					if _, err := s.query(fill.Replace(q.expr)); err != nil {
						t.Errorf("%s, %s: %v", b.id, p.title, err)
					}
					continue
				}
				if p.title == "Dropped from the queue" || p.title == "Retries over requests" || p.title == "Would be refused" {
					continue // asked below: nothing of the kind need have happened
				}
				until(t, p.title, func() error { return s.some(fill.Replace(q.expr)) })
			}
		}
	}
	for _, p := range overview.panels {
		for _, q := range p.queries {
			if _, err := s.query(fill.Replace(q.expr)); err != nil {
				t.Errorf("overview, %s: %v", p.title, err)
			}
		}
	}
	for _, must := range []string{
		`spillway:tenant_refused:ratio5m{tenant="shop"} > 0`, `spillway:others_refused:ratio5m`, `spillway:tenant_cost:dollars_per_hour > 0`, `spillway:model_usable:slots == 4`,
		`spillway_ledger_up == 1`, `spillway_budget_used_dollars > 0`, `ALERTS{alertname="SpillwayUnpriced",alertstate="firing",model="small"}`,
	} {
		until(t, must, func() error { return s.some(must) })
	}
	s.checkRules(t)
}

// some is an error if an expression gives nothing.
func (s *server) some(expr string) error {
	n, err := s.query(expr)
	if err == nil && n == 0 {
		err = fmt.Errorf("no data for %s", expr)
	}
	return err
}

// checkRules says which rules could not be evaluated.
func (s *server) checkRules(t *testing.T) {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := s.get("/api/v1/rules", &data); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			n++
			if r.Health != "ok" {
				t.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if want := len(rules(t)); n != want {
		t.Errorf("%d rules are evaluated, want %d", n, want)
	}
}
