package ops

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

func now() time.Time { return time.Now() }

var admin = bearer("admin-token")

// do asks and reads the answer into v.
func (r *rig) do(want int, method, path, body string, v any) string {
	r.t.Helper()
	w := r.ask(method, path, body, admin...)
	if w.Code != want {
		r.t.Fatalf("%s %s: %d, want %d: %s", method, path, w.Code, want, w.Body)
	}
	if v != nil {
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
			r.t.Fatalf("%v: %s", err, w.Body)
		}
	}
	return w.Body.String()
}

func (r *rig) change(want int, set string) ChangeReport {
	r.t.Helper()
	var c ChangeReport
	r.do(want, "POST", "/admin/v1/changes", set, &c)
	return c
}

// A setting is looked at, changed, seen in force, reverted, and all of that is written down.
func TestAChange(t *testing.T) {
	r := setup(t, guarded, true)
	var list SettingsList
	r.do(200, "GET", "/admin/v1/settings?under=models.chat.queue", "", &list)
	if len(list.Settings) != 9 || list.Changes != "durable" || list.Version == "" || list.Volatile == "" {
		t.Errorf("%+v", list)
	}
	begin := list.Version
	tried := r.change(200, `{"set":{"models.chat.queue.total":200},"dry_run":true}`)
	if tried.ID != "" || string(tried.Before["models.chat.queue.total"]) != "10000" || string(tried.After["models.chat.queue.total"]) != "200" || tried.Version != begin {
		t.Errorf("tried: %+v", tried)
	}
	if q := r.g.Config().Models["chat"].Queue; q.Total != 10000 {
		t.Errorf("only tried, and in force: %+v", q)
	}
	done := r.change(200, `{"set":{"models.chat.queue.total":200,"tenants[shop].limits.rpm":60},"why":"too long","version":"`+begin+`"}`)
	if done.ID != "c1" || done.Who != "root" || done.Why != "too long" || done.Version == begin || len(done.After) != 3 || string(done.Before["tenants[shop].limits.rpm"]) != "null" {
		t.Errorf("%+v", done) // per_tenant stands for itself, but is above total now: it is no part of the change
	}
	if q := r.g.Config().Models["chat"].Queue; q.Total != 200 {
		t.Errorf("not in force: %+v", q)
	}
	if len(done.Warnings) != 1 || !strings.Contains(done.Warnings[0], "in memory only") {
		t.Errorf("%q", done.Warnings)
	}
	r.do(200, "GET", "/admin/v1/settings?under=tenants[shop].limits.rpm", "", &list)
	if s := list.Settings; len(s) != 1 || s[0].Source != "change" || string(s[0].Value) != "60" || list.Version != done.Version {
		t.Errorf("%+v", list)
	}
	if body := r.do(409, "POST", "/admin/v1/changes", `{"set":{"log.level":"warn"},"version":"`+begin+`"}`, nil); !strings.Contains(body, done.Version) {
		t.Errorf("somebody else changed it: %s", body)
	}
	back := r.change(200, `{"set":{"tenants[shop].limits.rpm":null}}`)
	if string(back.Before["tenants[shop].limits.rpm"]) != "60" || string(back.After["tenants[shop].limits.rpm"]) != "null" {
		t.Errorf("taken back: %+v", back)
	}
	if body := r.do(409, "POST", "/admin/v1/changes/c1/revert", "", nil); !strings.Contains(body, "changed again since") {
		t.Error(body)
	}
	r.do(200, "POST", "/admin/v1/changes/c2/revert", "", nil)
	r.do(200, "POST", "/admin/v1/changes/c1/revert", `{"why":"calm again"}`, nil)
	if q := r.g.Config().Models["chat"].Queue; q.Total != 10000 || r.g.Config().Tenant("shop").Limits.RPM != 0 {
		t.Errorf("not reverted: %+v", q)
	}
	r.do(200, "POST", "/admin/v1/reload", "", nil)
	var all ChangesList
	r.do(200, "GET", "/admin/v1/changes?limit=3", "", &all)
	if c := all.Changes; len(c) != 3 || c[0].Kind != KindReload || c[1].Kind != KindRevert || c[1].Why != "calm again" || c[2].ID != "c3" {
		t.Errorf("%+v", all)
	}
	if log := r.log.String(); !strings.Contains(log, `msg="settings changed" change=c1 kind=change who=root why="too long" set="models.chat.queue.total=200 tenants[shop].limits.rpm=60"`) {
		t.Errorf("the log: %s", log)
	}
	w := r.ask("GET", "/metrics", "")
	for _, want := range []string{`spillway_settings_changes_total{result="applied"} 4`, `spillway_settings_changes_total{result="refused"} 1`, `spillway_settings_changes_total{result="tried"} 1`, "spillway_settings_changes_aside 0"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

// A refused change says what is wrong and where, and nothing of it happens.
func TestRefusedChanges(t *testing.T) {
	r := setup(t, guarded, true)
	for _, tt := range []struct {
		body  string
		code  int
		place string
	}{
		{`{"set":{"models.chat.queue.total":0,"log.level":"debug"}}`, 422, "models.chat.queue.total"},
		{`{"set":{"providers.up.api_key":"canary"}}`, 422, "providers.up.api_key"},
		{`{"set":{"admin.tokens":[]}}`, 422, "admin.tokens"},
		{`{"set":{}}`, 400, "set"},
		{`{"set":{"log.level":"debug"},"why":"` + strings.Repeat("x", 1001) + `"}`, 400, "why"},
		{`{"set":{"log.level":"debug"},"what":1}`, 400, "body"},
		{`[]`, 400, "body"},
		{`{"set":{"tenants[shop].keys[x]":{"hash":"canary-key"}}}`, 422, "tenants[shop].keys[x]"},
	} {
		var p Problem
		r.do(tt.code, "POST", "/admin/v1/changes", tt.body, &p)
		if p.Place != tt.place || p.Remedy == "" || p.Detail == "" {
			t.Errorf("%s: %+v", tt.body, p)
		}
	}
	if c := r.g.Config(); c.Log.Level != "info" {
		t.Errorf("half of a refused change is in force: %s", c.Log.Level)
	}
	if strings.Contains(r.log.String(), "canary") {
		t.Errorf("a secret in the log: %s", r.log)
	}
	owned := setup(t, strings.Replace(guarded, "admin:\n", "admin:\n  changes: file\n", 1), true)
	for _, path := range []string{"/admin/v1/changes", "/admin/v1/upstreams/up%2Fchat", "/admin/v1/tenants/shop/keys"} {
		body := map[string]string{"/admin/v1/changes": `{"set":{"log.level":"debug"}}`, "/admin/v1/upstreams/up%2Fchat": `{"action":"drain"}`}[path]
		if body := owned.do(409, "POST", path, body, nil); !strings.Contains(body, "changes: durable") || !strings.Contains(body, "admin.changes") {
			t.Errorf("%s: the file owns everything: %s", path, body)
		}
	}
}

// Tenants and keys come and go; a key is told once, and its hash never whole.
func TestTenantsAndKeys(t *testing.T) {
	r := setup(t, guarded, true)
	known := func(key string) bool { _, _, ok := r.g.Config().Keys().Lookup(now(), key); return ok }
	var made TenantChange
	r.do(200, "PUT", "/admin/v1/tenants/new", `{"weight":3,"limits":{"rpm":5}}`, &made)
	if made.Key == nil || len(made.Key.Key) < 46 || !known(made.Key.Key) || made.Kind != KindTenant {
		t.Fatalf("%+v", made)
	}
	if n := r.g.Config().Tenant("new"); n.Weight != 3 || n.Limits.RPM != 5 {
		t.Errorf("%+v", n)
	}
	var again TenantChange // a pointer that stays would be an old answer
	r.do(200, "PUT", "/admin/v1/tenants/new", `{"limits":{"tpm":7}}`, &again)
	if n := r.g.Config().Tenant("new"); again.Key != nil || n.Weight != 1 || n.Limits.RPM != 0 || n.Limits.TPM != 7 || !known(made.Key.Key) {
		t.Errorf("%+v: what is not said is taken back, keys stay", n)
	}
	var ci, next, gone KeyChange
	r.do(200, "POST", "/admin/v1/tenants/shop/keys", `{"name":"ci","why":"for the build"}`, &ci)
	if ci.Key.ID != "ci" || !known(ci.Key.Key) || !known("canary-tenant-key") || ci.Key.Key == made.Key.Key {
		t.Errorf("%+v", ci)
	}
	if r.do(409, "POST", "/admin/v1/tenants/shop/keys", `{"name":"ci"}`, nil); !known(ci.Key.Key) {
		t.Error("a key of the same name took its place")
	}
	r.do(422, "POST", "/admin/v1/tenants/shop/keys", `{"name":"with space"}`, nil)
	r.do(400, "POST", "/admin/v1/tenants/shop/keys", `{"until":"2020-01-01T00:00:00Z"}`, nil)
	r.do(200, "POST", "/admin/v1/tenants/shop/keys/ci/rotate", `{"grace":"1h"}`, &next)
	r.do(409, "POST", "/admin/v1/tenants/shop/keys/"+next.Key.ID+"/rotate", `{"name":"ci"}`, nil) // it is another key's
	if next.Old == nil || !known(next.Key.Key) || !known(ci.Key.Key) {
		t.Errorf("%+v: both are good for an hour", next)
	}
	if _, _, ok := r.g.Config().Keys().Lookup(next.Old.Add(1), ci.Key.Key); ok {
		t.Error("the old one goes on after its hour")
	}
	r.do(200, "DELETE", "/admin/v1/tenants/shop/keys/"+next.Key.ID[:8], "", &gone)
	if known(next.Key.Key) || !known(ci.Key.Key) {
		t.Error("revoked at once, and nobody else")
	}
	if r.do(409, "POST", "/admin/v1/tenants/shop/keys/"+next.Key.ID+"/rotate", "", nil); known(next.Key.Key) {
		t.Error("it has ended")
	}
	r.do(409, "POST", "/admin/v1/changes/"+gone.ID+"/revert", "", nil) // a revoked key does not come back
	var list Tenants
	body := r.do(200, "GET", "/admin/v1/tenants", "", &list)
	if len(list.Tenants) != 2 || list.Tenants[0].Source != "file" || list.Tenants[1].Source != "change" || len(list.Tenants[0].Keys) != 3 {
		t.Errorf("%s", body)
	}
	for _, k := range list.Tenants[0].Keys {
		ended, file, until := k.ID == next.Key.ID, k.ID != next.Key.ID && k.ID != "ci", k.ID == next.Key.ID || k.ID == "ci"
		if k.Used == nil || k.Ended != ended || (k.Source == "file") != file || (k.Until != nil) != until || len(k.Hash) > 25 {
			t.Errorf("%+v", k)
		}
	}
	r.do(200, "DELETE", "/admin/v1/tenants/shop/keys/"+config.HashKey("canary-tenant-key")[:17], "", nil)
	if known("canary-tenant-key") {
		t.Error("a key of the file is revoked too")
	}
	r.do(409, "DELETE", "/admin/v1/tenants/shop", "", nil) // it stands in the file
	r.do(200, "DELETE", "/admin/v1/tenants/new", "", nil)
	if r.g.Config().Tenant("new") != nil || known(made.Key.Key) {
		t.Error("the tenant is gone, and so is its key")
	}
	r.do(404, "DELETE", "/admin/v1/tenants/new", "", nil)
	everything := r.do(200, "GET", "/admin/v1/changes", "", nil) + r.do(200, "GET", "/admin/v1/settings", "", nil) + r.log.String()
	for _, key := range []string{made.Key.Key, ci.Key.Key, next.Key.Key} {
		if strings.Contains(everything, key) {
			t.Error("a key is told twice")
		}
	}
	if full := hashes.FindString(everything); full != "" {
		t.Errorf("a whole hash is shown: %s", full)
	}
}

// An upstream is taken out of use and back.
func TestUpstreamsOutOfUse(t *testing.T) {
	r := setup(t, guarded, true)
	var c ChangeReport
	r.do(200, "POST", "/admin/v1/upstreams/up%2Fchat", `{"action":"drain","why":"new disks"}`, &c)
	if string(c.After["models.chat.deployments[up/chat].state"]) != `"drained"` || c.Kind != KindUpstream {
		t.Errorf("%+v", c)
	}
	if u := r.g.Upstreams()[0]; u.State != "drained" || u.Usable != 0 {
		t.Errorf("%+v", u)
	}
	if w := r.ask("GET", "/metrics", ""); !strings.Contains(w.Body.String(), `spillway_upstream_slots{deployment="up/chat"} 0`) {
		t.Error("what is drained on purpose is not missing")
	}
	r.do(200, "POST", "/admin/v1/upstreams/up%2Fchat", `{"action":"disable"}`, nil)
	if w := r.ask("GET", "/metrics", "").Body.String(); !strings.Contains(w, `spillway_upstream_slots{deployment="up/chat"} 1`) || !strings.Contains(w, `spillway_upstream_usable_slots{deployment="up/chat"} 0`) {
		t.Error("what is disabled is missing")
	}
	r.do(200, "POST", "/admin/v1/upstreams/up%2Fchat", `{"action":"enable","weight":3}`, &c)
	if u := r.g.Upstreams()[0]; u.State != "enabled" || u.Usable != 1 || len(c.Warnings) != 2 || !strings.Contains(c.Warnings[1], "balance: weighted") {
		t.Errorf("%+v %q", u, c.Warnings)
	}
	r.do(400, "POST", "/admin/v1/upstreams/up%2Fchat", `{"action":"explode"}`, nil)
	r.do(400, "POST", "/admin/v1/upstreams/up%2Fchat", `{}`, nil)
	r.do(404, "POST", "/admin/v1/upstreams/nobody", `{"action":"drain"}`, nil)
}

// With very many tenants the list ends somewhere, and says so; below a path all of it is there.
func TestManySettings(t *testing.T) {
	var conf strings.Builder
	conf.WriteString(guarded)
	for i := range 300 {
		fmt.Fprintf(&conf, "  - {name: t%d, keys: [%q]}\n", i, config.HashKey(fmt.Sprint(i)))
	}
	r := setup(t, conf.String(), true)
	var list, below SettingsList
	r.do(200, "GET", "/admin/v1/settings", "", &list)
	r.do(200, "GET", "/admin/v1/settings?under=tenants[t299]", "", &below)
	if len(list.Settings) != mostListed || list.LeftOut < 1000 || below.LeftOut != 0 || len(below.Settings) < 50 {
		t.Errorf("%d and %d more; %d of the last tenant", len(list.Settings), list.LeftOut, len(below.Settings))
	}
}

// Two admins at once: with versions one of them is told, and without them both count.
func TestTwoAdminsAtOnce(t *testing.T) {
	r := setup(t, guarded, true)
	var list SettingsList
	r.do(200, "GET", "/admin/v1/settings?under=log", "", &list)
	codes := make(chan int, 20)
	for i := range 10 {
		go func() {
			codes <- r.ask("POST", "/admin/v1/changes", fmt.Sprintf(`{"set":{"models.chat.queue.total":%d},"version":%q}`, 100+i, list.Version), admin...).Code
		}()
		go func() {
			codes <- r.ask("PUT", fmt.Sprintf("/admin/v1/tenants/t%d", i), `{}`, admin...).Code
		}()
	}
	count := map[int]int{}
	for range 20 {
		count[<-codes]++
	}
	if count[http.StatusOK]+count[http.StatusConflict] != 20 || count[http.StatusOK] > 11 || count[http.StatusOK] < 10 {
		t.Errorf("%v: ten tenants, and at most one of ten changes of one version", count)
	}
	if n := len(r.g.Config().Tenants); n != 11 {
		t.Errorf("%d tenants: some change was lost", n)
	}
}
