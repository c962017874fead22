// Package console is the page for the people who run the gateway. It holds no
// data: whatever it shows it asks the operators' API for, as whoever is logged in.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// page is what make build puts there. Without that it has one file, which says so.
//
//go:embed page
var page embed.FS

const (
	index   = "index.html"
	unbuilt = "unbuilt.html"
	// Prefix is where the page lives; its files are below.
	Prefix = "/console/"
)

// kinds are the media types of the files, as no table of a machine may say otherwise.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// file is one part of the page, as it is sent.
type file struct {
	body    []byte // compressed
	kind    string // its media type
	etag    string
	forever bool // its name says what it holds
}

// Console serves the page. It is safe for concurrent use.
type Console struct {
	files   map[string]file
	unbuilt []byte
}

// New reads what was embedded.
func New() *Console { return read(page) }

func read(from fs.FS) *Console {
	c := &Console{files: map[string]file{}}
	names, err := fs.Glob(from, "page/*")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for _, full := range names {
		body, err := fs.ReadFile(from, full)
		if err != nil {
			panic(err) // it is in the binary
		}
		base := path.Base(full)
		name, compressed := strings.CutSuffix(base, ".gz")
		switch {
		case name == unbuilt:
			c.unbuilt = body
		case compressed:
			sum := sha256.Sum256(body)
			c.files[name] = file{body, kinds[path.Ext(name)], `"` + hex.EncodeToString(sum[:8]) + `"`, strings.Contains(name, "-")}
		}
	}
	return c
}

// ServeHTTP answers with the file below Prefix that is asked for. Files whose name
// says what they hold may be kept for a year; the page itself is asked about.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	if name == "" {
		name = index
	}
	h := w.Header()
	f, ok := c.files[name]
	switch {
	case !ok && name == index:
		h.Set("Content-Type", kinds[".html"])
		w.Write(c.unbuilt)
		return
	case !ok: // such as the script of the version before
		h.Set("Content-Type", kinds[".txt"])
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "The console has no file of this name. Load "+Prefix+" again.\n")
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.etag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		w.Write(f.body) // whoever asked may be gone, and there is nobody else to tell
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(f.body))
	if err != nil {
		http.Error(w, "the console in this binary is damaged: "+err.Error()+"; build it again with make build", http.StatusInternalServerError)
		return
	}
	io.Copy(w, plain)
}

// acceptsGzip reads an Accept-Encoding: gzip, unless it is named with weight 0.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, q, _ := strings.Cut(weight, "=")
			return strings.Trim(q, "0. ") != "" || strings.TrimSpace(q) == ""
		}
	}
	return false
}
