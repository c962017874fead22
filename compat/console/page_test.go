package console_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

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
