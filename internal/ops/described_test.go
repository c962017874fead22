package ops

import (
	"bytes"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// examples are calls that succeed, by pattern, where the row of the table of who
// may do what does not. A stream is left after its first part.
var examples = map[string]example{
	"GET /{$}":                                        {path: "/"},
	"POST /admin/v1/explain":                          {path: "/admin/v1/explain", body: `{"tenant":"shop","body":` + chatBody + `}`},
	"POST /admin/v1/upstreams/{name}":                 {path: "/admin/v1/upstreams/up%2Fchat", body: `{"action":"drain"}`},
	"POST /admin/v1/changes/{id}/revert":              {"POST /admin/v1/changes", `{"set":{"log.level":"warn"}}`, "/admin/v1/changes/ID/revert", ""},
	"PUT /admin/v1/tenants/{name}":                    {path: "/admin/v1/tenants/bank", body: `{"weight":2}`},
	"DELETE /admin/v1/tenants/{name}":                 {"PUT /admin/v1/tenants/bank", `{"weight":2}`, "/admin/v1/tenants/bank", ""},
	"POST /admin/v1/tenants/{name}/keys":              {path: "/admin/v1/tenants/shop/keys", body: `{"name":"ci"}`},
	"POST /admin/v1/tenants/{name}/keys/{key}/rotate": {"POST /admin/v1/tenants/shop/keys", `{"name":"ci"}`, "/admin/v1/tenants/shop/keys/ci/rotate", ""},
	"DELETE /admin/v1/tenants/{name}/keys/{key}":      {"POST /admin/v1/tenants/shop/keys", `{"name":"ci"}`, "/admin/v1/tenants/shop/keys/ci", ""},
}

// example is a call, after another one if first is not "". ID in its path is the
// id that the first one was given.
type example struct {
	first, given, path, body string
}

// Every route answers as it is described. ask holds whatever a test asks to it,
// refusals included: see asDescribed.
func TestAnswersAreAsDescribed(t *testing.T) {
	for _, route := range setup(t, guarded, true).surface.routes() {
		d := descriptions[route.pattern]
		if len(d.answers) == 0 {
			continue // TestEveryRouteIsDescribed says so
		}
		call, ok := examples[route.pattern]
		if !ok {
			_, call.path, _ = strings.Cut(route.pattern, " ")
			call.body = table[route.pattern].body
		}
		method, _, _ := strings.Cut(route.pattern, " ")
		r := setup(t, guarded, true)
		if route.pattern == "POST /admin/v1/whatif" {
			r = guess(t, &seer{}) // with a past
		}
		if call.first != "" {
			method, path, _ := strings.Cut(call.first, " ")
			var c ChangeReport
			if err := json.Unmarshal(r.ask(method, path, call.given, bearer("admin-token")...).Body.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			call.path = strings.Replace(call.path, "ID", c.ID, 1)
		}
		w := r.ask(method, call.path, call.body, bearer("admin-token")...)
		if want := d.answers[0].status; w.Code != want {
			t.Errorf("%s: %d %s, want %d: give a call that succeeds in examples", route.pattern, w.Code, w.Body, want)
		}
	}
}

// asDescribed holds a request that was taken, and the answer, to the description.
func (r *rig) asDescribed(q *http.Request, body string, w *httptest.ResponseRecorder) {
	r.t.Helper()
	_, pattern := r.surface.mux.Handler(q)
	if pattern == "/" || q.Method == http.MethodHead {
		return
	}
	for _, fault := range faults(r.t, r.routeOf(pattern), body, w) {
		r.t.Errorf("%s, answered %d: %s", pattern, w.Code, fault)
	}
}

func (r *rig) routeOf(pattern string) route {
	r.t.Helper()
	for _, to := range r.surface.routes() {
		if to.pattern == pattern {
			return to
		}
	}
	r.t.Fatalf("no route is %s", pattern)
	return route{}
}

// faults says what of an answer, and of the body that was taken for it, is not as
// the route is described.
func faults(t *testing.T, to route, body string, w *httptest.ResponseRecorder) (list []string) {
	t.Helper()
	d := descriptions[to.pattern]
	method, at := templated(to.pattern)
	place := "/paths/" + escape(at) + "/" + strings.ToLower(method)
	check := func(what, at string, data []byte) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err == nil {
			err = schemaAt(t, at).Validate(v)
		}
		if err != nil {
			list = append(list, what+" is not as described: "+err.Error())
		}
	}
	i := slices.IndexFunc(d.answers, func(a answer) bool { return a.status == w.Code })
	if i < 0 {
		if w.Code < 400 {
			return []string{"no such answer is described"}
		}
		if w.Code < 500 && !slices.Contains(d.problems(to.need), w.Code) {
			list = append(list, "no such problem is described: add it to fails")
		}
		check("the problem", "/components/schemas/Problem", w.Body.Bytes())
		return list
	}
	switch {
	case d.takes == nil && body != "":
		list = append(list, "a body was taken, and none is described")
	case d.takes != nil && !(d.orNone && body == ""):
		check("the body that was taken", place+"/requestBody/content/application~1json/schema", []byte(body))
	}
	a := d.answers[i]
	want, _, _ := mime.ParseMediaType(a.media)
	if a.media == "" && a.of != nil {
		want = "application/json"
	}
	if kind, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type")); kind != want {
		list = append(list, "the media type is "+kind+", not "+want)
	}
	at = place + "/responses/" + strconv.Itoa(w.Code) + "/content/" + escape(a.media)
	switch {
	case want == "" && w.Body.Len() > 0:
		list = append(list, "there is a body, and none is described")
	case want == "application/json":
		check("the answer", place+"/responses/"+strconv.Itoa(w.Code)+"/content/application~1json/schema", w.Body.Bytes())
	case a.of != nil:
		items := pieces(a.media, w.Body.Bytes())
		if len(items) == 0 {
			list = append(list, "the stream is empty")
		}
		for _, item := range items {
			check("a part of the stream", at+"/x-item-schema", item)
		}
	}
	return list
}

// pieces are the data of each event, or the lines.
func pieces(media string, stream []byte) (list [][]byte) {
	for line := range bytes.Lines(stream) {
		line = bytes.TrimSpace(line)
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		if len(line) > 0 && (media != mediaEvents || isData) {
			list = append(list, data)
		}
	}
	return list
}

// escape writes a name for a JSON pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", " ", "%20").Replace(name)
}

var compiled struct {
	sync.Mutex
	all *jsonschema.Compiler
}

// schemaAt compiles the schema at a place of the strict description.
func schemaAt(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.all == nil {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(makeDocument(t, true)))
		if err != nil {
			t.Fatal(err)
		}
		compiled.all = jsonschema.NewCompiler()
		compiled.all.AssertFormat()
		if err := compiled.all.AddResource("openapi.json", doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := compiled.all.Compile("openapi.json#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The check notices what is not as described.
func TestDescriptionIsHeldTo(t *testing.T) {
	r := setup(t, base, true)
	for _, tt := range []struct {
		name, pattern, sent string
		status              int
		kind, body          string
		fault               string
	}{
		{"as described", "GET /admin/v1/session", "", 200, "application/json", `{"name":"eye","role":"viewer","session":false}`, ""},
		{"one member more", "GET /admin/v1/session", "", 200, "application/json", `{"name":"eye","role":"viewer","session":false,"age":3}`, "'age' not allowed"},
		{"one less", "GET /admin/v1/session", "", 200, "application/json", `{"name":"eye","role":"viewer"}`, "missing property 'session'"},
		{"another role", "GET /admin/v1/session", "", 200, "application/json", `{"name":"eye","role":"owner","session":false}`, "value must be one of"},
		{"no JSON", "GET /admin/v1/session", "", 200, "application/json", `eye`, "invalid character"},
		{"another media type", "GET /readyz", "", 200, "text/html", "ready", "the media type is text/html"},
		{"another status", "GET /readyz", "", 202, "text/plain", "", "no such answer"},
		{"a problem that it has not", "GET /admin/v1/upstreams", "", 418, "application/problem+json", `{"type":"about:blank","title":"","status":418,"detail":""}`, "no such problem"},
		{"a problem in other words", "GET /admin/v1/upstreams", "", 401, "application/problem+json", `{"error":"no"}`, "the problem is not as described"},
		{"a body where none is taken", "GET /readyz", "{}", 200, "text/plain", "", "a body was taken"},
		{"another body than is taken", "POST /admin/v1/session", `{"key":"x"}`, 200, "application/json", `{"name":"eye","role":"viewer","session":true}`, "the body that was taken"},
		{"a body where there is none", "DELETE /admin/v1/session", "", 204, "", "gone", "there is a body"},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", tt.kind)
		w.WriteHeader(tt.status)
		w.WriteString(tt.body)
		got := strings.Join(faults(t, r.routeOf(tt.pattern), tt.sent, w), "; ")
		if (got == "") != (tt.fault == "") || !strings.Contains(got, tt.fault) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.fault)
		}
	}
}
