package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// planted are all secrets.
var planted = []secret{
	providerKey, variableKey, secondKey, headerValue, tenantKey, slowKey, wrongKey, wrongToken, adminToken, viewerToken, session, password, hookPath,
	collectorKey, prompt, arguments, picture, completion, endUser, sessionName, metadata, query, cookie, goog, unheard, upstreamSays, faultyFileKey,
	faultyChange, spareKey,
}

// hashes stand in the file in place of keys. They are no secrets to whom can
// read the file, but they do not belong into an output either.
var hashes = []secret{tenantKey, slowKey, adminToken, viewerToken, spareKey}

// output is one way out of the process, and what may be in it.
type output struct {
	name string
	text string
	may  map[secret]string // with the reason
}

// Where a secret legitimately is.
var (
	ofTheCaller = map[secret]string{completion: "the answer is for its caller"}
	ofTheUser   = map[secret]string{
		endUser:     "docs/operating.md: user.id is personal data, in this field and no other",
		sessionName: "docs/operating.md: spillway.session",
	}
	ofTheCore = map[secret]string{
		endUser:     "budgets of end users and replays need who it is",
		sessionName: "affinity and replays need which it is; `serve --record` says so",
	}
	ofTheOperator = map[secret]string{session: "the cookie is given to who logged in"}
)

// look reports every secret that is where it must not be.
func (o *output) look(t *testing.T) {
	t.Helper()
	for _, s := range planted {
		if _, fine := o.may[s]; fine {
			continue
		}
		for _, part := range s.parts() {
			if i := strings.Index(o.text, part); i >= 0 {
				t.Errorf("%s has %q, as in …%s…", o.name, s, o.text[max(0, i-80):min(len(o.text), i+60)])
				break
			}
		}
	}
	for _, s := range hashes {
		if _, fine := o.may[anyHash]; fine {
			break
		}
		if hash := config.HashKey(s.text()); strings.Contains(o.text, strings.TrimPrefix(hash, "sha256:")) {
			t.Errorf("%s has the hash of %q", o.name, s)
		}
	}
}

// told is everything that a process writes, kept while it is read.
type told struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *told) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *told) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// canaries is a running gateway, with all that came out of it.
type canaries struct {
	t         *testing.T
	site      *site
	cmd       *exec.Cmd
	dir       string
	file      string
	log       *told
	base, ops string
	outputs   []output
	made      []newcomer
}

// TestSecretsStayInside plants secrets wherever one comes in, has everything
// happen that can, and looks for them in everything that comes out.
func TestSecretsStayInside(t *testing.T) { // B098, B131, B132
	for _, tt := range []struct{ name, ledger string }{
		{"SQLite", ""},
		{"a database that is down", `, postgres: "postgres://canary:` + password.text() + `@127.0.0.1:1/d?sslmode=disable&connect_timeout=1"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCanaries(t, tt.ledger)
			c.callers()
			c.changes()
			c.operators()
			c.faultyFiles()
			c.aside()
			c.commands()
			c.end()
			for i := range c.outputs {
				c.outputs[i].look(t)
			}
			c.newcomers()
			c.complete()
		})
	}
}

func newCanaries(t *testing.T, ledger string) *canaries {
	c := &canaries{t: t, site: newSite(t), dir: t.TempDir(), log: &told{}}
	c.file = filepath.Join(c.dir, "spillway.yaml")
	write(t, c.file, c.site.configuration(fmt.Sprintf("ledger: {directory: %q%s}\n", filepath.Join(c.dir, "ledger"), ledger)))
	c.cmd = c.command("serve", "--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0", "--config", c.file, "--record", filepath.Join(c.dir, "record.jsonl"))
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	c.says("spillway serves")
	line := between(c.log.String(), `"message":"spillway serves"`, "\n")
	c.base, c.ops = "http://"+between(line, `"listen":"`, `"`), "http://"+between(line, `"ops":"`, `"`)
	return c
}

func (c *canaries) command(args ...string) *exec.Cmd {
	cmd := command(c.t, args...)
	cmd.Dir = c.dir
	cmd.Env = append(cmd.Env, "CANARY_KEY="+variableKey.text())
	return cmd
}

// says waits until the log has it.
func (c *canaries) says(words string) {
	c.t.Helper()
	defer func() {
		if c.t.Failed() {
			c.t.Logf("it never said %q:\n%.2000s", words, c.log)
		}
	}()
	until(c.t, func() bool { return strings.Contains(c.log.String(), words) })
}

func (c *canaries) out(name, text string, may map[secret]string) {
	c.outputs = append(c.outputs, output{name, text, may})
}

// ask sends a request; its answer is an output, head and body.
func (c *canaries) ask(name string, may map[secret]string, method, url, body string, header ...string) (status int, text string) {
	c.t.Helper()
	q, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body) // a cut answer is one, too
	var head strings.Builder
	res.Header.Write(&head)
	c.out(name, head.String()+"\n"+string(b), may)
	return res.StatusCode, string(b)
}

// said is a request with everything that a caller may say.
func said(model, more string) string {
	return fmt.Sprintf(`{"model":%q,"user":%q,"metadata":{"note":%q},"max_tokens":50,%s"messages":[{"role":"user","content":[{"type":"text","text":%q},`+
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":%q}}]},`+
		`{"role":"tool","tool_call_id":"t1","content":"done"}]}`, model, endUser.text(), metadata.text(), more, prompt.text(), picture.text(), `{"a":"`+arguments.text()+`"}`)
}

func (c *canaries) call(name, model, more string, key secret, header ...string) (int, string) {
	c.t.Helper()
	header = append([]string{
		"Authorization", "Bearer " + key.text(), "X-Goog-Api-Key", goog.text(), "Cookie", "c=" + cookie.text(), "X-Unheard", unheard.text(),
		"X-Spillway-Session", sessionName.text(), "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}, header...)
	return c.ask("the answer to "+name, ofTheCaller, "POST", c.base+"/v1/chat/completions?key="+query.text(), said(model, more), header...)
}

// callers have all happen that can happen to a request.
func (c *canaries) callers() {
	c.t.Helper()
	want := func(name string, got, want int) {
		c.t.Helper()
		if got != want {
			c.t.Errorf("%s: status %d, want %d", name, got, want)
		}
	}
	status, _ := c.call("a success", "chat", "", tenantKey)
	want("success", status, 200)
	status, _ = c.call("a stream", "chat", `"stream":true,`, tenantKey)
	want("stream", status, 200)
	for range 2 {
		status, _ = c.call("one from the cache", "chat", `"temperature":0,`, tenantKey, "Cache-Control", "max-age=60")
		want("cache", status, 200)
	}
	for range 4 { // with both keys
		c.call("a provider with two keys", "twice", "", tenantKey)
		c.call("two keys that are repeated", "twice-400", "", tenantKey)
	}
	for _, model := range faults {
		c.call("fault "+model, model, "", tenantKey)
		c.call("fault "+model+", streamed", model, `"stream":true,`, tenantKey)
		c.call("fault "+model+", as problem", model, "", tenantKey, "Accept", "application/problem+json")
	}
	c.call("one with a limit", "chat", "", slowKey)
	status, _ = c.call("a refusal", "chat", "", slowKey)
	want("refusal", status, 429)
	status, _ = c.call("a wrong key", "chat", "", wrongKey, "X-Api-Key", wrongKey.text())
	want("wrong key", status, 401)
	c.ask("an unknown model", ofTheCaller, "POST", c.base+"/v1/chat/completions", said("unheard", ""), "Authorization", "Bearer "+tenantKey.text())
	c.ask("a body that is no JSON", nil, "POST", c.base+"/v1/chat/completions", prompt.text(), "Authorization", "Bearer "+tenantKey.text())
	c.ask("messages", ofTheCaller, "POST", c.base+"/v1/messages?key="+query.text(),
		fmt.Sprintf(`{"model":"chat","max_tokens":9,"metadata":{"user_id":%q},"messages":[{"role":"user","content":%q}]}`, endUser.text(), prompt.text()),
		"X-Api-Key", tenantKey.text(), "Anthropic-Version", "2023-06-01")
	c.ask("messages that fail", ofTheCaller, "POST", c.base+"/v1/messages",
		fmt.Sprintf(`{"model":"echo-400","stream":true,"max_tokens":9,"messages":[{"role":"user","content":%q}]}`, prompt.text()), "X-Api-Key", tenantKey.text())
	c.ask("responses that break", ofTheCaller, "POST", c.base+"/v1/responses", fmt.Sprintf(`{"model":"broken","stream":true,"input":%q}`, prompt.text()), "Authorization", "Bearer "+tenantKey.text())
	c.ask("nowhere", nil, "GET", c.base+"/v1/nowhere?key="+query.text(), "", "Authorization", "Bearer "+tenantKey.text())
	c.ask("the models", nil, "GET", c.base+"/v1/models?key="+query.text(), "", "Authorization", "Bearer "+tenantKey.text())
	c.crowd()
}

// crowd is more than the model serves in time, so that answers are degraded.
func (c *canaries) crowd() {
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 40 {
		all.Go(func() {
			q, err := http.NewRequestWithContext(c.t.Context(), "POST", c.base+"/v1/chat/completions", strings.NewReader(said("chat", "")))
			if err != nil {
				return
			}
			q.Header.Set("Authorization", "Bearer "+tenantKey.text())
			q.Header.Set("X-Spillway-Degrade", "allow")
			q.Header.Set("X-Spillway-Deadline-Ms", "400")
			res, err := http.DefaultClient.Do(q)
			if err != nil {
				return
			}
			defer res.Body.Close()
			b, _ := io.ReadAll(res.Body)
			mu.Lock()
			defer mu.Unlock()
			c.out("an answer in a crowd", fmt.Sprint(res.Header, string(b)), ofTheCaller)
		})
	}
	all.Wait()
}

// pages are what an operator looks at. A new one gets its line here.
var pages = []struct {
	path string
	may  map[secret]string
}{
	{"/healthz", nil},
	{"/readyz", nil},
	{"/metrics", nil},
	{"/debug/events", ofTheCore},
	{"/admin/v1/session", nil},
	{"/admin/v1/upstreams", nil},
	{"/admin/v1/refusals?limit=1000", nil},
	{"/admin/v1/snapshot", nil},
	{"/admin/v1/history", nil},
	{"/admin/v1/settings", nil},
	{"/admin/v1/settings?under=tenants[shop]", nil},
	{"/admin/v1/changes?limit=1000", nil},
	{"/admin/v1/tenants", nil},
	{"/admin/v1/openapi.json", nil},
	{"/admin/v1/nowhere", nil},
}

func (c *canaries) operators() {
	bearer := []string{"Authorization", "Bearer " + viewerToken.text()}
	for _, page := range pages {
		c.ask("GET "+page.path, page.may, "GET", c.ops+page.path, "", bearer...)
	}
	c.live()
	c.console()
	c.ask("metrics with exemplars", nil, "GET", c.ops+"/metrics", "", "Accept", "application/openmetrics-text")
	if text := c.outputs[len(c.outputs)-1].text; !strings.Contains(text, `# {trace_id="`) {
		c.t.Error("there are no exemplars")
	}
	_, list := c.ask("the refusals", nil, "GET", c.ops+"/admin/v1/refusals", "", bearer...)
	id := gjson.Get(list, "refusals.0.request_id").Str
	if status, _ := c.ask("an explanation", nil, "POST", c.ops+"/admin/v1/explain", `{"request_id":"`+id+`"}`, bearer...); status != 200 {
		c.t.Errorf("explain %q: %d", id, status)
	}
	ask := `{"tenant":"shop","headers":{"Authorization":"Bearer ` + tenantKey.text() + `","X-Spillway-Session":"` + sessionName.text() + `"},"body":` + said("chat", "") + `}`
	if status, text := c.ask("an explanation of a body", nil, "POST", c.ops+"/admin/v1/explain", ask, bearer...); status != 200 {
		c.t.Errorf("explain: %d %s", status, text)
	}
	c.ask("a faulty question", nil, "POST", c.ops+"/admin/v1/explain", `{"tenant":7,"body":"`+prompt.text()+`"}`, bearer...)
	c.ask("a wrong token", nil, "GET", c.ops+"/admin/v1/upstreams?token="+query.text(), "", "Authorization", "Bearer "+wrongToken.text())
	c.ask("a wrong cookie", nil, "GET", c.ops+"/admin/v1/upstreams", "", "Cookie", "spillway_session="+wrongToken.text())
	c.ask("a wrong login", nil, "POST", c.ops+"/admin/v1/session", `{"token":"`+wrongToken.text()+`"}`)
	c.ask("a faulty login", nil, "POST", c.ops+"/admin/v1/session", `{"token":`+wrongToken.text())
	c.ask("a login", ofTheOperator, "POST", c.ops+"/admin/v1/session", `{"token":"`+viewerToken.text()+`"}`)
	page := between(c.outputs[len(c.outputs)-1].text, "spillway_session=", ";")
	if page == "" {
		c.t.Fatal("no session")
	}
	c.ask("who am I", nil, "GET", c.ops+"/admin/v1/session", "", "Cookie", "spillway_session="+page)
	defer func() { // it is made by chance, so it is looked for by itself
		for _, o := range c.outputs {
			if _, fine := o.may[session]; !fine && strings.Contains(o.text, page) {
				c.t.Errorf("%s has the session of an operator", o.name)
			}
		}
	}()
}

// faultyFiles are saved one after another while the gateway runs. Every way to
// write a secret where it must not be is in internal/edge/config/veil_test.go.
func (c *canaries) faultyFiles() {
	good, err := os.ReadFile(c.file)
	if err != nil {
		c.t.Fatal(err)
	}
	const old = "api_key: "
	for _, faulty := range []string{"api_keys: ", "api_kye: ", "", "api_version: ", "timeouts: "} {
		write(c.t, c.file, strings.Replace(string(good), old+providerKey.text(), faulty+faultyFileKey.text(), 1))
		seen := strings.Count(c.log.String(), "configuration not applied")
		c.cmd.Process.Signal(syscall.SIGHUP)
		until(c.t, func() bool { return strings.Count(c.log.String(), "configuration not applied") > seen })
		out, err := c.command("check", "--config", c.file).CombinedOutput()
		if err == nil {
			c.t.Errorf("%q is right: %s", faulty, out)
		}
		c.out(fmt.Sprintf("spillway check of a file with %q", faulty), string(out), nil)
	}
	write(c.t, c.file, string(good))
	c.cmd.Process.Signal(syscall.SIGHUP)
	c.says(`"message":"configuration applied"`)
}

// commands are what operators run beside the gateway.
func (c *canaries) commands() {
	for _, args := range [][]string{
		{"check", "--config", c.file},
		{"usage", "--config", c.file},
		{"usage", "--config", c.file, "--by", "key,tenant,model", "--format", "csv"},
		{"usage", "--config", c.file, "--by", "key", "--format", "json"},
		{"explain", "--ops", c.ops, "--request-id", "req_0"},
		{"top", "--ops", c.ops, "--once"},
		{"top", "--ops", c.ops, "--once", "--json"},
	} {
		cmd := c.command(args...)
		cmd.Env = append(cmd.Env, "SPILLWAY_TOKEN="+viewerToken.text())
		out, _ := cmd.CombinedOutput() // what it says is an output, whether it worked or not
		c.out("spillway "+strings.Join(args[:1], " ")+" "+strings.Join(args[3:], " "), string(out), nil)
	}
}

// end stops the gateway, and gathers what it has written.
func (c *canaries) end() {
	time.AfterFunc(20*time.Second, func() { c.cmd.Process.Kill() }) // it must end before the test does
	c.cmd.Process.Signal(syscall.SIGTERM)
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the gateway ended with %v", err)
	}
	c.out("the log", c.log.String(), ofTheUser)
	c.out("the traces", c.site.got(&c.site.traced), ofTheUser)
	if c.site.got(&c.site.hooked) == "" {
		c.t.Error("the webhook was not called")
	}
	c.out("the webhook", c.site.got(&c.site.hooked), nil)
	err := filepath.WalkDir(c.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == c.file {
			return err
		}
		b, err := os.ReadFile(name)
		may := ofTheUser // the ledger knows who it is that spent
		switch filepath.Base(name) {
		case "record.jsonl":
			may = ofTheCore
		case "changes.json":
			may = hashOnDisk
		}
		c.out("the file "+strings.TrimPrefix(name, c.dir), string(b), may)
		return err
	})
	if err != nil {
		c.t.Error(err)
	}
}

// complete checks that the outputs were there at all, and that all happened.
func (c *canaries) complete() {
	all := map[string]string{}
	for _, o := range c.outputs {
		all[o.name] += o.text
	}
	for name, want := range map[string][]string{
		"the log":                               {endUser.text(), `"spillway.recalled":"fresh"`, `"spillway.outcome":"refused"`, `"spillway.outcome":"cut"`, `"spillway.outcome":"failed"`, `"spillway.rungs":"brief"`, "configuration not applied"},
		"the traces":                            {"spillway", "chat"},
		"the file /record.jsonl":                {endUser.text()},
		"GET /debug/events":                     {endUser.text()},
		"the file /spillway-data/changes.json":  {"spare", "models.twice.queue.total"},
		"the file /spillway-data/changes.jsonl": {"spare", "models.twice.queue.total", "c1"},
		"the live picture":                      {"event: picture", "up/vendor"},
		"spillway top --once":                   {"chat"},
		"the settings, with the changes aside":  {"overlay_error", "tenants[shop].keys[spare]"},
		"the answer to a success":               {completion.text()},
		"the answer to a stream":                {completion.text()},
		"the answer to fault broken, streamed":  {"[redacted]"},
		"the answer to fault echo-400":          {"[redacted]"},
	} {
		for _, text := range want {
			if !strings.Contains(all[name], text) {
				c.t.Errorf("%s has no %q: %.600s", name, text, all[name])
			}
		}
	}
	if !slices.ContainsFunc(c.outputs, func(o output) bool {
		return strings.HasPrefix(o.name, "the file /ledger/") && strings.Contains(o.text, endUser.text())
	}) {
		c.t.Error("no row of the ledger was looked at")
	}
	if c.site.called < 2*len(faults) {
		c.t.Errorf("%d calls upstream", c.site.called)
	}
}
