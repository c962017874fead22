package ops

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// examples are calls that succeed, by pattern, where the row of the table of who
// may do what does not. A stream is left after its first part.
var examples = map[string]struct{ path, body string }{
	"GET /{$}":               {"/", ""},
	"POST /admin/v1/explain": {"/admin/v1/explain", `{"tenant":"shop","body":` + chatBody + `}`},
}

// Every route answers as it is described. What other tests ask is held to it as
// well, refusals included: see asDescribed.
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
		ctx, leave := context.WithCancel(t.Context())
		q := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1:9090"+call.path, strings.NewReader(call.body))
		q.Header.Set("Authorization", "Bearer admin-token")
		w := httptest.NewRecorder()
		r.surface.ServeHTTP(leaving{w, leave}, q)
		leave()
		if want := d.answers[0].status; w.Code != want {
			t.Errorf("%s: %d %s, want %d: give a call that succeeds in examples", route.pattern, w.Code, w.Body, want)
		}
		r.asDescribed(q, call.body, w)
	}
}

// leaving is a recorder whose caller leaves once something was sent for good.
type leaving struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (l leaving) Flush() {
	l.ResponseRecorder.Flush()
	l.leave()
}

// asDescribed holds a request that was taken, and the answer, to the description.
func (r *rig) asDescribed(q *http.Request, body string, w *httptest.ResponseRecorder) {
	r.t.Helper()
	_, pattern := r.surface.mux.Handler(q)
	if pattern == "/" || q.Method == http.MethodHead {
		return
	}
	for _, fault := range faults(r.t, pattern, body, w) {
		r.t.Errorf("%s, answered %d: %s", pattern, w.Code, fault)
	}
}

func faults(t *testing.T, pattern, body string, w *httptest.ResponseRecorder) (list []string) {
	t.Helper()
	d := descriptions[pattern]
	method, at := templated(pattern)
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
		routes := setup(t, base, true).surface.routes()
		n := slices.IndexFunc(routes, func(r route) bool { return r.pattern == pattern })
		if w.Code < 500 && !slices.Contains(d.problems(routes[n].need), w.Code) {
			list = append(list, "no such problem is described: add it to fails")
		}
		check("the problem", "/components/schemas/Problem", w.Body.Bytes())
		return list
	}
	switch {
	case d.takes == nil && body != "":
		list = append(list, "a body was taken, and none is described")
	case d.takes != nil:
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
		got := strings.Join(faults(t, tt.pattern, tt.sent, w), "; ")
		if (got == "") != (tt.fault == "") || !strings.Contains(got, tt.fault) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.fault)
		}
	}
}
