package ops

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the description of the surface")

func TestDescriptionIsUpToDate(t *testing.T) {
	want := makeDocument(t, false)
	for _, file := range []string{"openapi.json", "../../docs/openapi.json"} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the routes and types say: run make update and look at the difference", file)
		}
	}
}

// who are those that may use a route, in the words of docs/admin.md.
var who = map[need]string{aPage: "everybody", nothing: "everybody", toLook: "viewers", toChange: "admins", toLogIn: "everybody with a token"}

// The guide lists every route, between two marks.
func TestGuideListsRoutes(t *testing.T) {
	const guide, from, to = "../../docs/admin.md", "<!-- routes -->\n", "<!-- /routes -->"
	var b strings.Builder
	b.WriteString("| call | who | what it does |\n|---|---|---|\n")
	for _, r := range setup(t, base, true).surface.routes() {
		d, query := descriptions[r.pattern], ""
		for i, name := range d.query(r.pattern) {
			query += string("?&"[min(i, 1)]) + name + "="
		}
		method, at := templated(r.pattern)
		fmt.Fprintf(&b, "| `%s %s%s` | %s | %s |\n", method, at, query, who[r.need], d.says)
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), from)
	old, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the routes between %q and %q", guide, from, to)
	}
	if *update {
		if err := os.WriteFile(guide, []byte(head+from+b.String()+to+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != b.String() {
		t.Errorf("%s does not list the routes as they are: run make update and look at the difference", guide)
	}
}

func TestEveryRouteIsDescribed(t *testing.T) {
	known, ids := map[string]bool{}, map[string]string{}
	for _, r := range setup(t, base, true).surface.routes() {
		known[r.pattern] = true
		d, ok := descriptions[r.pattern]
		if !ok || d.says == "" || len(d.answers) == 0 {
			t.Errorf("%s is not described: add it to descriptions in described.go, then run make update", r.pattern)
		}
		id := operationID(templated(r.pattern))
		if other, ok := ids[id]; ok {
			t.Errorf("%s and %s are both the operation %s", other, r.pattern, id)
		}
		ids[id] = r.pattern
		params := map[string]bool{}
		for _, p := range d.params {
			params[p.name] = true
		}
		for _, m := range wildcard.FindAllStringSubmatch(r.pattern, -1) {
			if !params[m[1]] {
				t.Errorf("%s: say in its description what {%s} is", r.pattern, m[1])
			}
		}
		for _, status := range d.fails {
			if _, ok := failed[status]; !ok {
				t.Errorf("%s fails with %d: say in the table failed of this test what that means", r.pattern, status)
			}
		}
		for _, a := range d.answers {
			if a.says == "" {
				t.Errorf("%s: %d says nothing", r.pattern, a.status)
			}
		}
	}
	for pattern := range descriptions {
		if !known[pattern] {
			t.Errorf("%s is described and is no route", pattern)
		}
	}
}

func TestPatternsAsOpenAPI(t *testing.T) {
	for pattern, want := range map[string]string{
		"GET /readyz":            "getReadyz GET /readyz",
		"GET /admin/v1/refusals": "getRefusals GET /admin/v1/refusals",
		"POST /admin/v1/tenants/{name}/keys/{key}/rotate": "postTenantsNameKeysKeyRotate POST /admin/v1/tenants/{name}/keys/{key}/rotate",
		"GET /page/{path...}":                             "getPagePath GET /page/{path}",
		"GET /{$}":                                        "get GET /",
	} {
		method, at := templated(pattern)
		if got := operationID(method, at) + " " + method + " " + at; got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

func TestUnknownParameters(t *testing.T) {
	r := setup(t, base, true)
	w := r.ask("GET", "/admin/v1/refusals?limt=5", "")
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"place":"limt"`) || !strings.Contains(w.Body.String(), `it takes limit`) {
		t.Errorf("a misspelt limit: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/metrics?name[]=up", "/admin/v1/refusals?limit=5"} {
		if w := r.ask("GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := r.ask("GET", "/admin/v1/upstreams?x=1", ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "it takes none") {
		t.Errorf("where there is none: %d %s", w.Code, w.Body)
	}
}
