package console_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops"
)

const (
	adminToken  = "console-admin-token"
	viewerToken = "console-viewer-token"
)

var tokens = `
admin:
  tokens:
    - {name: eve, hash: "` + config.HashKey(adminToken) + `", role: admin}
    - {name: max, hash: "` + config.HashKey(viewerToken) + `", role: viewer}
`

// desk is an operators' surface whose page, logins and headers are real, and whose
// answers about load are canned. Changes are kept in memory.
type desk struct {
	t       *testing.T
	canned  canned
	real    http.Handler
	url     string
	mu      sync.Mutex
	live    bool              // the stream and the snapshot answer
	missing map[string]bool   // paths that this gateway does not have
	use     map[string]string // of upstreams that were turned
	keys    []map[string]any  // that were made, rotated or revoked; their tenants' others are as ever
	bodies  []string          // of what was asked about keys and tenants
	demoted bool              // nobody is an admin any more
	file    bool              // admin.changes: file
	changes []map[string]any  // newest first
	posted  []map[string]any  // bodies of POST changes and whatif
}

func openDesk(t *testing.T, c canned) *desk {
	t.Helper()
	conf, err := config.Parse("test.yaml", []byte(`
providers: {up: {base_url: "http://127.0.0.1:1/v1"}}
models: {chat: {deployments: [{provider: up, concurrency: 1}]}}
ledger: {enabled: false}
`+tokens), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(conf, gateway.Options{Log: telemetry.NewLogger(io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	d := &desk{t: t, canned: c, real: ops.New(g, ops.Options{Loopback: true, Log: slog.New(slog.DiscardHandler)}), live: true, missing: map[string]bool{}, use: map[string]string{}}
	d.changes = []map[string]any{{
		"id": "chg_1", "version": "v2", "at": time.Now().Add(-90 * time.Second), "who": "eve", "kind": "change", "why": "batch filled the queue",
		"set": map[string]any{"models.chat.queue.total": 200}, "before": map[string]any{"models.chat.queue.total": 400}, "after": map[string]any{"models.chat.queue.total": 200}, "warnings": []string{},
	}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	d.url = server.URL
	return d
}

// ServeHTTP lets the real surface say who asks, and answers in its place.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/admin/v1/")
	answer, ok := d.routes()[r.Method+" "+path]
	if name, one := strings.CutPrefix(path, "upstreams/"); one && r.Method == http.MethodPost {
		answer, ok = func(w http.ResponseWriter, r *http.Request, role string) { d.turnUpstream(w, r, role, name) }, true
	}
	if strings.HasPrefix(path, "tenants/") {
		answer, ok = d.turnKeys, true
	}
	if id, back := strings.CutSuffix(path, "/revert"); back && r.Method == http.MethodPost {
		answer, ok = func(w http.ResponseWriter, r *http.Request, role string) {
			d.revert(w, role, strings.TrimPrefix(id, "changes/"))
		}, true
	}
	d.mu.Lock()
	gone := d.missing[path]
	d.mu.Unlock()
	if !ok && !gone {
		d.real.ServeHTTP(w, r)
		return
	}
	who := httptest.NewRecorder()
	q := httptest.NewRequest("GET", "/admin/v1/session", nil)
	q.Host, q.Header = r.Host, r.Header
	d.real.ServeHTTP(who, q)
	switch {
	case who.Code != http.StatusOK:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(who.Code)
		w.Write(who.Body.Bytes())
	case gone:
		problem(w, 404, "there is nothing here")
	case r.Method != http.MethodGet && r.Header.Get("X-Spillway-Request") != "1":
		problem(w, 403, "the request does not say that it is meant")
	default:
		var name struct{ Role string }
		json.Unmarshal(who.Body.Bytes(), &name)
		if d.demote() {
			name.Role = "viewer"
		}
		answer(w, r, name.Role)
	}
}

func (d *desk) routes() map[string]func(http.ResponseWriter, *http.Request, string) {
	return map[string]func(http.ResponseWriter, *http.Request, string){
		"GET snapshot": func(w http.ResponseWriter, _ *http.Request, _ string) {
			if !d.alive() {
				problem(w, 503, "the picture is away")
				return
			}
			send(w, d.picture())
		},
		"GET live": d.stream,
		"GET history": func(w http.ResponseWriter, r *http.Request, _ string) {
			n, _ := strconv.ParseInt(r.URL.Query().Get("seconds"), 10, 64)
			list := []gateway.Second{}
			for at := time.Now().Unix() - n; at < time.Now().Unix()-1; at++ {
				list = append(list, d.canned.second(at))
			}
			send(w, map[string]any{"seconds": list})
		},
		"GET refusals": func(w http.ResponseWriter, _ *http.Request, _ string) {
			send(w, map[string]any{"refusals": d.refusals()})
		},
		"POST explain": func(w http.ResponseWriter, _ *http.Request, _ string) { send(w, d.explanation()) },
		"GET settings": func(w http.ResponseWriter, _ *http.Request, _ string) { send(w, d.settings()) },
		"GET changes": func(w http.ResponseWriter, _ *http.Request, _ string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			send(w, map[string]any{"changes": d.changes})
		},
		"POST changes": d.change,
		"POST reload":  d.reload,
		"GET tenants": func(w http.ResponseWriter, _ *http.Request, _ string) {
			send(w, map[string]any{"tenants": d.tenants()})
		},
		"POST whatif": d.whatIf,
	}
}

// picture is the canned one, with what is drained.
func (d *desk) picture() map[string]any {
	var p map[string]any
	body, err := json.Marshal(d.canned.picture(time.Now()))
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	if err != nil {
		d.t.Error(err)
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range p["upstreams"].([]any) {
		u := u.(map[string]any)
		u["state"] = cmp.Or(d.use[u["name"].(string)], "enabled")
	}
	return p
}

func (d *desk) demote() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.demoted
}

func (d *desk) alive() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live
}

// turn switches the live picture on or off.
func (d *desk) turn(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live = on
}

func (d *desk) stream(w http.ResponseWriter, r *http.Request, _ string) {
	if !d.alive() {
		problem(w, 503, "the stream is away")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	each := time.NewTicker(time.Second)
	defer each.Stop()
	for d.alive() {
		body, err := json.Marshal(d.picture())
		if err != nil {
			d.t.Error(err)
			return
		}
		fmt.Fprintf(w, "event: picture\ndata: %s\n\n", body)
		w.(http.Flusher).Flush()
		select {
		case <-each.C:
		case <-r.Context().Done():
			return
		}
	}
}

func (d *desk) refusals() (list []ops.Refused) {
	now := time.Now()
	for i := range 40 {
		list = append(list, ops.Refused{
			RequestID: fmt.Sprintf("req_%04d", i), At: now.Add(-time.Duration(i) * 700 * time.Millisecond), Tenant: d.canned.tenant([...]int{0, 0, 1, 0, 3}[i%5]), Model: d.canned.model(i % 3), Class: classes[i%3],
			Was: ops.Verdict{Verdict: "reject", Stage: [...]string{"wait", "wait", "bound", "requests"}[i%4], Words: "it is refused (wait): the predicted wait is 8.1s, and at most 6s are let in; it is told to come back in 2.1s", WaitMS: 8100, RetryAfter: 2100},
		})
	}
	return list
}

func (d *desk) explanation() ops.Explanation {
	at := time.Now().Add(-4 * time.Second)
	was := ops.Verdict{Verdict: "reject", Stage: "wait", Words: "it is refused (wait): the predicted wait is 8.1s, and at most 6s are let in", WaitMS: 8100}
	return ops.Explanation{
		RequestID: "req_0000", Refused: &at, Was: &was, StagesOf: "refusal", Tenant: d.canned.tenant(0), Model: d.canned.model(0), Class: "interactive", Input: 1240, MaxOutput: 400,
		Stages: []ops.Stage{
			{Stage: "deadline", Asks: "is there still time?", Found: "0s of the 10s that it has are over"},
			{Stage: "requests", Asks: "has the tenant requests left this minute?", Found: "requests: 212 of 600"},
			{Stage: "free", Asks: "can it run at once?", Found: "slots: 40 of 40"},
			{Stage: "wait", Asks: "can it be answered in time?", Found: "the predicted wait is 8.1s, and at most 6s are let in", Decides: true},
		},
		Now:     ops.Verdict{Verdict: "queue", Stage: "queue", Words: "it waits, by prediction 4.4s", WaitMS: 4400},
		Changes: []ops.Change{{If: "the deadline were 20s", Then: ops.Verdict{Verdict: "queue", Words: "it waits, by prediction 8.1s", WaitMS: 8100}}},
		Setting: "models.chat.deployments[].concurrency, classes.interactive.max_wait",
	}
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(ops.Problem{Status: status, Detail: detail, Remedy: "ask again later"})
}

func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}
