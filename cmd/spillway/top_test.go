package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// A script takes the picture as text or JSON; what is wrong says what to do.
func TestTopOnce(t *testing.T) {
	const picture = `{"at":"2026-03-02T14:03:22Z","uptime_s":5,"models":[{"model":"chat","slots":4,"classes":[]}],"tenants":[{"tenant":"shop\u001b[2J","waiting":3}],"later":1}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer eye-token" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"detail":"no such token","remedy":"send one of admin.tokens"}`)
			return
		}
		switch r.URL.Path {
		case "/admin/v1/snapshot":
			io.WriteString(w, picture)
		case "/admin/v1/refusals":
			io.WriteString(w, `{"refusals":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"text", []string{"--token", "eye-token", "--once"}, 0, "slots 0/4  waiting 0"},
		{"a name that would clear the screen", []string{"--token", "eye-token", "--once"}, 0, "shop\ufffd[2J"},
		{"JSON, as it came", []string{"--token", "eye-token", "--once", "--json"}, 0, picture},
		{"a wrong token", []string{"--token", "canary-wrong", "--once"}, 1, "no such token; send one of admin.tokens"},
		{"nobody there", []string{"--ops", "127.0.0.1:1", "--once"}, 1, "is it running, and is --ops its address for operators?"},
		{"no address", []string{"--ops", "ftp://x", "--once"}, 2, "--ops: the address ftp://x is not one of HTTP"},
		{"not a terminal", []string{"--token", "eye-token"}, 2, "needs a terminal for input and output; give --once"},
		{"JSON of a screen", []string{"--json"}, 2, "give --once with it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := command(t, append([]string{"top", "--ops", server.URL}, tt.args...)...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "canary") || strings.Contains(string(out), "\x1b") {
				t.Errorf("code %d, want %d and %q in\n%s", code, tt.code, tt.want, out)
			}
		})
	}
}

// A real gateway tells its picture and whom it refused.
func TestTopOfAServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spillway.yaml")
	write(t, file, "providers: {sim: {kind: simulated, slots: 4, service_mean: 10ms}}\nmodels: {chat: {deployments: [{provider: sim}]}}\nledger: {enabled: false}\n"+
		"tenants: [{name: shop, keys: [\""+config.HashKey("shop-key")+"\"], limits: {rpm: 1}}]\n")
	p, base, ops := serve(t, "--config", file)
	post(t, base+"/v1/chat/completions", "shop-key", hello)
	if code, answer := post(t, base+"/v1/chat/completions", "shop-key", hello); code != 429 {
		t.Fatalf("%d %s", code, answer)
	}
	out, err := command(t, "top", "--ops", strings.TrimPrefix(ops, "http://"), "--once").CombinedOutput()
	for _, want := range []string{"slots 0/4", "TENANTS 1 by refused", "UPSTREAMS 1", "requests a minute: 1 of 1"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, want %q in\n%s", err, want, out)
		}
	}
	if code := p.end(t); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
}
