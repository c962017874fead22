package ops

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// table is who may do what: the status by who asks. A route without a row fails.
var table = map[string]struct {
	body                                    string
	nobody, viewer, admin, loopback, remote int // loopback and remote: no tokens are configured
}{
	"GET /healthz":                                    {"", 200, 200, 200, 200, 200},
	"GET /readyz":                                     {"", 200, 200, 200, 200, 200},
	"GET /metrics":                                    {"", 200, 200, 200, 200, 200},
	"GET /{$}":                                        {"", 302, 302, 302, 302, 302},
	"GET /console/":                                   {"", 200, 200, 200, 200, 200},
	"GET /debug/events":                               {"", 401, 200, 200, 200, 403},
	"POST /admin/v1/session":                          {`{"token":"viewer-token"}`, 200, 200, 200, 403, 403},
	"GET /admin/v1/session":                           {"", 401, 200, 200, 200, 403},
	"DELETE /admin/v1/session":                        {"", 401, 204, 204, 204, 403},
	"GET /admin/v1/snapshot":                          {"", 401, 200, 200, 200, 403},
	"GET /admin/v1/history":                           {"", 401, 200, 200, 200, 403},
	"GET /admin/v1/live":                              {"", 401, 200, 200, 200, 403}, // left at the first event
	"GET /admin/v1/upstreams":                         {"", 401, 200, 200, 200, 403},
	"GET /admin/v1/refusals":                          {"", 401, 200, 200, 200, 403},
	"POST /admin/v1/explain":                          {`{"request_id":"req_0"}`, 401, 404, 404, 404, 403},
	"GET /admin/v1/openapi.json":                      {"", 401, 200, 200, 200, 403},
	"POST /admin/v1/whatif":                           {`{"set":{}}`, 401, 501, 501, 501, 403}, // the surface of this test has no simulator
	"GET /admin/v1/settings":                          {"", 401, 200, 200, 200, 403},
	"GET /admin/v1/changes":                           {"", 401, 200, 200, 200, 403},
	"POST /admin/v1/changes":                          {`{"set":{"log.level":"warn"}}`, 401, 403, 200, 403, 403},
	"POST /admin/v1/changes/{id}/revert":              {"", 401, 403, 404, 403, 403},
	"POST /admin/v1/reload":                           {"", 401, 403, 200, 403, 403},
	"GET /admin/v1/tenants":                           {"", 401, 200, 200, 200, 403},
	"PUT /admin/v1/tenants/{name}":                    {`{"weight":2}`, 401, 403, 200, 403, 403},
	"DELETE /admin/v1/tenants/{name}":                 {"", 401, 403, 404, 403, 403},
	"POST /admin/v1/tenants/{name}/keys":              {"", 401, 403, 404, 403, 403},
	"POST /admin/v1/tenants/{name}/keys/{key}/rotate": {"", 401, 403, 404, 403, 403},
	"DELETE /admin/v1/tenants/{name}/keys/{key}":      {"", 401, 403, 404, 403, 403},
	"POST /admin/v1/upstreams/{name}":                 {`{"action":"drain"}`, 401, 403, 404, 403, 403},
	"GET /admin/v1/elsewhere":                         {"", 401, 404, 404, 404, 403}, // nobody learns what there is
	"POST /admin/v1/upstreams":                        {"", 401, 404, 404, 404, 403},
	"GET /debug/pprof/elsewhere":                      {"", 401, 404, 404, 404, 403},
}

func TestWhoMayDoWhat(t *testing.T) {
	closed, open, remote := setup(t, guarded, true), setup(t, base, true), setup(t, base, false)
	for _, r := range closed.surface.routes() {
		if _, ok := table[r.pattern]; !ok {
			t.Errorf("%s has no row: say who may use it", r.pattern)
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(table)) {
		row := table[pattern]
		method, path, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
		for _, ask := range []struct {
			who    string
			rig    *rig
			header []string
			want   int
		}{
			{"nobody", closed, nil, row.nobody},
			{"a viewer", closed, bearer("viewer-token"), row.viewer},
			{"an admin", closed, bearer("admin-token"), row.admin},
			{"anybody here, without tokens", open, nil, row.loopback},
			{"anybody from elsewhere, without tokens", remote, nil, row.remote},
		} {
			w := ask.rig.ask(method, path, row.body, ask.header...)
			if w.Code != ask.want {
				t.Errorf("%s, asked by %s: %d, want %d: %s", pattern, ask.who, w.Code, ask.want, w.Body)
			}
			if kind := w.Header().Get("Content-Type"); w.Code >= 400 && (kind != "application/problem+json" || !strings.Contains(w.Body.String(), `"remedy"`)) {
				t.Errorf("%s, asked by %s: %s %s says no remedy", pattern, ask.who, kind, w.Body)
			}
		}
	}
	if w := closed.ask("GET", "/admin/v1/upstreams", "", bearer("canary-tenant-key")...); w.Code != 401 {
		t.Errorf("a tenant's key is no operator's: %d", w.Code)
	}
	if w := closed.ask("GET", "/admin/v1/upstreams", "", "Authorization", "Basic cm9vdDpyb290"); w.Code != 401 {
		t.Errorf("basic: %d", w.Code)
	}
	if log := closed.log.String(); slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(log, s) }) {
		t.Errorf("a secret in the log: %s", log)
	}
}

// Every answer, an error or not, tells the browser what it must not do.
func TestHeaders(t *testing.T) {
	r := setup(t, guarded, true)
	for _, path := range []string{"/healthz", "/metrics", "/admin/v1/upstreams", "/nowhere"} {
		h := r.ask("GET", path, "").Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp",
		} {
			if !strings.HasPrefix(h.Get(name), want) {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by other sites", path)
		}
	}
}

// A page of somebody else whose name was made to lead to this machine.
func TestAnotherName(t *testing.T) {
	r := setup(t, base, true)
	for host, want := range map[string]int{"127.0.0.1:9090": 200, "localhost:9090": 200, "[::1]:9090": 200, "[::1]": 200, "rebound.example:9090": 403, "127.0.0.1.example": 403} {
		if w := r.ask("GET", "/admin/v1/upstreams", "", "Host", host); w.Code != want {
			t.Errorf("%s: %d, want %d", host, w.Code, want)
		}
	}
}

// With a cookie a request must come from a page of ours, and say so.
func TestForgery(t *testing.T) {
	r := setup(t, guarded, true)
	const origin = "http://127.0.0.1:9090"
	for _, tt := range []struct {
		name   string
		header []string
		want   int
	}{
		{"a page of ours", []string{"Origin", origin, "X-Spillway-Request", "1"}, 204},
		{"as browsers say it today", []string{"Sec-Fetch-Site", "same-origin", "X-Spillway-Request", "1"}, 204},
		{"without the header", []string{"Origin", origin}, 403},
		{"no origin at all", []string{"X-Spillway-Request", "1"}, 403},
		{"another site", []string{"Origin", "https://evil.example", "X-Spillway-Request", "1"}, 403},
		{"another port", []string{"Origin", "http://127.0.0.1:9091", "X-Spillway-Request", "1"}, 403},
		{"a sandboxed frame", []string{"Origin", "null", "X-Spillway-Request", "1"}, 403},
		{"a neighbour", []string{"Sec-Fetch-Site", "same-site", "Origin", origin, "X-Spillway-Request", "1"}, 403},
		{"typed by hand", []string{"Sec-Fetch-Site", "none", "X-Spillway-Request", "1"}, 403},
	} {
		cookie := r.logIn("viewer-token")
		w := r.ask("DELETE", "/admin/v1/session", "", append(tt.header, "Cookie", cookie)...)
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.name, w.Code, tt.want, w.Body)
		}
	}
	if w := r.ask("POST", "/admin/v1/session", `{"token":"viewer-token"}`, "Origin", "https://evil.example"); w.Code != 403 {
		t.Errorf("logged in by another site: %d", w.Code)
	}
	if w := r.ask("DELETE", "/admin/v1/session", "", bearer("viewer-token")...); w.Code != 204 {
		t.Errorf("a bearer token is not sent by a browser by itself: %d", w.Code)
	}
}

func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, guarded, true)
		w := r.ask("POST", "/admin/v1/session", `{"token":"admin-token"}`)
		set := w.Header().Get("Set-Cookie")
		for _, want := range []string{"HttpOnly", "SameSite=Strict", "Max-Age=43200", "Path=/"} {
			if !strings.Contains(set, want) {
				t.Errorf("%s in %q", want, set)
			}
		}
		cookie, other := strings.Split(set, ";")[0], r.logIn("viewer-token")
		who := func(cookie string) (int, string) {
			w := r.ask("GET", "/admin/v1/session", "", "Cookie", cookie)
			return w.Code, w.Body.String()
		}
		if code, body := who(cookie); code != 200 || body != `{"name":"root","role":"admin","session":true}` {
			t.Errorf("%d %s", code, body)
		}
		if w := r.ask("DELETE", "/admin/v1/session", "", "Cookie", cookie, "Origin", "http://127.0.0.1:9090", "X-Spillway-Request", "1"); w.Code != 204 {
			t.Errorf("log out: %d %s", w.Code, w.Body)
		}
		if code, _ := who(cookie); code != 401 {
			t.Errorf("after logging out: %d", code)
		}
		if code, _ := who(other); code != 200 {
			t.Errorf("another session: %d", code)
		}
		time.Sleep(sessionTime + time.Second)
		if code, _ := who(other); code != 401 {
			t.Errorf("after twelve hours: %d", code)
		}
		last := r.logIn("viewer-token")
		if err := r.g.Apply(parse(t, strings.Replace(guarded, "eye", "new-eye", 1))); err != nil {
			t.Fatal(err)
		}
		if code, body := who(last); code != 200 || !strings.Contains(body, "new-eye") {
			t.Errorf("a token with another name: %d %s", code, body)
		}
		gone := strings.Replace(guarded, `    - {name: eye, hash: "`+secrets[4]+`"}`+"\n", "", 1)
		if err := r.g.Apply(parse(t, gone)); err != nil {
			t.Fatal(err)
		}
		if code, _ := who(last); code != 401 {
			t.Errorf("the token is gone from the file, its session goes on: %d", code)
		}
	})
}

// Sessions are bounded: the oldest ends.
func TestManySessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		first := s.begin("x")
		time.Sleep(time.Second)
		second := s.begin("x")
		for range maxSessions - 1 {
			s.begin("x")
		}
		if _, ok := s.find(first); ok || len(s.all) != maxSessions {
			t.Errorf("%d sessions, the first among them: %v", len(s.all), ok)
		}
		if _, ok := s.find(second); !ok {
			t.Error("a newer one had to go")
		}
	})
}

// Guessing is slow, and only for who guesses.
func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, guarded, true)
		cookie := r.logIn("viewer-token")
		for i := range maxTries {
			if w := r.ask("POST", "/admin/v1/session", `{"token":"canary-guess"}`); w.Code != 401 {
				t.Fatalf("guess %d: %d", i, w.Code)
			}
		}
		w := r.ask("POST", "/admin/v1/session", `{"token":"viewer-token"}`)
		if w.Code != 429 || w.Header().Get("Retry-After") != "60" {
			t.Errorf("right, after %d wrong ones: %d, %q", maxTries, w.Code, w.Header().Get("Retry-After"))
		}
		if w := r.ask("GET", "/admin/v1/upstreams", "", bearer("admin-token")...); w.Code != 429 {
			t.Errorf("the same by bearer: %d", w.Code)
		}
		if w := r.ask("GET", "/admin/v1/upstreams", "", "Cookie", cookie); w.Code != 200 {
			t.Errorf("who is logged in: %d", w.Code)
		}
		time.Sleep(failTime + time.Second)
		if w := r.ask("GET", "/admin/v1/upstreams", "", bearer("admin-token")...); w.Code != 200 {
			t.Errorf("a minute later: %d", w.Code)
		}
		f := newFailures()
		for i := range 2 * maxAddress {
			f.count(string(rune('a' + i)))
		}
		if len(f.all) > maxAddress+1 {
			t.Errorf("%d addresses are remembered", len(f.all))
		}
		if strings.Contains(r.log.String(), "canary") {
			t.Error("a guess in the log")
		}
	})
}

func TestBadLogins(t *testing.T) {
	r := setup(t, guarded, true)
	for body, want := range map[string]int{"": 400, "{}": 400, `{"token":`: 400, `{"token":"viewer-token","x":1}`: 400, `{"token":"` + strings.Repeat("x", 5000) + `"}`: http.StatusRequestEntityTooLarge} {
		if w := r.ask("POST", "/admin/v1/session", body); w.Code != want {
			t.Errorf("%.40q: %d, want %d: %s", body, w.Code, want, w.Body)
		}
	}
}
