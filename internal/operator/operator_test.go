package operator

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/internal/ops"
)

// canned is a gateway that answers as it is told to.
func canned(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := New(server.URL, "eye-token")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAddress(t *testing.T) {
	for _, tt := range []struct{ address, want string }{
		{"127.0.0.1:9090", "http://127.0.0.1:9090"},
		{"http://127.0.0.1:9090/", "http://127.0.0.1:9090"},
		{"https://ops.example/spillway/", "https://ops.example/spillway"},
		{"[::1]:9090", "http://[::1]:9090"},
		{"", "not one of HTTP"},
		{"ftp://ops.example", "not one of HTTP"},
		{"http://eve:secret@ops.example", "more than a scheme"},
		{"http://ops.example?token=secret", "more than a scheme"},
		{"http://ops example", "the address is none"},
	} {
		c, err := New(tt.address, "")
		switch {
		case err == nil && c.Address() != tt.want:
			t.Errorf("%q: %s, want %s", tt.address, c.Address(), tt.want)
		case err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "eve:secret")):
			t.Errorf("%q: %v, want %q", tt.address, err, tt.want)
		}
	}
}

// Each question goes to its place with the token, and its answer is read.
func TestQuestions(t *testing.T) {
	c := canned(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer eye-token" {
			t.Errorf("%s: token %q", r.URL, got)
		}
		body, _ := io.ReadAll(r.Body)
		switch r.Method + " " + r.URL.String() {
		case "GET /admin/v1/snapshot":
			io.WriteString(w, `{"active":7,"of_a_later_version":1}`)
		case "GET /admin/v1/history?seconds=60":
			io.WriteString(w, `{"seconds":[{"at":1,"offered":2},{"at":2,"offered":3}]}`)
		case "GET /admin/v1/refusals?limit=5":
			io.WriteString(w, `{"refusals":[{"request_id":"req_1"}]}`)
		case "POST /admin/v1/explain":
			if string(body) != `{"request_id":"req_1"}` {
				t.Errorf("asked with %s", body)
			}
			io.WriteString(w, `{"request_id":"req_1","tenant":"shop"}`)
		default:
			t.Errorf("%s %s is nothing", r.Method, r.URL)
		}
	})
	if p, raw, err := c.Snapshot(t.Context()); err != nil || p.Active != 7 || !strings.Contains(string(raw), "later") {
		t.Errorf("snapshot: %v %s", err, raw)
	}
	if h, err := c.History(t.Context(), 60); err != nil || len(h) != 2 || h[1].Offered != 3 {
		t.Errorf("history: %v %v", err, h)
	}
	if r, err := c.Refusals(t.Context(), 5); err != nil || len(r) != 1 || r[0].RequestID != "req_1" {
		t.Errorf("refusals: %v %v", err, r)
	}
	if e, _, err := c.Explain(t.Context(), &ops.Ask{RequestID: "req_1"}); err != nil || e.Tenant != "shop" {
		t.Errorf("explain: %v %v", err, e)
	}
}

// What goes wrong says where, and what to do about it.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		kind   string
		body   string
		want   string
	}{
		{"no token", 401, "application/problem+json", `{"detail":"this needs a token","remedy":"send one"}`, "401 Unauthorized: this needs a token; send one; this command takes it from SPILLWAY_TOKEN or --token"},
		{"no remedy", 403, "application/problem+json", `{"detail":"may look only"}`, "may look only"},
		{"the listener for callers", 404, "application/json", `{"error":{"message":"no such path"}}`, "is it the address for operators?"},
		{"an older gateway", 404, "application/problem+json", `{"detail":"there is nothing at GET /admin/v1/snapshot"}`, "has no /admin/v1/snapshot: it is an older gateway"},
		{"something else", 200, "text/html", `<html>`, "is it the address for operators of this version?"},
		{"a redirect is not followed", 307, "", "", "307 Temporary Redirect; is it the address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := canned(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.Header().Set("Content-Type", tt.kind)
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			_, _, err := c.Snapshot(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), c.Address()) || strings.Contains(err.Error(), "eye-token") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	c, _ := New("127.0.0.1:1", "")
	if _, _, err := c.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || !strings.Contains(err.Error(), "is --ops its address") {
		t.Errorf("nobody listens: %v", err)
	}
}
