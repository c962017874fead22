// Package console_test drives the console in a real browser: before canned
// answers of a large gateway, and before a real one under load.
package console_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures of docs/images again")

const (
	root     = "../.." // of the repository
	patience = 20 * time.Second
)

// screen is how a page is looked at.
type screen struct {
	name          string
	width, height int64
	dark, still   bool // still: less motion is preferred
}

var (
	light = screen{name: "light", width: 1280, height: 900}
	dark  = screen{name: "dark", width: 1280, height: 900, dark: true, still: true}
	phone = screen{name: "phone", width: 360, height: 800}
)

// browser is one tab, with what it complained about.
type browser struct {
	t      *testing.T
	ctx    context.Context
	faults chan string
}

// page opens a tab of a Chromium of its own, with nothing in it.
func page(t *testing.T, s screen) *browser {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "internal/ops/console/page/index.html.gz")); err != nil {
		skip(t, "the console is not built: make build")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		skip(t, "there is no Chromium: scripts/chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(int(s.width), int(s.height)), chromedp.Flag("hide-scrollbars", true), chromedp.CombinedOutput(io.Discard))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to start as root otherwise
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t, ctx, make(chan string, 64)}
	b.run() // begins the browser
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			text := e.ExceptionDetails.Text
			if x := e.ExceptionDetails.Exception; x != nil {
				text += " " + x.Description
			}
			b.complain(text)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				b.complain(e.Entry.Text)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	scheme, motion := "light", "no-preference"
	if s.dark {
		scheme = "dark"
	}
	if s.still {
		motion = "reduce"
	}
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.width < 600})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}})
	return b
}

// call sends a command of the protocol.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	out, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func (b *browser) complain(text string) {
	select {
	case b.faults <- text:
	default:
	}
}

func (b *browser) run(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%v; the page says:\n%.400s", err, b.text())
	}
}

// text is what can be read on the page.
func (b *browser) text() string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.querySelector('main')?.innerText ?? document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// eval gives the value of an expression in the page, or of its promise.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", script, err)
	}
	return v
}

// until waits for an expression to be true.
func (b *browser) until(what, script string) {
	b.t.Helper()
	end, look := time.NewTimer(patience), time.NewTicker(50*time.Millisecond)
	defer end.Stop()
	defer look.Stop()
	for !eval[bool](b, script) {
		select {
		case <-look.C:
		case <-end.C:
			b.t.Fatalf("not within %v: %s; the page says:\n%.400s", patience, what, b.text())
		}
	}
}

// shows waits for a text that can be read on the page.
func (b *browser) shows(text string) {
	b.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		b.t.Fatal(err)
	}
	b.until("the page shows "+text, "document.body.innerText.replace(/\\s+/g, ' ').includes("+string(quoted)+")")
}

// press clicks the button or link whose text begins so.
func (b *browser) press(text string) {
	b.t.Helper()
	quoted, _ := json.Marshal(text) // a string always has a form
	b.until("there is a button "+text, `(() => {
		const x = [...document.querySelectorAll('button, a, summary')].find((e) => e.innerText.replace(/\s+/g, ' ').trim().startsWith(`+string(quoted)+`) && !e.disabled);
		if (x) x.click();
		return Boolean(x);
	})()`)
}

// write types into a field in place of what is there.
func (b *browser) write(field, text string) {
	b.t.Helper()
	b.until("there is "+field, "document.querySelector('"+field+"') !== null")
	eval[any](b, "document.querySelector('"+field+"').focus(); document.querySelector('"+field+"').select()")
	b.run(chromedp.KeyEvent(text))
}

// logIn opens the console and gives it a token.
func (b *browser) logIn(url, token string) {
	b.t.Helper()
	b.run(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#token")), chromedp.SendKeys(chromedp.CSS("#token"), token+"\r"))
	b.until("somebody is logged in", "document.querySelector('.who') !== null")
}

// quiet fails the test if the page complained of anything.
func (b *browser) quiet() {
	b.t.Helper()
	for {
		select {
		case text := <-b.faults:
			if !strings.Contains(text, "Failed to load resource") {
				b.t.Errorf("the page complains: %s", text)
			}
		default:
			return
		}
	}
}
