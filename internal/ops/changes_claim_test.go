package ops

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// kept is the state on the disk.
func (p *place) kept() string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, stateName))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// Two gateways were given one directory. The first that changes something has it;
// the other says so, and writes nothing over what the first has kept.
func TestTwoGatewaysWithOneDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system has no flock")
	}
	p := newPlace(t)
	a, b := p.start(), p.beside() // neither has changed anything, and there is no directory
	if c := a.change(200, `{"set":{"models.chat.queue.total":200}}`); len(c.Warnings) != 0 {
		t.Errorf("the first: %q", c.Warnings)
	}
	kept := p.kept()
	c := b.change(200, `{"set":{"models.chat.queue.total":300}}`)
	if b.total() != 300 || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "an admin.directory of its own") {
		t.Errorf("the second: total %d, %q: it counts, and is said to be in memory", b.total(), c.Warnings)
	}
	var list SettingsList
	b.do(200, "GET", "/admin/v1/settings?under=log", "", &list)
	if !strings.Contains(list.Volatile, "another gateway keeps its changes there") {
		t.Errorf("%q", list.Volatile)
	}
	b.do(200, "POST", "/admin/v1/reload", "", nil)
	if now := p.kept(); now != kept || a.total() != 200 {
		t.Errorf("what the first kept is now %s", now)
	}
	audit, _ := os.ReadFile(filepath.Join(p.dir, auditName))
	if n := strings.Count(string(audit), "\n"); n != 1 {
		t.Errorf("%d lines of audit: the second wrote there", n)
	}

	third := p.beside() // begins while the first has the directory: it reads, and says at once that it cannot write
	third.do(200, "GET", "/admin/v1/settings?under=log", "", &list)
	if third.total() != 200 || list.Volatile == "" || !strings.Contains(third.log.String(), "level=WARN") {
		t.Errorf("the third: total %d, %q", third.total(), list.Volatile)
	}

	a.settings.Close() // the first ends, having kept what the second has never read
	if c = b.change(200, `{"set":{"models.chat.queue.total":400}}`); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "since this one began") || p.kept() != kept {
		t.Errorf("the second, alone: %q", c.Warnings)
	}
	if c = third.change(200, `{"set":{"models.chat.queue.bytes":"1MiB"}}`); len(c.Warnings) != 0 || !strings.Contains(p.kept(), "1MiB") {
		t.Errorf("the third knows all that is there, so the directory is its own now: %q", c.Warnings)
	}
	list = SettingsList{}
	if third.do(200, "GET", "/admin/v1/settings?under=log", "", &list); list.Volatile != "" {
		t.Errorf("%q", list.Volatile)
	}
}
