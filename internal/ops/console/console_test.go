package console

import (
	"bytes"
	"compress/gzip"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

const note = "<p>Run make build.</p>"

// built is a console as make build leaves it.
func built(t *testing.T) *Console {
	t.Helper()
	pack := func(text string) *fstest.MapFile {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(text))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: b.Bytes()}
	}
	return read(fstest.MapFS{
		"page/unbuilt.html": {Data: []byte(note)}, "page/index.html.gz": pack("<p>The page.</p>"), "page/console-0123.js.gz": pack("show()"),
	})
}

func get(c *Console, path string, header ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequest("GET", path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, q)
	return w
}

// A binary from go build alone says how to get the page.
func TestUnbuilt(t *testing.T) {
	c := read(fstest.MapFS{"page/unbuilt.html": {Data: []byte(note)}})
	if w := get(c, "/console/"); w.Code != 200 || w.Body.String() != note || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := get(c, "/console/console-0123.js"); w.Code != 404 {
		t.Errorf("a script that is not there: %d", w.Code)
	}
	if w := get(New(), "/console/"); w.Code != 200 || !strings.Contains(w.Body.String(), "make build") && w.Header().Get("ETag") == "" {
		t.Errorf("what is embedded: %d %s", w.Code, w.Body)
	}
}

func TestKept(t *testing.T) {
	c := built(t)
	page, script := get(c, "/console/").Header(), get(c, "/console/console-0123.js").Header()
	if page.Get("Cache-Control") != "no-cache" || page.Get("ETag") == "" {
		t.Errorf("the page is asked about each time: %v", page)
	}
	if script.Get("Cache-Control") != "public, max-age=31536000, immutable" || script.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("a script whose name says what it holds is kept: %v", script)
	}
	if w := get(c, "/console/", "If-None-Match", page.Get("ETag")); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("the browser has it: %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := get(c, "/console/console-9999.js"); w.Code != 404 || !strings.Contains(w.Body.String(), "Load /console/ again") {
		t.Errorf("the script of another version: %d %s", w.Code, w.Body)
	}
	if w := get(c, "/console/../console.go"); w.Code != 404 {
		t.Errorf("what is not of the page: %d", w.Code)
	}
}

func TestCompressed(t *testing.T) {
	c := built(t)
	for header, want := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5, *": true, "gzip; q=1": true, "": false, "br": false, "gzip;q=0": false, "gzip;q=0.000": false, "deflate, gzip ;q=0": false, "xgzip": false,
	} {
		w := get(c, "/console/", "Accept-Encoding", header)
		packed := w.Header().Get("Content-Encoding") == "gzip"
		if packed != want || (w.Body.String() == "<p>The page.</p>") == want || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: compressed %v, want %v: %v", header, packed, want, w.Header())
		}
	}
}
