package console_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

const shopKey, labKey = "sk-console-key-of-the-shop", "sk-console-key-of-the-lab"

// program starts the binary and waits for the line of its output that ready takes;
// nil does not wait. It is ended with the test.
func program(t *testing.T, ready func(line string) bool, args ...string) (line string) {
	t.Helper()
	bin := os.Getenv("SPILLWAY_BIN")
	if bin == "" {
		bin = filepath.Join(root, "bin/spillway")
	}
	if _, err := os.Stat(bin); err != nil {
		skip(t, "there is no binary: make build")
	}
	c := exec.Command(bin, args...)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = in, in
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(10*time.Second, func() { c.Process.Kill() })
		c.Wait()
		late.Stop()
		out.Close()
	})
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() { // to the end: a full pipe would hold the program up
			if ready != nil && ready(lines.Text()) {
				select {
				case found <- lines.Text():
				default:
				}
			}
		}
	}()
	if ready == nil {
		return ""
	}
	select {
	case line = <-found:
	case <-time.After(patience):
		t.Fatalf("spillway %s does not begin", args[0])
	}
	return line
}

// serve starts a simulated model server and a gateway before it, with two tenants.
func serve(t *testing.T) (listen, operators string) {
	t.Helper()
	said := program(t, func(line string) bool { return strings.Contains(line, "simulated model server") }, "mock", "--listen=127.0.0.1:0", "--base=400ms", "--per-output=1ms")
	_, rest, _ := strings.Cut(said, "http://")
	upstream, _, _ := strings.Cut(rest, "/")
	dir := t.TempDir()
	file := filepath.Join(dir, "spillway.yaml")
	conf := fmt.Sprintf(`
drain: 1s
ledger: {enabled: false}
providers: {gpu: {base_url: "http://%s/v1"}}
models:
  chat: {deployments: [{provider: gpu, model: big-1-int8, concurrency: 4}], prior: {first_token: 400ms, per_output_token: 1ms, output_tokens: 40}}
tenants:
  - {name: shop, keys: ["%s"]}
  - {name: lab, keys: ["%s"]}
%s  directory: %s
`, upstream, config.HashKey(shopKey), config.HashKey(labKey), tokens, dir)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	said = program(t, func(line string) bool { return strings.Contains(line, "spillway serves") }, "serve", "--config", file, "--listen=127.0.0.1:0", "--ops=127.0.0.1:0")
	var at struct{ Listen, Ops string }
	if err := json.Unmarshal([]byte(said), &at); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	return at.Listen, at.Ops
}

// The page before a real gateway with ten times the load that it can serve: it
// says what is wrong and whose it is, a refusal is explained, and a setting changed.
func TestGateway(t *testing.T) {
	b := page(t, light)
	listen, operators := serve(t)
	program(t, nil, "load", "--target", "http://"+listen+"/v1", "--rate=80", "--duration=60s", "--deadline=2s", "--retries=0", "--csv="+filepath.Join(t.TempDir(), "load.csv"),
		"--tenant=name=shop,key="+shopKey+",share=0.95", "--tenant=name=lab,key="+labKey+",share=0.05")

	b.logIn("http://"+operators, viewerToken)
	b.shows("max, viewer")
	b.shows("● live")
	b.shows("of requests are refused")
	b.shows("of refusals are of tenant shop")
	b.until("the models say that slots are used up", `document.querySelector('#models-table').innerText.includes('4 of 4')`)
	b.until("the charts are drawn", "document.querySelectorAll('canvas').length === 3")
	eval[any](b, "location.hash = '#/refusals'")
	b.until("a refusal is listed", "document.querySelector('#refusals-table tbody a') !== null")
	eval[any](b, "document.querySelector('#refusals-table tbody a').click()")
	b.shows("What would let it in")
	b.shows("◀ this one")
	b.until("the setting behind it is a link", "document.querySelector('.facts a[href^=\"#/settings\"]') !== null")
	for hash, shows := range map[string]string{"settings?q=models.chat.queue.total": "models.chat.queue.total", "changes": "take changes back", "tenants": "of 2"} {
		eval[any](b, "location.hash = '#/"+hash+"'")
		b.shows(shows)
		if strings.Contains(b.text(), "undefined") || strings.Contains(b.text(), "NaN") {
			t.Errorf("%s: %.500s", hash, b.text())
		}
	}
	b.press("Log out")
	b.logIn("http://"+operators, adminToken)
	b.shows("eve, admin")
	eval[any](b, "location.hash = '#/settings?q=models.chat.queue.total'")
	b.tryTotal("7")
	b.write(".apply input", "seven are enough")
	b.press("Apply now")
	b.shows("changed while running")
	eval[any](b, "location.hash = '#/changes'")
	b.shows("seven are enough")
	b.press("Take back…")
	b.press("Yes, take it back")
	b.until("two changes are told", "document.querySelectorAll('.history > li').length === 2")
	eval[any](b, "location.hash = '#/'")
	b.press("Drain… ")
	b.press("Yes, drain")
	b.shows("is drained: it gets no new calls.")
	b.quiet()
}

// A key made on the page lets a program in, and revoked there it does not.
func TestGatewayKeys(t *testing.T) {
	b := page(t, light)
	listen, operators := serve(t)
	chat := func(key string) int {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listen+"/v1/chat/completions", strings.NewReader(`{"model": "chat", "max_tokens": 4, "messages": [{"role": "user", "content": "hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+key)
		q.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp.StatusCode
	}
	b.logIn("http://"+operators, adminToken)
	eval[any](b, "location.hash = '#/keys'")
	b.shows("2 tenants with 2 keys")

	b.press("New key…")
	b.until("a tenant can be chosen", "document.querySelector('dialog[open] select') !== null")
	eval[any](b, "document.querySelector('dialog[open] select').value = 'lab'")
	b.write("dialog[open] [name=name]", "night")
	b.write("dialog[open] [name=why]", "runs of the night")
	b.press("Make the key")
	made := b.shown()
	if code := chat(made); code != http.StatusOK {
		t.Errorf("a call with the new key: %d", code)
	}
	b.press("Look again")
	b.until("its use is listed", "[...document.querySelectorAll('#keys-table tr')].some((r) => r.innerText.includes('night') && !r.innerText.includes('not used'))")

	b.press("Rotate… night of lab")
	b.until("it is asked", "document.querySelector('dialog[open] [name=grace]') !== null")
	b.press("Make a new key in its place")
	b.shows("The old one, night, goes on until")
	rotated := b.shown()
	if rotated == made {
		t.Error("rotated, the key is the same")
	}
	for _, key := range []string{made, rotated} {
		if code := chat(key); code != http.StatusOK {
			t.Errorf("a call while both keys count: %d", code)
		}
	}

	b.press("Revoke… night of lab")
	b.press("Yes, end it now")
	b.shows("The key night of lab has ended.")
	if code := chat(made); code != http.StatusUnauthorized {
		t.Errorf("a call with the revoked key: %d", code)
	}
	if code := chat(rotated); code != http.StatusOK {
		t.Errorf("a call with the one in its place: %d", code)
	}

	b.press("New tenant…")
	b.write("dialog[open] [name=name]", "team/new")
	b.press("Make the tenant and its key")
	b.shows("3 tenants with 5 keys")
	if code := chat(b.shown()); code != http.StatusOK {
		t.Errorf("a call of the new tenant: %d", code)
	}

	eval[any](b, "location.hash = '#/changes'")
	b.shows("runs of the night")
	for _, key := range []string{made, rotated} {
		b.keepsNot(key, true)
	}
	b.press("Read the file again")
	b.shows("It was read: no setting differs from before.")
	b.quiet()
}
