package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/operator"
	"github.com/spillway-llm/spillway/internal/ops"
)

// A caller shows the error it got; the operator asks the gateway why.
func TestExplain(t *testing.T) {
	dir := t.TempDir()
	file, body := filepath.Join(dir, "spillway.yaml"), filepath.Join(dir, "body.json")
	write(t, body, hello)
	write(t, file, "providers: {sim: {kind: simulated, slots: 4, service_mean: 10ms}}\nmodels: {chat: {deployments: [{provider: sim}]}}\nledger: {enabled: false}\n"+
		"tenants: [{name: shop, keys: [\""+config.HashKey("shop-key")+"\"], limits: {rpm: 1}}]\n"+
		"admin: {tokens: [{name: eye, hash: \""+config.HashKey("eye-token")+"\"}]}\n")
	p, base, ops := serve(t, "--config", file)
	post(t, base+"/v1/chat/completions", "shop-key", hello)
	code, answer := post(t, base+"/v1/chat/completions", "shop-key", hello)
	if code != 429 {
		t.Fatalf("%d %s", code, answer)
	}
	id := gjson.Get(answer, "error.request_id").Str
	explain := func(args ...string) (string, error) {
		out, err := command(t, append([]string{"explain", "--ops", ops}, args...)...).CombinedOutput()
		return string(out), err
	}
	out, err := explain("--token", "eye-token", "--request-id", id)
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, want := range []string{"tenant shop, model chat, class interactive", "it is refused (requests): requests a minute: 1 of 1", "<- decides", "The setting: tenants[shop].models.chat.rpm"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	out, err = explain("--token", "eye-token", "--tenant", "shop", "-H", "X-Spillway-Class: batch", body)
	if err != nil || !strings.Contains(out, "class batch") || !strings.Contains(out, "Now it is refused (requests)") {
		t.Errorf("%v %s", err, out)
	}
	if out, err = explain("--token", "eye-token", "--request-id", id, "--json"); err != nil || gjson.Get(out, "request_id").Str != id {
		t.Errorf("%v %s", err, out)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--request-id", id}, "this needs a token"},
		{[]string{"--token", "canary-wrong", "--request-id", id}, "no such token"},
		{[]string{"--token", "eye-token", "--request-id", "req_0"}, "GET /admin/v1/refusals"},
		{[]string{"--token", "eye-token"}, "nothing to explain"},
		{[]string{"--token", "eye-token", "--tenant", "shop", file}, "is not JSON"},
		{[]string{"--token", "eye-token", "--tenant", "shop", "-H", "x", body}, "has no colon"},
		{[]string{"--token", "eye-token", "--tenant", "none", body}, `no tenant is called "none"`},
	} {
		out, err := explain(tt.args...)
		if err == nil || !strings.Contains(out, tt.want) || strings.Contains(out, "canary") {
			t.Errorf("%v: %v %s, want %q", tt.args, err, out, tt.want)
		}
	}
	if code := p.end(t); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
}

// A caller chose the name of the model, a provider the words of an error: neither
// does anything to the terminal of whoever asks, and neither adds a line.
func TestExplainIsOnlySeen(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;owned\a\r\n\u202eNow it runs."
	e := &ops.Explanation{
		Tenant: evil, Model: evil, Class: evil, Refused: &time.Time{}, Was: &ops.Verdict{Words: evil},
		Stages: []ops.Stage{{Stage: evil, Asks: evil, Found: evil, Model: evil}}, Now: ops.Verdict{Words: evil},
		Changes: []ops.Change{{If: evil, Then: ops.Verdict{Words: evil}}}, Setting: evil,
	}
	var b strings.Builder
	if err := printExplanation(&b, e); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(b.String()) {
		lines++
		if line = strings.TrimSuffix(line, "\n"); operator.Printable(line) != line {
			t.Errorf("does more than being seen: %q", line)
		}
		if strings.HasPrefix(line, "Now it runs") {
			t.Error("a word of the caller is a line of ours")
		}
	}
	if lines != 13 || strings.Count(b.String(), "owned") != 12 {
		t.Errorf("%d lines, the name %d times:\n%s", lines, strings.Count(b.String(), "owned"), b.String())
	}
}
