package ops

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
)

// base is a gateway with one model and secrets of every kind.
const base = `
providers:
  up: {base_url: "http://127.0.0.1:1/v1", api_key: canary-provider-key, headers: {X-Extra: canary-header}}
models:
  chat: {deployments: [{provider: up, concurrency: 1}]}
ledger: {enabled: false, postgres: "postgres://u:canary-password@127.0.0.1:1/d"}
`

// guarded has an admin, a viewer and a tenant.
var guarded = base + `
admin:
  tokens:
    - {name: root, hash: "` + config.HashKey("admin-token") + `", role: admin}
    - {name: eye, hash: "` + config.HashKey("viewer-token") + `"}
tenants:
  - {name: shop, keys: ["` + config.HashKey("canary-tenant-key") + `"], concurrency: 1}
`

var secrets = []string{"canary", "admin-token", "viewer-token", config.HashKey("admin-token"), config.HashKey("viewer-token"), config.HashKey("canary-tenant-key")}

// rig is a surface, asked without a network.
type rig struct {
	t       *testing.T
	g       *gateway.Gateway
	surface *Surface
	log     *text

	settings *Settings
}

// text keeps what is logged.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func setup(t *testing.T, conf string, loopback bool) *rig {
	t.Helper()
	return setupOf(t, SettingsOptions{Text: []byte(conf), Name: "test.yaml"}, loopback)
}

// setupOf is a surface whose configuration comes from somewhere.
func setupOf(t *testing.T, from SettingsOptions, loopback bool) *rig {
	t.Helper()
	log := &text{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	from.Log, from.Env = logger, func(string) (string, bool) { return "", false }
	settings := NewSettings(from)
	c, err := settings.Load()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(c, gateway.Options{Log: telemetry.NewLogger(log)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	settings.Use(g)
	return &rig{t, g, New(g, Options{Loopback: loopback, Log: logger, Settings: settings}), log, settings}
}

func parse(t *testing.T, conf string) *config.Config {
	t.Helper()
	c, err := config.Parse("test.yaml", []byte(conf), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends a request; header is names and values.
func (r *rig) ask(method, path, body string, header ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	q := httptest.NewRequest(method, "http://127.0.0.1:9090"+path, strings.NewReader(body))
	q.RemoteAddr = "192.0.2.1:1000"
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			q.Host = header[i+1]
		}
		q.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	ctx, leave := context.WithCancel(q.Context())
	defer leave()
	r.surface.ServeHTTP(&visitor{w, leave}, q.WithContext(ctx))
	for _, s := range secrets {
		if strings.Contains(w.Body.String(), s) {
			r.t.Errorf("%s %s answers with the secret %q", method, path, s)
		}
	}
	r.asDescribed(q, body, w)
	return w
}

// visitor leaves a stream when it has seen its first event.
type visitor struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (v *visitor) Flush() {
	v.ResponseRecorder.Flush()
	v.leave()
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// logIn gives the cookie of a session.
func (r *rig) logIn(token string) (cookie string) {
	r.t.Helper()
	w := r.ask("POST", "/admin/v1/session", `{"token":"`+token+`"}`)
	if w.Code != http.StatusOK {
		r.t.Fatalf("log in: %d %s", w.Code, w.Body)
	}
	return strings.Split(w.Header().Get("Set-Cookie"), ";")[0]
}
