package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// large is a gateway with much to show.
var large = canned{models: 20, tenants: 200, evil: true}

// What helps somebody who cannot see, or not well, is there: axe-core finds
// nothing to object to in any view, in light, in the dark and on a phone.
func TestAccessible(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(root, "internal/ops/console/node_modules/axe-core/axe.min.js"))
	if err != nil {
		skip(t, "there is no axe-core: make build")
	}
	for _, s := range []screen{light, dark, phone} {
		t.Run(s.name, func(t *testing.T) {
			d := openDesk(t, large)
			b := page(t, s)
			b.run(chromedp.Navigate(d.url), chromedp.WaitVisible(chromedp.CSS("#token")))
			b.accessible("login", string(axe))
			b.logIn(d.url, adminToken)
			for _, view := range []struct{ hash, shows string }{
				{"", "Decisions a second"}, {"tenants", "of 200"}, {"refusals", "of 40"}, {"refusals/req_0000", "What would let it in"}, {"settings?q=queue.total", "models.chat.queue.total"}, {"changes", "batch filled the queue"}, {"keys", "200 tenants with 200 keys"},
			} {
				eval[any](b, "location.hash = '#/"+view.hash+"'")
				b.shows(view.shows)
				if view.hash == "" {
					b.until("the charts are drawn", "document.querySelectorAll('canvas').length === 3")
					eval[any](b, "document.querySelectorAll('details').forEach((d) => { d.open = true; })")
				}
				if strings.HasPrefix(view.hash, "settings") {
					b.tryTotal("300")
					b.press("What if?")
					b.shows("better")
				}
				if view.hash == "keys" {
					for _, ask := range []string{"New tenant…", "New key…", "Revoke…", "Rotate…"} {
						b.press(ask)
						b.until(ask+" is asked", "document.querySelector('dialog[open] form') !== null")
						b.accessible(ask, string(axe))
						if ask != "Rotate…" {
							b.press("No")
						}
					}
					b.press("Make a new key in its place")
					b.shown()
				}
				b.accessible(view.hash, string(axe))
				if wide := eval[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
					t.Errorf("%q is %d px wider than the screen", view.hash, wide)
				}
			}
			b.quiet()
		})
	}
}

// accessible fails the test if axe-core has something against the page.
func (b *browser) accessible(view, axe string) {
	b.t.Helper()
	eval[any](b, axe+"\n;null")
	out := eval[[]struct {
		ID, Help string
		Nodes    []struct {
			HTML    string
			Summary string `json:"failureSummary"`
		}
	}](b, "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations)")
	for _, v := range out {
		b.t.Errorf("%q: %s: %s (%d places), such as %.300s: %.300s", view, v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML, v.Nodes[0].Summary)
	}
}

// tryTotal drafts another bound of the queue of chat.
func (b *browser) tryTotal(value string) {
	b.t.Helper()
	b.press("Change… models.chat.queue.total")
	b.write(".editor input", value+"\r")
	b.shows("Not applied yet")
}

// A setting is found, tried, applied with a reason, seen on the charts, and taken back.
func TestChange(t *testing.T) {
	d := openDesk(t, canned{models: 5, tenants: 24})
	b := page(t, light)
	b.logIn(d.url, adminToken)
	b.shows("eve, admin")
	b.shows("Changes in this time")
	eval[any](b, "location.hash = '#/settings?q=models.chat%20queue'")
	b.press("Change… models.chat.queue.total")
	b.write(".editor input", "many\r")
	b.shows("This should be a whole number") // and nothing is drafted
	b.write(".editor input", "300\r")
	b.shows("Not applied yet")
	b.press("What if?")
	b.shows("played under both settings")
	b.shows("retries of callers are as they were")
	b.write(".apply input", "more room at noon")
	b.press("Apply now")
	b.until("the draft is gone", "!document.body.innerText.includes('Not applied yet')")
	b.shows("changed while running")
	eval[any](b, "location.hash = '#/'")
	b.shows("models.chat.queue.total = 300 (more room at noon)")
	eval[any](b, "location.hash = '#/changes'")
	b.press("Take back…")
	b.press("Yes, take it back")
	b.shows("takes chg_2 back")
	d.mu.Lock()
	defer d.mu.Unlock()
	want := []map[string]any{
		{"set": map[string]any{"models.chat.queue.total": 300.0}, "minutes": 5.0},
		{"set": map[string]any{"models.chat.queue.total": 300.0}, "why": "more room at noon", "version": "v2"},
	}
	if got, _ := json.Marshal(d.posted); !equal(d.posted, want) {
		t.Errorf("the page sent %s", got)
	}
	if len(d.changes) != 3 {
		t.Errorf("%d changes", len(d.changes))
	}
	b.quiet()
}

func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// An upstream is taken out of use, which the headline says, and put back.
func TestDrain(t *testing.T) {
	d := openDesk(t, canned{models: 2, tenants: 2})
	b := page(t, light)
	b.logIn(d.url, adminToken)
	b.press("Drain… gpu-1a")
	b.press("Yes, drain gpu-1a")
	b.shows("Upstream gpu-1a is drained: it gets no new calls.")
	b.press("Enable… gpu-1a")
	b.press("Yes, enable gpu-1a")
	b.until("it is in use", "!document.body.innerText.includes('is drained')")
	b.press("Disable… gpu-1a")
	b.shows("its slots count as missing")
	b.press("Yes, disable gpu-1a")
	b.shows("Upstream gpu-1a is disabled: it gets no new calls.")
	b.quiet()
}

// A viewer sees settings and may ask what if, and is told why it ends there.
func TestViewer(t *testing.T) {
	d := openDesk(t, canned{models: 5, tenants: 24})
	b := page(t, light)
	b.logIn(d.url, viewerToken)
	b.shows("max, viewer")
	b.shows("Decisions a second")
	if strings.Contains(b.text(), "Drain…") || strings.Contains(b.text(), "Disable…") {
		t.Error("a viewer is offered to turn an upstream off")
	}
	eval[any](b, "location.hash = '#/settings?q=models.chat%20queue'")
	b.shows("You may look, but not change settings: token max has the role viewer")
	b.tryTotal("300")
	b.press("What if?")
	b.shows("played under both settings")
	if n := eval[int](b, "document.querySelectorAll('.apply').length"); n != 0 {
		t.Error("a viewer is offered to apply")
	}
	eval[any](b, "location.hash = '#/changes'")
	b.shows("batch filled the queue")
	if strings.Contains(b.text(), "Take back…") {
		t.Error("a viewer is offered to take a change back")
	}
	b.press("Log out")
	b.until("the login is back", "document.querySelector('#token') !== null")
	b.quiet()
}

// A wrong token is said to be one, and the field is empty for the next.
func TestWrongToken(t *testing.T) {
	d := openDesk(t, canned{models: 1, tenants: 1})
	b := page(t, phone)
	b.run(chromedp.Navigate(d.url), chromedp.WaitVisible(chromedp.CSS("#token")), chromedp.SendKeys(chromedp.CSS("#token"), "wrong\r"))
	b.shows("no such token")
}

// Names are shown as they are, whatever they would be as markup.
func TestNames(t *testing.T) {
	d := openDesk(t, large)
	b := page(t, light)
	b.logIn(d.url, adminToken)
	for hash, names := range map[string][]string{"": {evilTenant, evilModel}, "tenants": {evilTenant}, "keys": {evilTenant}, "refusals": {evilTenant, evilModel}, "settings?q=script": {evilModel}} {
		eval[any](b, "location.hash = '#/"+hash+"'")
		for _, name := range names {
			b.shows(name)
		}
	}
	if harm := eval[bool](b, "'harmed' in window || document.querySelector('main img, main script') !== null"); harm {
		t.Error("a name became markup")
	}
	b.quiet()
}

// When the stream breaks the page says since when its figures are old; when
// it is back, it goes on.
func TestStale(t *testing.T) {
	d := openDesk(t, canned{models: 2, tenants: 2})
	b := page(t, light)
	b.logIn(d.url, viewerToken)
	b.shows("● live")
	b.press("Hold")
	b.seconds(7)
	if text := b.text(); strings.Contains(text, "These figures are old") { // it is held, and what it would show is not old
		t.Errorf("%.200s", text)
	}
	b.press("Hold")
	d.turn(false)
	b.shows("These figures are old")
	b.shows("stale since")
	d.turn(true)
	b.shows("● live")
}

// A gateway that does not have some of it: the rest of the page works.
func TestMissing(t *testing.T) {
	d := openDesk(t, canned{models: 2, tenants: 2})
	for _, path := range []string{"live", "history", "settings", "changes"} {
		d.missing[path] = true
	}
	b := page(t, light)
	b.logIn(d.url, adminToken)
	b.shows("asked each 2 s")
	b.shows("chat")
	for hash, says := range map[string]string{"settings": "Not available: this gateway does not have settings", "changes": "Not available: this gateway does not have a history of changes"} {
		eval[any](b, "location.hash = '#/"+hash+"'")
		b.shows(says)
	}
	d.mu.Lock()
	d.missing["snapshot"] = true
	d.mu.Unlock()
	b.run(chromedp.Reload())
	eval[any](b, "location.hash = '#/'")
	b.shows("Not available: this gateway does not have a live picture")
	b.shows("no live picture")
}

// Everything can be reached without a mouse.
func TestKeys(t *testing.T) {
	d := openDesk(t, canned{models: 2, tenants: 24})
	b := page(t, light)
	b.logIn(d.url, adminToken)
	b.shows("● live")
	press := func(keys string) {
		t.Helper()
		b.run(chromedp.KeyEvent(keys))
	}
	press("2")
	b.shows("of 24")
	press("/")
	b.until("the search has the focus", "document.activeElement.matches('[data-search]')")
	b.write("[data-search]", "shop") // a browser without a keyboard has put the / there
	b.shows("3 of 24")
	eval[any](b, "document.activeElement.blur()")
	press("p")
	b.shows("held")
	press("p")
	press("?")
	b.until("the list of keys is open", "document.querySelector('dialog').open")
	press("\x1b")
	b.until("it is closed", "!document.querySelector('dialog').open")
	eval[any](b, "location.hash = '#/'")
	b.shows("Decisions a second")
	eval[any](b, "document.querySelector('.skip').focus()")
	seen := map[string]bool{}
	for range 60 {
		press("\t")
		at := eval[struct {
			What    string
			Outline bool
		}](b, `(() => { const e = document.activeElement; return {what: e.innerText?.slice(0, 20) ?? '', outline: getComputedStyle(e).outlineStyle !== 'none'}; })()`)
		if !at.Outline && at.What != "" && !slices.Contains([]string{"BODY"}, at.What) && eval[bool](b, "document.activeElement !== document.body") {
			t.Errorf("the focus on %q cannot be seen", at.What)
		}
		seen[at.What] = true
	}
	for _, what := range []string{"Overview", "Settings", "Hold", "Log out", "2 min", "model"} {
		if !seen[what] {
			t.Errorf("the tabulator does not reach %q", what)
		}
	}
}

// The page is small. How fast it is, is said and not asserted.
func TestCost(t *testing.T) {
	d := openDesk(t, large)
	b := page(t, light)
	b.run(chromedp.Navigate(d.url + "/console/"))
	b.until("it is painted", "performance.getEntriesByName('first-contentful-paint').length > 0")
	t.Logf("first paint after %.0f ms", eval[float64](b, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
	var files []string
	files = append(files, eval[[]string](b, "performance.getEntriesByType('resource').filter((r) => r.name.includes('/console/')).map((r) => r.name)")...)
	size := 0
	for _, url := range append(files, d.url+"/console/") {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Accept-Encoding", "gzip")
		resp, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d, encoding %q, %v", url, resp.StatusCode, resp.Header.Get("Content-Encoding"), err)
		}
		size += len(body)
	}
	const most = 150_000
	if t.Logf("%d files, %d bytes compressed", len(files)+1, size); size >= most || len(files) < 2 {
		t.Errorf("%d bytes in %d files, at most %d", size, len(files)+1, most)
	}

	b.logIn(d.url, adminToken)
	b.shows("● live")
	for _, view := range []string{"", "tenants", "keys"} {
		eval[any](b, "location.hash = '#/"+view+"'")
		b.seconds(3) // until what comes once is over
		before := b.work()
		const span = 10
		b.seconds(span)
		after := b.work()
		for _, name := range []string{"ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration", "ProcessTime"} {
			t.Logf("#/%s at 200 tenants and 20 models: %s %.1f ms a second", view, name, (after[name]-before[name])*1000/span)
		}
	}
	b.quiet()
}

// seconds waits until the page has drawn that many more pictures.
func (b *browser) seconds(n int) {
	b.t.Helper()
	eval[any](b, `new Promise((done) => { let n = `+strconv.Itoa(n)+`; const s = new EventSource('/admin/v1/live'); s.addEventListener('picture', () => { if (n-- === 0) { s.close(); done(null); } }); })`)
}

// work is what the browser has spent on the page so far, in seconds by kind.
func (b *browser) work() map[string]float64 {
	b.t.Helper()
	call(b, performance.Enable, performance.EnableParams{})
	out := map[string]float64{}
	for _, m := range call(b, performance.GetMetrics, struct{}{}).Metrics {
		out[m.Name] = m.Value
	}
	return out
}

// The pictures of the manual: an incident, as it is seen in light, in the dark
// and on a phone.
func TestPictures(t *testing.T) {
	if !*update {
		t.Skip("-update writes docs/images")
	}
	for _, s := range []screen{light, dark, phone} {
		d := openDesk(t, canned{models: 5, tenants: 24})
		b := page(t, s)
		b.logIn(d.url, adminToken)
		b.shows("Decisions a second")
		b.until("the charts are drawn", "document.querySelectorAll('canvas').length === 3")
		b.until("history is there", "document.querySelector('#decisions .when').innerText !== ''")
		b.save("console-" + s.name)
	}
}

// save writes what the screen shows.
func (b *browser) save(name string) {
	b.t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	const most = 200_000
	if len(picture) > most {
		b.t.Errorf("%s.png has %d bytes, at most %d", name, len(picture), most)
	}
	if err := os.WriteFile(filepath.Join(root, "docs/images", name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
