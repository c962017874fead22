package ops

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// place is a configuration file and the directory beside it.
type place struct {
	t         *testing.T
	file, dir string
	last      *Settings
}

func newPlace(t *testing.T) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{t: t, file: filepath.Join(root, "spillway.yaml"), dir: filepath.Join(root, "data")}
	p.write("")
	return p
}

// write saves the file, with something in place of a model's settings, and with
// further keys of the tenant.
func (p *place) write(more string, keys ...string) {
	p.t.Helper()
	text := strings.Replace(guarded, "admin:\n", "admin:\n  directory: "+p.dir+"\n", 1)
	text = strings.Replace(text, "concurrency: 1}]}", "concurrency: 1}]"+more+"}", 1)
	for _, hash := range keys {
		text = strings.Replace(text, "keys: [", `keys: ["`+hash+`", `, 1)
	}
	if err := os.WriteFile(p.file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// start is a process that begins, after the one before has ended.
func (p *place) start() *rig {
	p.t.Helper()
	if p.last != nil {
		p.last.Close()
	}
	r := p.beside()
	p.last = r.settings
	return r
}

// beside is a process that begins while another goes on.
func (p *place) beside() *rig { return setupOf(p.t, SettingsOptions{File: p.file}, true) }

func (r *rig) total() int { return r.g.Config().Models["chat"].Queue.Total }

// What was changed outlives the process, and readings of the file.
func TestChangesOutliveTheProcess(t *testing.T) {
	p := newPlace(t)
	r := p.start()
	if _, err := os.Stat(p.dir); err == nil {
		t.Error("a directory before anything was changed")
	}
	c := r.change(200, `{"set":{"models.chat.queue.total":200,"tenants[new]":{"keys":["`+config.HashKey("new-key")+`"]}}}`)
	if len(c.Warnings) != 0 {
		t.Errorf("%q", c.Warnings)
	}
	r.change(200, `{"set":{"models.chat.queue.bytes":"1MiB"}}`)
	p.write(", queue: {total: 300, work: 1m}") // an editor saves the file
	r.do(200, "POST", "/admin/v1/reload", "", nil)
	if _, err := r.settings.Reload(ByFile); err != nil { // the watch has seen it too: nothing to write down
		t.Error(err)
	}
	if q := r.g.Config().Models["chat"].Queue; q.Total != 200 || q.Bytes != 1<<20 || q.Work.Minutes() != 1 {
		t.Errorf("after a reload: %+v", q)
	}
	r = p.start()
	if q := r.g.Config().Models["chat"].Queue; q.Total != 200 || q.Bytes != 1<<20 || r.g.Config().Tenant("new") == nil {
		t.Errorf("after a restart: %+v", q)
	}
	var all ChangesList
	r.do(200, "GET", "/admin/v1/changes", "", &all)
	if len(all.Changes) != 3 || all.Changes[2].ID != "c1" || all.Changes[0].Kind != KindReload {
		t.Errorf("%+v", all)
	}
	if c = r.change(200, `{"set":{"models.chat.queue.total":null}}`); c.ID != "c4" || r.total() != 300 {
		t.Errorf("%+v, total %d: the file counts again", c, r.total())
	}
	r.do(200, "POST", "/admin/v1/changes/c2/revert", "", nil) // of the process before
	for _, name := range []string{stateName, auditName} {
		info, err := os.Stat(filepath.Join(p.dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	data, _ := os.ReadFile(filepath.Join(p.dir, auditName))
	if full := hashes.Find(data); full != nil {
		t.Errorf("a whole hash in the audit: %s", full)
	}
}

// A file that no longer goes with what was changed counts alone. The changes are
// kept until they fit again, or somebody takes them back.
func TestChangesThatDoNotFit(t *testing.T) {
	p := newPlace(t)
	p.write(", queue: {per_tenant: 10}")
	r := p.start()
	r.change(200, `{"set":{"models.chat.queue.total":20,"log.level":"warn"}}`)
	p.write(", queue: {per_tenant: 50}") // above what the change says
	var c ChangeReport
	r.do(200, "POST", "/admin/v1/reload", "", &c)
	if r.total() != 10000 || r.g.Config().Log.Level != config.LevelInfo || len(c.Warnings) != 1 {
		t.Errorf("total %d, %q: the file alone counts", r.total(), c.Warnings)
	}
	for _, r := range []*rig{r, p.beside()} { // a process that begins finds the same
		var list SettingsList
		r.do(200, "GET", "/admin/v1/settings?under=log", "", &list)
		if !strings.Contains(list.Aside, "50 is above total, which is 20") || len(list.Kept) != 2 {
			t.Errorf("%+v", list)
		}
		if w := r.ask("GET", "/metrics", ""); !strings.Contains(w.Body.String(), "spillway_settings_changes_aside 1") {
			t.Error("no metric tells")
		}
		if !strings.Contains(r.log.String(), "level=ERROR") {
			t.Error("no log tells")
		}
	}
	if _, _, today := r.settings.Today(); len(today) != 0 {
		t.Errorf("in force today: %s", today.JSON())
	}
	r.do(422, "POST", "/admin/v1/changes", `{"set":{"log.level":"error"}}`, nil) // the rest would still not fit
	r.change(200, `{"set":{"models.chat.queue.total":null}}`)
	if r.total() != 10000 || r.g.Config().Log.Level != config.LevelWarn {
		t.Errorf("total %d, log %s: what is left fits", r.total(), r.g.Config().Log.Level)
	}
	if w := r.ask("GET", "/metrics", ""); !strings.Contains(w.Body.String(), "spillway_settings_changes_aside 0") {
		t.Error("it is over")
	}
}

// A key that was revoked stays out, and another can be, while something else that
// was changed does not fit the file.
func TestRevokedKeysWhileChangesDoNotFit(t *testing.T) {
	p := newPlace(t)
	p.write(", queue: {per_tenant: 10}")
	r := p.start()
	known := func(r *rig, key string) bool { _, _, ok := r.g.Config().Keys().Lookup(now(), key); return ok }
	first := config.HashKey("canary-tenant-key")
	r.change(200, `{"set":{"models.chat.queue.total":20,"tenants[shop].weight":2}}`)
	r.do(200, "POST", "/admin/v1/tenants/shop/keys", `{"name":"made"}`, nil)
	r.do(200, "DELETE", "/admin/v1/tenants/shop/keys/made", "", nil) // its end is of a key that the file does not have
	r.do(200, "DELETE", "/admin/v1/tenants/shop/keys/"+first[:20], "", nil)

	p.write(", queue: {per_tenant: 50}") // above what the change says
	r.do(200, "POST", "/admin/v1/reload", "", nil)
	r = p.start()
	if known(r, "canary-tenant-key") || r.total() != 10000 {
		t.Fatalf("total %d; the key that was revoked is let in again: %t", r.total(), known(r, "canary-tenant-key"))
	}

	p.write(", queue: {per_tenant: 50}", config.HashKey("leaked"))
	r.do(200, "POST", "/admin/v1/reload", "", nil)
	if !known(r, "leaked") {
		t.Fatal("a key of the file")
	}
	var gone KeyChange
	r.do(200, "DELETE", "/admin/v1/tenants/shop/keys/"+config.HashKey("leaked")[:20], "", &gone)
	if known(r, "leaked") || len(gone.Warnings) != 1 || !strings.Contains(gone.Warnings[0], "do not count") {
		t.Errorf("%q, known %t", gone.Warnings, known(r, "leaked"))
	}
	if body := r.do(422, "POST", "/admin/v1/changes", `{"set":{"log.level":"error"}}`, nil); !strings.Contains(body, "earlier changes do not fit") {
		t.Error(body)
	}
	r = p.start()
	r.change(200, `{"set":{"models.chat.queue":null}}`)
	if known(r, "leaked") || known(r, "canary-tenant-key") || r.g.Config().Tenant("shop").Weight != 2 {
		t.Error("all of it counts again, and both keys are out")
	}
}

// A faulty file changes nothing, and the changes stay.
func TestReloadOfAFaultyFile(t *testing.T) {
	p := newPlace(t)
	r := p.start()
	r.change(200, `{"set":{"models.chat.queue.total":20}}`)
	p.write(", queue: {total: none}")
	var problem Problem
	r.do(422, "POST", "/admin/v1/reload", "", &problem)
	if !strings.Contains(problem.Detail, "models.chat.queue.total") || r.total() != 20 {
		t.Errorf("%+v, total %d", problem, r.total())
	}
	r.change(200, `{"set":{"models.chat.queue.total":30}}`) // beside the file that was read last
	if r.total() != 30 {
		t.Errorf("total %d", r.total())
	}
}

var errKilled = errors.New("killed")

// A kill at any step leaves the settings before or after the change, whole, and an
// audit that agrees with them.
func TestKilledWhileChanging(t *testing.T) {
	steps := []string{"create", "write", "sync", "rename", "sync directory", "audit"}
	for i, step := range steps {
		p := newPlace(t)
		r := p.start()
		r.change(200, `{"set":{"models.chat.queue.total":20,"models.chat.queue.work":"20s"}}`)
		reached := false
		r.settings.disk.before = func(at string) error {
			if reached = reached || at == step; reached {
				return errKilled // and nothing more is written
			}
			return nil
		}
		c := r.change(200, `{"set":{"models.chat.queue.total":30,"models.chat.queue.work":"30s"}}`)
		if len(c.Warnings) == 0 || r.total() != 30 {
			t.Errorf("%s: what cannot be written counts, and that is said: %q", step, c.Warnings)
		}
		r = p.start()
		q := r.g.Config().Models["chat"].Queue
		want := 20
		if i > 3 { // the new state is in its place
			want = 30
		}
		if q.Total != want || int(q.Work.Seconds()) != want {
			t.Errorf("killed before %s: %d and %v, want %d of both", step, q.Total, q.Work, want)
		}
		var all ChangesList
		r.do(200, "GET", "/admin/v1/changes", "", &all)
		if n := len(all.Changes); n != want/10-1 || string(all.Changes[0].After["models.chat.queue.total"]) != strconv.Itoa(want) {
			t.Errorf("killed before %s: the audit says %+v", step, all)
		}
		r.change(200, `{"set":{"models.chat.queue.total":40}}`)
		if p.start().total() != 40 {
			t.Errorf("killed before %s: the next change is lost", step)
		}
	}
}

// A line that was cut off does not spoil the next, an audit is bounded, and a state
// that is no such thing is put aside.
func TestWhatStandsInTheDirectory(t *testing.T) {
	p := newPlace(t)
	r := p.start()
	r.change(200, `{"set":{"models.chat.queue.total":20}}`)
	f, err := os.OpenFile(filepath.Join(p.dir, auditName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"id":"c2","se`)
	f.Close()
	r = p.start()
	r.change(200, `{"set":{"models.chat.queue.total":30}}`)
	if list := (&disk{dir: p.dir}).read(auditName); len(list) != 2 || list[1].ID != "c2" {
		t.Errorf("%+v", list)
	}
	for range 90 { // of 100 kB each
		if err := r.settings.disk.audit(&entry{ChangeReport: ChangeReport{Why: strings.Repeat("x", 100_000)}, Seq: 3}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{auditName, oldAudit} {
		if info, err := os.Stat(filepath.Join(p.dir, name)); err != nil || info.Size() > maxAudit {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.dir, stateName), []byte(`{"format":1,"settings":{"log.le`), 0o600); err != nil {
		t.Fatal(err)
	}
	r = p.start()
	var list SettingsList
	r.do(200, "GET", "/admin/v1/settings?under=log", "", &list)
	if !strings.Contains(list.Aside, brokenName) || r.total() != 10000 {
		t.Errorf("%+v, total %d", list, r.total())
	}
	if _, err := os.Stat(filepath.Join(p.dir, brokenName)); err != nil {
		t.Error(err)
	}
	r.change(200, `{"set":{"log.level":"warn"}}`)
	list = SettingsList{}
	r.do(200, "GET", "/admin/v1/settings?under=log", "", &list)
	if list.Aside != "" {
		t.Errorf("a new state is there: %s", list.Aside)
	}
	r.settings.disk = nil
	for range mostKept {
		r.settings.recordLocked(&entry{})
	}
	if n := len(r.settings.list); n != mostKept {
		t.Errorf("%d changes in memory", n)
	}
}

// A directory that cannot be written: changes count until the process ends, and
// everybody who makes one is told.
func TestDirectoryThatCannotBeWritten(t *testing.T) {
	p := newPlace(t)
	if err := os.WriteFile(p.dir, nil, 0o600); err != nil { // a file is in its place
		t.Fatal(err)
	}
	r := p.start()
	c := r.change(200, `{"set":{"models.chat.queue.total":20}}`)
	if r.total() != 20 || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "in memory only") || !strings.Contains(r.log.String(), "admin.directory") {
		t.Errorf("total %d, %q", r.total(), c.Warnings)
	}
	if p.start().total() != 10000 {
		t.Error("it outlived the process")
	}
}

// With admin.changes: file what was changed before has no effect, and is not lost.
func TestTheFileTakesOver(t *testing.T) {
	p := newPlace(t)
	r := p.start()
	r.change(200, `{"set":{"models.chat.queue.total":20}}`)
	text, _ := os.ReadFile(p.file)
	os.WriteFile(p.file, []byte(strings.Replace(string(text), "admin:\n", "admin:\n  changes: file\n", 1)), 0o600)
	r.do(200, "POST", "/admin/v1/reload", "", nil)
	if _, _, today := r.settings.Today(); r.total() != 10000 || len(today) != 0 || p.start().total() != 10000 {
		t.Errorf("total %d", r.total())
	}
	r.do(409, "POST", "/admin/v1/changes", `{"set":{"models.chat.queue.total":30}}`, nil)
	os.WriteFile(p.file, text, 0o600)
	if r.do(200, "POST", "/admin/v1/reload", "", nil); r.total() != 20 || p.start().total() != 20 {
		t.Errorf("total %d: they are owned by both again", r.total())
	}
}
