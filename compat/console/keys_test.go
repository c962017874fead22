package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// secret is how the keys begin that the canned gateway makes.
const secret = "sk-console-made-"

// tenants are those of the canned gateway: each has one key, and those that were made.
func (d *desk) tenants() (list []map[string]any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := []string{}
	for i := range d.canned.tenants {
		names = append(names, d.canned.tenant(i))
	}
	for _, k := range d.keys {
		if name := k["tenant"].(string); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []map[string]any{{"name": config.OpenTenant, "source": "default", "weight": 1, "tier": "standard", "keys": []any{}}}
	}
	for i, name := range names {
		keys := []map[string]any{}
		if i < d.canned.tenants {
			keys = append(keys, map[string]any{"tenant": name, "id": "ci", "hash": fmt.Sprintf("sha256:%012x…", i), "source": "file", "ended": false, "last_use": time.Now().Add(-time.Minute)})
		}
		for _, k := range d.keys {
			if k["tenant"] != name {
				continue
			}
			if old := slices.IndexFunc(keys, func(o map[string]any) bool { return o["id"] == k["id"] }); old >= 0 {
				keys[old] = k
			} else {
				keys = append(keys, k)
			}
		}
		list = append(list, map[string]any{"name": name, "source": "file", "weight": 1, "tier": "standard", "keys": keys})
	}
	return list
}

// turnKeys makes a tenant, or makes, rotates or revokes a key.
func (d *desk) turnKeys(w http.ResponseWriter, r *http.Request, role string) {
	body, err := io.ReadAll(r.Body)
	if err != nil || role != "admin" {
		problem(w, 403, "token max may look only")
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/admin/v1/tenants/"), "/")
	for i := range parts {
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			problem(w, 400, err.Error())
			return
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bodies = append(d.bodies, strings.Join(append([]string{r.Method}, parts...), " ")+" "+string(body))
	id := fmt.Sprintf("made%d", len(d.bodies))
	answer := map[string]any{"id": "chg_9", "kind": "key", "warnings": []string{"it is kept in memory only"}}
	if r.Method == http.MethodDelete || len(parts) == 4 { // the old one ends now, or in a day
		end := time.Now()
		if r.Method == http.MethodPost {
			end = end.Add(24 * time.Hour)
		}
		answer["old_until"] = end
		d.keys = append(d.keys, map[string]any{"tenant": parts[0], "id": parts[2], "hash": "sha256:0123…", "source": "file", "until": end, "ended": r.Method == http.MethodDelete})
	}
	if r.Method != http.MethodDelete {
		answer["key"] = map[string]any{"id": id, "key": secret + id}
		d.keys = append(d.keys, map[string]any{"tenant": parts[0], "id": id, "hash": "sha256:4567…", "source": "change", "ended": false})
	}
	send(w, answer)
}

func (d *desk) reload(w http.ResponseWriter, _ *http.Request, role string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case role != "admin":
		problem(w, 403, "token max may look only")
	case d.file:
		problem(w, 422, "line 3: models.chat has no deployments")
	default:
		send(w, map[string]any{"kind": "reload", "before": map[string]any{"log.level": "info"}, "after": map[string]any{"log.level": "debug"}, "warnings": []string{}})
	}
}

// shown gives the key that the page shows, which no address, storage or field has.
func (b *browser) shown() string {
	b.t.Helper()
	b.shows("It is shown this once")
	key := eval[string](b, "document.querySelector('.secret code').textContent")
	if !strings.HasPrefix(key, "sk-") {
		b.t.Errorf("it is shown as %q", key)
	}
	b.keepsNot(key, false)
	return key
}

// keepsNot fails the test if the page has a key where it stays; gone means that it
// is not to be read on it any more either.
func (b *browser) keepsNot(key string, gone bool) {
	b.t.Helper()
	kept := eval[[]string](b, `(async () => [location.href, document.title, document.cookie, JSON.stringify(history.state), JSON.stringify({...localStorage}), JSON.stringify({...sessionStorage}),
		...(await indexedDB.databases()).map((x) => x.name), ...(await caches.keys()), ...performance.getEntriesByType('resource').map((x) => x.name),
		...[...document.querySelectorAll('input, textarea, select')].map((x) => x.value), ...[...document.querySelectorAll('*')].flatMap((x) => [...x.attributes].map((a) => a.value))])()`)
	if i := slices.IndexFunc(kept, func(s string) bool { return strings.Contains(s, key) }); i >= 0 {
		b.t.Errorf("the key is kept: %.200s", kept[i])
	}
	if gone && eval[bool](b, "document.documentElement.outerHTML.includes('"+key+"')") {
		b.t.Error("the key is still on the page")
	}
}

// A key is made, rotated and revoked; each new one is shown once.
func TestKeysMade(t *testing.T) {
	d := openDesk(t, canned{models: 2, tenants: 24})
	b := page(t, light)
	b.logIn(d.url, adminToken)
	eval[any](b, "location.hash = '#/keys'")
	b.shows("24 tenants with 24 keys")

	b.press("New key…")
	b.until("a tenant can be chosen", "document.querySelector('dialog[open] select') !== null")
	eval[any](b, "document.querySelector('dialog[open] select').value = 'mail'")
	b.write("dialog[open] [name=name]", "ci")
	b.press("Make the key")
	b.shows("ci is there already.")
	b.write("dialog[open] [name=name]", "night")
	eval[any](b, "document.querySelector('dialog[open] [name=until]').value = '2020-01-01T00:00'")
	b.press("Make the key")
	b.shows("This is over already.")
	eval[any](b, "document.querySelector('dialog[open] [name=until]').value = '2040-01-01T00:00'")
	b.press("Make the key")
	first := b.shown()
	b.shows("it is kept in memory only")
	b.until("its heading has the focus", "document.activeElement.id === 'new-key'")
	b.press("Copy the key")
	b.until("it says what became of it", "/clipboard|marked/.test(document.querySelector('.draft [role=status]').innerText)")
	b.shows("24 tenants with 25 keys")

	b.press("I have it, hide it")
	b.until("it is hidden", "document.querySelector('.secret') === null")
	b.keepsNot(first, true)

	b.press("Rotate… ci of mail")
	b.shows("the old one goes on for a while")
	b.press("Make a new key in its place")
	second := b.shown()
	b.shows("The old one, ci, goes on until")
	eval[any](b, "location.hash = '#/settings'")
	b.shows("log.level")
	b.keepsNot(second, true)
	eval[any](b, "history.back()")
	b.shows("24 tenants with 26 keys")
	b.keepsNot(second, true) // it does not come back with the view

	b.write("[data-search]", "search ci")
	eval[any](b, "[...document.querySelectorAll('#keys-table button')].find((x) => /^Revoke.*ci of search$/s.test(x.innerText.trim())).focus()")
	b.run(chromedp.KeyEvent("\r"))
	b.shows("the tenant is shut out")
	b.until("a second Enter does nothing", "document.activeElement.innerText === 'No'")
	b.run(chromedp.KeyEvent("\x1b"))
	b.until("nothing is asked", "document.querySelector('dialog[open]') === null")
	b.until("the focus is where it was", "/^Revoke.*ci of search$/s.test(document.activeElement.innerText.trim())")
	b.press("Revoke… ci of search")
	b.press("Yes, end it now")
	b.shows("The key ci of search has ended.")
	b.until("it is listed as ended", "document.querySelector('#keys-table tbody').innerText.includes('ended')")

	b.press("New tenant…")
	b.write("dialog[open] [name=name]", "mail")
	b.press("Make the tenant and its key")
	b.shows("mail is there already.") // and what was changed of it stays
	b.write("dialog[open] [name=name]", "new/one")
	b.press("Make the tenant and its key")
	third := b.shown()
	eval[any](b, "dispatchEvent(new Event('pagehide'))")
	b.until("it is gone with the page", "document.querySelector('.secret') === null")
	b.keepsNot(third, true)

	d.mu.Lock()
	defer d.mu.Unlock()
	end := time.Date(2040, 1, 1, 0, 0, 0, 0, time.Local).UTC().Format(time.RFC3339)
	want := []string{`POST mail keys {"name":"night","until":"` + end + `"}`, `POST mail keys ci rotate {"grace":"24h"}`, "DELETE search keys ci ", "PUT new/one {}"}
	if !slices.Equal(d.bodies, want) {
		t.Errorf("the page sent %q", d.bodies)
	}
	b.quiet()
}

// A viewer sees keys and is offered nothing; where the file alone counts, an admin
// is offered nothing either but to have it read again.
func TestKeysLooked(t *testing.T) {
	d := openDesk(t, canned{models: 2, tenants: 24})
	b := page(t, light)
	offered := func(hash, shows string, words ...string) {
		t.Helper()
		eval[any](b, "location.hash = '#/"+hash+"'")
		b.shows(shows)
		for _, word := range words {
			if strings.Contains(b.text(), word) {
				t.Errorf("#/%s offers %q", hash, word)
			}
		}
	}
	b.logIn(d.url, viewerToken)
	offered("keys", "You may look, but not make or end keys: token max has the role viewer", "New key…", "Rotate…", "Revoke…", "New tenant…")
	b.shows("000000000001")
	offered("changes", "take changes back", "Read the file again")
	b.press("Log out")

	b.logIn(d.url, adminToken)
	offered("changes", "batch filled the queue")
	b.press("Read the file again")
	b.shows("It was read: 1 setting differs from before.")
	d.mu.Lock()
	d.file = true
	d.mu.Unlock()
	b.press("Read the file again")
	b.shows("models.chat has no deployments")
	eval[any](b, "location.hash = '#/keys'")
	b.shows("you cannot make or end keys here, the file alone counts")
	b.until("nothing is offered", "!/New key…|Rotate…|Revoke…/.test(document.querySelector('main').innerText)")
	b.quiet()
}

// An admin whose role was taken away meanwhile is told so, and nothing is lost.
func TestKeysRefused(t *testing.T) {
	d := openDesk(t, canned{models: 1, tenants: 3})
	b := page(t, phone)
	b.logIn(d.url, adminToken)
	eval[any](b, "location.hash = '#/keys'")
	b.press("New key…")
	b.write("dialog[open] [name=name]", "night")
	d.mu.Lock()
	d.demoted = true
	d.mu.Unlock()
	b.press("Make the key")
	b.shows("token max may look only Ask again later.")
	if name := eval[string](b, "document.querySelector('dialog[open] [name=name]').value"); name != "night" {
		t.Errorf("what was typed is %q now", name)
	}
	b.run(chromedp.KeyEvent("\x1b"))
	b.until("it is left with the keyboard", "document.querySelector('dialog[open]') === null")
	b.quiet()
}

// Before the first tenant is made, what that means for all callers is said.
func TestFirstTenant(t *testing.T) {
	d := openDesk(t, canned{models: 1, tenants: 0})
	b := page(t, light)
	b.logIn(d.url, adminToken)
	eval[any](b, "location.hash = '#/keys'")
	b.shows("whoever reaches this gateway may call, without a key")
	if strings.Contains(b.text(), "New key…") {
		t.Error("a key is offered where there is nobody to have it")
	}
	b.press("New tenant…")
	b.shows("With the first tenant every caller needs one, at once.")
	b.write("dialog[open] [name=name]", "two words")
	b.press("Make it, and ask all callers for a key")
	b.shows("A name has no spaces.")
	b.write("dialog[open] [name=name]", "shop")
	b.press("Make it, and ask all callers for a key")
	b.shown()
	b.shows("1 tenant with 1 key.")
	b.press("Log out")
	b.until("the login is back", "document.querySelector('#token') !== null")
	b.keepsNot(secret, true)
	b.quiet()
}
