package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// newcomer is a key that the gateway made, and the answer that told it.
type newcomer struct{ key, home string }

// hashOnDisk stands in the state of what was changed, as it would in the file.
var hashOnDisk = map[secret]string{anyHash: "changes.json is beside the file and holds what the file would"}

// do changes something as the admin.
func (c *canaries) do(name string, want int, method, path, body string) string {
	c.t.Helper()
	status, text := c.ask(name, nil, method, c.ops+path, body, "Authorization", "Bearer "+adminToken.text())
	if status != want {
		c.t.Errorf("%s: %d, want %d: %s", name, status, want, text)
	}
	return text
}

// makes does what makes a key.
func (c *canaries) makes(name, method, path, body string) {
	c.t.Helper()
	text := c.do(name, http.StatusOK, method, path, body)
	key := gjson.Get(text, "key.key").Str
	if len(key) < 40 {
		c.t.Fatalf("%s: no key in %s", name, text)
	}
	if n := strings.Count(text, key); n != 1 {
		c.t.Errorf("%s tells the key %d times", name, n)
	}
	c.made = append(c.made, newcomer{key, name})
}

// changes are made, tried, refused and taken back, with secrets wherever one may
// be put by mistake.
func (c *canaries) changes() {
	const all = "/admin/v1/changes"
	c.makes("a new tenant", "PUT", "/admin/v1/tenants/guest", `{"weight":2}`)
	c.makes("a new key", "POST", "/admin/v1/tenants/guest/keys", `{"name":"ci"}`)
	c.makes("a key without a name", "POST", "/admin/v1/tenants/shop/keys", "")
	c.makes("a rotated key", "POST", "/admin/v1/tenants/guest/keys/ci/rotate", `{"grace":"1h"}`)
	for _, k := range c.made { // so that all that counts keys has counted them
		status, _ := c.ask("the answer to a new key", ofTheCaller, "POST", c.base+"/v1/chat/completions", said("chat", ""), "Authorization", "Bearer "+k.key)
		if status != http.StatusOK {
			c.t.Errorf("the key of %s: %d", k.home, status)
		}
	}
	c.do("a revoked key", http.StatusOK, "DELETE", "/admin/v1/tenants/guest/keys/ci", "")

	spare := fmt.Sprintf(`{"set":{"tenants[shop].keys[spare]":{"hash":%q}},"why":"a key by its hash"`, config.HashKey(spareKey.text()))
	c.do("a key by its hash, tried", http.StatusOK, "POST", all, spare+`,"dry_run":true}`)
	c.do("a key by its hash", http.StatusOK, "POST", all, spare+`}`)
	c.do("a setting", http.StatusOK, "POST", all, `{"set":{"models.twice.queue.total":50},"why":"to see"}`)
	id := gjson.Get(c.do("another setting", http.StatusOK, "POST", all, `{"set":{"tenants[guest].limits.rpm":600}}`), "id").Str
	c.do("a revert", http.StatusOK, "POST", all+"/"+id+"/revert", "")

	said := faultyChange.text()
	for i, set := range []string{
		`"tenants[shop].keys":[%q]`, `"tenants[shop].keys[x]":{"hash":%q}`, `"tenants[shop].keys[x].hash":%q`, `"tenants[shop].keys[x]":{"key":%q}`, `"tenants[shop].keys[x]":{%q:1}`,
		`"models.chat.queue.total":%q`, `"models.chat.queue.total":{"a":%q}`, `"models.chat.queue":{%q:1}`, `"classes.interactive.max_wait":%q`, `"models.chat.balance":%q`,
		`"log.level":%q`, `"admission":[%q]`, `"budget.day":%q`, `"models.chat.deployments[up/vendor].state":%q`, `"tenants[x]":{"keys":[{"hash":%q}]}`,
		`"providers.up.api_key":%q`, `"providers.up":{"api_key":%q}`, `"traces.headers":{"Api-Key":%q}`, `"scale_up.webhook":"http://%s/"`, `"admin.tokens":[%q]`, `%q:1`, `"tenants[shop].%s":1`, `"tenants.%s":1`, `"models.chat.queue.%s[":1`, `"ledger.postgres":"postgres://a:%s@b/c"`,
	} {
		set = fmt.Sprintf(set, said)
		c.do(fmt.Sprintf("faulty change %d", i), http.StatusUnprocessableEntity, "POST", all, `{"set":{`+set+`}}`)
		c.do(fmt.Sprintf("faulty change %d, tried", i), http.StatusUnprocessableEntity, "POST", all, `{"set":{`+set+`},"dry_run":true}`)
	}
	for i, body := range []string{`{%q:1}`, `{"set":%q}`, `{"set":{"models.chat.queue.total":%s`, `[%q]`, `{"set":{},"version":%q}`, `{"set":{"models.chat.queue.total":5},"dry_run":%q}`} {
		c.do(fmt.Sprintf("faulty body %d", i), http.StatusBadRequest, "POST", all, fmt.Sprintf(body, said))
	}
	for path, body := range map[string]string{
		"PUT /admin/v1/tenants/shop": `{"weight":%q}`, "PUT /admin/v1/tenants/new": `{"keys":[%q]}`, "PUT /admin/v1/tenants/slow": `{"limits":{"rpm":%q}}`, "PUT /admin/v1/tenants/guest": `{%q:1}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		c.do("faulty "+path, http.StatusUnprocessableEntity, method, path, fmt.Sprintf(body, said))
	}
	for path, body := range map[string]string{
		"/admin/v1/tenants/shop/keys": `{"until":%q}`, "/admin/v1/tenants/shop/keys/till/rotate": `{"grace":%q}`, "/admin/v1/upstreams/up%%2Fvendor": `{"action":%q}`, "/admin/v1/changes/c1/revert": `{%q:1}`,
	} {
		c.do("faulty "+path, http.StatusBadRequest, "POST", strings.ReplaceAll(path, "%%", "%"), fmt.Sprintf(body, said))
	}
	c.do("a question what if", http.StatusOK, "POST", "/admin/v1/whatif", `{"set":{"models.chat.queue.total":5,"tenants[shop].keys[spare]":{"hash":"`+config.HashKey(spareKey.text())+`"}}}`)
	c.do("a faulty question what if", http.StatusUnprocessableEntity, "POST", "/admin/v1/whatif", `{"set":{"models.chat.queue.total":"`+said+`"}}`)
	c.ask("a change by a viewer", nil, "POST", c.ops+all, `{"set":{"x":"`+said+`"}}`, "Authorization", "Bearer "+viewerToken.text())
	c.do("a reading of the file", http.StatusOK, "POST", "/admin/v1/reload", "")
}

// aside has the file lose what a change is about, and come back.
func (c *canaries) aside() {
	good, err := os.ReadFile(c.file)
	if err != nil {
		c.t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^  twice: .*\n`)
	write(c.t, c.file, string(line.ReplaceAll(good, nil)))
	c.cmd.Process.Signal(syscall.SIGHUP)
	c.says("do not fit it any more")
	until(c.t, func() bool {
		_, text := c.ask("the settings, with the changes aside", nil, "GET", c.ops+"/admin/v1/settings?under=models.chat", "", "Authorization", "Bearer "+viewerToken.text())
		return gjson.Get(text, "overlay_error").Exists() && gjson.Get(text, "overlay").Exists()
	})
	c.do("a change that leaves the rest as it is", http.StatusUnprocessableEntity, "POST", "/admin/v1/changes", `{"set":{"log.level":"info"}}`)
	write(c.t, c.file, string(good))
	c.cmd.Process.Signal(syscall.SIGHUP)
	until(c.t, func() bool {
		_, text := c.ask("the settings, with the changes back", nil, "GET", c.ops+"/admin/v1/settings?under=models.twice", "", "Authorization", "Bearer "+viewerToken.text())
		return strings.Contains(text, `"source":"change"`)
	})
}

// live reads two pictures of the stream.
func (c *canaries) live() {
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, "GET", c.ops+"/admin/v1/live", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+viewerToken.text())
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var text strings.Builder
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	for n := 0; n < 2 && lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "data:") {
			n++
		}
	}
	c.out("the live picture", text.String(), nil)
}

// console is the page, with whatever it loads.
func (c *canaries) console() {
	status, page := c.ask("the console", nil, "GET", c.ops+"/console/", "")
	if status != http.StatusOK {
		c.t.Errorf("the console: %d", status)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="(?:/console/)?([a-z0-9._/-]+)"`).FindAllStringSubmatch(page, -1) {
		c.ask("the console's "+m[1], nil, "GET", c.ops+"/console/"+m[1], "", "Authorization", "Bearer "+viewerToken.text())
	}
}

// newcomers looks for keys that the gateway made: each is in one answer, and
// nowhere else, nor is its hash outside the state.
func (c *canaries) newcomers() {
	for _, k := range c.made {
		hash := strings.TrimPrefix(config.HashKey(k.key), "sha256:")
		parts := partsOf(strings.TrimPrefix(k.key, "sk-"))
		kept := false
		for i := range c.outputs {
			o := &c.outputs[i]
			if strings.Contains(o.text, hash) {
				kept = true
				if _, fine := o.may[anyHash]; !fine {
					c.t.Errorf("%s has the hash of the key of %s", o.name, k.home)
				}
			}
			if o.name != k.home && slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(o.text, part) }) {
				c.t.Errorf("%s has the key of %s", o.name, k.home)
			}
		}
		if !kept {
			c.t.Errorf("the hash of the key of %s is nowhere, not even where it is kept", k.home)
		}
	}
}
