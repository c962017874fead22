package ops

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// wire is a surface behind a real listener, asked byte by byte.
func (r *rig) wire() (send func(request string) *http.Response) {
	r.t.Helper()
	s := httptest.NewServer(r.surface)
	r.t.Cleanup(s.Close)
	return func(request string) *http.Response {
		r.t.Helper()
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			r.t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			r.t.Fatal(err)
		}
		method, _, _ := strings.Cut(request, " ")
		res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
		if err != nil {
			r.t.Fatalf("%.60q: %v", request, err)
		}
		return res
	}
}

// However the path is written, who has no token gets nothing, not even by being sent
// elsewhere: what a path is cleaned to is asked for again.
func TestPathTricks(t *testing.T) {
	r := setup(t, guarded, true)
	send := r.wire()
	for _, path := range []string{
		"/admin/v1/upstreams", "//admin/v1/upstreams", "/admin//v1/upstreams", "/./admin/v1/upstreams", "/metrics/../admin/v1/upstreams", "/metrics/%2e%2e/admin/v1/upstreams", "/metrics/..%2fadmin/v1/upstreams",
		"/admin%2fv1%2fupstreams", "/%61dmin/v1/upstreams", "/admin/v1/upstreams/", "/admin/v1/upstreams/.", "/admin/v1/upstreams;x", "/admin/v1/upstreams%00", "/admin/v1/upstreams%20", "/ADMIN/v1/upstreams", "/admin/v1/upstreams?x=/metrics",
		"/metrics/../../admin/v1/upstreams", "/healthz;/admin/v1/upstreams", "/metrics%2f..%2fadmin%2fv1%2fupstreams", "/debug/pprof/", "/debug/events/", "http://127.0.0.1/admin/v1/upstreams", "http://x/metrics/../admin/v1/upstreams",
		"/\\127.0.0.2/admin/v1/upstreams", "/admin/v1/../../debug/events", "//evil.example/%2e%2e", "//evil.example", "/%2f/evil.example/..",
	} {
		res := send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:9090\r\nConnection: close\r\n\r\n")
		to := res.Header.Get("Location")
		switch {
		case res.StatusCode == 401:
		case res.StatusCode/100 == 3 && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.HasPrefix(to, `/\`): // to a clean path of ours
		default:
			t.Errorf("%s: %d, location %q", path, res.StatusCode, to)
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: without the headers that protect", path)
		}
	}
}

// Methods that nobody asked for change nothing and show nothing.
func TestMethods(t *testing.T) {
	r := setup(t, guarded, true)
	send := r.wire()
	for _, tt := range []struct {
		request, token string
		want           int
	}{
		{"HEAD /admin/v1/upstreams", "", 401},
		{"HEAD /admin/v1/upstreams", "viewer-token", 200},
		{"HEAD /debug/events", "", 401},
		{"HEAD /metrics", "", 200},
		{"OPTIONS /admin/v1/upstreams", "", 401}, // a browser that asks whether it may gets no yes
		{"OPTIONS /admin/v1/session", "", 401},
		{"OPTIONS /metrics", "", 401},
		{"TRACE /admin/v1/upstreams", "", 401},
		{"TRACE /admin/v1/upstreams", "admin-token", 404},
		{"TRACE /metrics", "", 401},
		{"PUT /admin/v1/session", "", 401},
		{"PATCH /admin/v1/explain", "viewer-token", 404},
		{"POST /metrics", "", 401},
		{"DELETE /healthz", "", 401},
		{"QUERY /admin/v1/upstreams", "", 401},
		{"get /admin/v1/upstreams", "", 401},
	} {
		request := tt.request + " HTTP/1.1\r\nHost: 127.0.0.1:9090\r\nConnection: close\r\nX-Http-Method-Override: GET\r\nX-Echo: canary-of-trace\r\n"
		if tt.token != "" {
			request += "Authorization: Bearer " + tt.token + "\r\n"
		}
		res := send(request + "\r\n")
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != tt.want || strings.Contains(string(body), "canary") || res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d, want %d: %s", tt.request, res.StatusCode, tt.want, body)
		}
		if strings.HasPrefix(tt.request, "HEAD") && len(body) > 0 {
			t.Errorf("%s has a body", tt.request)
		}
	}
	for _, request := range []string{"CONNECT 127.0.0.1:9090", "CONNECT /admin/v1/upstreams", "OPTIONS *"} {
		res := send(request + " HTTP/1.1\r\nHost: 127.0.0.1:9090\r\nConnection: close\r\n\r\n")
		if body, _ := io.ReadAll(res.Body); strings.HasPrefix(request, "CONNECT") && res.StatusCode < 400 || len(body) > 0 && strings.Contains(string(body), "upstreams\":") {
			t.Errorf("%s: %d %s", request, res.StatusCode, body)
		}
	}
}

// Two readers of one connection must not see different requests. What could be
// read in two ways ends the connection.
func TestSmuggling(t *testing.T) {
	r := setup(t, guarded, true)
	send := r.wire()
	const next = "GET /admin/v1/upstreams HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer viewer-token\r\n\r\n"
	for name, tt := range map[string]struct {
		head, body string
		want       int
	}{
		"two lengths":                {"Content-Length: 0\r\nContent-Length: 95\r\n", next, 400},
		"a length that is no number": {"Content-Length: +0\r\n", next, 400},
		"an unknown encoding":        {"Transfer-Encoding: xchunked\r\n", next, 501},
		"two encodings":              {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n" + next, 501},
		"a space before the colon":   {"Transfer-Encoding : chunked\r\n", "0\r\n\r\n" + next, 400},
		"a folded header":            {"X-A: b\r\n Transfer-Encoding: chunked\r\n", next, 401}, // one header, as RFC 9112 allows
		"a null byte":                {"X-A: b\x00\r\n", next, 400},
		"two hosts":                  {"Host: evil.example\r\n", next, 400},
		"a bad chunk":                {"Transfer-Encoding: chunked\r\n", "zz\r\n", 401}, // the body is not looked at before who asks is known
	} {
		res := send("POST /admin/v1/explain HTTP/1.1\r\nHost: 127.0.0.1:9090\r\n" + tt.head + "\r\n" + tt.body)
		if res.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, tt.want)
		}
	}
	// With both, the length does not count, and the connection ends.
	res := send("POST /admin/v1/explain HTTP/1.1\r\nHost: 127.0.0.1:9090\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next)
	if res.StatusCode != 401 && res.StatusCode != 400 {
		t.Errorf("a length and an encoding: %d", res.StatusCode)
	}
}

// Who is not known gets an answer before the body is read, however large it is.
func TestLargeBodies(t *testing.T) {
	r := setup(t, guarded, true)
	send := r.wire()
	for _, tt := range []struct {
		name, request string
		want          int
	}{
		{"a body that never comes", "POST /admin/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n", 401},
		{"one that waits to be asked for", "POST /admin/v1/explain HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000000000\r\n\r\n", 401},
		{"a login of a gigabyte", "POST /admin/v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n" + strings.Repeat(" ", 5000), 413},
		{"a head without end", "GET /" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
	} {
		if res := send(tt.request); res.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, res.StatusCode, tt.want)
		}
	}
	w := r.ask("POST", "/admin/v1/explain", `{"tenant":"`+strings.Repeat("x", maxBody)+`"}`, bearer("viewer-token")...)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a viewer's: %d", w.Code)
	}
}

// What somebody wrote into a path or a body comes back as text of a JSON object,
// which no browser takes for anything else.
func TestWhatComesBackIsOnlyText(t *testing.T) {
	r := setup(t, guarded, true)
	for _, path := range []string{"/<script>alert(1)</script>", "/a%0d%0aSet-Cookie:%20x=y", "/%ff%fe", "/%00", "/\u2028", "/%22%7d", "/a%0aremedy:b"} {
		q := httptest.NewRequest("GET", "http://127.0.0.1:9090"+path, nil)
		q.Header.Set("Authorization", "Bearer viewer-token")
		w := httptest.NewRecorder()
		r.surface.ServeHTTP(w, q)
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != 404 || p.Remedy == "" {
			t.Errorf("%s: %v in %q", path, err, w.Body)
		}
		if len(w.Header()["Set-Cookie"]) > 0 || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
	for _, path := range []string{"/healthz", "/admin/v1/session", "/admin/v1/upstreams", "/admin/v1/refusals"} { // a script of another site that loads them
		w := r.ask("GET", path, "", bearer("viewer-token")...)
		if kind := w.Header().Get("Content-Type"); w.Body.Bytes()[0] != '{' || kind != "application/json" {
			t.Errorf("%s is %s: %.20s", path, kind, w.Body)
		}
	}
	for _, path := range []string{"/metrics", "/readyz", "/debug/events"} {
		if w := r.ask("GET", path, "", bearer("viewer-token")...); w.Header().Get("Content-Type") == "" || strings.Contains(w.Header().Get("Content-Type"), "html") {
			t.Errorf("%s: %q", path, w.Header())
		}
	}
}

// A session is made new at each login: one that was put into the browser before
// never becomes that of an operator.
func TestSessionFixation(t *testing.T) {
	r := setup(t, guarded, true)
	const planted = "spillway_session=planted-by-somebody-else"
	w := r.ask("POST", "/admin/v1/session", `{"token":"viewer-token"}`, "Cookie", planted)
	given := strings.Split(w.Header().Get("Set-Cookie"), ";")[0]
	if given == planted || len(given) < len("spillway_session=")+43 {
		t.Errorf("the session is %q", given)
	}
	if w := r.ask("GET", "/admin/v1/session", "", "Cookie", planted); w.Code != 401 {
		t.Errorf("the planted one: %d", w.Code)
	}
	if again := r.logIn("viewer-token"); again == given {
		t.Error("two logins have one session")
	}
	if w := r.ask("GET", "/admin/v1/session", "", "Cookie", "spillway_session="+config.HashKey("viewer-token")); w.Code != 401 {
		t.Errorf("the token's hash as a session: %d", w.Code)
	}
}

// Without tokens a page of another site could have the operator's browser ask,
// though not read, and so have the gateway work.
func TestAnotherSiteWithoutTokens(t *testing.T) {
	r := setup(t, base, true)
	const body = `{"body":` + chatBody + `}`
	for _, tt := range []struct {
		name   string
		header []string
		want   int
	}{
		{"a program", nil, 200},
		{"a page of ours", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:9090"}, 200},
		{"another site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example", "Content-Type", "text/plain"}, 403},
		{"another site, as older browsers say it", []string{"Origin", "https://evil.example"}, 403},
		{"another port", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:3000"}, 403},
		{"a sandboxed frame", []string{"Origin", "null"}, 403},
	} {
		if w := r.ask("POST", "/admin/v1/explain", body, tt.header...); w.Code != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.name, w.Code, tt.want, w.Body)
		}
	}
}

// A page whose name was made to lead to this machine reads neither metrics nor
// health. Scrapers and probes may come through a proxy of another name.
func TestAnotherNameReadsNoMetrics(t *testing.T) {
	const browser = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
	closed, open, remote := setup(t, guarded, true), setup(t, base, true), setup(t, base, false)
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		for _, tt := range []struct {
			name   string
			rig    *rig
			header []string
			want   int
		}{
			{"a browser here", closed, []string{"User-Agent", browser}, 200},
			{"a rebound name", closed, []string{"User-Agent", browser, "Host", "rebound.example:9090"}, 401},
			{"a rebound name, without tokens", open, []string{"User-Agent", browser, "Host", "rebound.example:9090"}, 403},
			{"a scraper behind a proxy", closed, []string{"User-Agent", "Prometheus/3.5.0", "Host", "spillway.example"}, 200},
			{"an operator behind a proxy", closed, append(bearer("viewer-token"), "User-Agent", browser, "Host", "spillway.example"), 200},
			{"a listener for other machines", remote, []string{"User-Agent", browser, "Host", "spillway.example:9090"}, 200},
		} {
			if w := tt.rig.ask("GET", path, "", tt.header...); w.Code != tt.want {
				t.Errorf("%s, %s: %d, want %d", path, tt.name, w.Code, tt.want)
			}
		}
	}
}

// The page itself holds no data: an operator behind a proxy of another name gets
// it, to log in with.
func TestAnotherNameGetsThePage(t *testing.T) {
	r := setup(t, guarded, true)
	for _, path := range []string{"/", "/console/"} {
		if w := r.ask("GET", path, "", "User-Agent", "Mozilla/5.0", "Host", "spillway.example"); w.Code >= 400 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// A stranger who asks across sites with a header of ours is asked by the browser
// first, and does not use up the tries of who is here.
func TestForeignGuessesDoNotCount(t *testing.T) {
	r := setup(t, guarded, true)
	for range 2 * maxTries {
		r.ask("POST", "/admin/v1/session", `{"token":"canary-guess"}`, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
		r.ask("OPTIONS", "/admin/v1/upstreams", "", "Origin", "https://evil.example", "Access-Control-Request-Headers", "authorization")
	}
	if w := r.ask("GET", "/admin/v1/upstreams", "", bearer("viewer-token")...); w.Code != 200 {
		t.Errorf("%d: another site has locked the operator out", w.Code)
	}
}
